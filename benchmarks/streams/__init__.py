"""Learners on streams: `python -m benchmarks streams`."""
