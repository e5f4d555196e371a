cimport cython
from libc cimport math

from river_oauc.calibration cimport Calibration
from river_oauc.inputs.records cimport Record


cdef class ProgressiveScores(Record):
    cdef public list _n, _means, _variances
    cdef public double _slope, _total, _share

    @cython.locals(
        n=list,
        means=list,
        variances=list,
        own=Py_ssize_t,
        n_scores=Py_ssize_t,
        rate=double,
        mean=double,
        deviation=double,
        variance=double,
        slope=double,
    )
    cpdef add(self, double score, bint positive, double w, bint both_seen)
    @cython.locals(share=double)
    cpdef set(self, Calibration calibration)
