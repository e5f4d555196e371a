"""The compiled functions of `rankers.ridge`."""

from libc.math cimport fabs, fmax, fmin, hypot, isnan, sqrt
cimport numpy as cnp

from river_oauc._compiled.common cimport dot, doubles, read_doubles, writable_integers

from river_oauc.rankers import ridge

cnp.import_array()

cdef double _LARGEST = ridge.LARGEST_STANDARDIZED
cdef double _MEMORY = ridge.UNITS_MEMORY
cdef double _SHARE = ridge.UNITS_SHARE
cdef double _OUTLIER = ridge.OUTLIER
cdef Py_ssize_t _BATCH_SIZE = ridge.BATCH_SIZE


def standardize(cnp.ndarray x not None, cnp.ndarray units not None):
    cdef cnp.npy_intp p = cnp.PyArray_SIZE(units) // 3, j
    cdef const double* value = read_doubles(x, p)
    cdef const double* mean = read_doubles(units, 3 * p) + p
    cdef const double* variance = mean + p
    array = cnp.PyArray_ZEROS(1, &p, cnp.NPY_DOUBLE, 0)
    cdef double* z = <double*>cnp.PyArray_DATA(array)
    cdef double t
    for j in range(p):
        if variance[j] > 0.0 and not isnan(value[j]):
            t = (value[j] - mean[j]) / sqrt(variance[j])
            # hypot is slow, and rarely needed.
            z[j] = t / (sqrt(1.0 + t * t / (_LARGEST * _LARGEST)) if fabs(t) < 1e100 else (
                hypot(1.0, t / _LARGEST)
            ))
    return array


def linear_scores(
    cnp.ndarray x not None, cnp.ndarray units not None, cnp.ndarray weights not None,
    cnp.ndarray biases not None,
):
    cdef cnp.ndarray array = standardize(x, units)
    cdef Py_ssize_t p = cnp.PyArray_SIZE(array), n = cnp.PyArray_SIZE(biases), i
    cdef const double* z = <double*>cnp.PyArray_DATA(array)
    cdef const double* weight = read_doubles(weights, n * p)
    cdef const double* bias = read_doubles(biases, n)
    return array, [dot(weight + i * p, z, p) + bias[i] for i in range(n)]


def track(
    cnp.ndarray weights not None, cnp.ndarray biases not None, cnp.ndarray z not None,
    double change,
):
    cdef Py_ssize_t p = cnp.PyArray_SIZE(z), n = cnp.PyArray_SIZE(biases), j
    cdef const double* value = read_doubles(z, p)
    cdef double* bias = doubles(biases, n)
    if not n:
        raise ValueError("there is no score")
    cdef double* weight = doubles(weights, n * p) + (n - 1) * p
    cdef double step = change / (1.0 + dot(value, value, p))
    for j in range(p):
        weight[j] += step * value[j]
    bias[n - 1] += step


def update_units(cnp.ndarray x not None, cnp.ndarray units not None, long long n_seen):
    cdef Py_ssize_t p = cnp.PyArray_SIZE(units) // 3, j
    cdef const double* value = read_doubles(x, p)
    cdef double* n = doubles(units, 3 * p)
    cdef double* mean = n + p
    cdef double* variance = mean + p
    cdef double memory = fmax(_MEMORY, _SHARE * n_seen), rate, deviation
    for j in range(p):
        if isnan(value[j]):
            continue
        n[j] += 1.0
        rate = 1.0 / fmin(n[j], memory)
        deviation = value[j] - mean[j]
        if variance[j] > 0.0:
            deviation /= fmax(fabs(deviation) / sqrt(variance[j]) / _OUTLIER, 1.0)
        mean[j] += rate * deviation
        variance[j] = (1.0 - rate) * (variance[j] + rate * deviation * deviation)


def add_vector(
    cnp.ndarray n not None, cnp.ndarray mean not None, cnp.ndarray waiting not None,
    cnp.ndarray n_waiting not None, cnp.ndarray x not None, bint positive, double weight,
):
    cdef Py_ssize_t size = cnp.PyArray_SIZE(x), p = cnp.PyArray_SIZE(mean) // 2, j
    cdef const double* value = read_doubles(x, size)
    cdef double* own_n = doubles(n, 2) + positive
    cdef double* own_mean = doubles(mean, 2 * p) + positive * p
    cdef double* row = doubles(waiting, 2 * _BATCH_SIZE * p) + positive * _BATCH_SIZE * p
    cdef cnp.int64_t* own_waiting = writable_integers(n_waiting, 2) + positive
    cdef double total = own_n[0] + weight, rate, root, deviation
    if size > p or not 0 <= own_waiting[0] < _BATCH_SIZE:
        raise ValueError("a vector is too long, or too many terms wait")
    row += own_waiting[0] * p
    rate, root = weight / total, sqrt(weight * own_n[0] / total)
    for j in range(size):
        deviation = value[j] - own_mean[j]
        own_mean[j] += rate * deviation
        row[j] = root * deviation
    own_n[0] = total
    own_waiting[0] += 1
