"""The compiled twin of `rankers.sparse`."""

from libc.math cimport copysign, exp, fabs, fmax, fmin, hypot, log, sqrt
cimport numpy as cnp

import numpy as np

from river_oauc.rankers import sparse as numpy_twin
from river_oauc.rankers import calibration

cnp.import_array()

cdef double _ADAGRAD_OFFSET = numpy_twin.ADAGRAD_OFFSET
cdef double _USUAL_LEVEL = numpy_twin.USUAL_LEVEL
cdef double _USUAL_DEVIATION = numpy_twin.USUAL_DEVIATION
cdef double _UNIT_PER_DEVIATION = numpy_twin.UNIT_PER_DEVIATION
cdef double _EXAMPLES_PER_UNUSUAL_LEVEL = numpy_twin.EXAMPLES_PER_UNUSUAL_LEVEL
cdef double _MIN_UNIT_PER_LEVEL = numpy_twin.MIN_UNIT_PER_LEVEL
cdef double _SMALLEST_UNIT = numpy_twin.SMALLEST_UNIT
cdef double _UNSEEN = numpy_twin.UNSEEN
cdef double _SMALLEST_DEVIATION = calibration.SMALLEST_DEVIATION
cdef double _MAX_SEPARATION = calibration.MAX_SEPARATION
cdef double _MIN_SEPARATION = calibration.MIN_SEPARATION

# More than any machine has memory for; twice as many terms do not overflow an index.
cdef cnp.int64_t _MAX_ROWS = 2**40

cdef struct Term:
    double weight
    double squares
    double unit
    double mean


cdef inline double _scaled(const Term* term, double x) noexcept:
    x -= term.mean
    return x / (term.unit + fabs(x))


cdef inline double _step(Term* term, double scaled, double step, double curvature) noexcept:
    """Move a weight, and return the root of its squared gradients."""
    term.squares += curvature * scaled * scaled
    cdef double root = sqrt(term.squares)
    term.weight += step * scaled / (_ADAGRAD_OFFSET + root)
    return root


cdef class SparseRanker:
    """A linear score on sparse examples, learned by AdaGrad on the loss of OAUC-M."""

    # The terms with the axes in the reverse order, so that those of a feature lie side by side.
    cdef double[:, :, ::1] terms
    cdef Term* term
    cdef double[::1] n_unusual
    cdef double[::1] scaled
    cdef Py_ssize_t n_rows, capacity
    cdef long long n_seen
    # Of the scores of the negatives and of the positives.
    cdef double n[2]
    cdef double mean[2]
    cdef double scatter[2]

    def __cinit__(self, ranker):
        n_features = ranker.n_features
        self._set_arrays(
            np.array(ranker.terms[:, :, :n_features].T, order="C"),
            np.array(ranker.n_unusual[:n_features]),
        )
        self.n_rows, self.n_seen = n_features, ranker.n_seen
        self.scaled = np.empty(0)
        for i, moments in enumerate(ranker.scores):
            self.n[i], self.mean[i], self.scatter[i] = moments

    cdef _set_arrays(self, double[:, :, ::1] terms, double[::1] n_unusual):
        if terms.shape[1] != 2 or terms.shape[2] != 4 or len(n_unusual) != len(terms):
            raise ValueError("the arrays of features do not belong together")
        self.terms, self.n_unusual = terms, n_unusual
        self.term = <Term*>&terms[0, 0, 0]
        self.capacity = len(terms)

    cdef _make_room(self, Py_ssize_t n_features, Py_ssize_t n_terms):
        """Make room for all features, and for the terms of an example."""
        if n_terms > self.scaled.shape[0]:
            self.scaled = np.empty(2 * n_terms)
        if n_features > self.capacity:
            n_more = n_features + n_features // 8 - self.capacity
            self._set_arrays(
                np.ascontiguousarray(
                    np.concatenate((self.terms, numpy_twin.empty_terms(n_more).T))
                ),
                np.concatenate((self.n_unusual, np.zeros(n_more))),
            )

    @property
    def n_features(self):
        return self.n_rows

    def score(self, tuple example not None):
        cdef cnp.int64_t* rows
        cdef double* values
        cdef Py_ssize_t i, n = _read_example(example, &rows, &values)
        cdef double total = 0.0, squared_length = 0.0, scaled
        cdef Term* term
        for i in range(n):
            if not 0 <= rows[i] < self.n_rows:
                continue
            term = self.term + 2 * rows[i]
            scaled = _scaled(term, values[i])
            total += term.weight * scaled
            squared_length += scaled * scaled
            term += 1
            if term.unit != _UNSEEN:
                scaled = _scaled(term, values[i])
                total += term.weight * scaled
                squared_length += scaled * scaled
        return total * _length_scale(squared_length)

    def logit(self, double score, bint empirical):
        if not (self.n[0] and self.n[1]):
            return score
        variance = 0.5 * (self.scatter[0] / self.n[0] + self.scatter[1] / self.n[1])
        cdef double steepness = _slope(self.mean[1] - self.mean[0], variance)
        cdef double logit = steepness * (score - 0.5 * (self.mean[0] + self.mean[1]))
        return logit + log(self.n[1] / self.n[0]) if empirical else logit

    def learn(self, tuple example not None, bint positive, double weight):
        cdef cnp.int64_t* rows
        cdef double* values
        cdef Py_ssize_t i, n = _read_example(example, &rows, &values), n_features = self.n_rows
        for i in range(n):
            if not 0 <= rows[i] < _MAX_ROWS:
                raise ValueError(f"{rows[i]} is no row")
            n_features = max(n_features, rows[i] + 1)
        self._make_room(n_features, 2 * n)
        # From here on nothing can fail.
        self.n_rows = n_features
        self.n_seen += 1
        cdef Term* term
        cdef double x, total = 0.0, squared_length = 0.0
        for i in range(n):
            x = values[i]
            term = self.term + 2 * rows[i]
            if term.unit == _UNSEEN:
                term.unit = fabs(x)
            self.scaled[2 * i] = _scaled(term, x)
            total += term.weight * self.scaled[2 * i]
            squared_length += self.scaled[2 * i] * self.scaled[2 * i]
            term += 1
            if term.unit != _UNSEEN:
                self.scaled[2 * i + 1] = _scaled(term, x)
                total += term.weight * self.scaled[2 * i + 1]
                squared_length += self.scaled[2 * i + 1] * self.scaled[2 * i + 1]
        cdef double scale = _length_scale(squared_length)
        cdef double score = total * scale
        cdef double n_own = self.n[positive] + weight, ratio, balance, pairwise, logistic
        cdef double pull = 0.0, square = 0.0, sign = 1.0 if positive else -1.0
        if self.n[not positive]:
            ratio = self.n[not positive] / n_own
            balance = fmin(1.0, ratio)
            pairwise = _pull(
                sign * (score - self.mean[not positive]),
                self.scatter[not positive] / self.n[not positive],
            )
            logistic = _sigmoid(log(ratio) - sign * score)
            pull = 0.5 * weight * (balance * pairwise + logistic)
            square = 0.5 * weight * (balance * pairwise * pairwise + logistic * logistic)
        for i in range(n):
            self._follow(
                rows[i], values[i], &self.scaled[2 * i], sign * scale * pull,
                scale * scale * square,
            )
        cdef double gap = score - self.mean[positive]
        self.mean[positive] += weight / n_own * gap
        self.scatter[positive] += weight * (self.n[positive] / n_own) * gap * gap
        self.n[positive] = n_own
        return score

    cdef void _follow(
        self, Py_ssize_t row, double x, const double* scaled, double step, double curvature
    ) noexcept:
        """Move weights, units and mean of a feature."""
        cdef Term* level = self.term + 2 * row
        cdef Term* deviation = level + 1
        cdef double unit = level.unit, size = fabs(scaled[0]), settled
        cdef double root = _step(level, scaled[0], step, curvature)
        level.unit = unit * ((size + root) / (_USUAL_LEVEL + root))
        if deviation.unit != _UNSEEN:
            root = _step(deviation, scaled[1], step, curvature)
            settled = _USUAL_DEVIATION + root
            deviation.mean += _USUAL_DEVIATION * (deviation.unit * scaled[1] / settled)
            deviation.unit *= (fabs(scaled[1]) + root) / settled
        elif size != _USUAL_LEVEL:
            self.n_unusual[row] += 1.0
            if not _EXAMPLES_PER_UNUSUAL_LEVEL * self.n_unusual[row] >= self.n_seen:
                return
            # The smaller of the two is hardly the outlier.
            deviation.mean = copysign(fmin(unit, fabs(x)), x)
            deviation.unit = _UNIT_PER_DEVIATION * fabs(fabs(x) - unit)
        else:
            return
        deviation.unit = fmax(deviation.unit, fmax(_MIN_UNIT_PER_LEVEL * level.unit, _SMALLEST_UNIT))

    def get_state(self):
        scores = [(self.n[i], self.mean[i], self.scatter[i]) for i in range(2)]
        n = self.n_rows
        return numpy_twin.make_state(
            self.n_seen, scores, np.asarray(self.terms).T[..., :n], np.asarray(self.n_unusual)[:n]
        )


