from numpy cimport ndarray

from river_oauc cimport blas
from river_oauc.inputs cimport dicts

cdef double MAX_SQUARED_NORM


cdef class Vectorizer:
    cdef public list names
    cdef public Py_ssize_t size
    cdef public ndarray spare
    cdef public tuple _rows
    cdef public object _buffers, _usual_values, _fill_row
    cdef public dict _index
    cdef public bint _takes_missing
    cdef public Py_ssize_t _n_usual

    cpdef encode(self, object x, bint lenient=*)
