"""The step of SparseOAUCM, and how it sees an example."""

from __future__ import annotations

import itertools
import math

import numpy as np
from river import base

from river_oauc import blas, losses, vectors
from river_oauc.inputs import dicts
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.categories import numbers_of, with_categories
from river_oauc.inputs.limits import (
    CONVERSION_ERRORS,
    MAX_SQUARED_NORM,
    PLAIN_TYPES,
    Features,
)
from river_oauc.learner import Learner
from river_oauc.linear.table import FeatureTable, Rows

__all__ = ["FIRST", "FIRST_DEVIATION", "SparseStep"]

# What is added to the root of the squared gradients of a feature, so that the first step is no full
# one; and in the place of it where deviations are measured.
FIRST, FIRST_DEVIATION = 0.5, 0.25

# What is of unusual size in one example out of so many varies, and counts as a number.
_OFTEN = 10

# Deviations are not measured finer than this part of the usual size, nor than the least double.
_FINEST, _LEAST = 2.0**-20, 2.0**-1022

# What is said of values that are no numbers, or of no dict.
_UNUSUAL = (*CONVERSION_ERRORS, AttributeError)

# Values of the usual size, by their number.
_USUAL: dict[int, bytes] = {}


Names = tuple[base.typing.FeatureName, ...]

# An example as the model sees it, in a tuple, which is made fastest:
# - its names and the bytes of its values, by which it is recognised,
# - its values, and the positions of those that count as numbers,
# - the rows of its features, the second rows of the numbers last, and the weights and units there,
# - the inputs in their units, what they are to be multiplied by, and the score.
_Example = tuple[
    Names,
    bytes,
    FloatArray,
    Rows | None,
    Rows,
    FloatArray,
    FloatArray,
    FloatArray,
    float,
    float,
]


