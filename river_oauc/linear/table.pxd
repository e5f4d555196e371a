from numpy cimport ndarray

from river_oauc.inputs cimport dicts


cdef class FeatureTable:
    cdef public ndarray weights, squares, units, means, counts, seconds, _ones
    cdef public Py_ssize_t n_seconds, _n_rows
    cdef public dict _index
    cdef public object last

    cpdef ndarray ones(self, Py_ssize_t n)
    cpdef ndarray rows(self, object names)
