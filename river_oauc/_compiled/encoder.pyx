"""The compiled function of `records.encoder`."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsSsize_t, PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR
from libc.math cimport NAN, fabs, floor, frexp, isnan
from libc.string cimport memcpy
cimport numpy as cnp

from collections.abc import Mapping

from river_oauc._compiled.common cimport integers, read_doubles
from river_oauc._compiled.features cimport (
    HAS_FRACTIONS, IS_COUNTED, IS_TIME, N_COUNTS, N_FACTS, Prior, is_category, is_text, log_odds,
    prior_of, row_of,
)

from river_oauc.records import entries, features
from river_oauc.records.parse import (
    MAX_EXACT, ReadRecord, TimePart, parse_value, record_type_error,
)

cnp.import_array()

cdef double _MAX_EXACT = MAX_EXACT
cdef Py_ssize_t _MAX_CATEGORIES_WITHOUT_ODDS = features.MAX_CATEGORIES_WITHOUT_ODDS
cdef object words = entries.words

cdef enum:
    # Kinds of columns; rows have the first two.
    NUMBER, LOG_ODDS, RECENT, MISSING, N_KINDS
    CATEGORY = 2
    SIZE = 3
    MIN_EXPONENT = -31
    MAX_EXPONENT = 32
    N_SIZES = 257

if (features.MISSING, entries.SIZE, entries.MIN_EXPONENT, entries.N_SIZES) != (
    MISSING, SIZE, MIN_EXPONENT, N_SIZES,
):
    raise ImportError("compiled and numpy encoders have different kinds")


# Pairs of an integer and a number: features and their values, or rows and theirs.
cdef struct Pairs:
    cnp.int64_t* keys
    double* values
    cnp.npy_intp n
    cnp.npy_intp capacity


cdef int push(Pairs* pairs, cnp.int64_t key, double value) except -1:
    if pairs.n == pairs.capacity:
        pairs.capacity = 2 * pairs.capacity + 8
        pairs.keys = <cnp.int64_t*>PyMem_Realloc(pairs.keys, pairs.capacity * sizeof(cnp.int64_t))
        pairs.values = <double*>PyMem_Realloc(pairs.values, pairs.capacity * sizeof(double))
        if pairs.keys is NULL or pairs.values is NULL:
            raise MemoryError
    pairs.keys[pairs.n], pairs.values[pairs.n] = key, value
    pairs.n += 1
    return 0


cdef tuple arrays_of(Pairs* pairs):
    keys = cnp.PyArray_EMPTY(1, &pairs.n, cnp.NPY_INT64, 0)
    values = cnp.PyArray_EMPTY(1, &pairs.n, cnp.NPY_DOUBLE, 0)
    if pairs.n:
        memcpy(cnp.PyArray_DATA(keys), pairs.keys, pairs.n * sizeof(cnp.int64_t))
        memcpy(cnp.PyArray_DATA(values), pairs.values, pairs.n * sizeof(double))
    return keys, values


cdef int add_value(
    Pairs* values, list categories, dict index, bint learning, PyObject* known, object name,
    double number, object category,
) except -1:
    """Add what is known of a feature, given where the index has its name, if that was found."""
    cdef Py_ssize_t feature
    if known is NULL:
        known = PyDict_GetItemWithError(index, name)
    if known is not NULL:
        feature = PyLong_AsSsize_t(<object>known)
    elif learning:
        feature = len(index)
        index[name] = feature
    else:
        return 0
    push(values, feature, number)
    categories.append(category)
    return 0


cdef int read_values(
    Pairs* values, list categories, dict record, dict index, bint learning
) except -1:
    """Read what is known in a record."""
    cdef Py_ssize_t cursor = 0, known_cursor = 0
    cdef PyObject *key
    cdef PyObject *item
    cdef PyObject *known_key
    cdef PyObject *known
    cdef object name, value, category
    cdef double number
    cdef long long whole
    cdef int overflow
    while PyDict_Next(record, &cursor, &key, &item):
        name, value = <object>key, <object>item
        # Names mostly come in the order in which they were learned.
        if not PyDict_Next(index, &known_cursor, &known_key, &known) or known_key != key:
            known = NULL
        category = None
        if PyFloat_CheckExact(value):
            number = PyFloat_AS_DOUBLE(value)
            if fabs(number) <= _MAX_EXACT:
                if number == floor(number):
                    category = int(number)
                add_value(values, categories, index, learning, known, name, number, category)
                continue
            if isnan(number):
                continue
        elif PyUnicode_CheckExact(value):
            if is_plain_text(value):
                add_value(values, categories, index, learning, known, name, NAN, value)
                continue
        elif PyLong_CheckExact(value):
            whole = PyLong_AsLongLongAndOverflow(value, &overflow)
            if not overflow and -_MAX_EXACT <= whole <= _MAX_EXACT:
                number = <double>whole
                add_value(values, categories, index, learning, known, name, number, value)
                continue
        elif value is True or value is False:
            number = 1.0 if value is True else 0.0
            add_value(values, categories, index, learning, known, name, number, None)
            continue
        elif value is None:
            continue
        number, category = parse_value(name, value)
        if type(category) is dict:
            for part, each in category.items():
                add_value(
                    values, categories, index, learning, NULL, TimePart(name, part), NAN, each
                )
        elif category is not None or number == number:
            add_value(values, categories, index, learning, NULL, name, number, category)
    return 0


cdef dict read_again(
    Pairs* values, list categories, record, dict given, dict index, bint learning
):
    """Take over what has been read of a record, and return the odds that are given, by place."""
    cdef Py_ssize_t n
    cdef dict kept = {}
    for place, (name, number, category) in enumerate(zip(*record[:3])):
        n = values.n
        add_value(values, categories, index, learning, NULL, name, number, category)
        if values.n > n and place in given:
            kept[n] = given[place]
    return kept


cdef inline bint is_plain_text(object text) noexcept:
    """Return whether a string is surely a category: no number, time, truth value or space."""
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text)
    if not n:
        return False
    cdef Py_UCS4 first = PyUnicode_READ_CHAR(text, 0), last = PyUnicode_READ_CHAR(text, n - 1)
    if not (u"A" <= first <= u"Z" or u"a" <= first <= u"z") or not u" " < last <= u"~":
        return False
    return n > 5 or n < 4 or not (first in u"tTfF")


cdef struct Counts:
    const double* rows
    Py_ssize_t n
    Prior prior


cdef int find_odds(
    const Counts* counts, own, category, given, double* odds, double* recent
) except -1:
    """Find the log odds of a category of a feature, and the recent ones, unless they are given."""
    cdef Py_ssize_t row
    cdef const double* count
    if given is not None:
        odds[0], recent[0] = given
        return 0
    row = row_of(own, category)
    odds[0] = recent[0] = 0.0
    if row >= counts.n:
        raise ValueError("a category is counted beyond the counts")
    if row >= 0:
        count = counts.rows + N_COUNTS * row
        odds[0] = log_odds(count[0], count[1], &counts.prior)
        recent[0] = log_odds(count[2], count[3], &counts.prior)
    return 0


def encode_record(object record, bint learning, encoder):
    cdef dict index
    cdef list known
    cdef cnp.ndarray facts, counts, class_weights, places
    cdef object absent, rows
    index, facts, known, counts, class_weights, places, absent, rows = encoder
    if index is None or facts is None or counts is None or class_weights is None or places is None:
        raise TypeError("a part of the encoder is missing")
    cdef dict given = {}
    if type(record) is ReadRecord:
        given = {place: (odds, recent) for place, odds, recent in record.odds}
    elif type(record) is not dict:
        if not isinstance(record, Mapping):
            raise record_type_error(record)
        record = dict(record)
    cdef Py_ssize_t i, n_features = len(known)
    cdef list categories = []
    cdef const cnp.int64_t* fact = integers(facts, cnp.PyArray_SIZE(facts))
    cdef Counts counted
    counted.rows, counted.n = read_doubles(counts, 0), cnp.PyArray_SIZE(counts) // N_COUNTS
    counted.prior = prior_of(class_weights)
    if cnp.PyArray_SIZE(facts) < N_FACTS * n_features:
        raise ValueError("there are facts of too few features")
    cdef Pairs values
    values.keys, values.values, values.n, values.capacity = NULL, NULL, 0, 0
    try:
        if type(record) is dict:
            read_values(&values, categories, record, index, learning)
        else:
            given = read_again(&values, categories, record, given, index, learning)
        if len(index) > n_features:
            return None
        for i in range(values.n):
            if not 0 <= values.keys[i] < n_features:
                raise ValueError(f"{values.keys[i]} is no feature")
        dense = sparse = None
        if absent is not None:
            dense = encode_dense(&values, categories, given, fact, known, &counted, places, absent)
        if rows is not None:
            sparse = encode_sparse(
                &values, categories, given, learning, fact, known, &counted, rows
            )
        return dense, sparse, (*arrays_of(&values), categories) if learning else None
    finally:
        PyMem_Free(values.keys)
        PyMem_Free(values.values)


cdef object encode_dense(
    const Pairs* values, list categories, dict given, const cnp.int64_t* facts, list known,
    const Counts* counts, cnp.ndarray places, cnp.ndarray absent,
):
    cdef Py_ssize_t size = cnp.PyArray_SIZE(absent), i, j, feature
    cdef const cnp.int64_t* fact
    cdef const cnp.int64_t* column = integers(places, cnp.PyArray_SIZE(places))
    cdef double entry[N_KINDS]
    cdef object category
    read_doubles(absent, size)
    if cnp.PyArray_SIZE(places) < N_KINDS * <Py_ssize_t>len(known):
        raise ValueError("there are places for too few features")
    cdef cnp.ndarray array = cnp.PyArray_NewCopy(absent, cnp.NPY_CORDER)
    cdef double* x = <double*>cnp.PyArray_DATA(array)
    for i in range(values.n):
        feature, category = values.keys[i], categories[i]
        fact = facts + N_FACTS * feature
        entry[0], entry[1], entry[2], entry[3] = values.values[i], NAN, NAN, 0.0
        if fact[IS_COUNTED] and category is not None and is_category(fact, known[feature]):
            find_odds(counts, known[feature], category, given.get(i), &entry[1], &entry[2])
        for j in range(N_KINDS if fact[IS_COUNTED] else not isnan(entry[NUMBER])):
            if column[N_KINDS * feature + j] >= size:
                raise ValueError("a column is beyond the array")
            if column[N_KINDS * feature + j] >= 0:
                x[column[N_KINDS * feature + j]] = entry[j]
    return array


cdef inline Py_ssize_t size_of(double number) noexcept:
    cdef int exponent
    cdef double mantissa = fabs(frexp(number, &exponent))
    if not number:
        return N_SIZES - 1
    exponent = min(max(exponent, MIN_EXPONENT), MAX_EXPONENT)
    return 2 * (exponent - MIN_EXPONENT) + (mantissa >= 0.75) + (N_SIZES // 2) * (number < 0.0)


cdef int add_entry(
    Pairs* example, object index, bint learning, Py_ssize_t row, Py_ssize_t feature, int kind,
    object key, double value,
) except -1:
    """Add an entry, which has this row, or none yet if it is -1."""
    if row < 0:
        if not learning:
            return 0
        row = index.find((feature, kind, key), True)
    return push(example, row, value)


cdef tuple encode_sparse(
    const Pairs* values, list categories, dict given, bint learning, const cnp.int64_t* facts,
    list known, const Counts* counts, object index,
):
    cdef cnp.ndarray single_rows = index[1]
    cdef list category_rows = index[2], size_rows = index[3]
    if single_rows is None:
        raise TypeError("a part of the index is missing")
    cdef const cnp.int64_t* single = integers(single_rows, cnp.PyArray_SIZE(single_rows))
    cdef const cnp.int64_t* fact
    cdef Py_ssize_t i, feature, size, row
    cdef object category, sizes
    cdef bint is_counted, has_odds
    cdef double number, odds, recent
    if min(cnp.PyArray_SIZE(single_rows) // 2, len(category_rows), len(size_rows)) < <Py_ssize_t>(
        len(known)
    ):
        raise ValueError("there are rows of too few features")
    cdef Pairs example
    example.keys, example.values, example.n, example.capacity = NULL, NULL, 0, 0
    try:
        for i in range(values.n):
            feature, number, category = values.keys[i], values.values[i], categories[i]
            fact = facts + N_FACTS * feature
            is_counted = fact[IS_COUNTED]
            if isnan(number):
                if is_counted and is_text(fact, known[feature]):
                    for word in words(category):
                        row = row_of(category_rows[feature], word)
                        add_entry(&example, index, learning, row, feature, CATEGORY, word, 1.0)
                    continue
            else:
                if number:
                    row = single[2 * feature]
                    add_entry(&example, index, learning, row, feature, NUMBER, None, number)
                if is_counted and fact[HAS_FRACTIONS]:
                    size, sizes = size_of(number), size_rows[feature]
                    row = -1 if sizes is None else integers(sizes, N_SIZES)[size]
                    if row >= 0:
                        push(&example, row, 1.0)
                    else:
                        add_entry(&example, index, learning, -1, feature, SIZE, size, 1.0)
            has_odds = is_counted and category is not None and is_category(fact, known[feature])
            if has_odds or isnan(number):
                row = row_of(category_rows[feature], category)
                add_entry(&example, index, learning, row, feature, CATEGORY, category, 1.0)
            if (
                has_odds
                and <Py_ssize_t>len(known[feature]) > _MAX_CATEGORIES_WITHOUT_ODDS
                and not fact[IS_TIME]
            ):
                find_odds(counts, known[feature], category, given.get(i), &odds, &recent)
                if odds:
                    row = single[2 * feature + LOG_ODDS]
                    add_entry(&example, index, learning, row, feature, LOG_ODDS, None, odds)
        return arrays_of(&example)
    finally:
        PyMem_Free(example.keys)
        PyMem_Free(example.values)
