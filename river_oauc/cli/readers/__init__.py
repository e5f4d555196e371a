"""Readers of CSV, JSON Lines, Parquet and LIBSVM, row by row in bounded memory."""
