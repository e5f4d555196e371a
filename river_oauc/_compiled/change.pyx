"""The compiled function of `rankers.change`."""

from libc.math cimport fmax, fmin, sqrt
from libc.string cimport memcpy
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, read_doubles, writable_integers

from river_oauc.rankers import change

cnp.import_array()

cdef Py_ssize_t _N_COMPARED = change.N_COMPARED
cdef double _MIN_COMPARED = change.MIN_COMPARED
cdef double _RECENT_MEMORY = change.RECENT_MEMORY
cdef double _ALARM = change.ALARM
cdef double _MIN_DROP = change.MIN_DROP
cdef double _LARGEST_SWING = change.LARGEST_SWING


def ranking_step(
    cnp.ndarray recent not None, cnp.ndarray n not None, cnp.ndarray wins not None,
    cnp.ndarray scores not None, bint positive, bint is_rarer,
):
    cdef Py_ssize_t size = cnp.PyArray_SIZE(scores), i, k
    cdef const double* score = read_doubles(scores, size)
    cdef double* own = doubles(recent, 2 * _N_COMPARED * size) + positive * _N_COMPARED * size
    cdef const double* others = <double*>cnp.PyArray_DATA(recent)
    cdef cnp.int64_t* number = writable_integers(n, 2)
    cdef double* win = doubles(wins, 5)
    cdef double gap, rate = 0.0, deviation, error
    cdef bint broken = False
    if not size or number[0] < 0 or number[1] < 0:
        raise ValueError("there is no score")
    k = min(number[not positive], _N_COMPARED)
    if is_rarer and k >= _MIN_COMPARED:
        others += (not positive) * _N_COMPARED * size + size - 1
        for i in range(k):
            gap = score[size - 1] - others[i * size]
            rate += 0.5 + 0.5 * ((gap > 0.0) - (gap < 0.0)) * (1 if positive else -1)
        rate /= k
        win[0] += 1.0
        deviation = rate - win[1]
        win[1] += deviation / win[0]
        win[2] += deviation * (rate - win[1])
        win[3] += (rate - win[3]) / fmin(win[0], _RECENT_MEMORY)
        error = win[2] / win[0] / (2.0 * _RECENT_MEMORY - 1.0)
        if win[0] > _MIN_COMPARED:
            error = fmax(error, win[4] / (win[0] - _MIN_COMPARED))
            deviation = win[3] - win[1]
            win[4] += fmin(deviation * deviation, _LARGEST_SWING * _LARGEST_SWING * error)
        error = sqrt(error)
        broken = win[0] >= _MIN_COMPARED and win[1] - win[3] > fmax(_ALARM * error, _MIN_DROP)
    memcpy(own + (number[positive] % _N_COMPARED) * size, score, size * sizeof(double))
    number[positive] += 1
    return broken
