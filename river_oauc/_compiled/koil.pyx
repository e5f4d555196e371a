"""The compiled function of `rankers.koil`."""

from libc.math cimport fabs, fmax
cimport numpy as cnp

from river_oauc._compiled.common cimport dot, read_doubles

from river_oauc.limits import MAX_SQUARED_NORM, divergence_error
from river_oauc.rankers.kernel import TIE

cnp.import_array()

cdef double _max_squared_norm = MAX_SQUARED_NORM
cdef double _tie = TIE


def koil_step(
    cnp.ndarray coefficients not None, cnp.ndarray scores not None, cnp.ndarray importance not None,
    cnp.ndarray arrived not None, cnp.ndarray row not None, double score, bint positive,
    double eta, double weight, Py_ssize_t k, bint is_squared,
):
    cdef cnp.npy_intp room = cnp.PyArray_SIZE(coefficients)
    cdef const double* alpha = read_doubles(coefficients, room)
    cdef const double* values = read_doubles(scores, room)
    cdef const double* opposite = read_doubles(importance, 2 * room) + (not positive) * room
    cdef const double* own = read_doubles(importance, 2 * room) + positive * room
    cdef const double* ages = read_doubles(arrived, room)
    cdef const double* similarity = read_doubles(row, room)
    cdef cnp.ndarray new = cnp.PyArray_EMPTY(1, &room, cnp.NPY_DOUBLE, 0)
    cdef cnp.ndarray spare = cnp.PyArray_EMPTY(1, &room, cnp.NPY_DOUBLE, 0)
    cdef double* moved = <double*>cnp.PyArray_DATA(new)
    cdef double* excess = <double*>cnp.PyArray_DATA(spare)
    cdef double y = 1.0 if positive else -1.0, step = eta * weight * y, total = 0.0, slope, gap, margin
    cdef Py_ssize_t n_own = 0, n_opposite = 0, n_pairs = 0, i, j, nearest
    for i in range(room):
        moved[i] = (1.0 - eta) * alpha[i]
        n_own += own[i] > 0.0
        n_opposite += opposite[i] > 0.0
        # The hinge loss of a pair that counts, or 0.
        excess[i] = fmax(y * (values[i] - (score - y)), 0.0) if opposite[i] > 0.0 else 0.0
        n_pairs += excess[i] > 0.0
    if not n_opposite or not (n_own or n_pairs):
        total = 1.0
    for i in range(k if n_pairs > k else room):
        nearest = i
        if n_pairs > k:
            # Of those that are left, the most similar one; of tied ones, the oldest.
            nearest = -1
            for j in range(room):
                if excess[j] > 0.0:
                    if nearest >= 0:
                        gap = similarity[j] - similarity[nearest]
                        margin = _tie * fabs(similarity[nearest])
                        if gap < -margin or gap <= margin and ages[j] > ages[nearest]:
                            continue
                    nearest = j
        if excess[nearest] > 0.0:
            slope = 2.0 * excess[nearest] if is_squared else 1.0
            moved[nearest] -= step * slope
            total += slope
            excess[nearest] = 0.0
    step *= total
    if not dot(moved, moved, room) + step * step <= _max_squared_norm:
        raise divergence_error()
    return new, step
