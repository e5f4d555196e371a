"""The compiled function of `rankers.scores`."""

from libc.math cimport fabs, fmax, fmin, log, sqrt
cimport numpy as cnp

from river_oauc._compiled.common cimport doubles, read_doubles

from river_oauc.rankers import calibration
from river_oauc.rankers.scores import CLASS_MEMORY, UNIT_MEMORY

cnp.import_array()

cdef double _max_separation = calibration.MAX_SEPARATION
cdef double _min_separation = calibration.MIN_SEPARATION
cdef double _smallest_deviation = calibration.SMALLEST_DEVIATION
cdef double _unit_memory = UNIT_MEMORY, _class_memory = CLASS_MEMORY


def update_scores(
    cnp.ndarray classes not None, double mean_square, double score, bint positive, double weight
):
    cdef double* both = doubles(classes, 8)
    # Number, total weight, mean and variance.
    cdef double* own = both + 4 * positive
    cdef double rate = 1.0 / fmin(both[0] + both[4] + 1.0, _unit_memory), deviation
    mean_square += rate * (score * score - mean_square)
    own[0] += 1.0
    own[1] += weight
    if mean_square >= _smallest_deviation:
        rate = 1.0 / fmin(own[0], _class_memory)
        deviation = score / sqrt(mean_square) - own[2]
        own[2] += rate * deviation
        own[3] += rate * ((1.0 - rate) * deviation * deviation - own[3])
    return mean_square


def scores_logit(
    cnp.ndarray classes not None, double mean_square, double score, double level, bint empirical
):
    cdef const double* low = read_doubles(classes, 8)
    cdef const double* high = low + 4
    cdef double unit = sqrt(mean_square), gap = unit * (high[2] - low[2]), slope = 1.0, deviation
    if not (low[0] and high[0]):
        return score
    deviation = sqrt(0.5 * (low[3] + high[3])) * unit
    deviation = fmax(deviation, fabs(gap) / _max_separation)
    if deviation >= _smallest_deviation:
        slope = fmin(fmax(gap / deviation, _min_separation), _max_separation) / deviation
    cdef double logit = slope * (score - level - 0.5 * unit * (low[2] + high[2]))
    return logit + log(high[1]) - log(low[1]) if empirical else logit
