"""From a dict to a row of numbers, in one pass; see `dicts.py`."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.object cimport PyObject, PyObject_TypeCheck
from cpython.unicode cimport PyUnicode_CheckExact
from libc.string cimport memset
from numpy cimport ndarray

from river_oauc.inputs.limits import PLAIN_TYPES

__all__ = ["fill"]

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
