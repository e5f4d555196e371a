cimport cython
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.auto.closed_form cimport closed_forms
from river_oauc.auto.experts cimport Newton, pairwise_step, tracking_step
from river_oauc.auto.judge cimport Judge
from river_oauc.auto.landmarks cimport KernelExperts
from river_oauc.inputs.records cimport Record
from river_oauc.stats.moments cimport ForgettingMoments
from river_oauc.stats.units cimport Units


cdef class Engine(Record):
    cdef public Units units
    cdef public list names, _n
    cdef public Judge judge
    cdef public ndarray shares, _linear
    cdef public Py_ssize_t _n_seen, _next_at_rest, _next_forgetting
    cdef public tuple _at_rest, _recent
    cdef public Newton _newton
    cdef public KernelExperts _kernel

    cpdef double score(self, ndarray x) except? -1.0
    @cython.locals(with_one=ndarray, scores=ndarray)
    cpdef tuple _expert_scores(self, ndarray z)
    @cython.locals(
        units=Units,
        z=ndarray,
        scores=ndarray,
        with_one=ndarray,
        score=double,
        other=Py_ssize_t,
        moments=ForgettingMoments,
    )
    cpdef tuple learn(self, ndarray x, bint positive, double w)
    @cython.locals(
        sign=double, n_other=double, c=double, negative=ForgettingMoments, positives=ForgettingMoments
    )
    cdef _step(self, ndarray with_one, bint positive, double w)
    @cython.locals(
        negative=ForgettingMoments,
        positive=ForgettingMoments,
        newton=ndarray,
        weights=ndarray,
        scaled=ndarray,
        gap=double,
    )
    cpdef _scale_newton(self)
    @cython.locals(n_seen=Py_ssize_t, wait=Py_ssize_t)
    cpdef _solve(self)
    cpdef _set_linear(self, Py_ssize_t row, ndarray weights, double bias)
