"""The functions of `blas.py`, compiled: nothing but the way from arrays to SciPy's BLAS."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.string cimport memcpy
cimport numpy as cnp
from numpy cimport ndarray

from scipy.linalg import cython_blas, cython_lapack

__all__ = [
    "dasum",
    "daxpy",
    "dcopy",
    "ddot",
    "dposv",
    "dscal",
    "dsymv",
    "dsyr",
    "dsyrk",
    "idamax",
    "interruptible",
    "matvec",
    "row_of",
    "symmetric_matvec",
]

cnp.import_array()

cdef extern from *:
    """
    #ifndef RIVER_OAUC_DIGEST
    #define RIVER_OAUC_DIGEST ""
    #endif
    """
    const char* RIVER_OAUC_DIGEST

# Of which sources this is; see `native.digest`.
digest = RIVER_OAUC_DIGEST.decode()

ctypedef int* integer
ctypedef double* doubles


cdef void* _function(name, library=cython_blas) except NULL:
    # Whatever the signature is called in this version of SciPy.
    capsule = library.__pyx_capi__[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


ctypedef void (*_axpy)(integer n, doubles a, doubles x, integer incx, doubles y, integer incy) noexcept
ctypedef void (*_copy)(integer n, doubles x, integer incx, doubles y, integer incy) noexcept
ctypedef double (*_dot)(integer n, doubles x, integer incx, doubles y, integer incy) noexcept
ctypedef void (*_scal)(integer n, doubles a, doubles x, integer incx) noexcept
ctypedef void (*_symv)(
    char* uplo, integer n, doubles alpha, doubles a, integer lda, doubles x, integer incx,
    doubles beta, doubles y, integer incy,
) noexcept
ctypedef void (*_gemv)(
    char* trans, integer m, integer n, doubles alpha, doubles a, integer lda, doubles x,
    integer incx, doubles beta, doubles y, integer incy,
) noexcept
ctypedef void (*_posv)(
    char* uplo, integer n, integer n_columns, doubles a, integer lda, doubles b, integer ldb,
    integer info,
) noexcept
ctypedef void (*_syr)(
    char* uplo, integer n, doubles alpha, doubles x, integer incx, doubles a, integer lda
) noexcept

ctypedef void (*_syrk)(
    char* uplo, char* trans, integer n, integer k, doubles alpha, doubles a, integer lda,
    doubles beta, doubles c, integer ldc,
) noexcept
ctypedef double (*_asum)(integer n, doubles x, integer incx) noexcept
ctypedef int (*_amax)(integer n, doubles x, integer incx) noexcept

cdef _asum asum = <_asum>_function("dasum")
cdef _amax amax = <_amax>_function("idamax")
cdef _axpy axpy = <_axpy>_function("daxpy")
cdef _copy copy = <_copy>_function("dcopy")
cdef _dot dot = <_dot>_function("ddot")
cdef _gemv gemv = <_gemv>_function("dgemv")
cdef _posv posv = <_posv>_function("dposv", cython_lapack)
cdef _scal scal = <_scal>_function("dscal")
cdef _symv symv = <_symv>_function("dsymv")
cdef _syr syr = <_syr>_function("dsyr")
cdef _syrk syrk = <_syrk>_function("dsyrk")

cdef char UPPER = b"U", LOWER = b"L", AS_IT_IS = b"N", TRANSPOSED = b"T"
cdef int ONE = 1
cdef double NOTHING = 0.0, UNIT = 1.0


cdef int _has_long_integers() except -1:
    """Whether BLAS reads 64 bits where it is given 32: here, minus a lot in the place of 1."""
    cdef long long n = -(1LL << 32) + 1
    cdef double two = 2.0
    return dot(<integer>&n, &two, <integer>&n, &two, <integer>&n) != 4.0


if _has_long_integers():
    raise ImportError("the BLAS of this SciPy takes 64-bit integers")


cdef inline doubles _data(ndarray x) except NULL:
    """Where the numbers of an array are, if they are doubles."""
    if cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE:
        raise TypeError("not an array of doubles")
    return <doubles>cnp.PyArray_DATA(x)


cdef inline int _step(ndarray x) except -1:
    """How far the numbers of an array stand apart."""
    if cnp.PyArray_ISONESEGMENT(x):
        return 1
    if cnp.PyArray_NDIM(x) != 1 or cnp.PyArray_STRIDE(x, 0) <= 0:
        raise TypeError("not an array of doubles in a row")
    return <int>(cnp.PyArray_STRIDE(x, 0) // sizeof(double))


cdef inline int _length(ndarray x, ndarray y) except -1:
    """The length of an array that is at most as long as another one."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x)
    if cnp.PyArray_SIZE(y) < n:
        raise ValueError(f"arrays of {n} and {cnp.PyArray_SIZE(y)} numbers")
    return <int>n


