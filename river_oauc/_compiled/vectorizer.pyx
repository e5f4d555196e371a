"""The fast path of `encoding.vectorizer`: a dict of plain numbers, in one pass."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
cimport numpy as cnp

from river_oauc.encoding.values import PLAIN_TYPES
from river_oauc.limits import MAX_SQUARED_NORM

cnp.import_array()

cdef set _plain_types = PLAIN_TYPES
cdef double _max_squared_norm = MAX_SQUARED_NORM


def encode_dict(object x, dict index, cnp.npy_intp size):
    """Return the array of a dict, or None if a name is unknown or a value not plain and finite."""
    if type(x) is not dict:
        return None
    cdef cnp.ndarray array = cnp.PyArray_ZEROS(1, &size, cnp.NPY_DOUBLE, 0)
    cdef double* numbers = <double*>cnp.PyArray_DATA(array)
    cdef double number, squared_norm = 0.0
    cdef Py_ssize_t cursor = 0, position
    cdef PyObject *key
    cdef PyObject *value
    cdef PyObject *found
    # Neither keys nor values run code of their own, so that the dict cannot change meanwhile.
    while PyDict_Next(x, &cursor, &key, &value):
        if not (PyUnicode_CheckExact(<object>key) or PyLong_CheckExact(<object>key)):
            return None
        found = PyDict_GetItemWithError(index, <object>key)
        if found is NULL:
            return None
        position = PyLong_AsSsize_t(<object>found)
        if not 0 <= position < size:
            return None
        if PyFloat_Check(<object>value):
            number = PyFloat_AS_DOUBLE(<object>value)
        elif type(<object>value) in _plain_types:
            try:
                number = PyFloat_AsDouble(<object>value)
            except OverflowError:
                return None
        else:
            return None
        numbers[position] = number
        squared_norm += number * number
    # False for NaN, too.
    return array if squared_norm <= _max_squared_norm else None
