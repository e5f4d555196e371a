cimport cython
from numpy cimport ndarray

from river_oauc cimport blas
from river_oauc.learner cimport DenseLearner
from river_oauc.stats.moments cimport Centroid

cdef double MAX_SQUARED_NORM


cdef class GradientStep(DenseLearner):
    cdef public object l2, lr
    cdef public ndarray _weights
    cdef public Py_ssize_t _n_seen, _n_fits, _next_fit
    cdef public Centroid _positive, _negative
    cdef public double _half_gap

    cpdef double _score(self, ndarray x) except? -1.0
    @cython.locals(
        own=Centroid,
        other=Centroid,
        sign=double,
        old=ndarray,
        direction=ndarray,
        spread_direction=ndarray,
        weights=ndarray,
        pull=double,
        spread=double,
        l2=double,
        step=double,
        n_seen=Py_ssize_t,
    )
    cpdef _learn(self, ndarray x, bint positive, double w)
    @cython.locals(positive=Centroid, negative=Centroid)
    cpdef _fit_calibration(self, Py_ssize_t n_seen, ndarray weights)
