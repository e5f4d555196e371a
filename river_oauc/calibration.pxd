from libc cimport math

from river_oauc.inputs.records cimport Record


cdef class Calibration(Record):
    cdef public object prior
    cdef public double slope, midpoint, log_odds
    cpdef fit(self, double mean_positive, double mean_negative, double variance, double odds)
    cpdef double probability(self, double score)


cdef class ScoreStatistics(Record):
    cdef public double _mean_square
    cdef public _ClassScores _negative, _positive
    cpdef add(self, double score, bint positive)
    cpdef fit(self, Calibration calibration, double level=*)


cdef class _ClassScores(Record):
    cdef public Py_ssize_t n
    cdef public double mean, variance
