"""`river-oauc compare`: learners side by side on one stream."""
