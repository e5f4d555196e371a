"""The compiled twin of `rankers.kernel` and `rankers.koil`."""

from libc.math cimport exp, fabs, pow
from libc.string cimport memcmp, memcpy, memmove
from scipy.linalg.cython_blas cimport dsymv

import copy
import random

import numpy as np

from river_oauc.kernels import RBF, Linear, Polynomial, similarities, squared_norm
from river_oauc.limits import MAX_COEFFICIENT, MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import step_size
from river_oauc.rankers.base import ReentranceError
from river_oauc.rankers.kernel import ROUNDING
from river_oauc.rankers.support_vectors import SMALLEST_SQUARED_NORM, TIE
from river_oauc.rankers.width import is_time_to_choose
from river_oauc.state import StateReader, pack_symmetric, unpack_symmetric

cdef double _max_squared_norm = MAX_SQUARED_NORM
cdef double _smallest_squared_norm = SMALLEST_SQUARED_NORM
cdef double _tie = TIE
cdef double _rounding = ROUNDING
cdef double _max_coefficient = MAX_COEFFICIENT

cdef enum:
    USER_KERNEL, RBF_KERNEL, LINEAR_KERNEL, POLYNOMIAL_KERNEL


# Sums in four parts, which the processor adds at the same time.

cdef double dot(const double* x, const double* y, Py_ssize_t n) noexcept:
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
        i += 4
    while i < n:
        a += x[i] * y[i]
        i += 1
    return (a + b) + (c + d)


cdef double squared_distance(const double* x, const double* y, Py_ssize_t n) noexcept:
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += (x[i] - y[i]) * (x[i] - y[i])
        b += (x[i + 1] - y[i + 1]) * (x[i + 1] - y[i + 1])
        c += (x[i + 2] - y[i + 2]) * (x[i + 2] - y[i + 2])
        d += (x[i + 3] - y[i + 3]) * (x[i + 3] - y[i + 3])
        i += 4
    while i < n:
        a += (x[i] - y[i]) * (x[i] - y[i])
        i += 1
    return (a + b) + (c + d)


