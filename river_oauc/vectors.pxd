from numpy cimport ndarray

cpdef ndarray absolute(ndarray x)
cpdef ndarray add(ndarray x, double number, ndarray out=*)
cpdef Py_ssize_t argmax(ndarray x) except -1
cpdef ndarray at_least(ndarray x, double bound)
cpdef object city_distances(ndarray x, ndarray matrix, ndarray out)
cpdef ndarray concatenate(tuple parts)
cpdef ndarray copy(ndarray x)
cpdef Py_ssize_t count_nonzero(ndarray x) except -1
cpdef ndarray divide(ndarray x, ndarray y, ndarray out=*)
cpdef ndarray exp(ndarray x, ndarray out)
cpdef ndarray fmax(ndarray x, object y, ndarray out=*)
cpdef ndarray fmin(ndarray x, double number, ndarray out)
cpdef ndarray frombuffer(bytes data)
cpdef ndarray gaps(ndarray x, ndarray matrix, Py_ssize_t n)
cpdef double largest(ndarray x) except? -1.0
cpdef ndarray multiply(ndarray x, ndarray y, ndarray out=*)
cpdef ndarray nonzero(ndarray rows)
cpdef ndarray part(ndarray x, Py_ssize_t start, Py_ssize_t stop)
cpdef object put(ndarray x, ndarray rows, ndarray y)
cpdef ndarray row(ndarray matrix, Py_ssize_t number)
cpdef object set_column(ndarray matrix, Py_ssize_t number, ndarray x)
cpdef object set_row(ndarray matrix, Py_ssize_t number, ndarray x)
cpdef ndarray sqrt(ndarray x, ndarray out=*)
cpdef ndarray squared_distances(ndarray x, ndarray matrix)
cpdef ndarray subtract(ndarray x, ndarray y, ndarray out=*)
cpdef ndarray take(ndarray x, ndarray rows)
