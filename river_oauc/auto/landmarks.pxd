cimport cython
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.auto.maps cimport KernelMaps
from river_oauc.inputs.records cimport Record
from river_oauc.stats.moments cimport ForgettingMoments


cdef class KernelExperts(Record):
    cdef public tuple _strengths, _examples
    cdef public KernelMaps _maps
    cdef public list _moments
    cdef public ndarray _weights, _biases
    cdef public Py_ssize_t _next_choice

    cpdef ndarray similarities(self, ndarray z)
    cpdef score(self, ndarray similarities, ndarray scores)
    @cython.locals(
        moments=ForgettingMoments, classes=tuple, start=Py_ssize_t, stop=Py_ssize_t
    )
    cpdef add(self, ndarray x, ndarray similarities, bint positive, double w)
