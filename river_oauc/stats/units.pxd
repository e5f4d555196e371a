from river_oauc cimport blas, vectors
