"""The compiled twins of `encoding.features`, and the fast paths of the encoders of records.

The fast paths take dicts of strings, numbers and None. If a record has anything else, or is to be
refused, those that encode return None, and the one that learns returns what is left to be learned.
"""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_AsLongLong, PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport NAN, copysign, exp, fabs, floor, fmax, frexp, isnan, ldexp, log, log1p
from libc.string cimport memcpy
cimport numpy as cnp

from river_oauc.encoding import features as numpy_twin
from river_oauc.limits import MAX_NORM

cnp.import_array()

cdef double _max_norm = MAX_NORM
cdef double _SHRINKAGE = numpy_twin.SHRINKAGE
cdef double _RECENT_MEMORY = numpy_twin.RECENT_MEMORY
cdef double _MIN_GAIN = numpy_twin.MIN_GAIN
cdef double _MOST_DISTINCT = numpy_twin.MOST_DISTINCT
cdef Py_ssize_t _MIN_VALUES = numpy_twin.MIN_VALUES
cdef Py_ssize_t _GIVE_UP_AFTER = numpy_twin.GIVE_UP_AFTER
cdef Py_ssize_t _TEXT_WORDS = numpy_twin.TEXT_WORDS
cdef Py_ssize_t _MIN_TEXTS = numpy_twin.MIN_TEXTS
cdef Py_ssize_t _FEW_CATEGORIES = numpy_twin.FEW_CATEGORIES

cdef struct Prior:
    double negative
    double positive
    double log_odds


cdef Prior _read_prior(prior) except *:
    cdef Prior read
    read.negative, read.positive, read.log_odds = prior
    return read


cdef Prior _prior_of(tuple class_weights) except *:
    """Return the prior after examples of these weights: the twin of `Prior.of`."""
    cdef double negative, positive
    negative, positive = class_weights
    cdef Prior prior
    cdef double total = negative + positive + 1.0
    prior.negative, prior.positive = (negative + 0.5) / total, (positive + 0.5) / total
    prior.log_odds = log(prior.positive / prior.negative)
    return prior


cdef inline double _log_odds(double negative, double positive, const Prior* prior) noexcept:
    return log(
        (positive + _SHRINKAGE * prior.positive) / (negative + _SHRINKAGE * prior.negative)
    ) - prior.log_odds


cdef inline double _softplus(double x) noexcept:
    return fmax(x, 0.0) + log1p(exp(-fabs(x)))


cdef class Counts:
    """The weights of the negatives and positives that a category has come with."""

    cdef public double negative, positive, recent_negative, recent_positive

    def __init__(
        self, double negative=0.0, double positive=0.0, double recent_negative=0.0,
        double recent_positive=0.0,
    ):
        self.negative, self.positive = negative, positive
        self.recent_negative, self.recent_positive = recent_negative, recent_positive

    cdef void add(self, bint positive, double weight) noexcept:
        self.recent_negative *= 1.0 - 1.0 / _RECENT_MEMORY
        self.recent_positive *= 1.0 - 1.0 / _RECENT_MEMORY
        if positive:
            self.positive += weight
            self.recent_positive += weight
        else:
            self.negative += weight
            self.recent_negative += weight

    cdef double gain_of_recent(self, bint positive, const Prior* prior) noexcept:
        cdef double sign = 1.0 if positive else -1.0
        cdef double all_time = prior.log_odds + _log_odds(self.negative, self.positive, prior)
        cdef double recent = prior.log_odds + _log_odds(
            self.recent_negative, self.recent_positive, prior
        )
        return _softplus(-sign * all_time) - _softplus(-sign * recent)


cdef enum:
    _N_SLOTS = 32


cdef class _Rows:
    """The rows of a feature and of some of its sizes, found without making and hashing their names.

    They hold for one index, in which a name never changes its row.
    """

    cdef dict index
    cdef Py_ssize_t number, log_odds
    cdef double[_N_SLOTS] sizes
    cdef Py_ssize_t[_N_SLOTS] size_rows

    def __cinit__(self, dict index):
        self.index, self.number, self.log_odds = index, -1, -1
        for slot in range(_N_SLOTS):
            self.sizes[slot] = NAN


