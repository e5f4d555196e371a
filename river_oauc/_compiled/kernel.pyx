"""The compiled functions of `rankers.kernel`."""

from libc.math cimport exp, fabs, hypot, pow, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dsymv
cimport numpy as cnp

from river_oauc._compiled.common cimport dot, doubles, read_doubles

from river_oauc.limits import MAX_SQUARED_NORM, divergence_error
from river_oauc.rankers.kernel import ROUNDING, SMALLEST_SQUARED_NORM, TIE

cnp.import_array()

cdef double _max_squared_norm = MAX_SQUARED_NORM
cdef double _rounding = ROUNDING
cdef double _smallest_squared_norm = SMALLEST_SQUARED_NORM
cdef double _tie = TIE


cdef cnp.ndarray empty(cnp.npy_intp size):
    return cnp.PyArray_EMPTY(1, &size, cnp.NPY_DOUBLE, 0)


cdef double squared_distance(const double* x, const double* y, Py_ssize_t n) noexcept:
    """Return |x - y|², as a sum in two parts, which the processor adds side by side."""
    cdef double a = 0.0, b = 0.0
    cdef Py_ssize_t i
    for i in range(0, n - 1, 2):
        a += (x[i] - y[i]) * (x[i] - y[i])
        b += (x[i + 1] - y[i + 1]) * (x[i + 1] - y[i + 1])
    if n & 1:
        a += (x[n - 1] - y[n - 1]) * (x[n - 1] - y[n - 1])
    return a + b


def similarity_row(
    cnp.ndarray x not None, cnp.ndarray vectors not None, Py_ssize_t n, double gamma,
    double coef0, double degree,
):
    if cnp.PyArray_NDIM(vectors) != 2 or not 0 <= n <= cnp.PyArray_DIM(vectors, 0):
        raise ValueError("the vectors are no matrix, or too few")
    cdef Py_ssize_t room = cnp.PyArray_DIM(vectors, 0), p = cnp.PyArray_DIM(vectors, 1), i
    cdef const double* xs = read_doubles(x, p)
    cdef const double* rows = read_doubles(vectors, room * p)
    cdef cnp.ndarray row = empty(room)
    cdef double* values = <double*>cnp.PyArray_DATA(row)
    for i in range(n):
        if degree == 0.0:
            values[i] = exp(-gamma * squared_distance(xs, rows + i * p, p))
        else:
            values[i] = gamma * dot(xs, rows + i * p, p) + coef0
            if degree != 1.0:
                values[i] = pow(values[i], degree)
    for i in range(n, room):
        values[i] = 0.0
    # False for NaN, too.
    return row if dot(values, values, n) <= _max_squared_norm else None


def kernel_score(cnp.ndarray coefficients not None, cnp.ndarray row not None):
    cdef Py_ssize_t room = cnp.PyArray_SIZE(coefficients)
    cdef const double* alpha = read_doubles(coefficients, room)
    cdef const double* values = read_doubles(row, room)
    cdef double lengths = dot(alpha, alpha, room) * dot(values, values, room)
    return dot(alpha, values, room), _rounding * sqrt(lengths)


def okauc_step(
    cnp.ndarray coefficients not None, cnp.ndarray scores not None, cnp.ndarray importance not None,
    double score, bint positive, double weight, double eta, double l2, bint is_psi_m,
):
    cdef Py_ssize_t room = cnp.PyArray_SIZE(coefficients), i
    cdef const double* alpha = read_doubles(coefficients, room)
    cdef const double* values = read_doubles(scores, room)
    cdef const double* opposite = read_doubles(importance, 2 * room) + (not positive) * room
    cdef double total = 0.0, mean, variance = 0.0, y = 1.0 if positive else -1.0
    cdef double b, r, margin_coef, variance_coef, coefficient, shrink = 1.0 - eta * l2
    cdef cnp.ndarray new = empty(room)
    cdef double* moved = <double*>cnp.PyArray_DATA(new)
    for i in range(room):
        total += opposite[i]
    if total == 0.0:
        memcpy(moved, alpha, room * sizeof(double))
        return new, 0.0
    mean = dot(opposite, values, room) / total
    for i in range(room):
        variance += opposite[i] * (values[i] - mean) * (values[i] - mean)
    variance /= total
    b = 1.0 - y * (score - mean)
    margin_coef, variance_coef = b, 1.0
    if is_psi_m:
        r = hypot(b, sqrt(variance))
        if r == 0.0:
            margin_coef, variance_coef = 0.5, 0.0
        else:
            margin_coef = 0.5 * variance / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r
            variance_coef = 0.5 / r
    coefficient = eta * weight * y * margin_coef
    variance_coef *= eta * weight
    for i in range(room):
        moved[i] = shrink * alpha[i]
        moved[i] -= opposite[i] / total * (coefficient + variance_coef * (values[i] - mean))
    if not dot(moved, moved, room) + coefficient * coefficient <= _max_squared_norm:
        raise divergence_error()
    return new, coefficient


