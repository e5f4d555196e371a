"""The compiled function of `records.numeric`."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_CheckExact
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
cimport numpy as cnp

from river_oauc.limits import MAX_SQUARED_NORM
from river_oauc.records.numeric import PLAIN_TYPES

cnp.import_array()

cdef set _plain_types = PLAIN_TYPES
cdef double _max_squared_norm = MAX_SQUARED_NORM


def encode_numbers(object x, dict index not None, cnp.npy_intp size):
    if type(x) is not dict:
        return None
    cdef cnp.ndarray array = cnp.PyArray_ZEROS(1, &size, cnp.NPY_DOUBLE, 0)
    cdef double* numbers = <double*>cnp.PyArray_DATA(array)
    cdef double number, squared_norm = 0.0
    cdef Py_ssize_t cursor = 0, known_cursor = 0, position
    cdef PyObject *key
    cdef PyObject *item
    cdef PyObject *known
    cdef PyObject *found
    cdef object name, value
    while PyDict_Next(x, &cursor, &key, &item):
        # Held: a known name of another type may run code when it is compared.
        name, value = <object>key, <object>item
        # Names mostly come in the order in which they were learned.
        if not PyDict_Next(index, &known_cursor, &known, &found) or known != key:
            if not (PyUnicode_CheckExact(name) or PyLong_CheckExact(name)):
                return None
            found = PyDict_GetItemWithError(index, name)
            if found is NULL:
                return None
        position = PyLong_AsSsize_t(<object>found)
        if not 0 <= position < size:
            return None
        if PyFloat_CheckExact(value):
            number = PyFloat_AS_DOUBLE(value)
        elif type(value) in _plain_types:
            try:
                number = PyFloat_AsDouble(value)
            except OverflowError:
                return None
        else:
            return None
        numbers[position] = number
        squared_norm += number * number
    # False for NaN, too.
    return array if squared_norm <= _max_squared_norm else None
