cimport cython
from libc cimport math
from numpy cimport ndarray

from river_oauc cimport blas
from river_oauc.inputs.records cimport Record


cdef class Newton(Record):
    cdef public ndarray weights, _covariance

    @cython.locals(weights=ndarray, direction=ndarray, error=double, curvature=double, factor=double)
    cpdef step(self, ndarray phi, double sign, double c)


cdef double _sigmoid_of_minus(double margin)
@cython.locals(
    low=double, high=double, root=double, error=double, rest=double, new=double, _=Py_ssize_t
)
cpdef double implicit_margin(double margin, double pull)
@cython.locals(rate=double, gap=double)
cpdef tracking_step(ndarray weights, ndarray phi, double sign, double c)
@cython.locals(
    negative=ndarray, positive=ndarray, own=ndarray, direction=ndarray, rate=double, gap=double
)
cpdef pairwise_step(ndarray weights, ndarray z, double sign, double c, tuple means)
