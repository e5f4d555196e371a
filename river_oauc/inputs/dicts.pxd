from numpy cimport ndarray

cdef enum:
    COMPILED = 1

cpdef bint is_same(object x, tuple names, bytes data) except -1
cpdef tuple names_of(object x, tuple usual)
cpdef bytes packed(object x)
cpdef ndarray rows_of(dict index, object names)
cpdef bint fill(ndarray row, object x, list names, dict positions) except -1
