from numpy cimport ndarray

from river_oauc.inputs cimport dicts


cdef class FeatureTable:
    cdef public ndarray weights, squares, units, means, counts, seconds, _ones, _last_rows
    cdef public Py_ssize_t n_seconds, _n_rows
    cdef public dict _index
    cdef public object last
    cdef public tuple last_names

    cpdef ndarray ones(self, Py_ssize_t n)
    cpdef ndarray rows(self, tuple names)
