cimport cython
from libc cimport math
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.inputs.records cimport Record


@cython.locals(shares=ndarray)
cpdef ndarray shares_of(ndarray leads, double n)


cdef class Judge(Record):
    cdef public ndarray leads, aucs, _recent
    cdef public double _n_pairs
    cdef public list _weights, _n_stored

    @cython.locals(
        own=Py_ssize_t,
        other=Py_ssize_t,
        n_recent=Py_ssize_t,
        gaps=ndarray,
        wins=ndarray,
        weights=list,
        negative=double,
        positives=double,
        rate=double,
        n_new=double,
    )
    cpdef compare(self, ndarray scores, bint positive, double w, double n_other)
    @cython.locals(negative=double, positive=double, total=double)
    cpdef ndarray shares(self)
