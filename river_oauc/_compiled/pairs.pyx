"""The compiled functions of `rankers.pairs`."""

from libc.math cimport fmax, sqrt
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, integers, read_doubles
from river_oauc._compiled.losses cimport add_score, pull_of

from river_oauc.rankers import pairs

cnp.import_array()

cdef enum:
    N_FACTORS = 8

if N_FACTORS != pairs.N_FACTORS:
    raise ImportError("compiled and numpy pairs have different sizes")

cdef double _NORM = pairs.NORM


cdef double scale_of(const double* x, Py_ssize_t n) noexcept:
    """Return what brings inputs to their norm."""
    cdef double square = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        square += x[i] * x[i]
    return _NORM / sqrt(square) if square else 0.0


cdef double add_up(
    const double* factors, Py_ssize_t n_rows, const cnp.int64_t* rows, const double* x,
    Py_ssize_t n, double scale, double* sums,
) noexcept:
    """Add up the terms of known entries, and return the score."""
    cdef double squares = 0.0, total = 0.0, term
    cdef const double* own
    cdef Py_ssize_t i, k
    for k in range(N_FACTORS):
        sums[k] = 0.0
    for i in range(n):
        if not 0 <= rows[i] < n_rows:
            continue
        own = factors + N_FACTORS * rows[i]
        for k in range(N_FACTORS):
            term = own[k] * (scale * x[i])
            sums[k] += term
            squares += term * term
    for k in range(N_FACTORS):
        total += sums[k] * sums[k]
    return 0.5 * (total - squares)


def pairs_score(
    cnp.ndarray factors not None, Py_ssize_t n_rows, cnp.ndarray rows not None,
    cnp.ndarray inputs not None,
):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(rows), size = cnp.PyArray_SIZE(factors) // N_FACTORS
    cdef const double* x = read_doubles(inputs, n)
    cdef double sums[N_FACTORS]
    return add_up(
        read_doubles(factors, N_FACTORS * size), min(n_rows, size), integers(rows, n), x, n,
        scale_of(x, n), sums,
    )


def pairs_step(
    cnp.ndarray factors not None, cnp.ndarray squares not None, cnp.ndarray scores not None,
    cnp.ndarray rows not None, cnp.ndarray inputs not None, double linear, bint positive,
    double weight,
):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(rows), size = cnp.PyArray_SIZE(factors) // N_FACTORS
    cdef Py_ssize_t i, k
    cdef const double* x = read_doubles(inputs, n)
    cdef const cnp.int64_t* row = integers(rows, n)
    cdef double* factor = doubles(factors, N_FACTORS * size)
    cdef double* square = doubles(squares, N_FACTORS * size)
    cdef double* class_scores = doubles(scores, 6)
    cdef double sums[N_FACTORS]
    cdef double scale = scale_of(x, n), pull = 0.0, curvature = 0.0, gradient, score, z
    cdef Py_ssize_t place
    for i in range(n):
        if not 0 <= row[i] < size:
            raise ValueError(f"{row[i]} is no row")
    score = add_up(factor, size, row, x, n, scale, sums)
    pull_of(class_scores, linear + score, positive, weight, &pull, &curvature)
    curvature = fmax(curvature, pull * pull)
    for i in range(n):
        z = scale * x[i]
        place = N_FACTORS * row[i]
        for k in range(N_FACTORS):
            gradient = z * (sums[k] - z * factor[place + k])
            square[place + k] += curvature * gradient * gradient
            factor[place + k] += pull * gradient / (1.0 + sqrt(square[place + k]))
    add_score(class_scores, linear + score, positive, weight)
    return score
