"""What is remembered of a stream: moments, units, samples."""
