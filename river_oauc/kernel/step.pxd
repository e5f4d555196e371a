cimport cython
from libc cimport math
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.calibration cimport ScoreStatistics
from river_oauc.kernel.support cimport SupportSet
from river_oauc.learner cimport DenseLearner

cdef double MAX_SQUARED_NORM


cdef class KernelStep(DenseLearner):
    cdef public object kernel
    cdef public SupportSet _support
    cdef public ScoreStatistics _statistics
    cdef public ndarray _scores
    cdef public list _means
    cdef public double _level

    cpdef tuple _step(self, ndarray row, double score, bint positive, double w)
    cpdef bint _stores(self, double coefficient) except -1
    @cython.locals(support=SupportSet, score=double)
    cpdef double _score(self, ndarray x) except? -1.0
    @cython.locals(
        support=SupportSet,
        row=ndarray,
        score=double,
        itself=double,
        coefficients=ndarray,
        coefficient=double,
        squared_length=double,
    )
    cpdef _learn(self, ndarray x, bint positive, double w)
    @cython.locals(
        support=SupportSet, scores=ndarray, negative=double, positive=double, n_classes=double
    )
    cpdef _find_level(self)


cdef class MomentStep(KernelStep):
    cdef public object l2, lr

    @cython.locals(
        support=SupportSet,
        other=bint,
        sign=double,
        importance=ndarray,
        total=double,
        mean=double,
        deviations=ndarray,
        weighted_deviations=ndarray,
        variance=double,
        pull=double,
        spread=double,
        l2=double,
        step=double,
        shrink=double,
        coefficient=double,
        coefficients=ndarray,
        n_slots=Py_ssize_t,
    )
    cpdef tuple _step(self, ndarray row, double score, bint positive, double w)


cdef class NearestStep(KernelStep):
    cdef public object C, eta, k, loss

    @cython.locals(
        support=SupportSet, sign=double, step=double, coefficients=ndarray, bound=double
    )
    cpdef tuple _step(self, ndarray row, double score, bint positive, double w)
    cpdef bint _stores(self, double coefficient) except -1
