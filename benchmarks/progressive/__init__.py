"""Progressive validation of many models on many sets, for `streams` and `records`."""