cdef class Feature:
    """The statistics of a feature."""

    cdef public Py_ssize_t n_known, n_strings, n_texts
    cdef public bint has_fractions, is_mostly_known
    cdef public dict categories
    cdef public double recent_gain
    cdef Py_ssize_t as_number, as_odds, as_recent, as_missing
    cdef public _Rows rows

    def __init__(self):
        self.categories = {}
        self.as_number = self.as_odds = self.as_recent = self.as_missing = -1

    @property
    def columns(self):
        return self.as_number, self.as_odds, self.as_recent, self.as_missing

    @columns.setter
    def columns(self, columns):
        self.as_number, self.as_odds, self.as_recent, self.as_missing = columns

    cdef bint recurs(self) noexcept:
        return self.categories is not None and (
            self.n_known < _MIN_VALUES or len(self.categories) <= _MOST_DISTINCT * self.n_known
        )

    cdef bint counts_as_category(self) noexcept:
        if self.categories is None:
            return False
        if self.n_strings:
            return not self.consists_of_texts()
        return not self.has_fractions and len(self.categories) > 2 and self.recurs()

    cdef bint consists_of_texts(self) noexcept:
        if self.n_strings < _MIN_TEXTS or 2 * self.n_texts <= self.n_strings:
            return False
        return self.categories is None or len(self.categories) > _MOST_DISTINCT * self.n_strings

    @property
    def has_numbers(self):
        return self.n_known > self.n_strings

    @property
    def is_category(self):
        return self.counts_as_category()

    @property
    def is_text(self):
        return self.consists_of_texts()

    @property
    def is_bursty(self):
        return self.recent_gain > _MIN_GAIN and self.n_strings == self.n_known

    cdef _Rows rows_in(self, dict index):
        """Return the rows that have been found in an index."""
        if self.rows is None or self.rows.index is not index:
            self.rows = _Rows(index)
        return self.rows

    cdef Counts look_up(self, object category):
        """Return the counts of a category, or None."""
        if self.categories is None:
            return None
        cdef PyObject* found = PyDict_GetItemWithError(self.categories, category)
        return <Counts>found if found is not NULL else None

    def log_odds(self, category, prior):
        cdef Prior read = _read_prior(prior)
        cdef Counts counts = self.look_up(category)
        return 0.0 if counts is None else _log_odds(counts.negative, counts.positive, &read)

    def recent_log_odds(self, category, prior):
        cdef Prior read = _read_prior(prior)
        cdef Counts counts = self.look_up(category)
        if counts is None:
            return 0.0
        return _log_odds(counts.recent_negative, counts.recent_positive, &read)

    def learn(self, double number, category, bint positive, double weight, prior):
        cdef Prior read = _read_prior(prior)
        self.count(number, category, positive, weight, &read)

    cdef count(
        self, double number, object category, bint positive, double weight, const Prior* prior
    ):
        self.n_known += 1
        if isnan(number):
            self.n_strings += 1
            if isinstance(category, str) and (<str>category).count(" ") >= _TEXT_WORDS - 1:
                self.n_texts += 1
        elif not self.has_fractions and number != floor(number):
            self.has_fractions = True
            if self.categories and not self.n_strings:
                self.categories = {}
        if self.categories is None or category is None:
            return
        if self.has_fractions and not self.n_strings:
            return
        cdef Counts counts = self.look_up(category)
        if counts is not None:
            self.recent_gain += weight * counts.gain_of_recent(positive, prior)
        elif self.n_known >= _GIVE_UP_AFTER and not self.recurs():
            self.categories = None
            return
        else:
            counts = Counts.__new__(Counts)
            self.categories[category] = counts
        counts.add(positive, weight)


cdef long long _MAX_EXACT = 2**53

cdef enum Kind:
    REFUSED, UNKNOWN, NUMBER, CATEGORY


cdef Kind _read(object value, double* number) noexcept:
    """Return the kind of a plain value, and set its number."""
    cdef long long whole
    cdef int overflow
    number[0] = NAN
    if value is None:
        return UNKNOWN
    if PyUnicode_CheckExact(value):
        return CATEGORY
    if PyFloat_Check(value):
        number[0] = PyFloat_AS_DOUBLE(value)
        if isnan(number[0]):
            return UNKNOWN
    elif PyLong_CheckExact(value):
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        # Longer ones are read exactly by the slow path.
        if overflow or not -_MAX_EXACT <= whole <= _MAX_EXACT:
            return REFUSED
        number[0] = <double>whole
    elif value is True or value is False:
        number[0] = 1.0 if value is True else 0.0
    else:
        return REFUSED
    return NUMBER if fabs(number[0]) <= _max_norm else REFUSED


cdef inline object _category_of(object value, Kind kind, double number):
    """Return a plain value as a category, or None."""
    if kind == CATEGORY or PyLong_CheckExact(value):
        return value
    if PyFloat_Check(value) and number == floor(number):
        return int(number)
    return None


cdef inline bint _is_plain_name(object name) noexcept:
    return PyUnicode_CheckExact(name) or PyLong_CheckExact(name)


cdef inline Py_ssize_t _position(dict index, object name) except -2:
    """Return the position of a name, or -1."""
    cdef PyObject* found = PyDict_GetItemWithError(index, name)
    return -1 if found is NULL else PyLong_AsLongLong(<object>found)


