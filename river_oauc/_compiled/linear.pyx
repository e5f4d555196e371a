"""The compiled twin of `rankers.linear`."""

import numbers

from libc.math cimport fabs, fmax, fmin, hypot, log, sqrt
from scipy.linalg.cython_blas cimport dsymv, dsyr

import numpy as np

from river_oauc.limits import MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import step_size
from river_oauc.rankers import calibration
from river_oauc.state import pack_symmetric, unpack_symmetric

cdef double _max_squared_norm = MAX_SQUARED_NORM

cdef double _MAX_SEPARATION = calibration.MAX_SEPARATION
cdef double _MIN_SEPARATION = calibration.MIN_SEPARATION
cdef double _SMALLEST_DEVIATION = calibration.SMALLEST_DEVIATION
# As in `rankers.linear`.
cdef int _FITS_PER_WAIT = 16, _LONGEST_WAIT = 64


cdef inline double dot(const double[::1] x, const double[::1] y) noexcept:
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


cdef class _Moments:
    """Count, mean and scatter matrix of a class; of the matrix, one triangle is kept."""

    cdef double n
    cdef double[::1] mean
    cdef double[:, ::1] scatter

    def __init__(self, n, mean, scatter):
        self.n, self.mean, self.scatter = n, mean, scatter

    cdef void update(self, const double[::1] x, double weight, double[::1] deviation) noexcept:
        cdef int size = <int>x.shape[0], one = 1
        cdef Py_ssize_t i
        cdef double n_before = self.n, n = n_before + weight
        cdef double factor = weight / n
        for i in range(size):
            deviation[i] = x[i] - self.mean[i]
            self.mean[i] += factor * deviation[i]
        self.n = n
        if n_before:
            # A row-major lower triangle is a column-major upper one.
            factor = weight * (n_before / n)
            dsyr("U", &size, &factor, &deviation[0], &one, &self.scatter[0, 0], &size)

    cdef void covariance_dot(self, const double[::1] v, double[::1] product) noexcept:
        cdef int size = <int>v.shape[0], one = 1
        cdef double factor = 1.0 / self.n, zero = 0.0
        dsymv(
            "U", &size, &factor, &self.scatter[0, 0], &size, <double*>&v[0], &one, &zero,
            &product[0], &one,
        )


