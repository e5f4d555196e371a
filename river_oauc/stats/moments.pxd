cimport cython
from libc cimport math
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.inputs.records cimport Record


cdef class Centroid(Record):
    cdef public double n
    cdef public ndarray mean
    cpdef update(self, ndarray x, double w=*)


cdef class Moments(Centroid):
    cdef public ndarray _scatter
    cpdef ndarray cov_dot(self, ndarray v)


cdef class ForgettingMoments(Moments):
    cdef public double memory, _unit
    cdef public ndarray _waiting
    cdef public Py_ssize_t _n_waiting
    @cython.locals(kept=double, n_before=double, n=double, unit=double, mean=ndarray, waiting=ndarray)
    cpdef update(self, ndarray x, double w=*)
    cpdef _settle(self)
    cpdef _add_products(self, ndarray rows)
    cpdef ndarray upper_covariance(self)
