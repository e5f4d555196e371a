"""SparseOAUCM: the loss of OAUC-M for wide streams, at a cost in proportion to an example."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator
from math import copysign, sqrt

import numpy as np
from numpy import absolute, concatenate, count_nonzero, divide, frombuffer, multiply
from numpy import sqrt as root
from river import base
from scipy.linalg.blas import daxpy, ddot, dscal, idamax

from river_oauc import losses
from river_oauc.base import OnlineAUCClassifier
from river_oauc.inputs.arrays import BoolArray, FloatArray
from river_oauc.inputs.categories import numbers_of, rows_of, with_categories
from river_oauc.inputs.frames import RowCount
from river_oauc.inputs.limits import (
    CONVERSION_ERRORS,
    MAX_SQUARED_NORM,
    PLAIN_TYPES,
    Features,
)
from river_oauc.inputs.parameters import check_count
from river_oauc.linear.table import FeatureTable, Rows, packed_doubles

if typing.TYPE_CHECKING:
    import narwhals.stable.v2 as nw

__all__ = ["SparseOAUCM"]

# What is added to the root of the squared gradients of a feature, so that the first step is no full
# one; and in the place of it where deviations are measured.
_FIRST, _FIRST_DEVIATION = 0.5, 0.25

# What is of unusual size in one example out of so many varies, and counts as a number.
_OFTEN = 10

# Deviations are not measured finer than this part of the usual size, nor than the least double.
_FINEST, _LEAST = 2.0**-20, 2.0**-1022

# Values of the usual size, by their number.
_USUAL: dict[int, bytes] = {}


class _Example(typing.NamedTuple):
    """An example as the model sees it: what is known of its features, and what that comes to."""

    # By what it is recognised.
    names: tuple[base.typing.FeatureName, ...]
    data: bytes
    # Its values, and the positions of those that count as numbers.
    values: FloatArray
    numbers: Rows | None
    # The rows of its features, the second rows of the numbers last, and what stands there.
    rows: Rows
    weights: FloatArray
    units: FloatArray
    # The inputs in their units, what they are to be multiplied by, and the score.
    inputs: FloatArray
    scale: float
    score: float


def _example(parts: tuple[typing.Any, ...]) -> _Example:
    # Without a look at each part, which would take five times as long.
    return tuple.__new__(_Example, parts)


class SparseOAUCM(OnlineAUCClassifier):
    """Online AUC maximisation for wide and sparse streams, with nothing to set or to prepare.

    Clicks, ids, text, or any mix of words, categories and amounts: 10,000 or 1,000,000 features, of
    which an example has a few. Learns a linear score on the loss of `OAUCM`, with the class means
    and variances of the *scores* in the place of class moments of the features.

    - A value counts in units of what is usual for its feature, as x / (u + |x|): between -1 and 1,
      and one half if it is usual. So words, ids and amounts go together without a scaler, and an
      outlier is no more than a 1. The unit u follows the feature, ever more slowly.
    - What varies from example to example, as ages and amounts do, counts a second time: as its
      deviation from its own mean, in the same way. So a level of 5,000 does not drown the news.
    - An example is divided by the square root of its length, so that long texts do not shout.
    - Its score is compared with mean and variance of the other class's scores, each taken before
      its example was learned; the loss of `OAUCM` says how hard the example pulls. The classes pull
      alike, however rare one of them is.
    - A weight moves by pull · value / (1/2 + √(its squared gradients so far)).

    A string is a category: `{"country": "FR"}` is the feature `("country", "FR")` with the value 1.
    So the string `"12.50"`, as a CSV file has it, is a category, too, and an amount that arrives so
    teaches next to nothing; `weights` shows such features by their pairs. Booleans are 0 or 1.

    Up to some hundred dense features, `AutoOAUCM` ranks better.

    Time is in proportion to the features of an example that are not 0, for learning and predicting,
    however many are known. Memory is six doubles per feature and what its name takes in a dict,
    about 200 bytes for a short string, and grows with the vocabulary unless `max_features` is set.
    Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream, in whatever order
    parts are added. Squared gradients add up, and class means and variances of the scores, as they
    were given, pool exactly. Weights of common features are averaged, and those of rare ones added;
    so it ranks nearly as well as one pass.

    The rule was fixed on a9a, sms_spam, hate_speech, reuters21578 and nsl_kdd20.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    max_features
        Number of features to remember at most; `None` is as many as there are. When there would be
        more, the fifth of them with the smallest squared gradients goes. A half or a quarter of the
        vocabulary has cost no AUC, a tenth 0.1 points at most (hate_speech, reuters21578).

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import SparseOAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = SparseOAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 96.20%
    ExactROCAUC: 96.98%

    >>> model = SparseOAUCM()
    >>> clicks = [("FR", 12.5, True), ("US", 3.0, False), ("FR", 20.0, True), ("IT", 14.0, False)]
    >>> for country, amount, y in clicks:
    ...     model.learn_one({"country": country, "amount": amount}, y)
    >>> model.largest_weights(2)
    {('country', 'US'): -0.577, ('country', 'IT'): -0.527}

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive subgradient methods for online
        learning and stochastic optimization. Journal of Machine Learning Research, 12,
        pp.2121-2159.

    """

    def __init__(self, prior: str = "balanced", max_features: int | None = None) -> None:
        super().__init__(prior)
        if max_features is not None:
            check_count("max_features", max_features)
        self.max_features = max_features
        self._table = FeatureTable()
        self._n_seen = 0
        # Of the scores of the negatives and of the positives: weight, mean, scatter.
        self._n = [0.0, 0.0]
        self._mean = [0.0, 0.0]
        self._scatter = [0.0, 0.0]

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"prior": "empirical", "max_features": 100}

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """The weights of the score, by the names of the features."""
        names, weights = self._names_and_weights()
        return dict(zip(names, weights.tolist(), strict=True))

    def largest_weights(self, k: int = 10) -> dict[base.typing.FeatureName, float]:
        """The `k` weights that are furthest from 0, by the names of the features.

        Parameters
        ----------
        k
            How many.

        """
        check_count("k", k)
        names, weights = self._names_and_weights()
        rows = np.argsort(-np.abs(weights), kind="stable")[:k]
        return {names[row]: float(weights[row]) for row in rows}

    def _names_and_weights(self) -> tuple[list[base.typing.FeatureName], FloatArray]:
        with self._lock:
            return self._table.names, self._table.weights[self._table.first_rows]

    def _absorb(self, other: typing.Self) -> None:
        if len(other._table):
            self._table.pool(other._table, _FIRST, _FIRST_DEVIATION)
            self._keep_to_the_limit()
        self._n_seen += other._n_seen
        for positive in (0, 1):
            n_before, n_other = self._n[positive], other._n[positive]
            if n_other:
                self._n[positive] = n = n_before + n_other
                gap = other._mean[positive] - self._mean[positive]
                self._mean[positive] += n_other / n * gap
                self._scatter[positive] += (
                    other._scatter[positive] + n_before * (n_other / n) * gap * gap
                )
        if self._n[0] and self._n[1]:
            self._calibrate()

    def _keep_to_the_limit(self) -> None:
        if self.max_features is not None and len(self._table) > self.max_features:
            self._table.keep(max(1, 4 * self.max_features // 5))

    def _score_example(self, x: Features) -> float:
        return self._found(x, learns=False).score

    def _learn_example(self, x: Features, positive: bool, w: float) -> None:
        if w:
            self._learn(self._found(x, learns=True), positive, w)
        else:
            numbers_of(x)

    def _learn_frame(
        self, frame: nw.DataFrame[typing.Any], labels: BoolArray, weights: FloatArray
    ) -> None:
        examples = rows_of(frame)
        with RowCount(len(examples)) as rows:
            for numbers, positive, w in zip(
                examples, labels.tolist(), weights.tolist(), strict=True
            ):
                if w:
                    with self._lock:
                        self._learn(self._found(numbers, learns=True), positive, w)
                rows.n_done += 1

    def _score_frame(self, frame: nw.DataFrame[typing.Any]) -> FloatArray:
        return np.array([self._score_example(x) for x in rows_of(frame, nan_is_absent=True)])

    def _found(self, x: Features, learns: bool) -> _Example:
        """The example as the model sees it; if it is to be learned, its names become known."""
        table = self._table
        try:
            data = packed_doubles[len(x)](*x.values())
        except (*CONVERSION_ERRORS, AttributeError):
            x = with_categories(x)
            try:
                data = packed_doubles[len(x)](*x.values())
            except CONVERSION_ERRORS:
                x = numbers_of(x, nan_is_absent=not learns)
                data = packed_doubles[len(x)](*x.values())
        names = asked = tuple(x)
        # An example is mostly learned right after it was scored.
        last: _Example | None = table.last
        if last is not None and last.data == data and last.names == names:
            return last
        values = frombuffer(data)
        is_usual = True
        if names and not ddot(values, values) <= MAX_SQUARED_NORM:
            # Refused, or in predictions a NaN.
            is_usual = False
            x = numbers_of(x, nan_is_absent=not learns)
            names, values = tuple(x), np.array([*x.values()])
        elif count_nonzero(values) < len(names):
            self._look_closer(x, learns)
            names = tuple(itertools.compress(names, values.tolist()))
            values = values[values.nonzero()]
        try:
            rows = table.rows(names)
        except KeyError:
            self._look_closer(x, learns)
            if not learns:
                return self._seen(names, data, table.rows_or_unknown(names), values)
            table.add(names, np.abs(values).tolist())
            rows = table.rows(names)
        example = self._seen(asked, data, rows, values)
        if is_usual:
            table.last = example
        return example

    @staticmethod
    def _look_closer(x: Features, learns: bool) -> None:
        """Refuse what struct takes for a number, and is none: a complex number for one."""
        if not PLAIN_TYPES.issuperset(map(type, x.values())):
            numbers_of(x, nan_is_absent=not learns)

    def _seen(
        self,
        names: tuple[base.typing.FeatureName, ...],
        data: bytes,
        rows: Rows,
        values: FloatArray,
    ) -> _Example:
        """The example with these values."""
        if not len(rows):
            return _example((names, data, values, None, rows, values, values, values, 0.0, 0.0))
        table = self._table
        inputs, numbers = values, None
        if table.n_seconds:
            seconds = table.seconds[rows]
            (numbers,) = seconds.nonzero()
            if len(numbers):
                # Numbers count a second time, as deviations from their means.
                seconds = seconds[numbers]
                rows = concatenate((rows, seconds))
                inputs = concatenate((values, values[numbers] - table.means[seconds]))
            else:
                numbers = None
        weights, units = table.weights[rows], table.units[rows]
        # x / (u + |x|), which is next to nothing for an unknown feature.
        scaled = absolute(inputs)
        daxpy(units, scaled)
        divide(inputs, scaled, scaled)
        squared_length = ddot(scaled, scaled)
        scale = 1.0 / sqrt(sqrt(squared_length)) if squared_length else 0.0
        score = scale * ddot(weights, scaled)
        return _example((names, data, values, numbers, rows, weights, units, scaled, scale, score))

    def _learn(self, example: _Example, positive: bool, w: float) -> None:
        table, counts, means, scatters = self._table, self._n, self._mean, self._scatter
        own, other, sign = (1, 0, 1.0) if positive else (0, 1, -1.0)
        _, _, _, numbers, rows, weights, units, inputs, scale, score = example
        n_before, n_other = counts[own], counts[other]
        n_own = n_before + w
        self._n_seen += 1
        n = len(rows)
        if n:
            squares = table.squares[rows]
            moves = multiply(inputs, inputs)
            step = 0.0
            if n_other:
                pull, _ = losses.psi_m_coefficients(
                    sign * (score - means[other]), scatters[other] / n_other
                )
                # Both classes pull alike.
                balance = w * (n_other / n_own) if n_other < n_own else w
                pull *= scale
                step = sign * balance * pull
                daxpy(moves, squares, n, balance * pull * pull)
            # In so short arrays it is the calls that cost, and a sum by BLAS half of one by numpy.
            roots = root(squares)
            # Values of the usual size leave everything as it is.
            if numbers is not None or inputs.tobytes() != (_USUAL.get(n) or _usual(n)):
                self._move_units(example, roots)
            daxpy(table.ones(n), roots, n, _FIRST)
            divide(inputs, roots, moves)
            daxpy(moves, weights, n, step)
            table.weights[rows], table.squares[rows], table.units[rows] = weights, squares, units
        table.last = None
        counts[own] = n_own
        deviation = score - means[own]
        means[own] += w / n_own * deviation
        # In this form it never falls, whatever the weights.
        scatters[own] += w * (n_before / n_own) * deviation * deviation
        if n_other:
            self._calibrate()
        if self.max_features is not None:
            self._keep_to_the_limit()

    def _move_units(self, example: _Example, roots: FloatArray) -> None:
        """Let the units of the features, and the means of the numbers, follow the values.

        By as much as the weights move: a value of the usual size leaves its unit as it is, and none
        does more than double it.
        """
        table = self._table
        values, numbers, rows, units = example.values, example.numbers, example.rows, example.units
        n = len(values)
        sizes = absolute(example.inputs)
        if numbers is None or len(numbers) < n:
            self._note_unusual(example, sizes[:n], roots[:n])
        daxpy(roots, sizes)
        moves = roots.copy()
        ones = table.ones(n)
        daxpy(ones, moves, n, _FIRST)
        if numbers is not None:
            n_numbers = len(numbers)
            # x, y, n, a, offx, incx, offy: y[n:] += a.
            daxpy(ones, moves, n_numbers, _FIRST_DEVIATION, 0, 1, n)
            drift = multiply(units[n:], example.inputs[n:])
            divide(drift, moves[n:], drift)
            seconds = rows[n:]
            means = table.means[seconds]
            daxpy(drift, means, n_numbers, _FIRST_DEVIATION)
            table.means[seconds] = means
        divide(sizes, moves, sizes)
        multiply(units, sizes, units)
        if numbers is not None:
            finest = units[numbers]
            dscal(_FINEST, finest)
            np.maximum(finest, _LEAST, out=finest)
            np.maximum(units[n:], finest, out=units[n:])

    def _note_unusual(self, example: _Example, sizes: FloatArray, roots: FloatArray) -> None:
        """Count the values that are not of the usual size; what varies often becomes a number."""
        table, values, units = self._table, example.values, example.units
        rows = example.rows[: len(values)]
        unusual = sizes != _FIRST
        if example.numbers is not None:
            unusual[example.numbers] = False
        counts = table.counts[rows]
        counts += unusual
        table.counts[rows] = counts
        if _OFTEN * counts[idamax(counts)] < self._n_seen:
            return
        for position in np.flatnonzero(unusual & (_OFTEN * counts >= self._n_seen)).tolist():
            value, unit = values.item(position), units.item(position)
            size = abs(value)
            # The smaller of the two sizes is hardly the outlier.
            mean = copysign(min(unit, size), value)
            first_root = roots.item(position)
            new_unit = unit * (sizes.item(position) + first_root) / (_FIRST + first_root)
            smallest = max(_FINEST * new_unit, _LEAST)
            table.add_second(int(rows[position]), mean, max(3.0 * abs(size - unit), smallest))

    def _calibrate(self) -> None:
        (n_negative, n_positive), scatters = self._n, self._scatter
        self._calibration.fit(
            self._mean[1],
            self._mean[0],
            0.5 * (scatters[0] / n_negative + scatters[1] / n_positive),
            n_positive / n_negative,
        )


def _usual(n: int) -> bytes:
    """The bytes of so many values of the usual size."""
    data = _USUAL[n] = np.full(n, _FIRST).tobytes()
    return data
