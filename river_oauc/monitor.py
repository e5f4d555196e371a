"""Watch a deployed model: figures over recent examples, and their history over the stream."""

from __future__ import annotations

import collections
import copy
import math
import numbers
import typing
from collections.abc import Hashable

import narwhals.stable.v2 as nw
import numpy as np

from river_oauc.limits import short_repr, to_float
from river_oauc.locks import new_lock
from river_oauc.metrics import average_precision, exact_auc
from river_oauc.parameters import check_count
from river_oauc.records.labels import parse_label
from river_oauc.state import FloatArray

if typing.TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Monitor", "ReliabilityBin", "Snapshot"]

Prediction = float | dict[typing.Any, float]

# The history has fewer points than this. As many drifts are remembered.
_MAX_POINTS = 1_000

# In the beginning there are this many points per window: its figures change little in between.
_POINTS_PER_WINDOW = 100

# The largest number of bins of a reliability curve, and how many positives each should expect.
_MAX_BINS, _MIN_EXPECTED = 10, 5


class Snapshot(typing.NamedTuple):
    """The figures of a monitor at one moment. What cannot be computed yet is NaN.

    Parameters
    ----------
    n_observed
        Number of records so far.
    n_labelled
        Number of labels so far that belong to a record.
    n_pending
        Number of records that wait for their label.
    n_unmatched
        Number of labels so far that belong to no pending record.
    n_drifts
        Number of drifts so far.
    auc, average_precision
        How well the labelled examples of the window are ranked.
    alert_rate
        Share of alerts among the latest records, with or without labels.
    alert_precision
        Share of positives among the alerts of the window.
    alert_recall
        Share of alerts among the positives of the window.
    positive_rate
        Share of positives in the window.
    mean_probability
        Mean predicted probability in the window. In a calibrated model, it is near `positive_rate`.

    """

    n_observed: int
    n_labelled: int
    n_pending: int
    n_unmatched: int
    n_drifts: int
    auc: float
    average_precision: float
    alert_rate: float
    alert_precision: float
    alert_recall: float
    positive_rate: float
    mean_probability: float


class ReliabilityBin(typing.NamedTuple):
    """Examples with similar predicted probabilities.

    Parameters
    ----------
    n
        Number of examples.
    mean_probability
        Their mean predicted probability.
    positive_rate
        The share of positives among them.

    """

    n: int
    mean_probability: float
    positive_rate: float


