"""`river-oauc compare`: learners on one stream."""
