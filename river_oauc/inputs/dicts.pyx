"""From a dict to a row of numbers, in one pass; see `dicts.py`."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.string cimport memcmp, memset
cimport numpy as cnp
from numpy cimport ndarray

from river_oauc.inputs.limits import PLAIN_TYPES

__all__ = ["fill", "is_same", "names_of", "packed", "rows_of"]

cnp.import_array()

cdef set plain_types = PLAIN_TYPES


cpdef bint fill(ndarray row, object x, list names, dict positions) except -1:
    if type(x) is not dict:
        return False
    cdef double* numbers = <double*>row.data
    cdef Py_ssize_t size = row.shape[0], n_names = len(names), n = len(<dict>x)
    if n != size:
        # Some slot gets no number below.
        memset(numbers, 0, size * sizeof(double))
    cdef Py_ssize_t cursor = 0, place = 0, position
    cdef PyObject *key
    cdef PyObject *value
    cdef PyObject *found
    while PyDict_Next(x, &cursor, &key, &value):
        # Mostly the keys are the very objects that are known, in the same order.
        if place < n_names and <PyObject*>names[place] is key:
            position = place
        # Keys that have no code of their own: the dict cannot change under our hands.
        elif PyUnicode_CheckExact(<object>key) or PyLong_CheckExact(<object>key):
            found = PyDict_GetItemWithError(positions, <object>key)
            if found is NULL:
                return False
            position = PyLong_AsSsize_t(<object>found)
        else:
            return False
        if PyFloat_Check(<object>value):
            numbers[position] = PyFloat_AS_DOUBLE(<object>value)
        elif type(<object>value) in plain_types:
            try:
                numbers[position] = PyFloat_AsDouble(<object>value)
            except OverflowError:
                return False
        else:
            return False
        place += 1
    return True


cpdef bint is_same(object x, tuple names, bytes data) except -1:
    cdef Py_ssize_t cursor = 0, n = len(names), i = 0
    if type(x) is not dict or len(<dict>x) != n or len(data) != n * sizeof(double):
        return False
    cdef double* numbers = <double*>PyBytes_AS_STRING(data)
    cdef double number
    cdef PyObject *key
    cdef PyObject *value
    while PyDict_Next(x, &cursor, &key, &value):
        if <PyObject*>names[i] is not key or not PyFloat_Check(<object>value):
            return False
        number = PyFloat_AS_DOUBLE(<object>value)
        # By their bytes, as 0 has two.
        if memcmp(&number, numbers + i, sizeof(double)) != 0:
            return False
        i += 1
    return True


cpdef tuple names_of(object x, tuple usual):
    cdef Py_ssize_t cursor = 0, n = len(usual), i = 0
    cdef PyObject *key
    cdef PyObject *value
    if type(x) is dict and len(<dict>x) == n:
        while PyDict_Next(x, &cursor, &key, &value):
            if <PyObject*>usual[i] is not key:
                return tuple(x)
            i += 1
        return usual
    return tuple(x)


cpdef bytes packed(object x):
    cdef Py_ssize_t cursor = 0, n = len(x), i = 0
    cdef bytes data = PyBytes_FromStringAndSize(NULL, n * sizeof(double))
    cdef double* numbers = <double*>PyBytes_AS_STRING(data)
    cdef PyObject *key
    cdef PyObject *value
    if type(x) is dict:
        while PyDict_Next(x, &cursor, &key, &value):
            if PyFloat_Check(<object>value):
                numbers[i] = PyFloat_AS_DOUBLE(<object>value)
            elif PyLong_CheckExact(<object>value):
                numbers[i] = PyFloat_AsDouble(<object>value)
            else:
                break
            i += 1
    if i < n:
        # Values with code of their own: the dict might change under our hands.
        values = list(x.values())
        if len(values) != n:
            raise TypeError("the dict has changed")
        for i in range(n):
            numbers[i] = PyFloat_AsDouble(values[i])
    return data


cpdef ndarray rows_of(dict index, object names):
    cdef Py_ssize_t i
    cdef cnp.npy_intp n = len(names)
    cdef ndarray rows = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INTP, 0)
    cdef cnp.npy_intp* positions = <cnp.npy_intp*>cnp.PyArray_DATA(rows)
    cdef tuple keys = tuple(names)
    for i in range(n):
        positions[i] = index[keys[i]]
    return rows