cdef inline int _any_order(ndarray a, ndarray x) except -1:
    """The order of a square matrix that fits a vector."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x)
    if cnp.PyArray_NDIM(a) != 2 or cnp.PyArray_DIM(a, 0) != n or cnp.PyArray_DIM(a, 1) != n:
        raise ValueError(f"no square matrix for a vector of {n} numbers")
    return <int>n


cdef inline int _order(ndarray a, ndarray x) except -1:
    """The same of a column-major one only."""
    cdef int n = _any_order(a, x)
    if not cnp.PyArray_IS_F_CONTIGUOUS(a):
        raise TypeError("not a column-major matrix")
    return n


cpdef double dasum(ndarray x) except? -1.0:
    cdef int length = <int>cnp.PyArray_SIZE(x), step = _step(x)
    return asum(&length, _data(x), &step)


cpdef object daxpy(
    ndarray x,
    ndarray y,
    Py_ssize_t n=-1,
    double a=1.0,
    Py_ssize_t offx=0,
    int incx=1,
    Py_ssize_t offy=0,
):
    cdef int length = <int>(cnp.PyArray_SIZE(x) if n < 0 else n), step = _step(x), to = _step(y)
    if (
        incx != 1
        or not 0 <= offx <= cnp.PyArray_SIZE(x) - length
        or not 0 <= offy <= cnp.PyArray_SIZE(y) - length
    ):
        raise ValueError(f"arrays of {cnp.PyArray_SIZE(x)} and {cnp.PyArray_SIZE(y)} numbers")
    axpy(&length, &a, _data(x) + offx * step, &step, _data(y) + offy * to, &to)


cpdef object dcopy(ndarray x, ndarray y):
    cdef int length = _length(x, y), step = _step(x), to = _step(y)
    copy(&length, _data(x), &step, _data(y), &to)


cpdef double ddot(ndarray x, ndarray y) except? -1.0:
    cdef int length = _length(x, y), step = _step(x), other = _step(y)
    return dot(&length, _data(x), &step, _data(y), &other)


cpdef tuple dposv(ndarray a, ndarray b, int lower, int overwrite_a):
    cdef int n = _order(a, b), info = 0
    cdef cnp.npy_intp size = n
    cdef ndarray x = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_DOUBLE)
    dcopy(b, x)
    posv(&UPPER, &n, &ONE, _data(a), &n, _data(x), &n, &info)
    return a, x, info


cpdef object dscal(double a, ndarray x):
    cdef int length = <int>cnp.PyArray_SIZE(x), step = _step(x)
    scal(&length, &a, _data(x), &step)


cpdef ndarray dsymv(double alpha, ndarray a, ndarray x):
    cdef int n = _order(a, x), step = _step(x)
    cdef cnp.npy_intp size = n
    cdef ndarray y = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_DOUBLE)
    symv(&UPPER, &n, &alpha, _data(a), &n, _data(x), &step, &NOTHING, _data(y), &ONE)
    return y


cpdef object dsyr(
    double alpha, ndarray x, int lower, int incx, int offx, Py_ssize_t n, ndarray a, int overwrite_a
):
    cdef int order = _order(a, x), step = _step(x)
    syr(&UPPER, &order, &alpha, _data(x), &step, _data(a), &order)


cpdef object dsyrk(
    double alpha, ndarray a, double beta, ndarray c, int trans, int lower, int overwrite_c
):
    if cnp.PyArray_NDIM(a) != 2 or cnp.PyArray_NDIM(c) != 2:
        raise ValueError("no matrices of numbers")
    cdef int n = <int>cnp.PyArray_DIM(a, 0), k = <int>cnp.PyArray_DIM(a, 1), step = max(n, 1)
    if cnp.PyArray_DIM(c, 0) != n or cnp.PyArray_DIM(c, 1) != n:
        raise ValueError(f"no square matrix for columns of {n} numbers")
    if not (cnp.PyArray_IS_F_CONTIGUOUS(a) and cnp.PyArray_IS_F_CONTIGUOUS(c)):
        raise TypeError("not column-major matrices")
    syrk(&UPPER, &AS_IT_IS, &n, &k, &alpha, _data(a), &step, &beta, _data(c), &step)


cpdef Py_ssize_t idamax(ndarray x) except -1:
    cdef int length = <int>cnp.PyArray_SIZE(x), step = _step(x)
    # BLAS counts from 1.
    return amax(&length, _data(x), &step) - 1


cpdef ndarray matvec(ndarray matrix, ndarray x, ndarray out=None):
    cdef cnp.npy_intp n_rows = cnp.PyArray_DIM(matrix, 0)
    cdef int width = <int>cnp.PyArray_SIZE(x), height = <int>n_rows, step = _step(x)
    if out is None:
        out = cnp.PyArray_SimpleNew(1, &n_rows, cnp.NPY_DOUBLE)
    if (
        cnp.PyArray_NDIM(matrix) != 2
        or cnp.PyArray_DIM(matrix, 1) != width
        or cnp.PyArray_SIZE(out) != n_rows
    ):
        raise ValueError(f"no matrix for {width} and {cnp.PyArray_SIZE(out)} numbers")
    if not (cnp.PyArray_IS_C_CONTIGUOUS(matrix) and cnp.PyArray_ISONESEGMENT(out)):
        raise TypeError("not a row-major matrix")
    if width:
        # BLAS has a matrix column by column: to it, this is a transposed one.
        gemv(
            &TRANSPOSED, &width, &height, &UNIT, _data(matrix), &width, _data(x), &step, &NOTHING,
            _data(out), &ONE,
        )
    else:
        out.fill(0.0)
    return out


cpdef ndarray row_of(ndarray matrix, Py_ssize_t row, ndarray spare):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(spare)
    if cnp.PyArray_NDIM(matrix) != 2 or cnp.PyArray_DIM(matrix, 1) != n:
        raise ValueError(f"no matrix with rows of {n} numbers")
    if not 0 <= row < cnp.PyArray_DIM(matrix, 0):
        raise IndexError(row)
    if not (cnp.PyArray_IS_C_CONTIGUOUS(matrix) and cnp.PyArray_IS_C_CONTIGUOUS(spare)):
        raise TypeError("not rows of numbers in a row")
    memcpy(_data(spare), _data(matrix) + row * n, n * sizeof(double))
    return spare


cpdef ndarray symmetric_matvec(ndarray matrix, ndarray x):
    cdef int n = _any_order(matrix, x), step = _step(x)
    cdef cnp.npy_intp size = n
    if not cnp.PyArray_IS_C_CONTIGUOUS(matrix):
        raise TypeError("not a row-major matrix")
    cdef ndarray y = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_DOUBLE)
    symv(&LOWER, &n, &UNIT, _data(matrix), &n, _data(x), &step, &NOTHING, _data(y), &ONE)
    return y


cpdef object interruptible():
    PyErr_CheckSignals()
