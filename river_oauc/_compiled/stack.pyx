"""The compiled function of `rankers.stack`."""

from libc.math cimport exp, fmax, fmin, sqrt
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, read_doubles
from river_oauc._compiled.losses cimport sigmoid

from river_oauc.rankers import stack

cnp.import_array()

cdef enum:
    MAX_SIZE = 16

cdef double _KEPT = 1.0 - 1.0 / stack.MEMORY
cdef double _SMALLEST_VARIANCE = stack.SMALLEST_VARIANCE
cdef double _MAX_WEIGHT = stack.MAX_WEIGHT
cdef double _MAX_SCORE = stack.MAX_SCORE


def stack_step(
    cnp.ndarray information not None, cnp.ndarray vector not None, cnp.ndarray weights not None,
    cnp.ndarray class_weights not None, cnp.ndarray precision not None, cnp.ndarray prior not None,
    cnp.ndarray scores not None, bint positive, double weight,
):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(vector), i, j
    if n > MAX_SIZE or cnp.PyArray_SIZE(scores) != n - 1:
        raise ValueError("there are too many scores, or too few")
    cdef double* A = doubles(information, n * n)
    cdef double* b = doubles(vector, n)
    cdef double* beta = doubles(weights, n)
    cdef double* classes = doubles(class_weights, 2)
    cdef const double* certain = read_doubles(precision, n)
    cdef const double* before = read_doubles(prior, n)
    cdef const double* score = read_doubles(scores, n - 1)
    cdef double u[MAX_SIZE]
    cdef double matrix[MAX_SIZE][MAX_SIZE]
    cdef double right[MAX_SIZE]
    cdef double logit = 0.0, p, variance
    classes[0] *= _KEPT
    classes[1] *= _KEPT
    classes[positive] += weight
    weight = fmin(weight, _MAX_WEIGHT)
    weight *= sqrt(fmin(classes[0], classes[1]) / classes[positive])
    for i in range(n):
        u[i] = fmin(fmax(score[i], -_MAX_SCORE), _MAX_SCORE) if i < n - 1 else 1.0
        logit += beta[i] * u[i]
    p = sigmoid(logit)
    variance = fmax(p * (1.0 - p), _SMALLEST_VARIANCE)
    for i in range(n):
        b[i] = _KEPT * b[i] + weight * (variance * logit + positive - p) * u[i]
        right[i] = b[i] + certain[i] * before[i]
        for j in range(n):
            A[n * i + j] = _KEPT * A[n * i + j] + weight * variance * u[i] * u[j]
            matrix[i][j] = A[n * i + j]
        matrix[i][i] += certain[i]
    solve(matrix, right, beta, n)


cdef void solve(
    double matrix[MAX_SIZE][MAX_SIZE], double* right, double* solution, Py_ssize_t n
) noexcept:
    """Solve a positive definite system by elimination."""
    cdef Py_ssize_t i, j, k
    cdef double factor
    for i in range(n):
        for j in range(i + 1, n):
            factor = matrix[j][i] / matrix[i][i]
            right[j] -= factor * right[i]
            for k in range(i, n):
                matrix[j][k] -= factor * matrix[i][k]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            right[i] -= matrix[i][k] * solution[k]
        solution[i] = right[i] / matrix[i][i]
