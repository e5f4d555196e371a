cimport cython
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.inputs.records cimport Record


cdef class Units(Record):
    cdef public Py_ssize_t _n_seen
    cdef public ndarray mean, factors, _variance, _n_missing
    cdef public bint _any_missing, _is_fixed

    @cython.locals(
        deviation=ndarray,
        scaled=ndarray,
        variance=ndarray,
        squared=double,
        rate=double,
        n_seen=Py_ssize_t,
    )
    cpdef update(self, ndarray x)
    @cython.locals(variance=ndarray)
    cpdef _find_factors(self)
    @cython.locals(z=ndarray, squares=ndarray)
    cpdef ndarray standardized(self, ndarray x)