cdef class _KernelRanker:
    """A score that is a sum of similarities to stored examples of both classes.

    Steps that need larger arrays, or another kernel width, are made by the numpy ranker.
    """

    # The numpy ranker, without its examples.
    cdef object ranker
    cdef object kernel, rng, statistics
    cdef int kind
    cdef bint chooses_width, projects, is_reservoir
    cdef double gamma, coef0, degree
    cdef Py_ssize_t n_slots, size
    # Of the negatives and of the positives.
    cdef long long budgets[2]
    cdef Py_ssize_t n[2]
    cdef double totals[2]
    cdef double means[2]
    # The slots of each class, oldest first.
    cdef Py_ssize_t[:, ::1] order
    cdef double[:, ::1] vectors, gram
    cdef double[::1] coefficients, new_coefficients, importance, inverse_norms, scores
    # The row of the last example that was scored.
    cdef double[::1] row, last_x
    cdef bint has_row
    cdef double[::1] scratch
    cdef long long n_stored

    def __init__(self, ranker):
        self._load(ranker)

    cdef int _load(self, ranker) except -1:
        """Take over the state of a numpy ranker."""
        template = copy.copy(ranker)
        template.support = None
        state = ranker.get_state()
        stored = state["support"]
        rng = random.Random()
        if "rng" in state:
            rng.setstate(state["rng"])
        negatives, positives = stored["negatives"], stored["positives"]
        n_negative, n_positive, n_stored = len(negatives), len(positives), state["n_stored"]
        # Without a slot that has been left.
        used = np.sort(np.concatenate((negatives, positives)))
        n, n_features = len(used), stored["vectors"].shape[1]
        # It depends on the number of slots only, so that copies grow when the original does.
        capacity = 32
        while capacity < n:
            capacity *= 2
        capacity = min(capacity, sum(ranker.budgets))
        # Each assignment checks that the lengths agree.
        vectors, gram = np.zeros((capacity, n_features)), np.zeros((capacity, capacity))
        coefficients, importance = np.zeros(capacity), np.zeros(capacity)
        full_gram = unpack_symmetric(stored["gram"], len(stored["vectors"]))
        vectors[:n], gram[:n, :n] = stored["vectors"][used], full_gram[np.ix_(used, used)]
        coefficients[:n], importance[:n] = stored["coefficients"][used], stored["importance"][used]
        order = np.zeros((2, capacity), dtype=np.intp)
        order[0, :n_negative] = np.searchsorted(used, negatives)
        order[1, :n_positive] = np.searchsorted(used, positives)
        inverse_norms, new_coefficients, scores = (np.zeros(capacity) for _ in range(3))
        row, scratch, last_x = np.zeros(capacity), np.zeros(capacity), np.zeros(n_features)
        cdef long long budgets[2]
        budgets[0], budgets[1] = (min(budget, 2**62) for budget in ranker.budgets)
        cdef bint is_reservoir = ranker.policy == "reservoir", projects = ranker.projects
        kernel, chooses_width = ranker.support.kernel, ranker.kernel is None
        gamma, coef0, degree = 0.0, 0.0, 0.0
        kind = USER_KERNEL
        if type(kernel) is RBF:
            kind, gamma = RBF_KERNEL, float(kernel.gamma)
        elif type(kernel) is Linear:
            kind = LINEAR_KERNEL
        elif type(kernel) is Polynomial and kernel.degree < 1000:
            kind, gamma, coef0 = POLYNOMIAL_KERNEL, float(kernel.gamma), float(kernel.coef0)
            degree = float(kernel.degree)

        # From here on, no Python code runs.
        self.ranker, self.statistics, self.rng = template, ranker.statistics, rng
        self.kernel, self.kind, self.chooses_width = kernel, kind, chooses_width
        self.projects, self.is_reservoir = projects, is_reservoir
        self.gamma, self.coef0, self.degree = gamma, coef0, degree
        self.n_slots, self.size, self.n_stored = n, n_features, n_stored
        self.budgets = budgets
        self.n[0], self.n[1] = n_negative, n_positive
        self.order, self.vectors, self.gram = order, vectors, gram
        self.coefficients, self.new_coefficients = coefficients, new_coefficients
        self.importance, self.inverse_norms, self.scores = importance, inverse_norms, scores
        self.row, self.last_x, self.has_row, self.scratch = row, last_x, False, scratch
        cdef Py_ssize_t slot
        for slot in range(self.n_slots):
            self.inverse_norms[slot] = inverse(self.gram[slot, slot])
        self._update_total(False)
        self._update_total(True)
        self._update_scores()
        return 0

    @property
    def n_features(self):
        return self.size

    def score(self, x not None):
        cdef const double[::1] values = self._check_length(x)
        if values.shape[0] > self.size:
            x = x[: self.size]
            values = x
        self._find_row(x, values)
        return dot(&self.coefficients[0], &self.row[0], self.n_slots)

    cdef const double[::1] _check_length(self, x):
        cdef const double[::1] values = x
        if values.shape[0] < self.size:
            raise ValueError(f"the example has {values.shape[0]} features, not {self.size}")
        return values

    def logit(self, double score, bint empirical):
        return self.statistics.logit(score, self._level(), empirical)

    cdef double _level(self) noexcept:
        cdef double n_classes = 2.0 if self.n[0] and self.n[1] else 1.0
        return (self.means[0] + self.means[1]) / n_classes

    cdef bint _has_row_of(self, const double[::1] x) noexcept:
        return self.has_row and not memcmp(&x[0], &self.last_x[0], self.size * sizeof(double))

    cdef int _find_row(self, x, const double[::1] values) except -1:
        """Find the similarities to the stored examples, unless they are those found last."""
        if self._has_row_of(values):
            return 0
        self.has_row = False
        cdef Py_ssize_t slot, n = self.n_slots
        cdef const double[::1] result
        if not (self.kind != USER_KERNEL and self._compute_row(values)):
            # This calls the kernel in Python, and explains what is wrong with its values.
            statistics = self.statistics
            try:
                result = similarities(self.kernel, x, np.asarray(self.vectors)[:n])
            finally:
                self._check_unchanged(statistics)
            for slot in range(min(n, result.shape[0])):
                self.row[slot] = result[slot]
        memcpy(&self.last_x[0], &values[0], self.size * sizeof(double))
        self.has_row = True
        return 0

    cdef bint _compute_row(self, const double[::1] x) noexcept:
        """Compute the similarities, and return whether they are finite."""
        cdef Py_ssize_t slot
        cdef double value
        for slot in range(self.n_slots):
            if self.kind == RBF_KERNEL:
                value = squared_distance(&x[0], &self.vectors[slot, 0], self.size)
                self.row[slot] = exp(-self.gamma * value)
            else:
                value = dot(&x[0], &self.vectors[slot, 0], self.size)
                if self.kind == POLYNOMIAL_KERNEL:
                    value = pow(self.gamma * value + self.coef0, self.degree)
                self.row[slot] = value
        return dot(&self.row[0], &self.row[0], self.n_slots) <= _max_squared_norm

    cdef int _check_unchanged(self, statistics) except -1:
        if self.statistics is not statistics:
            raise ReentranceError
        return 0

    def learn(self, x not None, bint positive, double weight):
        cdef const double[::1] values = self._check_length(x)
        cdef Py_ssize_t n_own = self.n[positive], removed = -1
        cdef bint is_full = n_own == self.budgets[positive]
        if values.shape[0] > self.size or not is_full and self.n_slots == self.order.shape[1]:
            self._learn_in_numpy(x, positive, weight)
            return
        # Code of the user comes first: the kernel and the learning rate.
        statistics = self.statistics
        cdef double norm = 1.0, eta
        try:
            if self.kind != RBF_KERNEL:
                norm = squared_norm(self.kernel, x)
            eta = self._eta()
            self._find_row(x, values)
        finally:
            self._check_unchanged(statistics)
        cdef double score = dot(&self.coefficients[0], &self.row[0], self.n_slots)
        cdef double coefficient = self._step(eta, score, positive, weight)
        cdef double[::1] new = self.new_coefficients
        cdef double squared_length = dot(&new[0], &new[0], self.n_slots)
        if not squared_length + coefficient * coefficient <= _max_squared_norm:
            raise divergence_error()
        cdef double centred = score - self._level()
        cdef double scale = dot(&self.coefficients[0], &self.coefficients[0], self.n_slots)
        scale *= dot(&self.row[0], &self.row[0], self.n_slots)
        if not centred * centred > _rounding * _rounding * scale:
            centred = 0.0
        updated = statistics.updated(centred, positive, weight)
        cdef bint is_stored = self._stores(coefficient)
        if is_stored and is_full:
            removed = 0
            if self.is_reservoir:
                removed = min(n_own, self.rng.randrange(updated.classes[positive].n))
        # A signal handler may have used the model meanwhile.
        if self.statistics is not statistics or not self._has_row_of(values):
            raise ReentranceError

        # From here on, no Python code runs.
        self.statistics = updated
        self.coefficients, self.new_coefficients = new, self.coefficients
        if is_stored:
            is_stored = removed != n_own
            self._insert(values, norm, positive, coefficient, weight, removed)
        self._update_scores()
        self.has_row = False

        if is_stored and self.chooses_width and is_time_to_choose(self.n_stored):
            ranker = self._numpy_ranker()
            ranker.choose_width()
            self._load(ranker)

    cdef _numpy_ranker(self):
        """Return a numpy ranker with the same state."""
        ranker = copy.copy(self.ranker)
        ranker.set_state(StateReader(self.get_state(), type(self).__name__))
        return ranker

    cdef int _learn_in_numpy(self, x, bint positive, double weight) except -1:
        statistics = self.statistics
        ranker = self._numpy_ranker()
        try:
            ranker.learn(np.asarray(x), positive, weight)
        finally:
            self._check_unchanged(statistics)
        return self._load(ranker)

    cdef double _step(
        self, double eta, double score, bint positive, double weight
    ) except? -1.0:
        """Set the new coefficients of the stored examples, and return that of the new one."""
        raise NotImplementedError

    cdef double _eta(self) except? -1.0:
        """Return the step size."""
        raise NotImplementedError

    cdef bint _stores(self, double coefficient) noexcept:
        return True

    cdef void _insert(
        self,
        const double[::1] x,
        double norm,
        bint positive,
        double coefficient,
        double weight,
        Py_ssize_t removed,
    ) noexcept:
        """Store the example of the last row in place of another of its class.

        The one to remove is given by its age; -1 is none, and the number of all the new one itself.
        """
        cdef Py_ssize_t* own = &self.order[positive, 0]
        cdef Py_ssize_t n_own = self.n[positive], slot, i
        cdef double lost = coefficient
        if removed == n_own:
            for i in range(n_own):
                self.scratch[i] = self.row[own[i]]
            self._pass_on(lost, own, n_own)
            return
        if removed < 0:
            slot = self.n_slots
            own[n_own] = slot
            self.n_slots += 1
            self.n[positive] += 1
        else:
            slot = own[removed]
            memmove(own + removed, own + removed + 1, (n_own - 1 - removed) * sizeof(Py_ssize_t))
            own[n_own - 1] = slot
            lost = self.coefficients[slot]
            for i in range(n_own - 1):
                self.scratch[i] = self.gram[slot, own[i]]
            self.scratch[n_own - 1] = self.row[slot]
        memcpy(&self.vectors[slot, 0], &x[0], self.size * sizeof(double))
        self.coefficients[slot] = coefficient
        self.importance[slot] = weight
        self.inverse_norms[slot] = inverse(norm)
        for i in range(self.n_slots):
            self.gram[slot, i] = self.gram[i, slot] = self.row[i]
        self.gram[slot, slot] = norm
        self.n_stored += 1
        self._update_total(positive)
        if removed >= 0:
            self._pass_on(lost, own, n_own)

    cdef void _pass_on(self, double coefficient, Py_ssize_t* own, Py_ssize_t n_own) noexcept:
        """Add a coefficient to that of another vector, given the similarities in `scratch`."""
        cdef double largest = 0.0, value, before
        cdef Py_ssize_t i, target
        for i in range(n_own):
            value = self._suitability(i, own)
            if i == 0 or value > largest:
                largest = value
        i = 0
        while self._suitability(i, own) < largest - _tie * fabs(largest):
            i += 1
        target = own[i]
        before = self.coefficients[target]
        if self.projects:
            coefficient *= self.scratch[i] * self.inverse_norms[target]
        self.coefficients[target] += coefficient
        if not (
            dot(&self.coefficients[0], &self.coefficients[0], self.n_slots) <= _max_squared_norm
        ):
            self.coefficients[target] = before

    cdef inline double _suitability(self, Py_ssize_t i, Py_ssize_t* own) noexcept:
        """Return what is largest for the most suitable target."""
        cdef double similarity = self.scratch[i]
        if self.projects:
            return similarity * self.inverse_norms[own[i]] * similarity
        return similarity

    cdef void _update_total(self, bint positive) noexcept:
        cdef Py_ssize_t i
        self.totals[positive] = 0.0
        for i in range(self.n[positive]):
            self.totals[positive] += self.importance[self.order[positive, i]]

    cdef void _update_scores(self) noexcept:
        cdef int n = <int>self.n_slots, stride = <int>self.gram.shape[1], one = 1
        cdef double factor = 1.0, zero = 0.0
        cdef Py_ssize_t i, slot
        if n:
            dsymv(
                "U", &n, &factor, &self.gram[0, 0], &stride, &self.coefficients[0], &one, &zero,
                &self.scores[0], &one,
            )
        cdef int positive
        for positive in range(2):
            self.means[positive] = 0.0
            for i in range(self.n[positive]):
                slot = self.order[positive, i]
                self.means[positive] += self.importance[slot] * self.scores[slot]
            if self.n[positive]:
                self.means[positive] /= self.totals[positive]

    def get_state(self):
        n, order = self.n_slots, np.asarray(self.order, dtype=np.int64)
        state = {
            "support": {
                "negatives": order[0, : self.n[0]].copy(),
                "positives": order[1, : self.n[1]].copy(),
                "vectors": np.array(self.vectors[:n]),
                "coefficients": np.array(self.coefficients[:n]),
                "importance": np.array(self.importance[:n]),
                "gram": pack_symmetric(np.asarray(self.gram[:n, :n])),
            },
            "statistics": self.statistics.get_state(),
            "n_stored": self.n_stored,
        }
        if self.chooses_width:
            state["gamma"] = self.gamma
        if self.is_reservoir:
            state["rng"] = self.rng.getstate()
        return state


