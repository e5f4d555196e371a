"""The functions of `vectors.py`, compiled: a loop each, over contiguous vectors."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.object cimport PyObject
from libc cimport math
from libc.string cimport memcpy
from numpy cimport ndarray

cnp.import_array()

__all__ = [
    "absolute",
    "add",
    "argmax",
    "at_least",
    "city_distances",
    "concatenate",
    "copy",
    "count_nonzero",
    "divide",
    "exp",
    "fmax",
    "fmin",
    "frombuffer",
    "gaps",
    "largest",
    "multiply",
    "nonzero",
    "part",
    "put",
    "row",
    "set_column",
    "set_row",
    "sqrt",
    "squared_distances",
    "subtract",
    "take",
]

ctypedef double* doubles

cdef extern from "Python.h":
    PyObject* PyList_GET_ITEM(object list, Py_ssize_t i) noexcept
    Py_ssize_t Py_REFCNT(PyObject* obj) noexcept


cdef inline doubles _any(ndarray x, Py_ssize_t n=-1) except NULL:
    """Where the numbers of a vector or of a row-major array are, if they are so many."""
    if cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE or not cnp.PyArray_IS_C_CONTIGUOUS(x):
        raise TypeError("not an array of doubles in a row")
    if n >= 0 and cnp.PyArray_SIZE(x) != n:
        raise ValueError(f"an array of {cnp.PyArray_SIZE(x)} numbers in the place of {n}")
    return <doubles>cnp.PyArray_DATA(x)


cdef inline doubles _data(ndarray x, Py_ssize_t n=-1) except NULL:
    """The same of a vector only."""
    if cnp.PyArray_NDIM(x) != 1:
        raise TypeError("not a vector of doubles in a row")
    return _any(x, n)


# To make an array takes longer than to fill a short one. So the short ones are kept here, and used
# again when nobody else has them any more. There are so many places for those of similar lengths.
cdef enum:
    N_SHELVES = 32
    N_PLACES = 16
    LONGEST = 512

cdef list _kept = [None] * (N_SHELVES * N_PLACES)
cdef Py_ssize_t[N_SHELVES] _latest


cdef inline ndarray _new(Py_ssize_t n, int kind=cnp.NPY_DOUBLE):
    """A vector with any numbers in it."""
    cdef cnp.npy_intp size = n
    if n > LONGEST:
        return cnp.PyArray_SimpleNew(1, &size, kind)
    cdef Py_ssize_t shelf = (2 * n + (kind == cnp.NPY_DOUBLE)) % N_SHELVES
    cdef Py_ssize_t i, place = 0
    cdef PyObject* found
    for i in range(N_PLACES):
        place = (_latest[shelf] + 1 + i) % N_PLACES
        found = PyList_GET_ITEM(_kept, shelf * N_PLACES + place)
        if (
            Py_REFCNT(found) == 1
            and cnp.PyArray_DIM(<ndarray>found, 0) == n
            and cnp.PyArray_TYPE(<ndarray>found) == kind
        ):
            _latest[shelf] = place
            return <ndarray>found
    _latest[shelf] = (_latest[shelf] + 1) % N_PLACES
    cdef ndarray new = cnp.PyArray_SimpleNew(1, &size, kind)
    _kept[shelf * N_PLACES + _latest[shelf]] = new
    return new


cdef inline ndarray _place(ndarray x, ndarray out):
    return _new(cnp.PyArray_SIZE(x)) if out is None else out


cpdef ndarray absolute(ndarray x):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _data(x)
    cdef ndarray out = _new(n)
    cdef doubles result = _data(out)
    for i in range(n):
        result[i] = math.fabs(a[i])
    return out


cpdef ndarray add(ndarray x, double number, ndarray out=None):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _data(x)
    out = _place(x, out)
    cdef doubles result = _data(out, n)
    for i in range(n):
        result[i] = a[i] + number
    return out


cpdef ndarray sqrt(ndarray x, ndarray out=None):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _data(x)
    out = _place(x, out)
    cdef doubles result = _data(out, n)
    for i in range(n):
        result[i] = math.sqrt(a[i])
    return out


cpdef ndarray subtract(ndarray x, ndarray y, ndarray out=None):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _data(x)
    cdef doubles b = _data(y, n)
    out = _place(x, out)
    cdef doubles result = _data(out, n)
    for i in range(n):
        result[i] = a[i] - b[i]
    return out


cpdef ndarray multiply(ndarray x, ndarray y, ndarray out=None):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _data(x)
    cdef doubles b = _data(y, n)
    out = _place(x, out)
    cdef doubles result = _data(out, n)
    for i in range(n):
        result[i] = a[i] * b[i]
    return out


cpdef ndarray divide(ndarray x, ndarray y, ndarray out=None):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _data(x)
    cdef doubles b = _data(y, n)
    out = _place(x, out)
    cdef doubles result = _data(out, n)
    for i in range(n):
        # By 0 as numpy does it, and not as Python.
        result[i] = _quotient(a[i], b[i])
    return out


cdef extern from *:
    """
    #define _quotient(a, b) ((a) / (b))
    """
    double _quotient(double a, double b) noexcept


cpdef ndarray fmax(ndarray x, object y, ndarray out=None):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _any(x)
    out = _place(x, out)
    cdef doubles result = _any(out, n)
    cdef doubles b
    cdef double number
    if isinstance(y, ndarray):
        b = _data(y, n)
        for i in range(n):
            result[i] = math.fmax(a[i], b[i])
    else:
        number = y
        for i in range(n):
            # A NaN gives way to the number.
            result[i] = a[i] if a[i] >= number else number
    return out


cpdef ndarray fmin(ndarray x, double number, ndarray out):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _any(x)
    cdef doubles result = _any(out, n)
    for i in range(n):
        result[i] = a[i] if a[i] <= number else number
    return out


cpdef ndarray exp(ndarray x, ndarray out):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x)
    cdef doubles a = _any(x)
    cdef doubles result = _any(out, n)
    for i in range(n):
        result[i] = math.exp(a[i])
    return out


cpdef double largest(ndarray x) except? -1.0:
    return _data(x)[argmax(x)]


cpdef Py_ssize_t argmax(ndarray x) except -1:
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x), place = 0
    cdef doubles a = _data(x)
    if not n:
        raise ValueError("the largest of no numbers")
    cdef double highest = a[0]
    for i in range(1, n):
        if a[i] > highest:
            highest, place = a[i], i
    return place


cpdef ndarray at_least(ndarray x, double bound):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x), count = 0
    cdef doubles a = _data(x)
    for i in range(n):
        count += a[i] >= bound
    cdef ndarray out = _new(count, cnp.NPY_INTP)
    cdef cnp.npy_intp* result = <cnp.npy_intp*>cnp.PyArray_DATA(out)
    count = 0
    for i in range(n):
        if a[i] >= bound:
            result[count] = i
            count += 1
    return out


cpdef ndarray gaps(ndarray x, ndarray matrix, Py_ssize_t n):
    cdef Py_ssize_t i, j, n_rows = cnp.PyArray_SIZE(x), width = _width(matrix, n_rows)
    if not 0 <= n <= width:
        raise ValueError(f"{n} numbers of a row of {width}")
    cdef doubles a = _data(x)
    cdef doubles b = _any(matrix)
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n_rows, n
    cdef ndarray out = cnp.PyArray_SimpleNew(2, shape, cnp.NPY_DOUBLE)
    cdef doubles result = _any(out)
    for i in range(n_rows):
        for j in range(n):
            result[i * n + j] = a[i] - b[i * width + j]
    return out


cdef inline Py_ssize_t _width(ndarray matrix, Py_ssize_t n_rows) except -1:
    """How many columns a matrix with so many rows has."""
    if cnp.PyArray_NDIM(matrix) != 2 or cnp.PyArray_DIM(matrix, 0) != n_rows:
        raise ValueError(f"no matrix of {n_rows} rows of numbers")
    return cnp.PyArray_DIM(matrix, 1)


cpdef ndarray row(ndarray matrix, Py_ssize_t number):
    cdef int n_axes = cnp.PyArray_NDIM(matrix)
    if n_axes < 2 or not 0 <= number < cnp.PyArray_DIM(matrix, 0):
        raise IndexError(number)
    cdef Py_ssize_t size = cnp.PyArray_STRIDE(matrix, 0)
    cdef char* start = <char*>_any(matrix) + number * size
    cdef ndarray view = cnp.PyArray_SimpleNewFromData(
        n_axes - 1, cnp.PyArray_DIMS(matrix) + 1, cnp.NPY_DOUBLE, start
    )
    cnp.set_array_base(view, matrix)
    return view


cpdef object set_column(ndarray matrix, Py_ssize_t number, ndarray x):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x), width = _width(matrix, n)
    if not 0 <= number < width:
        raise IndexError(number)
    cdef doubles a = _any(matrix)
    cdef doubles values = _data(x)
    for i in range(n):
        a[i * width + number] = values[i]


cpdef object set_row(ndarray matrix, Py_ssize_t number, ndarray x):
    cdef Py_ssize_t width = cnp.PyArray_SIZE(x)
    if cnp.PyArray_NDIM(matrix) != 2 or cnp.PyArray_DIM(matrix, 1) != width:
        raise ValueError(f"no rows of {width} numbers")
    if not 0 <= number < cnp.PyArray_DIM(matrix, 0):
        raise IndexError(number)
    memcpy(_any(matrix) + number * width, _data(x), width * sizeof(double))


cpdef object city_distances(ndarray x, ndarray matrix, ndarray out):
    cdef Py_ssize_t i, j, k, n = cnp.PyArray_SIZE(out), width = _width(matrix, n)
    cdef doubles a = _data(x, width)
    cdef doubles b = _any(matrix)
    cdef doubles result = _data(out)
    cdef double value
    cdef double[8] sums
    cdef Py_ssize_t n_whole = n - n % 8
    # Eight rows at a time: a sum waits for its last term, and the others do not.
    for i in range(0, n_whole, 8):
        for k in range(8):
            sums[k] = 0.0
        for j in range(width):
            value = a[j]
            for k in range(8):
                sums[k] += math.fabs(value - b[(i + k) * width + j])
        for k in range(8):
            result[i + k] = sums[k]
    for i in range(n_whole, n):
        value = 0.0
        for j in range(width):
            value += math.fabs(a[j] - b[i * width + j])
        result[i] = value


cpdef ndarray squared_distances(ndarray x, ndarray matrix):
    # Whatever a user's own code hands on.
    x = cnp.PyArray_ContiguousFromAny(x, cnp.NPY_DOUBLE, 1, 1)
    matrix = cnp.PyArray_ContiguousFromAny(matrix, cnp.NPY_DOUBLE, 2, 2)
    cdef Py_ssize_t i, j, k, n = cnp.PyArray_DIM(matrix, 0), width = _width(matrix, n)
    cdef doubles a = _data(x, width)
    cdef doubles b = _any(matrix)
    cdef ndarray out = _new(n)
    cdef doubles result = _data(out)
    cdef double gap
    cdef double[4] sums
    cdef Py_ssize_t n_whole = width - width % 4
    for i in range(n):
        # Four sums at a time: a sum waits for its last term, and the others do not.
        for k in range(4):
            sums[k] = 0.0
        for j in range(0, n_whole, 4):
            for k in range(4):
                gap = a[j + k] - b[j + k]
                sums[k] += gap * gap
        for j in range(n_whole, width):
            gap = a[j] - b[j]
            sums[0] += gap * gap
        result[i] = (sums[0] + sums[1]) + (sums[2] + sums[3])
        b += width
    return out


cpdef ndarray concatenate(tuple parts):
    cdef ndarray x = parts[0], y = parts[1]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x), m = cnp.PyArray_SIZE(y)
    cdef int kind = cnp.PyArray_TYPE(x)
    if len(parts) != 2 or cnp.PyArray_TYPE(y) != kind:
        raise TypeError("not two vectors of one kind")
    cdef ndarray out = _new(n + m, kind)
    cdef char* result = <char*>cnp.PyArray_DATA(out)
    memcpy(result, _eights(x), 8 * n)
    memcpy(result + 8 * n, _eights(y), 8 * m)
    return out


cdef inline long long* _eights(ndarray x) except NULL:
    """Where the numbers of a vector are, whatever they are, if each has eight bytes."""
    if (
        cnp.PyArray_ITEMSIZE(x) != 8
        or cnp.PyArray_NDIM(x) != 1
        or not cnp.PyArray_IS_C_CONTIGUOUS(x)
    ):
        raise TypeError("not a vector of numbers of eight bytes in a row")
    return <long long*>cnp.PyArray_DATA(x)


cdef inline cnp.npy_intp* _rows(ndarray rows) except NULL:
    if cnp.PyArray_TYPE(rows) != cnp.NPY_INTP:
        raise TypeError("not a vector of positions")
    return <cnp.npy_intp*>_eights(rows)


cpdef ndarray take(ndarray x, ndarray rows):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(rows), size = cnp.PyArray_SIZE(x)
    cdef cnp.npy_intp* positions = _rows(rows)
    cdef long long* a = _eights(x)
    cdef ndarray out = _new(n, cnp.PyArray_TYPE(x))
    cdef long long* result = <long long*>cnp.PyArray_DATA(out)
    for i in range(n):
        if not 0 <= positions[i] < size:
            raise IndexError(positions[i])
        result[i] = a[positions[i]]
    return out


cpdef object put(ndarray x, ndarray rows, ndarray y):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(rows), size = cnp.PyArray_SIZE(x)
    cdef cnp.npy_intp* positions = _rows(rows)
    cdef long long* a = _eights(x)
    cdef long long* values = _eights(y)
    if cnp.PyArray_SIZE(y) != n or cnp.PyArray_TYPE(y) != cnp.PyArray_TYPE(x):
        raise ValueError(f"not {n} numbers of the same kind")
    for i in range(n):
        if not 0 <= positions[i] < size:
            raise IndexError(positions[i])
        a[positions[i]] = values[i]


cpdef ndarray copy(ndarray x):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x)
    cdef ndarray out = _new(n)
    memcpy(_data(out), _data(x), n * sizeof(double))
    return out


cpdef Py_ssize_t count_nonzero(ndarray x) except -1:
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(x), count = 0
    cdef doubles a = _data(x)
    for i in range(n):
        count += a[i] != 0.0
    return count


cpdef ndarray nonzero(ndarray rows):
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(rows), count = 0
    cdef cnp.npy_intp* a = _rows(rows)
    for i in range(n):
        count += a[i] != 0
    cdef ndarray out = _new(count, cnp.NPY_INTP)
    cdef cnp.npy_intp* result = <cnp.npy_intp*>cnp.PyArray_DATA(out)
    count = 0
    for i in range(n):
        if a[i]:
            result[count] = i
            count += 1
    return out


cpdef ndarray frombuffer(bytes data):
    cdef Py_ssize_t n = len(data) // sizeof(double)
    cdef ndarray out = _new(n)
    memcpy(_data(out), PyBytes_AS_STRING(data), n * sizeof(double))
    return out


cpdef ndarray part(ndarray x, Py_ssize_t start, Py_ssize_t stop):
    cdef long long* a = _eights(x)
    if not 0 <= start <= stop <= cnp.PyArray_SIZE(x):
        raise IndexError(f"no part from {start} to {stop}")
    cdef cnp.npy_intp n = stop - start
    cdef ndarray view = cnp.PyArray_SimpleNewFromData(1, &n, cnp.PyArray_TYPE(x), a + start)
    cnp.set_array_base(view, x)
    return view