cdef class LinearRanker:
    """One gradient step per example on the second-order surrogate of the opposite class."""

    cdef bint is_psi_m
    cdef double l2, constant_lr
    cdef object schedule
    cdef long long t, n_fits, next_fit
    cdef double[::1] weights, spare
    cdef double[::1] direction, cov_w
    cdef _Moments negative, positive
    cdef double slope, midpoint, log_odds, half_gap

    def __init__(self, ranker):
        self.is_psi_m = ranker.loss == "psi_m"
        self.l2 = ranker.l2
        # 0 stands for 1 / (l2 · t).
        self.constant_lr = ranker.lr if isinstance(ranker.lr, numbers.Real) else 0.0
        self.schedule = None if self.constant_lr or ranker.lr is None else ranker.lr
        state = ranker.get_state()
        weights = np.ascontiguousarray(state["weights"], dtype=np.float64)
        size = len(weights)
        negative, positive = (
            _Moments(each["n"], each["mean"], unpack_symmetric(each["scatter"], size))
            for each in state["moments"]
        )
        self._set_arrays(weights, negative, positive)
        self.t, self.n_fits, self.next_fit = state["t"], state["n_fits"], state["next_fit"]
        self.slope, self.midpoint = state["slope"], state["midpoint"]
        self.log_odds, self.half_gap = state["log_odds"], state["half_gap"]

    cdef _set_arrays(self, weights, _Moments negative, _Moments positive):
        size = len(weights)
        for moments in (negative, positive):
            if (<_Moments>moments).mean.shape[0] != size:
                raise ValueError("moments and weights are of different lengths")
        spare, direction, cov_w = np.empty(size), np.empty(size), np.empty(size)
        self.weights, self.negative, self.positive = weights, negative, positive
        self.spare, self.direction, self.cov_w = spare, direction, cov_w

    @property
    def n_features(self):
        return self.weights.shape[0]

    def score(self, const double[::1] x not None):
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(min(x.shape[0], self.weights.shape[0])):
            total += self.weights[i] * x[i]
        return total

    def logit(self, double score, bint empirical):
        return self.slope * (score - self.midpoint) + (self.log_odds if empirical else 0.0)

    def learn(self, const double[::1] x not None, bint positive, double weight):
        cdef Py_ssize_t i, size = x.shape[0]
        if size > self.weights.shape[0]:
            return self._learn_longer(x, positive, weight)
        if size < self.weights.shape[0]:
            raise ValueError(f"the example has {size} features, not {self.weights.shape[0]}")
        cdef _Moments own = self.positive if positive else self.negative
        cdef _Moments opposite = self.negative if positive else self.positive
        cdef double y = 1.0 if positive else -1.0
        cdef double[::1] w = self.weights, new = self.spare
        cdef double[::1] direction = self.direction, cov_w = self.cov_w
        cdef double margin, variance, b, r, pull, spread, eta, shrink, squared_norm = 0.0
        if opposite.n:
            margin = 0.0
            for i in range(size):
                direction[i] = x[i] - opposite.mean[i]
                margin += w[i] * direction[i]
            opposite.covariance_dot(w, cov_w)
            variance = fmax(dot(w, cov_w), 0.0)
            b = 1.0 - y * margin
            pull, spread = b, 1.0
            if self.is_psi_m:
                r = hypot(b, sqrt(variance))
                if r == 0.0:
                    pull, spread = 0.5, 0.0
                else:
                    spread = 0.5 / r
                    pull = 0.5 * variance / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r
            if self.schedule is not None:
                eta = step_size(self.l2, self.schedule, self.t + 1)
            elif self.constant_lr:
                eta = self.constant_lr
            else:
                eta = 1.0 / (self.l2 * (self.t + 1))
            shrink = 1.0 - eta * self.l2
            pull *= eta * weight * y
            spread *= eta * weight
            for i in range(size):
                new[i] = shrink * w[i] + (pull * direction[i] - spread * cov_w[i])
                squared_norm += new[i] * new[i]
            if not squared_norm <= _max_squared_norm:
                raise divergence_error()
            self.weights, self.spare = new, w
        self.t += 1
        own.update(x, weight, direction)
        if opposite.n:
            if self.t >= self.next_fit:
                self._fit()
            else:
                self.midpoint = dot(self.weights, opposite.mean) + y * self.half_gap

    cdef _learn_longer(self, const double[::1] x, bint positive, double weight):
        """Learn from an example with new features, which have been 0 so far."""
        weights, negative, positive_moments = self.weights, self.negative, self.positive
        size = x.shape[0]
        self._set_arrays(
            _padded(self.weights, size), _padded_moments(self.negative, size),
            _padded_moments(self.positive, size),
        )
        try:
            self.learn(x, positive, weight)
        except BaseException:
            self._set_arrays(weights, negative, positive_moments)
            raise

    cdef void _fit(self) noexcept:
        cdef double[::1] w = self.weights
        cdef double low = dot(w, self.negative.mean), high = dot(w, self.positive.mean)
        self.positive.covariance_dot(w, self.cov_w)
        cdef double variance = dot(w, self.cov_w)
        self.negative.covariance_dot(w, self.cov_w)
        variance = fmax(0.5 * (variance + dot(w, self.cov_w)), 0.0)
        cdef double gap = high - low
        cdef double deviation = fmax(sqrt(variance), fabs(gap) / _MAX_SEPARATION)
        self.slope = 1.0
        if deviation >= _SMALLEST_DEVIATION:
            self.slope = fmin(fmax(gap / deviation, _MIN_SEPARATION), _MAX_SEPARATION) / deviation
        self.midpoint = 0.5 * (high + low)
        self.half_gap = 0.5 * gap
        self.log_odds = log(self.positive.n / self.negative.n)
        self.n_fits += 1
        self.next_fit = self.t + min(1 + self.n_fits // _FITS_PER_WAIT, _LONGEST_WAIT)

    def get_state(self):
        return {
            "t": self.t,
            "weights": np.array(self.weights),
            "moments": [_state_of(self.negative), _state_of(self.positive)],
            "slope": self.slope,
            "midpoint": self.midpoint,
            "log_odds": self.log_odds,
            "half_gap": self.half_gap,
            "n_fits": self.n_fits,
            "next_fit": self.next_fit,
        }


cdef _state_of(_Moments moments):
    # The kept triangle is the lower one of a row-major matrix.
    scatter = pack_symmetric(np.asarray(moments.scatter).T)
    return {"n": moments.n, "mean": np.array(moments.mean), "scatter": scatter}


cdef _padded(const double[::1] x, Py_ssize_t size):
    longer = np.zeros(size)
    longer[: x.shape[0]] = x
    return longer


cdef _Moments _padded_moments(_Moments moments, Py_ssize_t size):
    scatter = np.zeros((size, size))
    n = moments.mean.shape[0]
    scatter[:n, :n] = moments.scatter
    return _Moments(moments.n, _padded(moments.mean, size), scatter)
