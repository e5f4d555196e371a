cimport cython
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.inputs.records cimport Record

cdef double MAX_SQUARED_NORM, _SMALLEST_NORM


cdef class SupportSet(Record):
    cdef public object kernel, policy, compensation, _rng
    cdef public tuple budgets, _last_row
    cdef public list n_offered, n, n_stored, totals, _capacities, importance
    cdef public ndarray vectors, gram, coefficients, arrival, _inverse_norms
    cdef object __weakref__

    cdef Py_ssize_t _start(self, bint positive) except -1
    @cython.locals(
        n_stored=Py_ssize_t, data=bytes, last_n_stored=Py_ssize_t, last_data=bytes, row=ndarray
    )
    cpdef ndarray row(self, ndarray x)
    @cython.locals(row=ndarray)
    cpdef ndarray _similarities(self, ndarray x)
    cpdef double score(self, ndarray row) except? -1.0
    cpdef ndarray scores(self)
    @cython.locals(total=double)
    cpdef double mean(self, ndarray values, bint positive) except? -1.0
    @cython.locals(
        n=Py_ssize_t,
        is_full=bint,
        start=Py_ssize_t,
        stop=Py_ssize_t,
        slot=Py_ssize_t,
        lost=double,
        importance=ndarray,
        similarities=ndarray,
    )
    cpdef bint insert(
        self,
        ndarray x,
        ndarray row,
        double squared_norm,
        bint positive,
        double coefficient,
        double w=*,
    ) except -1
    @cython.locals(budget=Py_ssize_t)
    cdef Py_ssize_t _given_up(self, bint positive, Py_ssize_t start) except? -1
    @cython.locals(
        stop=Py_ssize_t,
        arrival=ndarray,
        shares=ndarray,
        position=Py_ssize_t,
        heir=Py_ssize_t,
        coefficients=ndarray,
        own=double,
    )
    cdef _pass_on(self, double coefficient, ndarray similarities, Py_ssize_t start)


cdef double _inverse(double squared_norm) except? -1.0
@cython.locals(largest=double, tied=ndarray)
cpdef Py_ssize_t nearest(ndarray similarities, ndarray arrival) except -1