cdef class OKAUCRanker(_KernelRanker):
    """A functional gradient step per example on the second-order surrogate of the opposite class."""

    cdef double _eta(self) except? -1.0:
        negatives, positives = self.statistics.classes
        return step_size(self.ranker.l2, self.ranker.lr, 1 + negatives.n + positives.n)

    cdef double _step(
        self, double eta, double score, bint positive, double weight
    ) except? -1.0:
        cdef double y = 1.0 if positive else -1.0, l2 = self.ranker.l2
        cdef double variance = 0.0, deviation, mean = self.means[not positive]
        cdef Py_ssize_t* opposite = &self.order[not positive, 0]
        cdef Py_ssize_t i, slot, n_opposite = self.n[not positive]
        cdef double[::1] new = self.new_coefficients
        if not n_opposite:
            new[:] = self.coefficients
            return 0.0
        for i in range(n_opposite):
            slot = opposite[i]
            deviation = self.scores[slot] - mean
            variance += self.importance[slot] * deviation * deviation
        cdef double total = self.totals[not positive], pull, spread, alpha
        statistics = self.statistics
        pull, spread = self.ranker.gradient(y * (score - mean), variance / total)
        self._check_unchanged(statistics)
        cdef double shrink = 1.0 - eta * l2
        alpha = eta * weight * y * pull
        spread *= eta * weight
        if not fabs(shrink) + fabs(alpha) + spread <= _max_coefficient:
            raise divergence_error()
        for slot in range(self.n_slots):
            new[slot] = shrink * self.coefficients[slot]
        for i in range(n_opposite):
            slot = opposite[i]
            deviation = self.scores[slot] - mean
            new[slot] -= self.importance[slot] / total * (alpha + spread * deviation)
        return alpha


