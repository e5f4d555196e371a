"""The compiled functions of `rankers.counts`."""

from libc.math cimport log, sqrt
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, integers, read_doubles

from river_oauc.rankers import counts as constants

cnp.import_array()

cdef double _SHRINKAGE = constants.SHRINKAGE
cdef double _USUAL_SCORE = constants.USUAL_SCORE


cdef double total_of(
    const double* counts, Py_ssize_t n_rows, const double* class_weights,
    const cnp.int64_t* rows, Py_ssize_t n,
) noexcept:
    """Return the sum of the log odds of the known entries, over the root of the number of all."""
    cdef double weight = class_weights[0] + class_weights[1] + 1.0
    cdef double negative = _SHRINKAGE * (class_weights[0] + 0.5) / weight
    cdef double positive = _SHRINKAGE * (class_weights[1] + 0.5) / weight
    cdef double base = log(positive / negative), total = 0.0
    cdef const double* own
    cdef Py_ssize_t i
    for i in range(n):
        if 0 <= rows[i] < n_rows:
            own = counts + 2 * rows[i]
            total += log((own[1] + positive) / (own[0] + negative)) - base
    return total / sqrt(n) if n else 0.0


cdef inline double in_units(
    double total, const double* class_weights, double sum_of_squares
) noexcept:
    cdef double n = class_weights[0] + class_weights[1] + 1.0
    return total * _USUAL_SCORE / sqrt((sum_of_squares + total * total + 1.0) / n)


def counts_score(
    cnp.ndarray counts not None, Py_ssize_t n_rows, cnp.ndarray class_weights not None,
    cnp.ndarray sum_of_squares not None, cnp.ndarray rows not None,
):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(rows), size = cnp.PyArray_SIZE(counts) // 2
    cdef const double* weights = read_doubles(class_weights, 2)
    cdef double total = total_of(
        read_doubles(counts, 2 * size), min(n_rows, size), weights, integers(rows, n), n
    )
    return in_units(total, weights, read_doubles(sum_of_squares, 1)[0])


def counts_step(
    cnp.ndarray counts not None, cnp.ndarray class_weights not None,
    cnp.ndarray sum_of_squares not None, cnp.ndarray rows not None, bint positive, double weight,
):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(rows), size = cnp.PyArray_SIZE(counts) // 2, i
    cdef const cnp.int64_t* row = integers(rows, n)
    cdef double* count = doubles(counts, 2 * size)
    cdef double* weights = doubles(class_weights, 2)
    cdef double* squares = doubles(sum_of_squares, 1)
    for i in range(n):
        if not 0 <= row[i] < size:
            raise ValueError(f"{row[i]} is no row")
    cdef double total = total_of(count, size, weights, row, n)
    cdef double score = in_units(total, weights, squares[0])
    squares[0] += weight * total * total
    for i in range(n):
        count[2 * row[i] + positive] += weight
    weights[positive] += weight
    return score
