"""What the compiled functions share: checked pointers to the data of arrays, and a dot product."""

from libc.math cimport fabs, fmax, fmin, sqrt
cimport numpy as cnp

cdef extern from *:
    """
    #define MAX_SEPARATION 4.0
    #define MIN_SEPARATION 0.1
    #define SMALLEST_DEVIATION 1e-150
    """
    const double MAX_SEPARATION, MIN_SEPARATION, SMALLEST_DEVIATION


cdef inline double* doubles(cnp.ndarray array, Py_ssize_t size) except NULL:
    """Return the numbers of a writable contiguous array of this size."""
    if not (
        cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE
        and cnp.PyArray_ISCARRAY(array)
        and cnp.PyArray_SIZE(array) == size
    ):
        raise ValueError("an array has another type, layout or size")
    return <double*>cnp.PyArray_DATA(array)


cdef inline const double* read_doubles(cnp.ndarray array, Py_ssize_t size) except NULL:
    """Return the numbers of a contiguous array of at least this size, which may be read-only."""
    if not (
        cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE
        and cnp.PyArray_ISCARRAY_RO(array)
        and cnp.PyArray_SIZE(array) >= size
    ):
        raise ValueError("an array has another type, layout or size")
    return <const double*>cnp.PyArray_DATA(array)


cdef inline cnp.int64_t* integers(cnp.ndarray array, Py_ssize_t size) except NULL:
    """Return the integers of a contiguous array of this size, which may be read-only."""
    if not (
        cnp.PyArray_TYPE(array) == cnp.NPY_INT64
        and cnp.PyArray_ISCARRAY_RO(array)
        and cnp.PyArray_SIZE(array) == size
    ):
        raise ValueError("an array has another type, layout or size")
    return <cnp.int64_t*>cnp.PyArray_DATA(array)


cdef inline cnp.int64_t* writable_integers(cnp.ndarray array, Py_ssize_t size) except NULL:
    """Return the integers of a writable contiguous array of this size."""
    if not cnp.PyArray_ISWRITEABLE(array):
        raise ValueError("an array has another type, layout or size")
    return integers(array, size)


cdef inline double dot(const double* x, const double* y, Py_ssize_t n) noexcept:
    """Return the inner product, as a sum in four parts, which the processor adds side by side."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
        i += 4
    while i < n:
        a += x[i] * y[i]
        i += 1
    return (a + b) + (c + d)


cdef inline double slope_of(double gap, double variance) noexcept:
    """Return the logits per unit of the score, as `calibration.slope`."""
    cdef double deviation = fmax(sqrt(variance), fabs(gap) / MAX_SEPARATION)
    if deviation < SMALLEST_DEVIATION:
        return 1.0
    return fmin(fmax(gap / deviation, MIN_SEPARATION), MAX_SEPARATION) / deviation
