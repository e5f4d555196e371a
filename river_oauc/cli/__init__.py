"""The command `river-oauc`, for users' own data; needs the extra `experiments`."""