cdef inline bint _set(double* array, Py_ssize_t size, Py_ssize_t position, double x) noexcept:
    """Set an entry, if there is one; return whether it lies in the array or is -1."""
    if 0 <= position < size:
        array[position] = x
        return True
    return position == -1


def encode_record(
    object record, dict features not None, dict index not None, cnp.ndarray absent not None,
    bint learning, tuple class_weights not None,
):
    """Return the array of a record: the twin of `RecordVectorizer._encode`."""
    if type(record) is not dict:
        return None
    cdef cnp.ndarray array = cnp.PyArray_NewCopy(absent, cnp.NPY_CORDER)
    if cnp.PyArray_NDIM(array) != 1 or cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE:
        return None
    cdef double* x = <double*>cnp.PyArray_DATA(array)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(array), cursor = 0
    cdef Prior prior = _prior_of(class_weights)
    cdef PyObject *key
    cdef PyObject *item
    cdef PyObject *found
    cdef object name, value, category
    cdef Feature feature
    cdef Counts counts
    cdef double number, odds, recent
    cdef Kind kind
    cdef Py_ssize_t position
    while PyDict_Next(record, &cursor, &key, &item):
        name, value = <object>key, <object>item
        kind = _read(value, &number)
        if kind == REFUSED or not _is_plain_name(name):
            return None
        if kind == UNKNOWN:
            continue
        found = PyDict_GetItemWithError(features, name)
        if found is NULL:
            position = _position(index, name) if kind == NUMBER else -1
            if position == -1 and learning or not _set(x, size, position, number):
                return None
            continue
        feature = <Feature?>found
        if learning and (feature.as_number if kind == NUMBER else feature.as_odds) < 0:
            return None
        odds = recent = NAN
        if feature.as_odds >= 0 and feature.counts_as_category():
            category = _category_of(value, kind, number)
            if category is not None:
                counts = feature.look_up(category)
                odds = recent = 0.0
                if counts is not None:
                    odds = _log_odds(counts.negative, counts.positive, &prior)
                    recent = _log_odds(counts.recent_negative, counts.recent_positive, &prior)
        if not (
            _set(x, size, feature.as_number, number)
            and _set(x, size, feature.as_odds, odds)
            and _set(x, size, feature.as_recent, recent)
            and _set(x, size, feature.as_missing, 0.0)
        ):
            return None
    return array


cdef class _Entries:
    """The rows and values of a sparse example in the making."""

    cdef cnp.int64_t* rows
    cdef double* values
    cdef cnp.npy_intp capacity, n
    # The names that have no row.
    cdef list unknown

    def __cinit__(self, Py_ssize_t capacity):
        self.rows = <cnp.int64_t*>PyMem_Malloc(capacity * sizeof(cnp.int64_t))
        self.values = <double*>PyMem_Malloc(capacity * sizeof(double))
        if self.rows is NULL or self.values is NULL:
            raise MemoryError
        self.capacity, self.unknown = capacity, []

    def __dealloc__(self):
        PyMem_Free(self.rows)
        PyMem_Free(self.values)

    cdef inline Py_ssize_t look_up(self, dict index, object name) except -2:
        """Return the row of a name, or -1 if it has none."""
        cdef Py_ssize_t row = _position(index, name)
        if row < 0:
            self.unknown.append(name)
        return row

    cdef inline void add(self, Py_ssize_t row, double value) noexcept:
        """Add an entry, if it has a row."""
        # A record that another thread makes longer may have too many.
        if 0 <= row and self.n < self.capacity:
            self.rows[self.n], self.values[self.n] = row, value
            self.n += 1

    cdef tuple example(self):
        rows = cnp.PyArray_EMPTY(1, &self.n, cnp.NPY_INT64, 0)
        values = cnp.PyArray_EMPTY(1, &self.n, cnp.NPY_DOUBLE, 0)
        memcpy(cnp.PyArray_DATA(rows), self.rows, self.n * sizeof(cnp.int64_t))
        memcpy(cnp.PyArray_DATA(values), self.values, self.n * sizeof(double))
        return rows, values


# The most entries that a value has: number, size, category and log odds.
cdef int _MOST_ENTRIES = 4


