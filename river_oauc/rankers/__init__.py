"""The algorithms, on arrays.

Each is written in plain numpy, to be checked against its paper line by line. The hot ones have a
compiled twin in `river_oauc._compiled` with the same state; see `river_oauc.acceleration`.
"""
