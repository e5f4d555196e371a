"""The compiled functions of `rankers.sparse`."""

from libc.math cimport copysign, fabs, fmax, fmin, log, sqrt
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, integers, read_doubles, slope_of
from river_oauc._compiled.losses cimport PAIRWISE_SHARE, add_score, pull_of

from river_oauc.rankers import sparse as constants

cnp.import_array()

if constants.PAIRWISE_SHARE != PAIRWISE_SHARE:
    raise ImportError("compiled and numpy losses have different shares")

cdef double _ADAGRAD_OFFSET = constants.ADAGRAD_OFFSET
cdef double _USUAL_LEVEL = constants.USUAL_LEVEL
cdef double _USUAL_DEVIATION = constants.USUAL_DEVIATION
cdef double _UNIT_PER_DEVIATION = constants.UNIT_PER_DEVIATION
cdef double _EXAMPLES_PER_UNUSUAL_LEVEL = constants.EXAMPLES_PER_UNUSUAL_LEVEL
cdef double _MIN_UNIT_PER_LEVEL = constants.MIN_UNIT_PER_LEVEL
cdef double _SMALLEST_UNIT = constants.SMALLEST_UNIT
cdef double _UNSEEN = constants.UNSEEN

cdef struct Term:
    double weight
    double squares
    double unit
    double mean

cdef struct Feature:
    Term level
    Term deviation

cdef enum:
    N_NUMBERS = 8


cdef inline Feature* features_of(cnp.ndarray terms) except NULL:
    if cnp.PyArray_SIZE(terms) % N_NUMBERS:
        raise ValueError("an array has another size")
    return <Feature*>doubles(terms, cnp.PyArray_SIZE(terms))


cdef inline double scaled(const Term* term, double x) noexcept:
    x -= term.mean
    return x / (term.unit + fabs(x))


cdef inline double length_scale(double squared_length) noexcept:
    return 1.0 / sqrt(sqrt(squared_length)) if squared_length else 0.0


def scores_logit(cnp.ndarray scores not None, double score, bint empirical):
    cdef const double* low = read_doubles(scores, 6)
    cdef const double* high = low + 3
    if not (low[0] and high[0]):
        return score
    cdef double slope = slope_of(high[1] - low[1], 0.5 * (low[2] / low[0] + high[2] / high[0]))
    cdef double logit = slope * (score - 0.5 * (low[1] + high[1]))
    return logit + log(high[0] / low[0]) if empirical else logit


def n_rows_needed(cnp.ndarray rows not None):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(rows), i, largest = -1
    cdef const cnp.int64_t* row = integers(rows, n)
    for i in range(n):
        largest = max(largest, row[i])
    return largest + 1


def sparse_score(
    cnp.ndarray terms not None, Py_ssize_t n_features, cnp.ndarray rows not None,
    cnp.ndarray values not None,
):
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(rows)
    cdef Py_ssize_t i
    cdef const Feature* feature = features_of(terms)
    cdef const cnp.int64_t* row = integers(rows, n)
    cdef const double* x = read_doubles(values, n)
    cdef double total = 0.0, squared_length = 0.0, z
    inputs = cnp.PyArray_ZEROS(1, &n, cnp.NPY_DOUBLE, 0)
    cdef double* own_input = <double*>cnp.PyArray_DATA(inputs)
    n_features = min(n_features, cnp.PyArray_SIZE(terms) // N_NUMBERS)
    for i in range(n):
        if not 0 <= row[i] < n_features:
            continue
        z = scaled(&feature[row[i]].level, x[i])
        total += feature[row[i]].level.weight * z
        squared_length += z * z
        own_input[i] = z
        if feature[row[i]].deviation.unit != _UNSEEN:
            z = scaled(&feature[row[i]].deviation, x[i])
            total += feature[row[i]].deviation.weight * z
            squared_length += z * z
            own_input[i] = z
    return total * length_scale(squared_length), inputs


def sparse_step(
    cnp.ndarray terms not None, cnp.ndarray n_unusual not None, cnp.ndarray scores not None,
    long long n_seen, cnp.ndarray rows not None, cnp.ndarray values not None, bint positive,
    double weight,
):
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(rows)
    cdef Py_ssize_t i, size = cnp.PyArray_SIZE(terms) // N_NUMBERS
    cdef Feature* feature = features_of(terms)
    cdef double* unusual = doubles(n_unusual, size)
    cdef double* class_scores = doubles(scores, 6)
    cdef const cnp.int64_t* row = integers(rows, n)
    cdef const double* x = read_doubles(values, n)
    inputs = cnp.PyArray_EMPTY(1, &n, cnp.NPY_DOUBLE, 0)
    cdef double* own_input = <double*>cnp.PyArray_DATA(inputs)
    cdef double total = 0.0, squared_length = 0.0, z, pull = 0.0, curvature = 0.0
    cdef Feature* each
    for i in range(n):
        if not 0 <= row[i] < size:
            raise ValueError(f"{row[i]} is no row")
    for i in range(n):
        each = feature + row[i]
        if each.level.unit == _UNSEEN:
            each.level.unit = fabs(x[i])
        z = own_input[i] = scaled(&each.level, x[i])
        total += each.level.weight * z
        squared_length += z * z
        if each.deviation.unit != _UNSEEN:
            z = own_input[i] = scaled(&each.deviation, x[i])
            total += each.deviation.weight * z
            squared_length += z * z
    cdef double scale = length_scale(squared_length), score = total * scale
    pull_of(class_scores, score, positive, weight, &pull, &curvature)
    for i in range(n):
        follow(
            feature + row[i], unusual + row[i], n_seen, x[i], scale * pull,
            scale * scale * curvature,
        )
    add_score(class_scores, score, positive, weight)
    return score, inputs


cdef inline double move(Term* term, double z, double step, double curvature) noexcept:
    """Move a weight, and return the root of its second derivatives."""
    term.squares += curvature * z * z
    cdef double root = sqrt(term.squares)
    term.weight += step * z / (_ADAGRAD_OFFSET + root * sqrt(root))
    return root


cdef inline void follow(
    Feature* feature, double* n_unusual, long long n_seen, double x, double step, double curvature
) noexcept:
    """Move the weights of a feature, and let its units and mean follow the value x."""
    cdef Term* varying = &feature.deviation
    cdef double unit = feature.level.unit, level = scaled(&feature.level, x), deviation, inertia
    cdef double root = move(&feature.level, level, step, curvature)
    feature.level.unit = unit * ((fabs(level) + root) / (_USUAL_LEVEL + root))
    if varying.unit != _UNSEEN:
        deviation = scaled(varying, x)
        root = move(varying, deviation, step, curvature)
        inertia = _USUAL_DEVIATION + root
        varying.mean += _USUAL_DEVIATION * (varying.unit * deviation / inertia)
        varying.unit *= (fabs(deviation) + root) / inertia
    elif fabs(level) != _USUAL_LEVEL:
        n_unusual[0] += 1.0
        if not _EXAMPLES_PER_UNUSUAL_LEVEL * n_unusual[0] >= n_seen:
            return
        # The smaller of the two is hardly the outlier.
        varying.mean = copysign(fmin(unit, fabs(x)), x)
        varying.unit = _UNIT_PER_DEVIATION * fabs(fabs(x) - unit)
    else:
        return
    varying.unit = fmax(varying.unit, fmax(_MIN_UNIT_PER_LEVEL * feature.level.unit, _SMALLEST_UNIT))