class SparseStep(Learner):
    """The numbers of a `SparseOAUCM`, and what changes them."""

    __fields__ = (
        *Learner.__fields__,
        "max_features",
        "_table",
        "_n_seen",
        "_n",
        "_mean",
        "_scatter",
    )

    max_features: int | None
    _table: FeatureTable
    _n_seen: int
    _n: list[float]
    _mean: list[float]
    _scatter: list[float]

    def _score_example(self, x: Features) -> float:
        return self._found(x, False)[-1]

    def _learn_example(self, x: Features, positive: bool, w: float) -> None:
        if w:
            self._learn(self._found(x, True), positive, w)
        else:
            numbers_of(x)

    def _found(self, x: Features, learns: bool) -> _Example:
        """The example as the model sees it; if it is to be learned, its names become known."""
        table = self._table
        # An example is mostly learned right after it was scored.
        last: _Example | None = table.last
        if dicts.COMPILED and last is not None and dicts.is_same(x, last[0], last[1]):
            return last
        try:
            data = dicts.packed(x)
        except _UNUSUAL:
            x = with_categories(x)
            try:
                data = dicts.packed(x)
            except CONVERSION_ERRORS:
                x = numbers_of(x, nan_is_absent=not learns)
                data = dicts.packed(x)
        names = asked = dicts.names_of(x, table.last_names)
        if last is not None and last[1] == data and last[0] == names:
            return last
        values = vectors.frombuffer(data)
        is_usual = True
        if names and not blas.ddot(values, values) <= MAX_SQUARED_NORM:
            # Refused, or in predictions a NaN.
            is_usual = False
            x = numbers_of(x, nan_is_absent=not learns)
            names, values = tuple(x), np.array([*x.values()])
        elif vectors.count_nonzero(values) < len(names):
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
            return names, data, values, None, rows, values, values, values, 0.0, 0.0
        table = self._table
        inputs, numbers = values, None
        if table.n_seconds:
            seconds = vectors.take(table.seconds, rows)
            numbers = vectors.nonzero(seconds)
            if len(numbers):
                # Numbers count a second time, as deviations from their means.
                levels = values
                if len(numbers) < len(values):
                    levels = vectors.take(values, numbers)
                    seconds = vectors.take(seconds, numbers)
                rows = vectors.concatenate((rows, seconds))
                deviations = vectors.take(table.means, seconds)
                vectors.subtract(levels, deviations, deviations)
                inputs = vectors.concatenate((values, deviations))
            else:
                numbers = None
        weights, units = vectors.take(table.weights, rows), vectors.take(table.units, rows)
        # x / (u + |x|), which is next to nothing for an unknown feature.
        scaled = vectors.absolute(inputs)
        blas.daxpy(units, scaled)
        vectors.divide(inputs, scaled, scaled)
        squared_length = blas.ddot(scaled, scaled)
        scale = 1.0 / math.sqrt(math.sqrt(squared_length)) if squared_length else 0.0
        score = scale * blas.ddot(weights, scaled)
        return names, data, values, numbers, rows, weights, units, scaled, scale, score

    def _learn(self, example: _Example, positive: bool, w: float) -> None:
        table, counts, means, scatters = self._table, self._n, self._mean, self._scatter
        own, other, sign = (1, 0, 1.0) if positive else (0, 1, -1.0)
        _, _, values, numbers, rows, weights, units, inputs, scale, score = example
        n_before, n_other = counts[own], counts[other]
        n_own = n_before + w
        self._n_seen += 1
        n = len(rows)
        if n:
            squares = vectors.take(table.squares, rows)
            moves = vectors.multiply(inputs, inputs)
            step = 0.0
            if n_other:
                pull = losses.psi_m_pair(sign * (score - means[other]), scatters[other] / n_other)[
                    0
                ]
                # Both classes pull alike.
                balance = w * (n_other / n_own) if n_other < n_own else w
                pull *= scale
                step = sign * balance * pull
                blas.daxpy(moves, squares, n, balance * pull * pull)
            # In so short arrays it is the calls that cost, and a sum by BLAS half of one by numpy.
            roots = vectors.sqrt(squares)
            # Values of the usual size leave everything as it is.
            if numbers is not None or inputs.tobytes() != (_USUAL.get(n) or _usual(n)):
                self._move_units(values, numbers, rows, units, inputs, roots, moves)
            blas.daxpy(table.ones(n), roots, n, FIRST)
            vectors.divide(inputs, roots, moves)
            blas.daxpy(moves, weights, n, step)
            vectors.put(table.weights, rows, weights)
            vectors.put(table.squares, rows, squares)
            vectors.put(table.units, rows, units)
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

    def _move_units(
        self,
        values: FloatArray,
        numbers: Rows | None,
        rows: Rows,
        units: FloatArray,
        inputs: FloatArray,
        roots: FloatArray,
        moves: FloatArray,
    ) -> None:
        """Let the units of the features, and the means of the numbers, follow the values.

        By as much as the weights move: a value of the usual size leaves its unit as it is, and none
        does more than double it. `moves` is overwritten.
        """
        table = self._table
        n = len(values)
        sizes = vectors.absolute(inputs)
        if numbers is None or len(numbers) < n:
            self._note_unusual(values, numbers, rows, units, sizes, roots)
        blas.daxpy(roots, sizes)
        blas.dcopy(roots, moves)
        ones = table.ones(n)
        blas.daxpy(ones, moves, n, FIRST)
        if numbers is not None:
            n_numbers = len(numbers)
            # x, y, n, a, offx, incx, offy: y[n:] += a.
            blas.daxpy(ones, moves, n_numbers, FIRST_DEVIATION, 0, 1, n)
            drift = vectors.multiply(units, inputs)
            vectors.divide(drift, moves, drift)
            seconds = vectors.part(rows, n, n + n_numbers)
            means = vectors.take(table.means, seconds)
            # Here it is the second rows only that count.
            blas.daxpy(drift, means, n_numbers, FIRST_DEVIATION, n)
            vectors.put(table.means, seconds, means)
        vectors.divide(sizes, moves, sizes)
        vectors.multiply(units, sizes, units)
        if numbers is not None:
            their_units = vectors.part(units, n, n + n_numbers)
            finest = vectors.take(units, numbers)
            blas.dscal(_FINEST, finest)
            vectors.fmax(finest, _LEAST, finest)
            vectors.fmax(their_units, finest, their_units)

    def _note_unusual(
        self,
        values: FloatArray,
        numbers: Rows | None,
        rows: Rows,
        units: FloatArray,
        sizes: FloatArray,
        roots: FloatArray,
    ) -> None:
        """Count the values that are not of the usual size; what varies often becomes a number."""
        table, n = self._table, len(values)
        rows, sizes = vectors.part(rows, 0, n), vectors.part(sizes, 0, n)
        unusual = sizes != FIRST
        if numbers is not None:
            unusual[numbers] = False
        counts = vectors.take(table.counts, rows)
        counts += unusual
        vectors.put(table.counts, rows, counts)
        if _OFTEN * counts[blas.idamax(counts)] < self._n_seen:
            return
        for position in np.flatnonzero(unusual & (_OFTEN * counts >= self._n_seen)).tolist():
            value, unit = values.item(position), units.item(position)
            size = abs(value)
            # The smaller of the two sizes is hardly the outlier.
            mean = math.copysign(min(unit, size), value)
            first_root = roots.item(position)
            new_unit = unit * (sizes.item(position) + first_root) / (FIRST + first_root)
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

    def _keep_to_the_limit(self) -> None:
        if self.max_features is not None and len(self._table) > self.max_features:
            self._table.keep(max(1, 4 * self.max_features // 5))


def _usual(n: int) -> bytes:
    """The bytes of so many values of the usual size."""
    data = _USUAL[n] = np.full(n, FIRST).tobytes()
    return data
