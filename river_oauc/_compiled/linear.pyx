"""The compiled functions of `rankers.linear`."""

from libc.math cimport fmax, hypot, log, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dsymv, dsyr
cimport numpy as cnp

from river_oauc._compiled.common cimport dot, doubles, read_doubles, slope_of

from river_oauc.limits import MAX_SQUARED_NORM, divergence_error

cnp.import_array()

cdef double _max_squared_norm = MAX_SQUARED_NORM


def oauc_step(
    cnp.ndarray weights not None, cnp.ndarray n not None, cnp.ndarray mean not None,
    cnp.ndarray scatter not None, cnp.ndarray variance not None, cnp.ndarray x not None,
    bint positive, double weight, double eta, double l2, bint is_psi_m,
):
    cdef cnp.npy_intp p = cnp.PyArray_SIZE(weights), n_spare = 3 * p
    cdef double* w = doubles(weights, p)
    cdef double* count = doubles(n, 2)
    cdef double* means = doubles(mean, 2 * p)
    cdef double* scatters = doubles(scatter, 2 * p * p)
    cdef double* variances = doubles(variance, 2)
    cdef const double* xs = read_doubles(x, p)
    cdef cnp.ndarray spare = cnp.PyArray_EMPTY(1, &n_spare, cnp.NPY_DOUBLE, 0)
    cdef double* direction = <double*>cnp.PyArray_DATA(spare)
    cdef double* cov_w = direction + p
    cdef double* moved = cov_w + p
    cdef int size = <int>p, one = 1, own = positive, opposite = not positive, i
    cdef double y = 1.0 if positive else -1.0, zero = 0.0, factor
    cdef double spread, margin_coef, variance_coef, b, r
    if cnp.PyArray_SIZE(x) != p:
        raise ValueError("an array has another type, layout or size")
    if count[opposite]:
        for i in range(size):
            direction[i] = xs[i] - means[opposite * p + i]
        # A row-major lower triangle is a column-major upper one.
        factor = 1.0 / count[opposite]
        dsymv("U", &size, &factor, scatters + opposite * p * p, &size, w, &one, &zero, cov_w, &one)
        spread = fmax(dot(w, cov_w, p), 0.0)
        b = 1.0 - y * dot(w, direction, p)
        margin_coef, variance_coef = b, 1.0
        if is_psi_m:
            r = hypot(b, sqrt(spread))
            if r == 0.0:
                margin_coef, variance_coef = 0.5, 0.0
            else:
                variance_coef = 0.5 / r
                margin_coef = 0.5 * spread / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r
        margin_coef *= eta * weight * y
        variance_coef *= eta * weight
        factor = 1.0 - eta * l2
        for i in range(size):
            moved[i] = factor * w[i] + (margin_coef * direction[i] - variance_coef * cov_w[i])
        if not dot(moved, moved, p) <= _max_squared_norm:
            raise divergence_error()
        # All that can be refused is above this line.
        memcpy(w, moved, p * sizeof(double))
        variances[opposite] = spread
    factor = weight / (count[own] + weight)
    for i in range(size):
        direction[i] = xs[i] - means[own * p + i]
        means[own * p + i] += factor * direction[i]
    if count[own]:
        factor *= count[own]
        dsyr("U", &size, &factor, direction, &one, scatters + own * p * p, &size)
    count[own] += weight


def linear_score(cnp.ndarray weights not None, cnp.ndarray x not None):
    cdef Py_ssize_t p = cnp.PyArray_SIZE(weights)
    return dot(read_doubles(weights, p), read_doubles(x, p), p)


def linear_logit(
    cnp.ndarray weights not None, cnp.ndarray n not None, cnp.ndarray mean not None,
    cnp.ndarray variance not None, double score, bint empirical,
):
    cdef Py_ssize_t p = cnp.PyArray_SIZE(weights)
    cdef const double* w = read_doubles(weights, p)
    cdef const double* count = read_doubles(n, 2)
    cdef const double* means = read_doubles(mean, 2 * p)
    cdef const double* variances = read_doubles(variance, 2)
    if not (count[0] and count[1]):
        return score
    cdef double low = dot(w, means, p), high = dot(w, means + p, p)
    cdef double slope = slope_of(high - low, 0.5 * (variances[0] + variances[1]))
    cdef double logit = slope * (score - 0.5 * (low + high))
    return logit + log(count[1] / count[0]) if empirical else logit
