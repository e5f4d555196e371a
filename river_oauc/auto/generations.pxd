cimport cython
from numpy cimport ndarray

from river_oauc.auto.engine cimport Engine
from river_oauc.auto.judge cimport shares_of
from river_oauc.inputs.records cimport Record


cdef class Generations(Record):
    cdef public bint _with_kernels, _looks_for_change
    cdef public list engines, _latest, _n_judged
    cdef public ndarray shares, _leads
    cdef public double _recent_rate, _long_run_rate, _n_compared
    cdef public Py_ssize_t _trial

    @cython.locals(engine=Engine, score=double, share=double)
    cpdef double score(self, ndarray x) except? -1.0
    @cython.locals(engine=Engine, results=list)
    cpdef double learn(self, ndarray x, bint positive, double w) except? -1.0
    @cython.locals(n_judged=list, n=Py_ssize_t)
    cpdef bint _breaks(self, double win, bint positive) except -1
