"""The compiled function of `rankers.landmarks`."""

from libc.math cimport exp
cimport numpy as cnp

from river_oauc._compiled.common cimport dot, read_doubles

cnp.import_array()


def kernel_score(
    cnp.ndarray landmarks not None, Py_ssize_t n, double rate, cnp.ndarray weights not None,
    double bias, cnp.ndarray z not None,
):
    cdef Py_ssize_t p = cnp.PyArray_SIZE(z), i, j
    cdef cnp.npy_intp size = cnp.PyArray_DIM(landmarks, 0) if cnp.PyArray_NDIM(landmarks) else 0
    cdef const double* x = read_doubles(z, p)
    cdef const double* landmark = read_doubles(landmarks, size * p)
    cdef const double* weight = read_doubles(weights, size)
    cdef double a, b, c, d
    if cnp.PyArray_SIZE(landmarks) != size * p or not 0 <= n <= size:
        raise ValueError("an array has another type, layout or size")
    array = cnp.PyArray_ZEROS(1, &size, cnp.NPY_DOUBLE, 0)
    cdef double* similar = <double*>cnp.PyArray_DATA(array)
    for i in range(n):
        # A sum in four parts, which the processor adds side by side.
        a = b = c = d = 0.0
        j = 0
        while j + 4 <= p:
            a += (x[j] - landmark[j]) * (x[j] - landmark[j])
            b += (x[j + 1] - landmark[j + 1]) * (x[j + 1] - landmark[j + 1])
            c += (x[j + 2] - landmark[j + 2]) * (x[j + 2] - landmark[j + 2])
            d += (x[j + 3] - landmark[j + 3]) * (x[j + 3] - landmark[j + 3])
            j += 4
        while j < p:
            a += (x[j] - landmark[j]) * (x[j] - landmark[j])
            j += 1
        similar[i] = exp(-rate * ((a + b) + (c + d)))
        landmark += p
    return array, bias + dot(similar, weight, n)
