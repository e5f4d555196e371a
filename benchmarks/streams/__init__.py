"""`river-oauc streams`: learners on real streams, and on the benchmark sets as streams."""