cdef class KOILRanker(_KernelRanker):
    """A step per example on its pairs with the nearest examples of the opposite class."""

    cdef double _eta(self) except? -1.0:
        return self.ranker.eta

    cdef double _step(
        self, double eta, double score, bint positive, double weight
    ) except? -1.0:
        cdef double y = 1.0 if positive else -1.0
        cdef double step = eta * self.ranker.C * weight * y
        cdef Py_ssize_t* opposite = &self.order[not positive, 0]
        cdef Py_ssize_t i, slot, n_opposite = self.n[not positive], n_violating = 0
        cdef Py_ssize_t n_above = 0, n_tied, k = self.ranker.k
        cdef bint is_squared = self.ranker.loss == "l2"
        cdef double excess, factor, total = 0.0, smallest = 0.0, margin = 0.0
        cdef double[::1] new = self.new_coefficients
        if not eta + fabs(step) <= _max_coefficient:
            raise divergence_error()
        for slot in range(self.n_slots):
            new[slot] = (1.0 - eta) * self.coefficients[slot]
        for i in range(n_opposite):
            slot = opposite[i]
            if y * (self.scores[slot] - (score - y)) > 0.0:
                self.scratch[n_violating] = self.row[slot]
                n_violating += 1
        if not n_opposite or not (self.n[positive] or n_violating):
            return step
        cdef bint is_cut = n_violating > k
        if is_cut:
            np.asarray(self.scratch)[:n_violating].partition(n_violating - k)
            smallest = self.scratch[n_violating - k]
            margin = _tie * fabs(smallest)
            for i in range(n_violating):
                n_above += self.scratch[i] > smallest + margin
        # Of those with the same similarity, the oldest.
        n_tied = k - n_above
        for i in range(n_opposite):
            slot = opposite[i]
            excess = y * (self.scores[slot] - (score - y))
            if not excess > 0.0:
                continue
            if is_cut and self.row[slot] <= smallest + margin:
                if self.row[slot] < smallest - margin or n_tied == 0:
                    continue
                n_tied -= 1
            factor = 2.0 * excess if is_squared else 1.0
            new[slot] -= step * factor
            total += factor
        return step * total

    cdef bint _stores(self, double coefficient) noexcept:
        return coefficient != 0.0


cdef double inverse(double squared_norm) noexcept:
    return 1.0 / squared_norm if squared_norm > _smallest_squared_norm else 0.0