class Monitor:
    """Watch a deployed model: ranking, alerts, calibration and drift, over recent examples.

    Call `observe_one` when a record has been scored, and `label_one` when its label comes, perhaps
    weeks later. If the label is there at once, `update` does both. Call `mark_drift` when a
    detector raises an alarm. Then look at it:

    - `snapshot` has the figures of now, and `history` those since the beginning.
    - `to_frame` has the history as a data frame, for a dashboard.
    - `plot` draws everything in one figure.

    The alert rate is that of the latest `window_size` records, with or without labels. All other
    figures are about the latest `window_size` labels, in the order in which they came, and about
    the predictions that the records got when they were observed. If only alerts are ever labelled,
    they describe the ranking of alerts, and say nothing of the other records.

    In a calibrated model, the mean predicted probability is near the share of positives. So it is
    among examples with similar probabilities, which `reliability` shows. This is for probabilities
    that mean frequencies: those of this package do with `prior="empirical"`.

    Memory is bounded, however long the stream is and however many labels never come: 32 bytes per
    example of the window, `max_pending` predictions at about 300 bytes and their keys, and 1 MB for
    the history. In the beginning it has a point every `window_size / 100` records. When there are
    1,000 points, every second one goes, and new ones come half as often. So it always covers the
    whole stream. A record with its label takes about 10 µs.

    A monitor can be pickled and copied. Threads may share it.

    Parameters
    ----------
    window_size
        Number of recent examples that the figures are about.
    max_pending
        The largest number of records that wait for a label. When there are more, the oldest is
        dropped. A label that comes for it is counted in `n_unmatched`, and is no error.

    Examples
    --------
    >>> from river import datasets, stream
    >>> from river_oauc import AutoOAUC
    >>> from river_oauc.decisions import AlertBudget
    >>> from river_oauc.monitor import Monitor

    Labels that come 100 records later:

    >>> model = AlertBudget(AutoOAUC(prior="empirical", seed=42), rate=0.1, seed=42)
    >>> monitor = Monitor(window_size=500)

    >>> for key, x, y in stream.simulate_qa(datasets.Phishing(), moment=None, delay=100):
    ...     if y is None:
    ...         monitor.observe_one(key, model.predict_proba_one(x), alert=model.predict_one(x))
    ...         model.observe_one(x)
    ...     else:
    ...         monitor.label_one(key, y)
    ...         model.learn_one(x, y, observed=True)
    ...         if model.model.drift_detected:
    ...             monitor.mark_drift()

    >>> monitor
    n_observed: 1,250
    n_labelled: 1,250
    n_pending: 0
    n_unmatched: 0
    n_drifts: 0
    auc: 97.92%
    average_precision: 97.18%
    alert_rate: 8.80%
    alert_precision: 97.73%
    alert_recall: 18.14%
    positive_rate: 47.40%
    mean_probability: 46.40%

    >>> figure = monitor.plot()

    >>> monitor.to_frame()[["n_observed", "n_labelled", "auc", "positive_rate"]].tail(3)
         n_observed  n_labelled       auc  positive_rate
    247        1240        1140  0.983742          0.494000
    248        1245        1145  0.983641          0.490000
    249        1250        1250  0.979160          0.474000

    Labels that come at once:

    >>> monitor = Monitor()
    >>> for y_true, score in ((False, 0.1), (True, 2.5), (False, 1.2), (True, 0.9)):
    ...     monitor.update(y_true, score, alert=score > 1)
    >>> monitor.snapshot().auc
    0.75

    """

    def __init__(self, window_size: int = 5_000, max_pending: int = 100_000) -> None:
        check_count("window_size", window_size)
        check_count("max_pending", max_pending)
        self.window_size = window_size
        self.max_pending = max_pending
        self.n_observed = 0
        self.n_labelled = 0
        self.n_unmatched = 0
        self.n_drifts = 0
        # Ring buffers. An alert is 1, none is 0, and NaN means no decision.
        self._alerts = np.zeros(window_size)
        self._labelled = np.zeros((3, window_size))  # scores, alerts, labels
        self._pending: collections.OrderedDict[Hashable, tuple[float, float]]
        self._pending = collections.OrderedDict()
        self._gives_probabilities: bool | None = None  # unknown before the first prediction
        self._points: list[Snapshot] = []
        self._step = max(window_size // _POINTS_PER_WINDOW, 1)
        self._drifts: collections.deque[int] = collections.deque(maxlen=_MAX_POINTS)
        self._lock = new_lock()

    def observe_one(self, key: Hashable, y_pred: Prediction, *, alert: bool | None = None) -> None:
        """Count a record that has been scored, and keep its prediction until the label comes.

        Parameters
        ----------
        key
            Identifies the record until its label comes. If a record with this key is pending, this
            prediction replaces the earlier one.
        y_pred
            The dict of `predict_proba_one`, or a score, which need not be a probability. There is
            no calibration for scores. All predictions must be of the same kind.
        alert
            Whether an alert was raised, or None if no decision was made.

        """
        hash(key)  # raises an error before anything has changed
        with self._lock:
            prediction = self._observe(y_pred, alert)
            self._pending[key] = prediction
            self._pending.move_to_end(key)
            if len(self._pending) > self.max_pending:
                self._pending.popitem(last=False)
            self._record()

    def label_one(self, key: Hashable, y_true: bool) -> None:
        """Count the label of a record that was observed before.

        If no such record is pending, because it was never observed, has its label already or was
        dropped, the label is counted in `n_unmatched`.

        Parameters
        ----------
        key
            The key that was given to `observe_one`.
        y_true
            A label: a boolean, 0 or 1, or -1 or 1.

        """
        positive = parse_label(y_true)
        with self._lock:
            if key in self._pending:
                self._label(*self._pending.pop(key), positive)
            else:
                self.n_unmatched += 1

    def update(self, y_true: bool, y_pred: Prediction, *, alert: bool | None = None) -> None:
        """Count a record whose label is there at once.

        Parameters
        ----------
        y_true
            A label: a boolean, 0 or 1, or -1 or 1.
        y_pred
            The prediction before the label was learned, as for `observe_one`.
        alert
            Whether an alert was raised, or None if no decision was made.

        """
        positive = parse_label(y_true)
        with self._lock:
            self._label(*self._observe(y_pred, alert), positive)
            self._record()

    def mark_drift(self) -> None:
        """Remember that a drift has been detected now."""
        with self._lock:
            self._drifts.append(self.n_observed)
            self.n_drifts += 1

    @property
    def n_pending(self) -> int:
        """Number of records that wait for their label."""
        return len(self._pending)

    @property
    def drifts(self) -> list[int]:
        """The number of records before each drift, for the latest 1,000 drifts."""
        with self._lock:
            return list(self._drifts)

    @property
    def history(self) -> list[Snapshot]:
        """Snapshots at even distances since the beginning, and one of now."""
        with self._lock:
            earlier = (point for point in self._points if point.n_observed < self.n_observed)
            return [*earlier, self.snapshot()]

    def snapshot(self) -> Snapshot:
        """Compute the figures of now."""
        with self._lock:
            scores, alerts, labels = self._window()
            positive, alert = labels == 1.0, alerts == 1.0
            auc = ap = math.nan
            if 0 < np.count_nonzero(positive) < positive.size:
                auc = exact_auc(scores[positive], scores[~positive])
                ap = average_precision(scores[positive], scores[~positive])
            return Snapshot(
                n_observed=self.n_observed,
                n_labelled=self.n_labelled,
                n_pending=self.n_pending,
                n_unmatched=self.n_unmatched,
                n_drifts=self.n_drifts,
                auc=auc,
                average_precision=ap,
                alert_rate=_mean(self._alerts[: self.n_observed]),
                alert_precision=_mean(labels[alert]),
                alert_recall=_mean(alerts[positive]),
                positive_rate=_mean(labels),
                mean_probability=_mean(scores) if self._gives_probabilities else math.nan,
            )

    def reliability(self) -> list[ReliabilityBin]:
        """Compare predicted probabilities with shares of positives, from low to high ones.

        The examples of the window are sorted by probability and cut into ten bins that expect about
        the same number of positives, or into fewer bins if each would expect less than five. So
        there are bins where the positives are, however rare they are. Equal probabilities stay
        together. The list is empty before the first label, and if the predictions are scores.
        """
        with self._lock:
            scores, _, labels = self._window()
            if not self._gives_probabilities or not scores.size:
                return []
            order = np.argsort(scores, kind="stable")
            probabilities, labels = scores[order], labels[order]
        expected = np.cumsum(probabilities)
        n_bins = int(np.clip(expected[-1] // _MIN_EXPECTED, 1, _MAX_BINS))
        edges = np.searchsorted(expected, expected[-1] * np.arange(1, n_bins) / n_bins, "right")
        starts = np.unique(np.searchsorted(probabilities, probabilities[edges]))
        bins = zip(np.split(probabilities, starts), np.split(labels, starts), strict=True)
        return [ReliabilityBin(p.size, _mean(p), _mean(y)) for p, y in bins if p.size]

    def to_frame(
        self, backend: typing.Literal["pandas", "polars", "pyarrow"] = "pandas"
    ) -> typing.Any:
        """Return the history as a data frame, with a row per snapshot.

        Parameters
        ----------
        backend
            The library of the data frame, which must be installed: `"pandas"`, `"polars"` or
            `"pyarrow"`.

        """
        columns = zip(*self.history, strict=True)
        data = dict(zip(Snapshot._fields, map(list, columns), strict=True))
        return nw.from_dict(data, backend=backend).to_native()

    def plot(self) -> Figure:
        """Draw the history and the calibration of now with matplotlib.

        Needs matplotlib: `pip install "river-oauc[experiments]"`. Vertical lines are drifts. The
        colours of text and background are those of matplotlib's style; for dark ones, call this
        within `matplotlib.style.context("dark_background")`. No window opens, and pyplot does not
        know the figure: show it in a notebook, or call its `savefig`.
        """
        from river_oauc.monitor_figure import draw

        with self._lock:
            data = self.history, self.drifts, self.reliability()
        return draw(*data)

    def __repr__(self) -> str:
        return "\n".join(
            f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value:.2%}"
            for name, value in self.snapshot()._asdict().items()
            if not math.isnan(value)
        )

    def __getstate__(self) -> dict[str, typing.Any]:
        with self._lock:
            # Another thread may go on while the copies are pickled.
            return {name: copy.copy(value) for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        vars(self).update(state, _lock=new_lock())

    def _observe(self, y_pred: Prediction, alert: bool | None) -> tuple[float, float]:
        """Count a record. Return its score, and its alert as a number."""
        is_probability = isinstance(y_pred, dict)
        if self._gives_probabilities not in (None, is_probability):
            raise ValueError(
                f"the prediction is {short_repr(y_pred)}, and earlier ones were of another kind: "
                "give a monitor dicts of probabilities or scores, and not both"
            )
        prediction = _parse_prediction(y_pred), _parse_alert(alert)
        self._gives_probabilities = is_probability
        self._alerts[self.n_observed % self.window_size] = prediction[1]
        self.n_observed += 1
        return prediction

    def _label(self, score: float, alert: float, positive: bool) -> None:
        """Put an example into the window."""
        self._labelled[:, self.n_labelled % self.window_size] = score, alert, positive
        self.n_labelled += 1

    def _window(self) -> FloatArray:
        """Return scores, alerts and labels of the window, one row each."""
        return self._labelled[:, : self.n_labelled]

    def _record(self) -> None:
        """Add a point to the history when it is time."""
        if self.n_observed % self._step == 0:
            self._points.append(self.snapshot())
            if len(self._points) == _MAX_POINTS:
                self._points = self._points[1::2]
                self._step *= 2


def _parse_prediction(y_pred: Prediction) -> float:
    """Return the probability of a positive, or the score."""
    if isinstance(y_pred, dict):
        for label in y_pred:
            parse_label(label)
        probability = y_pred.get(True, 0.0)
        if not isinstance(probability, numbers.Real) or not 0.0 <= to_float(probability) <= 1.0:
            raise ValueError(
                f"the probability is {short_repr(probability)}: it must be a number from 0 to 1"
            )
        return float(probability)
    if not isinstance(y_pred, numbers.Real) or math.isnan(to_float(y_pred)):
        raise ValueError(
            f"the prediction is {short_repr(y_pred)}: it must be a score, which is a number other "
            "than NaN, or the dict of predict_proba_one"
        )
    return to_float(y_pred)


def _parse_alert(alert: bool | None) -> float:
    """Return 1 for an alert, 0 for none, and NaN if no decision was made."""
    if alert is None:
        return math.nan
    if not isinstance(alert, bool | np.bool_):
        raise ValueError(f"alert is {short_repr(alert)}: it must be True, False or None")
    return float(alert)


def _mean(values: FloatArray) -> float:
    """Return the mean of the values that are known, or NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan
