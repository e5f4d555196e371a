cimport cython
from numpy cimport ndarray

from river_oauc cimport blas, vectors
from river_oauc.stats.moments cimport ForgettingMoments


@cython.locals(
    negative=ForgettingMoments,
    positive=ForgettingMoments,
    n=double,
    covariance=ndarray,
    gap=ndarray,
    bias=double,
    matrix=ndarray,
    diagonal=ndarray,
    weights=ndarray,
    failure=int,
    strength=double,
    variance=double,
    size=Py_ssize_t,
)
cpdef list closed_forms(tuple classes, tuple strengths, ndarray metric=*)
