from numpy cimport ndarray

cpdef double dasum(ndarray x) except? -1.0
cpdef object daxpy(
    ndarray x, ndarray y, Py_ssize_t n=*, double a=*, Py_ssize_t offx=*, int incx=*, Py_ssize_t offy=*
)
cpdef object dcopy(ndarray x, ndarray y)
cpdef double ddot(ndarray x, ndarray y) except? -1.0
cpdef tuple dposv(ndarray a, ndarray b, int lower, int overwrite_a)
cpdef object dscal(double a, ndarray x)
cpdef ndarray dsymv(double alpha, ndarray a, ndarray x)
cpdef object dsyr(
    double alpha, ndarray x, int lower, int incx, int offx, Py_ssize_t n, ndarray a, int overwrite_a
)
cpdef object dsyrk(
    double alpha, ndarray a, double beta, ndarray c, int trans, int lower, int overwrite_c
)
cpdef Py_ssize_t idamax(ndarray x) except -1
cpdef ndarray matvec(ndarray matrix, ndarray x, ndarray out=*)
cpdef ndarray row_of(ndarray matrix, Py_ssize_t row, ndarray spare)
cpdef ndarray symmetric_matvec(ndarray matrix, ndarray x)
cpdef object interruptible()
