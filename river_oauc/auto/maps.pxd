cimport cython
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.inputs.records cimport Record


cdef class KernelMaps(Record):
    cdef public ndarray _relevance, _landmarks, _weighted, _squared_norms
    cdef public double _laplace, _gaussian
    cdef public list grams

    @cython.locals(
        n_landmarks=Py_ssize_t, both=ndarray, laplace=ndarray, gaussian=ndarray
    )
    cpdef ndarray similarities(self, ndarray z)