def encode_sparse(
    object record, dict features not None, dict index not None, tuple class_weights not None
):
    """Return rows and values of what is known in a record, and the names that are not.

    The twin of `SparseEncoder._encode`.
    """
    if type(record) is not dict:
        return None
    cdef Prior prior = _prior_of(class_weights)
    cdef _Entries entries = _Entries(_MOST_ENTRIES * len(<dict>record))
    cdef Py_ssize_t cursor = 0, row
    cdef PyObject *key
    cdef PyObject *item
    cdef PyObject *found
    cdef object name, value, category
    cdef Feature feature
    cdef Counts counts
    cdef double number, odds
    cdef Kind kind
    while PyDict_Next(record, &cursor, &key, &item):
        name, value = <object>key, <object>item
        kind = _read(value, &number)
        if kind == REFUSED or not _is_plain_name(name):
            return None
        if kind == UNKNOWN:
            continue
        found = PyDict_GetItemWithError(features, name)
        feature = <Feature?>found if found is not NULL else None
        if kind == NUMBER:
            if number != 0.0:
                if feature is None:
                    row = entries.look_up(index, name)
                else:
                    row = _row_of_number(entries, feature, index, name)
                entries.add(row, number)
        elif feature is None or not feature.counts_as_category():
            if feature is not None and feature.consists_of_texts():
                return None
            entries.add(entries.look_up(index, (name, value)), 1.0)
        if feature is None:
            continue
        if feature.has_fractions and kind == NUMBER:
            entries.add(_row_of_size(entries, feature, index, name, number), 1.0)
        if not feature.counts_as_category():
            continue
        category = _category_of(value, kind, number)
        if category is None:
            continue
        entries.add(entries.look_up(index, (name, category)), 1.0)
        if len(feature.categories) > _FEW_CATEGORIES:
            counts = feature.look_up(category)
            odds = 0.0
            if counts is not None:
                odds = _log_odds(counts.negative, counts.positive, &prior)
            if odds != 0.0:
                entries.add(_row_of_log_odds(entries, feature, index, name), odds)
    return entries.example(), entries.unknown


cdef Py_ssize_t _row_of_number(
    _Entries entries, Feature feature, dict index, object name
) except -2:
    """Return the row of a number, or -1 if it has none."""
    cdef _Rows known = feature.rows_in(index)
    if known.number < 0:
        known.number = entries.look_up(index, name)
    return known.number


cdef Py_ssize_t _row_of_log_odds(
    _Entries entries, Feature feature, dict index, object name
) except -2:
    """Return the row of the log odds of categories, or -1 if it has none."""
    cdef _Rows known = feature.rows_in(index)
    if known.log_odds < 0:
        known.log_odds = entries.look_up(index, (name, "has", "log odds"))
    return known.log_odds


cdef Py_ssize_t _row_of_size(
    _Entries entries, Feature feature, dict index, object name, double number
) except -2:
    """Return the row of all numbers of about this size, or -1 if it has none."""
    cdef int exponent
    cdef Py_ssize_t row
    cdef double mantissa = frexp(number, &exponent)
    if number != 0.0:
        mantissa = copysign(0.75 if fabs(mantissa) >= 0.75 else 0.5, mantissa)
    cdef double size = ldexp(mantissa, exponent)
    cdef _Rows known = feature.rows_in(index)
    # Neighbouring sizes have slots of their own.
    cdef int slot = (4 * exponent + 2 * (fabs(mantissa) > 0.5) + (mantissa < 0.0)) & (_N_SLOTS - 1)
    if known.sizes[slot] != size:
        row = entries.look_up(index, (name, "from", size))
        if row < 0:
            return row
        known.sizes[slot], known.size_rows[slot] = size, row
    return known.size_rows[slot]


def learn_record(
    object record, dict features not None, dict index not None,
    cnp.ndarray n_known not None, bint positive, double weight, tuple class_weights not None,
):
    """Count the values of a record, and return those that `Statistics._learn` is to count.

    These are values that are not plain, and strings of new features.
    """
    if type(record) is not dict:
        return record
    if not (cnp.PyArray_TYPE(n_known) == cnp.NPY_INT64 and cnp.PyArray_ISCARRAY(n_known)):
        raise ValueError("n_known must be an array of integers")
    cdef cnp.int64_t* n = <cnp.int64_t*>cnp.PyArray_DATA(n_known)
    cdef Prior prior = _prior_of(class_weights)
    cdef Py_ssize_t cursor = 0, position, size = cnp.PyArray_SIZE(n_known)
    cdef PyObject *key
    cdef PyObject *item
    cdef PyObject *found
    cdef object name, value
    cdef double number
    cdef Kind kind
    cdef bint is_plain
    cdef dict rest = None
    while PyDict_Next(record, &cursor, &key, &item):
        name, value = <object>key, <object>item
        kind = _read(value, &number)
        if kind == UNKNOWN:
            continue
        is_plain = kind != REFUSED and _is_plain_name(name)
        found = PyDict_GetItemWithError(features, name) if is_plain else NULL
        if found is not NULL:
            (<Feature?>found).count(
                number, _category_of(value, kind, number), positive, weight, &prior
            )
        elif is_plain and kind == NUMBER:
            position = _position(index, name)
            if 0 <= position < size:
                n[position] += 1
        else:
            rest = {} if rest is None else rest
            rest[name] = value
    return rest
