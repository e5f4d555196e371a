"""SparseOAUCM: the loss of OAUC-M for wide streams, at a cost in proportion to an example."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from math import sqrt

import numpy as np
from numpy import absolute, count_nonzero, divide, frombuffer, multiply
from numpy import sqrt as root
from river import base
from scipy.linalg.blas import daxpy, ddot

from river_oauc import losses
from river_oauc.base import OnlineAUCClassifier
from river_oauc.inputs.arrays import BoolArray, FloatArray
from river_oauc.inputs.categories import numbers_of, rows_of, with_categories
from river_oauc.inputs.frames import RowCount
from river_oauc.inputs.limits import CONVERSION_ERRORS, MAX_SQUARED_NORM, Features
from river_oauc.inputs.parameters import check_count
from river_oauc.linear.table import FeatureTable, Rows, packed_doubles

if typing.TYPE_CHECKING:
    import narwhals.stable.v2 as nw

__all__ = ["SparseOAUCM"]

# What is added to the root of the squared gradients of a feature: so the first step is no full one.
_FIRST = 0.5


# An example as the model sees it. A named tuple would be made at five times the cost.
# - Its names and the bytes of its values, by which it is recognised.
# - The rows of its features, and the weights and units that stand there.
# - The values in their units, what they are to be multiplied by, and the score.
_Example = tuple[
    tuple[base.typing.FeatureName, ...],
    bytes,
    Rows,
    FloatArray,
    FloatArray,
    FloatArray,
    float,
    float,
]


class SparseOAUCM(OnlineAUCClassifier):
    """Online AUC maximisation for wide and sparse streams, with nothing to set or to prepare.

    Clicks, ids, text, or any mix of words, categories and amounts: 10,000 or 1,000,000 features, of
    which an example has a few. Learns a linear score on the loss of `OAUCM`, with the class means
    and variances of the *scores* in the place of class moments of the features.

    - A value counts in units of what is usual for its feature, as x / (u + |x|): between -1 and 1,
      and one half if it is usual. So words, ids and amounts go together without a scaler, and an
      outlier is no more than a 1. The unit u follows the feature, ever more slowly.
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
    however many are known. Memory is three doubles per feature and what its name takes in a dict,
    about 170 bytes for a short string, and grows with the vocabulary unless `max_features` is set.
    Weights cannot diverge.

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
    ROCAUC: 92.47%
    ExactROCAUC: 93.05%

    >>> model = SparseOAUCM()
    >>> clicks = [("FR", 12.5, True), ("US", 3.0, False), ("FR", 20.0, True), ("IT", 14.0, False)]
    >>> for country, amount, y in clicks:
    ...     model.learn_one({"country": country, "amount": amount}, y)
    >>> model.largest_weights(2)
    {('country', 'US'): -0.577, ('country', 'IT'): -0.529}

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
        # Of the scores of the negatives and of the positives: weight, mean, scatter.
        self._n = [0.0, 0.0]
        self._mean = [0.0, 0.0]
        self._scatter = [0.0, 0.0]

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"prior": "empirical", "max_features": 4}

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """The weights of the score, by the names of the features."""
        return dict(zip(self._table.names, self._table.weights[1:].tolist(), strict=False))

    def largest_weights(self, k: int = 10) -> dict[base.typing.FeatureName, float]:
        """The `k` weights that are furthest from 0, by the names of the features.

        Parameters
        ----------
        k
            How many.

        """
        check_count("k", k)
        names, weights = self._table.names, self._table.weights[1 : 1 + len(self._table)]
        rows = np.argsort(-np.abs(weights), kind="stable")[:k]
        return {names[row]: float(weights[row]) for row in rows}

    def _score_example(self, x: Features) -> float:
        example = self._usual(x)
        if example is None:
            numbers = numbers_of(x, nan_is_absent=True)
            rows = self._table.rows_or_unknown(numbers)
            example = self._seen(tuple(numbers), b"", rows, np.array([*numbers.values()]))
        else:
            self._table.last = example
        return example[-1]

    def _learn_example(self, x: Features, positive: bool, w: float) -> None:
        example = self._usual(x)
        if example is not None:
            if w:
                self._learn(example, positive, w)
            return
        numbers = numbers_of(x)
        if w:
            self._learn(self._with_new_names(numbers), positive, w)

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
                        self._learn(self._with_new_names(numbers), positive, w)
                rows.n_done += 1

    def _score_frame(self, frame: nw.DataFrame[typing.Any]) -> FloatArray:
        return np.array([self._score_example(x) for x in rows_of(frame, nan_is_absent=True)])

    def _usual(self, x: Features) -> _Example | None:
        """The example, if its values are numbers other than 0 under names that are known."""
        try:
            data = packed_doubles[len(x)](*x.values())
        except (*CONVERSION_ERRORS, AttributeError):
            x = with_categories(x)
            try:
                data = packed_doubles[len(x)](*x.values())
            except CONVERSION_ERRORS:
                return None
        names = tuple(x)
        # An example is mostly learned right after it was scored.
        last: _Example | None = self._table.last
        if last is not None and last[1] == data and last[0] == names:
            return last
        if not names:
            return None
        values = frombuffer(data)
        if count_nonzero(values) < len(names) or not ddot(values, values) <= MAX_SQUARED_NORM:
            return None
        try:
            rows = self._table.rows(names)
        except KeyError:
            return None
        return self._seen(names, data, rows, values)

    def _with_new_names(self, numbers: dict[base.typing.FeatureName, float]) -> _Example:
        """An example to be learned, whose names become known."""
        names, values = tuple(numbers), np.array([*numbers.values()])
        self._table.add(names, np.abs(values).tolist())
        return self._seen(names, b"", self._table.rows(names), values)

    def _seen(
        self,
        names: tuple[base.typing.FeatureName, ...],
        data: bytes,
        rows: Rows,
        values: FloatArray,
    ) -> _Example:
        """The example with these values."""
        if not names:
            return names, data, rows, values, values, values, 0.0, 0.0
        weights, units = self._table.weights[rows], self._table.units[rows]
        # x / (u + |x|), which is 0 for the infinite unit of an unknown feature.
        scaled = absolute(values)
        daxpy(units, scaled)
        divide(values, scaled, scaled)
        squared_length = ddot(scaled, scaled)
        scale = 1.0 / sqrt(sqrt(squared_length)) if squared_length else 0.0
        return names, data, rows, weights, units, scaled, scale, scale * ddot(weights, scaled)

    def _learn(self, example: _Example, positive: bool, w: float) -> None:
        table, counts, means, scatters = self._table, self._n, self._mean, self._scatter
        own, other, sign = (1, 0, 1.0) if positive else (0, 1, -1.0)
        _, _, rows, weights, units, values, scale, score = example
        n_before, n_other = counts[own], counts[other]
        n_own = n_before + w
        n = len(rows)
        if n:
            squares = table.squares[rows]
            moves = multiply(values, values)
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
            absolute(values, moves)
            daxpy(roots, moves)
            daxpy(table.ones(n), roots, n, _FIRST)
            divide(moves, roots, moves)
            # A usual value leaves its unit as it is, and none does more than double it.
            multiply(units, moves, units)
            divide(values, roots, moves)
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
        if self.max_features is not None and len(table) > self.max_features:
            table.keep(max(1, 4 * self.max_features // 5))

    def _calibrate(self) -> None:
        (n_negative, n_positive), scatters = self._n, self._scatter
        self._calibration.fit(
            self._mean[1],
            self._mean[0],
            0.5 * (scatters[0] / n_negative + scatters[1] / n_positive),
            n_positive / n_negative,
        )