cdef inline double share(double similarity, double norm, bint projects) noexcept:
    """Return what share of a coefficient passes to another example."""
    if not projects:
        return 1.0
    return similarity / norm if norm > _smallest_squared_norm else 0.0


def store_example(
    cnp.ndarray vectors not None, cnp.ndarray coefficients not None,
    cnp.ndarray importance not None, cnp.ndarray arrived not None, cnp.ndarray gram not None,
    cnp.ndarray x not None, cnp.ndarray row not None, double norm, bint positive, double weight,
    double coefficient, double arrival, Py_ssize_t removed, bint projects,
):
    cdef Py_ssize_t room = cnp.PyArray_SIZE(coefficients), p = cnp.PyArray_SIZE(x)
    cdef double* rows = doubles(vectors, room * p)
    cdef double* alpha = doubles(coefficients, room)
    cdef double* both = doubles(importance, 2 * room)
    cdef double* own = both + positive * room
    cdef double* ages = doubles(arrived, room)
    cdef double* grams = doubles(gram, room * room)
    cdef const double* xs = read_doubles(x, p)
    cdef const double* values = read_doubles(row, room)
    cdef cnp.ndarray spare = empty(room)
    cdef double* to_lost = <double*>cnp.PyArray_DATA(spare)
    cdef double best = 0.0, suitability, before
    cdef Py_ssize_t slot = -1, heir = -1, unused = -1, n_own = 0, i, j, oldest
    for i in range(room):
        n_own += own[i] > 0.0
        if unused < 0 and both[i] == 0.0 and both[room + i] == 0.0:
            unused = i
    if removed < 0:
        if unused < 0:
            raise ValueError("there is no room for another example")
        slot = unused
    for j in range(removed + 1 if removed < n_own else 0):
        # The oldest, the second oldest, ...
        oldest = -1
        for i in range(room):
            if own[i] > 0.0 and (slot < 0 or ages[i] > ages[slot]):
                if oldest < 0 or ages[i] < ages[oldest]:
                    oldest = i
        slot = oldest
    memcpy(to_lost, values, room * sizeof(double))
    if slot >= 0:
        memcpy(to_lost, grams + slot * room, room * sizeof(double))
        to_lost[slot] = values[slot]
        memcpy(rows + slot * p, xs, p * sizeof(double))
        for i in range(room):
            grams[slot * room + i] = grams[i * room + slot] = values[i]
        grams[slot * room + slot] = norm
        coefficient, alpha[slot] = alpha[slot], coefficient
        own[slot], ages[slot] = weight, arrival
    if removed < 0:
        return
    for i in range(room):
        if own[i] > 0.0:
            suitability = to_lost[i] * share(to_lost[i], grams[i * room + i], projects)
            if heir < 0 or suitability > best:
                best, heir = suitability, i
    for i in range(room):
        if own[i] > 0.0 and ages[i] < ages[heir]:
            suitability = to_lost[i] * share(to_lost[i], grams[i * room + i], projects)
            if suitability >= best - _tie * fabs(best):
                heir = i
    if heir >= 0:
        before = alpha[heir]
        alpha[heir] += coefficient * share(to_lost[heir], grams[heir * room + heir], projects)
        if not dot(alpha, alpha, room) <= _max_squared_norm:
            alpha[heir] = before


def score_stored(
    cnp.ndarray gram not None, cnp.ndarray coefficients not None, cnp.ndarray importance not None,
    cnp.ndarray scores not None,
):
    cdef int room = <int>cnp.PyArray_SIZE(coefficients), one = 1, i, own
    cdef double* grams = <double*>read_doubles(gram, <Py_ssize_t>room * room)
    cdef double* alpha = <double*>read_doubles(coefficients, room)
    cdef const double* weights = read_doubles(importance, 2 * room)
    cdef double* values = doubles(scores, room)
    cdef double factor = 1.0, zero = 0.0, total, level = 0.0
    cdef int n_classes = 0
    if room:
        dsymv("U", &room, &factor, grams, &room, alpha, &one, &zero, values, &one)
    for own in range(2):
        total = 0.0
        for i in range(room):
            total += weights[own * room + i]
        if total:
            level += dot(weights + own * room, values, room) / total
            n_classes += 1
    return level / n_classes if n_classes else 0.0
