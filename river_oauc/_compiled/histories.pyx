"""The compiled functions of `histories`."""

from libc.math cimport INFINITY, exp, fmax, fmin
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, read_doubles

cnp.import_array()

# The constants are those of `histories`, which cannot be imported before this is.

cdef enum:
    CHANGED, LAST, SUMS

cdef enum:
    RECORDS, LABELS, POSITIVES, NUMBERS

cdef double PRIOR_WEIGHT = 1.0
cdef double MAX_RATIO = 1e3
cdef double DAY = 86_400.0


cdef Py_ssize_t width_of(cnp.ndarray table, Py_ssize_t row, cnp.ndarray windows, cnp.ndarray event) except -1:
    """Return the number of sums per window, if there is such a row."""
    cdef Py_ssize_t width = cnp.PyArray_SIZE(event)
    cdef Py_ssize_t n_columns = SUMS + cnp.PyArray_SIZE(windows) * width
    if (
        width < NUMBERS or (width - NUMBERS) % 2 or row >= cnp.PyArray_SIZE(table) // n_columns
        or cnp.PyArray_SIZE(table) % n_columns
    ):
        raise ValueError("there is no such row, or rows have another size")
    return width


def describe_entity(
    cnp.ndarray table not None, Py_ssize_t row, double now, cnp.ndarray windows not None,
    cnp.ndarray event not None, cnp.ndarray total not None,
):
    cdef Py_ssize_t width = width_of(table, row, windows, event), n_windows = windows.size, i, k
    cdef const double* entity = read_doubles(table, 0)
    cdef const double* window = read_doubles(windows, n_windows)
    cdef const double* number = read_doubles(event, width)
    cdef const double* overall = read_doubles(total, width)
    cdef const double* own = overall
    cdef double share = (overall[POSITIVES] + 0.5) / (overall[LABELS] + 1.0)
    cdef double longest = 0.0, since = INFINITY, age = INFINITY, kept, mean, ratio
    cdef list features
    for k in range(n_windows):
        longest = fmax(longest, window[k])
    if row >= 0:
        entity += row * (SUMS + n_windows * width)
        since, age = fmax(now - entity[LAST], 0.0), fmax(now - entity[CHANGED], 0.0)
    features = [fmin(since, longest) / DAY]
    for k in range(n_windows):
        # Nothing is kept of an entity that was never seen, whatever its sums are.
        kept = exp(-age / window[k])
        if row >= 0:
            own = entity + SUMS + k * width
        features.append(kept * own[RECORDS])
        for i in range(NUMBERS, width, 2):
            mean = overall[i + 1] / fmax(overall[i], 1.0)
            mean = (kept * own[i + 1] + PRIOR_WEIGHT * mean) / (kept * own[i] + PRIOR_WEIGHT)
            ratio = 1.0
            if number[i] and mean:
                ratio = fmin(fmax(number[i + 1] / mean, -MAX_RATIO), MAX_RATIO)
            features += (mean, ratio)
        features.append(
            (kept * own[POSITIVES] + PRIOR_WEIGHT * share) / (kept * own[LABELS] + PRIOR_WEIGHT)
        )
    return features


def count_event(
    cnp.ndarray table not None, Py_ssize_t row, double now, cnp.ndarray windows not None,
    cnp.ndarray event not None,
):
    cdef Py_ssize_t width = width_of(table, row, windows, event), n_windows = windows.size, i, k
    cdef double* entity = doubles(table, table.size)
    cdef const double* window = read_doubles(windows, n_windows)
    cdef const double* added = read_doubles(event, width)
    cdef double longest = 0.0, kept
    if row < 0:
        raise ValueError("there is no such row")
    entity += row * (SUMS + n_windows * width)
    for k in range(n_windows):
        longest = fmax(longest, window[k])
    if now > entity[CHANGED] - longest:
        now = fmax(now, entity[CHANGED])
    for k in range(n_windows):
        kept = exp(fmin(entity[CHANGED] - now, 0.0) / window[k])
        for i in range(SUMS + k * width, SUMS + (k + 1) * width):
            entity[i] = kept * entity[i] + added[i - SUMS - k * width]
    entity[CHANGED] = now
    if added[RECORDS]:
        entity[LAST] = now
