"""The compiled functions of `histories`."""

from libc.math cimport exp, fmax, fmin
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, read_doubles

from river_oauc import histories as constants

cnp.import_array()

cdef enum:
    RECORDS, LABELS, POSITIVES, FIRST_NUMBER

cdef enum:
    CHANGED, LAST

cdef double _PRIOR_WEIGHT = constants.PRIOR_WEIGHT
cdef double _MAX_RATIO = constants.MAX_RATIO
cdef double _DAY = constants.DAY

if (constants.FIRST_NUMBER, constants.LAST) != (FIRST_NUMBER, LAST):
    raise ImportError("compiled and numpy histories have different sums")


cdef int check_sizes(
    cnp.ndarray sums, cnp.ndarray times, Py_ssize_t row, Py_ssize_t n_windows, Py_ssize_t n
) except -1:
    cdef Py_ssize_t n_rows = cnp.PyArray_SIZE(times) // 2
    if (
        row >= n_rows or cnp.PyArray_SIZE(times) != 2 * n_rows or n_windows < 1
        or n < FIRST_NUMBER or (n - FIRST_NUMBER) % 2
        or cnp.PyArray_SIZE(sums) != n_rows * n_windows * n
    ):
        raise ValueError("there is no such row, or the sums have another size")
    return 0


def describe_entity(
    cnp.ndarray sums not None, cnp.ndarray times not None, Py_ssize_t row, double now,
    cnp.ndarray windows not None, cnp.ndarray event not None, cnp.ndarray overall not None,
):
    cdef Py_ssize_t n_windows = cnp.PyArray_SIZE(windows), n = cnp.PyArray_SIZE(event), i, k
    cdef const double* first = read_doubles(sums, 0)
    cdef const double* own
    cdef const double* time = read_doubles(times, 0)
    cdef const double* window = read_doubles(windows, n_windows)
    cdef const double* number = read_doubles(event, n)
    cdef const double* total = read_doubles(overall, n)
    cdef double share = (total[POSITIVES] + 0.5) / (total[LABELS] + 1.0)
    cdef double longest = 0.0, gap, age = 0.0, kept, mean, ratio
    cdef list features = []
    check_sizes(sums, times, row, n_windows, n)
    for k in range(n_windows):
        longest = fmax(longest, window[k])
    gap = longest
    if row >= 0:
        age = fmax(now - time[2 * row + CHANGED], 0.0)
        gap = fmin(fmax(now - time[2 * row + LAST], 0.0), longest)
    features.append(gap / _DAY)
    for k in range(n_windows):
        # An entity that has never been seen has no sums: it keeps nothing of any others.
        kept = exp(-age / window[k]) if row >= 0 else 0.0
        own = first + (row * n_windows + k) * n if row >= 0 else total
        features.append(kept * own[RECORDS])
        for i in range(FIRST_NUMBER, n, 2):
            mean = total[i + 1] / fmax(total[i], 1.0)
            mean = (kept * own[i + 1] + _PRIOR_WEIGHT * mean) / (kept * own[i] + _PRIOR_WEIGHT)
            ratio = 1.0
            if number[i] and mean:
                ratio = fmin(fmax(number[i + 1] / mean, -_MAX_RATIO), _MAX_RATIO)
            features.append(mean)
            features.append(ratio)
        features.append(
            (kept * own[POSITIVES] + _PRIOR_WEIGHT * share) / (kept * own[LABELS] + _PRIOR_WEIGHT)
        )
    return features


def count_event(
    cnp.ndarray sums not None, cnp.ndarray times not None, Py_ssize_t row, double now,
    cnp.ndarray windows not None, cnp.ndarray event not None,
):
    cdef Py_ssize_t n_windows = cnp.PyArray_SIZE(windows), n = cnp.PyArray_SIZE(event), i, k
    cdef double* sum_of = doubles(sums, cnp.PyArray_SIZE(sums))
    cdef double* time = doubles(times, cnp.PyArray_SIZE(times))
    cdef const double* window = read_doubles(windows, n_windows)
    cdef const double* added = read_doubles(event, n)
    cdef double age, weight
    check_sizes(sums, times, row, n_windows, n)
    if row < 0:
        raise ValueError("there is no such row")
    sum_of += row * n_windows * n
    time += 2 * row
    age = fmax(now - time[CHANGED], 0.0)
    for k in range(n_windows):
        weight = exp(-age / window[k])
        for i in range(n):
            sum_of[i] = sum_of[i] * weight + added[i]
        sum_of += n
    time[CHANGED] = fmax(time[CHANGED], now)
    if added[RECORDS]:
        time[LAST] = fmax(time[LAST], now)
