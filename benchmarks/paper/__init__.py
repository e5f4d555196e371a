"""`river-oauc tables`: the tables of the paper, by its protocol."""
