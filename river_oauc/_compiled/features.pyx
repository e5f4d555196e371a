"""The compiled function of `records.features`."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsSsize_t
from cpython.object cimport PyObject
from libc.math cimport exp, fabs, floor, fmax, isnan, log, log1p
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, integers, read_doubles

from river_oauc.records import features as constants

cnp.import_array()

cdef double _SHRINKAGE = constants.SHRINKAGE
cdef double _RECENT_MEMORY = constants.RECENT_MEMORY
cdef double _MAX_DISTINCT_SHARE = constants.MAX_DISTINCT_SHARE
cdef Py_ssize_t _MIN_VALUES = constants.MIN_VALUES
cdef Py_ssize_t _DROP_IDS_AFTER = constants.DROP_IDS_AFTER
cdef Py_ssize_t _TEXT_WORDS = constants.TEXT_WORDS
cdef Py_ssize_t _MIN_TEXTS = constants.MIN_TEXTS

if (constants.IS_TIME, constants.N_FACTS, constants.N_COUNTS) != (IS_TIME, N_FACTS, N_COUNTS):
    raise ImportError("compiled and numpy features have different facts")


cdef Prior prior_of(cnp.ndarray class_weights) except *:
    cdef const double* weights = read_doubles(class_weights, 2)
    cdef double total = weights[0] + weights[1] + 1.0
    cdef Prior prior
    prior.negative, prior.positive = (weights[0] + 0.5) / total, (weights[1] + 0.5) / total
    prior.log_odds = log(prior.positive / prior.negative)
    return prior


cdef double log_odds(double negative, double positive, const Prior* prior) noexcept:
    return log(
        (positive + _SHRINKAGE * prior.positive) / (negative + _SHRINKAGE * prior.negative)
    ) - prior.log_odds


cdef bint recurs(Py_ssize_t n, object categories) noexcept:
    return n < _MIN_VALUES or len(<dict>categories) <= _MAX_DISTINCT_SHARE * n


cdef bint is_text(const cnp.int64_t* facts, object categories) noexcept:
    cdef Py_ssize_t n = facts[N_STRINGS]
    if n < _MIN_TEXTS or 2 * facts[N_TEXTS] <= n:
        return False
    return categories is None or len(<dict>categories) > _MAX_DISTINCT_SHARE * n


cdef bint is_category(const cnp.int64_t* facts, object categories) noexcept:
    if categories is None:
        return False
    if facts[N_STRINGS]:
        return not is_text(facts, categories)
    return (
        not facts[HAS_FRACTIONS]
        and len(<dict>categories) > 2
        and recurs(facts[N_KNOWN], categories)
    )


cdef Py_ssize_t row_of(object categories, object category) except -2:
    """Return the row of a category, or -1 if it has none."""
    if categories is None:
        return -1
    cdef PyObject* found = PyDict_GetItemWithError(categories, category)
    return -1 if found is NULL else PyLong_AsSsize_t(<object>found)


cdef inline double _softplus(double x) noexcept:
    return fmax(x, 0.0) + log1p(exp(-fabs(x)))


def count_values(
    cnp.ndarray features not None, cnp.ndarray numbers not None, list categories not None,
    bint positive, double weight, cnp.ndarray facts not None, cnp.ndarray gain not None,
    list known not None, cnp.ndarray counts not None, Py_ssize_t n_counts,
    cnp.ndarray class_weights not None,
):
    cdef Py_ssize_t n = len(categories), n_features = len(known), i, j, row
    cdef const cnp.int64_t* feature = integers(features, n)
    cdef const double* number = read_doubles(numbers, n)
    cdef cnp.int64_t* fact = integers(facts, cnp.PyArray_SIZE(facts))
    cdef cnp.int64_t* own
    cdef double* gains = doubles(gain, cnp.PyArray_SIZE(gain))
    cdef double* count = doubles(counts, cnp.PyArray_SIZE(counts))
    cdef double* weights = doubles(class_weights, 2)
    cdef Py_ssize_t room = cnp.PyArray_SIZE(counts) // N_COUNTS
    cdef double sign = 1.0 if positive else -1.0, kept = 1.0 - 1.0 / _RECENT_MEMORY, all_time, recent
    cdef Prior prior = prior_of(class_weights)
    cdef object category
    cdef bint is_string
    if (
        cnp.PyArray_SIZE(gain) < n_features
        or cnp.PyArray_SIZE(facts) < N_FACTS * n_features
        or not 0 <= n_counts <= room - n
        or not cnp.PyArray_ISWRITEABLE(facts)
    ):
        raise ValueError("there is too little room for the counts")
    for i in range(n):
        if not 0 <= feature[i] < n_features:
            raise ValueError(f"{feature[i]} is no feature")
    for i in range(n):
        j = feature[i]
        own = fact + N_FACTS * j
        own[N_KNOWN] += 1
        is_string = isnan(number[i])
        if not own[IS_COUNTED]:
            if not is_string:
                continue
            own[IS_COUNTED], known[j] = 1, None if own[IS_ID] else {}
        category = categories[i]
        if is_string:
            own[N_STRINGS] += 1
            if isinstance(category, str) and (<str>category).count(" ") >= _TEXT_WORDS - 1:
                own[N_TEXTS] += 1
        elif not own[HAS_FRACTIONS] and number[i] != floor(number[i]):
            own[HAS_FRACTIONS] = 1
            if known[j] is not None and not own[N_STRINGS]:
                known[j] = {}
        if known[j] is None or category is None or own[HAS_FRACTIONS] and not own[N_STRINGS]:
            continue
        row = row_of(known[j], category)
        if row >= n_counts:
            raise ValueError("a category is counted beyond the counts")
        if row >= 0:
            all_time = log_odds(count[N_COUNTS * row], count[N_COUNTS * row + 1], &prior)
            recent = log_odds(count[N_COUNTS * row + 2], count[N_COUNTS * row + 3], &prior)
            gains[j] += weight * (
                _softplus(-sign * (prior.log_odds + all_time))
                - _softplus(-sign * (prior.log_odds + recent))
            )
        elif own[N_KNOWN] >= _DROP_IDS_AFTER and not recurs(own[N_KNOWN], known[j]):
            own[IS_ID], known[j] = 1, None
            continue
        else:
            row, n_counts = n_counts, n_counts + 1
            (<dict>known[j])[category] = row
            count[N_COUNTS * row] = count[N_COUNTS * row + 1] = 0.0
            count[N_COUNTS * row + 2] = count[N_COUNTS * row + 3] = 0.0
        count[N_COUNTS * row + 2] *= kept
        count[N_COUNTS * row + 3] *= kept
        count[N_COUNTS * row + positive] += weight
        count[N_COUNTS * row + 2 + positive] += weight
    weights[positive] += weight
    return n_counts
