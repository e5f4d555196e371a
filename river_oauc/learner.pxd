cimport cython
from numpy cimport ndarray

from river_oauc.calibration cimport Calibration
from river_oauc.inputs.records cimport Record
from river_oauc.inputs.vectorizer cimport Vectorizer


cdef class Learner(Record):
    cdef public Calibration _calibration
    cdef public object _lock

    cpdef _learn_example(self, object x, bint positive, double w)
    cpdef double _score_example(self, object x) except? -1.0


cdef class DenseLearner(Learner):
    cdef public Vectorizer _vectorizer

    cpdef _learn_example(self, object x, bint positive, double w)
    cpdef double _score_example(self, object x) except? -1.0
    cpdef _learn(self, ndarray x, bint positive, double w)
    cpdef double _score(self, ndarray x) except? -1.0