cdef Py_ssize_t _read_example(
    tuple example, cnp.int64_t** rows, double** values
) except -1:
    """Return the number of features of an example, and set the pointers to its arrays."""
    if len(example) != 2:
        raise ValueError("an example must be a pair of arrays")
    cdef object first = example[0], second = example[1]
    if not (_is_vector(first, cnp.NPY_INT64) and _is_vector(second, cnp.NPY_DOUBLE)):
        raise ValueError("an example must have an array of rows and an array of values")
    cdef Py_ssize_t n = cnp.PyArray_SIZE(<cnp.ndarray>first)
    if n != cnp.PyArray_SIZE(<cnp.ndarray>second):
        raise ValueError("an example must have as many values as rows")
    rows[0] = <cnp.int64_t*>cnp.PyArray_DATA(<cnp.ndarray>first)
    values[0] = <double*>cnp.PyArray_DATA(<cnp.ndarray>second)
    return n


cdef inline bint _is_vector(object array, int type_number):
    return (
        isinstance(array, cnp.ndarray)
        and cnp.PyArray_NDIM(<cnp.ndarray>array) == 1
        and cnp.PyArray_TYPE(<cnp.ndarray>array) == type_number
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>array)
    )


cdef inline double _length_scale(double squared_length) noexcept:
    return 1.0 / sqrt(sqrt(squared_length)) if squared_length else 0.0


cdef inline double _slope(double gap, double variance) noexcept:
    """Return the logits per unit of the score: the twin of `calibration.slope`."""
    cdef double deviation = fmax(sqrt(variance), fabs(gap) / _MAX_SEPARATION)
    if deviation < _SMALLEST_DEVIATION:
        return 1.0
    return fmin(fmax(gap / deviation, _MIN_SEPARATION), _MAX_SEPARATION) / deviation


cdef inline double _sigmoid(double logit) noexcept:
    return 1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0


cdef inline double _pull(double margin, double variance) noexcept:
    """Return the first coefficient of the gradient of ψ_M, as `losses.psi_m_gradient`."""
    cdef double b = 1.0 - margin
    cdef double r = hypot(b, sqrt(variance))
    if r == 0.0:
        return 0.5
    return 0.5 * variance / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r
