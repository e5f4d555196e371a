cimport cython
from libc cimport math
from numpy cimport ndarray

from river_oauc cimport blas, losses, vectors
from river_oauc.inputs cimport dicts
from river_oauc.learner cimport Learner
from river_oauc.linear.table cimport FeatureTable

cdef double _FINEST, _LEAST, MAX_SQUARED_NORM


cdef class SparseStep(Learner):
    cdef public object max_features
    cdef public FeatureTable _table
    cdef public Py_ssize_t _n_seen
    cdef public list _n, _mean, _scatter

    cpdef _learn_example(self, object x, bint positive, double w)
    cpdef double _score_example(self, object x) except? -1.0
    @cython.locals(
        table=FeatureTable,
        data=bytes,
        names=tuple,
        asked=tuple,
        last=tuple,
        example=tuple,
        values=ndarray,
        rows=ndarray,
        is_usual=bint,
    )
    cdef tuple _found(self, object x, bint learns)
    @cython.locals(
        table=FeatureTable,
        inputs=ndarray,
        numbers=ndarray,
        seconds=ndarray,
        levels=ndarray,
        deviations=ndarray,
        weights=ndarray,
        units=ndarray,
        scaled=ndarray,
        squared_length=double,
        scale=double,
        score=double,
    )
    cdef tuple _seen(self, tuple names, bytes data, ndarray rows, ndarray values)
    @cython.locals(
        table=FeatureTable,
        counts=list,
        means=list,
        scatters=list,
        own=Py_ssize_t,
        other=Py_ssize_t,
        sign=double,
        values=ndarray,
        numbers=ndarray,
        rows=ndarray,
        weights=ndarray,
        units=ndarray,
        inputs=ndarray,
        squares=ndarray,
        moves=ndarray,
        roots=ndarray,
        scale=double,
        score=double,
        n_before=double,
        n_other=double,
        n_own=double,
        n=Py_ssize_t,
        pull=double,
        balance=double,
        step=double,
        deviation=double,
    )
    cdef _learn(self, tuple example, bint positive, double w)
    @cython.locals(
        table=FeatureTable,
        their_units=ndarray,
        sizes=ndarray,
        ones=ndarray,
        drift=ndarray,
        seconds=ndarray,
        means=ndarray,
        finest=ndarray,
        n=Py_ssize_t,
        n_numbers=Py_ssize_t,
    )
    cdef _move_units(
        self,
        ndarray values,
        ndarray numbers,
        ndarray rows,
        ndarray units,
        ndarray inputs,
        ndarray roots,
        ndarray moves,
    )
    @cython.locals(n_negative=double, n_positive=double, mean_negative=double, mean_positive=double)
    cpdef _calibrate(self)
