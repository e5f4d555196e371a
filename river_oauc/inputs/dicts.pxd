from numpy cimport ndarray

cdef enum:
    COMPILED = 1

cpdef bint fill(ndarray row, object x, list names, dict positions) except -1
