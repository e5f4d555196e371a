"""Histories: what the card, the terminal or another entity of a record has done before."""

from __future__ import annotations

import collections
import copy
import itertools
import re
import typing
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
from river import base
from river.utils import dataframe

from river_oauc.acceleration import accelerated
from river_oauc.limits import MAX_NORM, clipped, short_repr
from river_oauc.locks import new_lock
from river_oauc.parameters import check_count
from river_oauc.records.features import longer
from river_oauc.records.frames import read_labels, to_records
from river_oauc.records.labels import parse_label
from river_oauc.records.parse import Name, Record, parse_seconds, parse_value, record_type_error
from river_oauc.state import FloatArray, State, Stateful, damage, read_fields

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

__all__ = ["Histories", "SeenRecord"]

# Every entity is taken to have begun with this many records, known numbers and labels of the
# average.
PRIOR_WEIGHT = 1.0

# How many times the mean a value may be, at most.
MAX_RATIO = 1e3

DAY = 86_400.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY, "w": 7 * DAY}

# An event is an array of what is added to each sum: the numbers of records, labels and positives,
# and from `FIRST_NUMBER` on, for each number, how many are known and what they are.
RECORDS, LABELS, POSITIVES, FIRST_NUMBER = range(4)

# The columns of `times`: as of when the sums of an entity are, and when it was last seen.
CHANGED, LAST = range(2)


@accelerated
def describe_entity(
    sums: FloatArray,
    times: FloatArray,
    row: int,
    now: float,
    windows: FloatArray,
    event: FloatArray,
    overall: FloatArray,
) -> list[float]:
    """Return the features of the entity of a row, or of one that has never been seen for -1.

    They are the days since its last record; and for each window the number of records, the mean of
    each number, how many times that its value is in this event, and the share of positives.
    """
    longest = float(windows.max())
    own, gap = np.zeros((len(windows), len(event))), longest
    if row >= 0:
        own = sums[row] * _weights(now - times[row, CHANGED], windows)
        gap = min(max(now - float(times[row, LAST]), 0.0), longest)
    share = (overall[POSITIVES] + 0.5) / (overall[LABELS] + 1.0)
    numbers, all_numbers = event[FIRST_NUMBER:].tolist(), overall[FIRST_NUMBER:].tolist()
    features = [gap / DAY]
    for n_records, n_labels, n_positives, *own_numbers in own.tolist():
        features.append(n_records)
        for i in range(0, len(numbers), 2):
            mean = all_numbers[i + 1] / max(all_numbers[i], 1.0)
            mean = (own_numbers[i + 1] + PRIOR_WEIGHT * mean) / (own_numbers[i] + PRIOR_WEIGHT)
            is_known = numbers[i] and mean
            features += mean, clipped(numbers[i + 1] / mean, MAX_RATIO) if is_known else 1.0
        features.append(float(n_positives + PRIOR_WEIGHT * share) / (n_labels + PRIOR_WEIGHT))
    return features


@accelerated
def count_event(
    sums: FloatArray,
    times: FloatArray,
    row: int,
    now: float,
    windows: FloatArray,
    event: FloatArray,
) -> None:
    """Add an event to the sums of an entity. A time before those of its other events is theirs."""
    sums[row] *= _weights(now - times[row, CHANGED], windows)
    sums[row] += event
    times[row, CHANGED] = max(times[row, CHANGED], now)
    if event[RECORDS]:
        times[row, LAST] = max(times[row, LAST], now)


def _weights(age: typing.Any, windows: FloatArray) -> FloatArray:
    """Return what is left of an event of this age in the sums of each window."""
    weights: FloatArray = np.exp(-np.maximum(age, 0.0)[..., np.newaxis] / windows)
    return weights[..., np.newaxis]


class Entities(Stateful):
    """The sums of all that the entities of one key have done, in a row for each.

    Parameters
    ----------
    windows
        The windows in seconds.
    n_sums
        The number of sums per window.
    limit
        The largest number of entities. Beyond it, the one that was seen least recently goes.

    Attributes
    ----------
    rows
        The row of each entity, in the order in which they were last seen.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "names": list, "sums": (float, "n", "w", "s"), "times": (float, "n", 2),
    }  # fmt: skip

    def __init__(self, windows: FloatArray, n_sums: int, limit: int) -> None:
        self.windows, self.limit = windows, limit
        self.rows: collections.OrderedDict[Hashable, int] = collections.OrderedDict()
        self.sums: FloatArray = np.zeros((0, len(windows), n_sums))
        self.times: FloatArray = np.zeros((0, 2))

    def count(self, name: Hashable, now: float, event: FloatArray) -> None:
        """Count an event. Only a record makes an entity known."""
        row = self.rows.get(name)
        if event[RECORDS]:
            if row is None:
                row = self._new_row()
                self.sums[row], self.times[row] = 0.0, now
            self.rows[name] = row
            self.rows.move_to_end(name)
        if row is not None:
            count_event(self.sums, self.times, row, now, self.windows, event)

    def _new_row(self) -> int:
        n = len(self.rows)
        if n >= self.limit:
            return self.rows.popitem(last=False)[1]
        if n == len(self.sums):
            room = min(n + n // 2 + 8, self.limit)
            self.times, self.sums = longer(self.times, room), longer(self.sums, room)
        return n

    def get_state(self) -> State:
        rows = list(self.rows.values())
        return {"names": list(self.rows), "sums": self.sums[rows], "times": self.times[rows]}

    def set_state(self, state: typing.Any) -> None:
        shape = self.sums.shape[1:]
        names, sums, times = read_fields(state, self.FIELDS).values()
        self.rows = collections.OrderedDict(zip(names, itertools.count()))
        if not len(names) == len(self.rows) == len(sums) <= self.limit or sums.shape[1:] != shape:
            raise damage("its entities do not fit together")
        if (sums[..., [RECORDS, LABELS, POSITIVES, *range(FIRST_NUMBER, shape[1], 2)]] < 0).any():
            raise damage("it has counts below 0")
        self.sums, self.times = sums, times

    def merge(self, other: State) -> None:
        """Add the entities of another part of the stream. Sums of those that both know add."""
        names, sums, times = self.get_state().values()
        index = {name: i for i, name in enumerate(dict.fromkeys((*names, *other["names"])))}
        both = np.zeros((len(index), *sums.shape[1:]))
        latest = np.full((len(index), 2), -MAX_NORM)
        parts = ((names, sums, times), tuple(other.values()))
        for names, _, times in parts:
            rows = [index[name] for name in names]
            latest[rows] = np.maximum(latest[rows], times)
        for names, sums, times in parts:
            rows = [index[name] for name in names]
            both[rows] += sums * _weights(latest[rows, CHANGED] - times[:, CHANGED], self.windows)
        kept = np.argsort(latest[:, LAST], kind="stable")[-self.limit :]
        names = list(index)
        self.rows = collections.OrderedDict((names[i], row) for row, i in enumerate(kept.tolist()))
        self.sums, self.times = both[kept], latest[kept]


class SeenRecord(dict[Name, typing.Any]):
    """A record with its histories as of when it was seen: what `Histories.see_one` returns.

    It is a dict, and can be pickled. If it has been stored in another way, such as JSON, make one
    again: `SeenRecord(json.loads(text))`. Otherwise it would be counted once more.
    """


class Histories(base.MiniBatchSupervisedTransformer):
    """Add to each record what its card, its terminal or another entity has done before.

    That this is the card's fourth payment within an hour, five times as large as its others, or at
    a terminal with three frauds in a week, is in no record. Put this in front of any binary
    classifier of river, or of `RecordEncoder`, and name the features that say which entities a
    record belongs to. Each record gets, for each of them:

    | feature | meaning |
    |---|---|
    | `card days since` | days since its last record; the longest window, if that or more |
    | `card count 7d` | number of records |
    | `card amount mean 7d` | mean of a number of `of` |
    | `card amount ratio 7d` | the number of this record, divided by that mean |
    | `card share 7d` | share of positives, among the labels that have come |

    - Windows fade: a record counts 1 when it comes, and e⁻¹ after the length of the window. At a
      steady rate, `count 7d` is the number of records in seven days. A card that has been quiet
      for 40 days has a count close to 0: sums fade when they are read.
    - Means and shares begin as those of all records, which count as one record of the entity. A
      ratio is 1 while the number or the mean is unknown, and at most 1,000 in size.
    - The record itself is not in its features. They are the same when it is learned right after it
      was scored, so nothing leaks from its label.
    - What a key means decides which entity it is: 7, 7.0 and `"7"` are one. A record without a key
      has the features of an entity that has never been seen, and counts for nobody.
    - A time is a date, a datetime, a string in ISO 8601 or a number of seconds; without a zone, in
      UTC. A record without a time has that of the record before. If clocks go backwards, a time
      before the entity's last event is taken as that time.

    **Labels that come late**: a record counts when it is seen, and its label when that comes. With
    prompt labels there is nothing to do. Otherwise call `see_one` when a record is scored. Score
    what it returns, and later learn the same with its label, which then counts in the windows as of
    the latest record seen. So a label that comes after seven days is in `share 1d` for about a day,
    and a model sees in learning what it saw in scoring.

    A record takes about 2 µs per entity compiled, and 20 µs without. Memory is 8 bytes times 3 + 2
    · `len(of)` per entity and window, and about 150 bytes per entity for its name and times. `a +=
    b` adds the histories of another part of the stream. Parts that are divided by entity give what
    one pass would.

    Parameters
    ----------
    by
        The names of the features that say which entities a record belongs to, such as
        `("card", "terminal")`.
    of
        The names of the numbers whose means matter, such as `("amount",)`.
    time
        The name of the feature that is the time.
    windows
        The lengths of the windows: a number and `s`, `m`, `h`, `d` or `w`.
    max_entities
        The largest number of entities to remember for each key. When there would be more, the one
        that was seen least recently is forgotten.

    Examples
    --------
    >>> from river_oauc import AutoOAUC
    >>> from river_oauc.preprocessing import Histories

    >>> histories = Histories(by=("card",), of=("amount",), time="when", windows=("1d",))
    >>> for hour, amount, fraud in [(9, 20, False), (10, 30, False), (11, 25, True)]:
    ...     when = f"2024-02-29 {hour:02}:00"
    ...     histories.learn_one({"card": 7, "when": when, "amount": amount}, fraud)
    >>> histories.transform_one({"card": "7", "when": "2024-02-29 11:36", "amount": 100})

    With late labels, a record is seen when it is scored, and learned when its label has come:

    >>> model = histories | AutoOAUC(seed=42)
    >>> seen = histories.see_one({"card": 7, "when": "2024-03-01 08:00", "amount": 90})
    >>> score = model.score_one(seen)
    >>> model.learn_one(seen, True)

    """

    def __init__(
        self,
        by: Sequence[Name],
        of: Sequence[Name] = (),
        *,
        time: Name,
        windows: Sequence[str] = ("1d", "7d", "30d"),
        max_entities: int = 100_000,
    ) -> None:
        for name, value in (("by", by), ("of", of), ("windows", windows)):
            is_sequence = isinstance(value, tuple | list) and len(set(value)) == len(value)
            if not is_sequence or not (value or name == "of"):
                raise ValueError(
                    f"{name} is {short_repr(value)}: it must be a tuple of different names, such "
                    f"as {('1d', '7d') if name == 'windows' else ('amount',)}"
                )
        check_count("max_entities", max_entities)
        self.by, self.of, self.time = by, of, time
        self.windows, self.max_entities = windows, max_entities
        seconds = np.array([_seconds(window) for window in windows])
        n_sums = FIRST_NUMBER + 2 * len(of)
        self._entities = [Entities(seconds, n_sums, max_entities) for _ in by]
        self._overall: FloatArray = np.zeros(n_sums)
        # The time of the latest record, at first before all times.
        self._clock = -MAX_NORM
        self._labels = [
            f"{key} {what}"
            for key in by
            for what in (
                "days since",
                *(f"{what} {window}" for window in windows for what in _contents(of)),
            )
        ]
        self._lock = new_lock()

    def transform_one(self, x: Record) -> dict[Name, typing.Any]:
        """Return a record with its histories so far. One that was seen is returned as it is.

        Parameters
        ----------
        x
            A record.

        """
        if type(x) is SeenRecord:
            return x
        with self._lock:
            return self._described(x, *self._read(x))

    def see_one(self, x: Record) -> SeenRecord:
        """Return a record with its histories so far, and count it. Its label may come later.

        Parameters
        ----------
        x
            A record. One that was seen already is returned as it is.

        """
        if type(x) is SeenRecord:
            return x
        with self._lock:
            read = self._read(x)
            seen = SeenRecord(self._described(x, *read))
            self._count(*read)
        return seen

    def learn_one(  # type: ignore[override]
        self, x: Record, y: base.typing.ClfTarget
    ) -> None:
        """Count the label of a record, and the record as well unless it was seen before.

        Parameters
        ----------
        x
            A record, or what `see_one` has returned for it.
        y
            A label: a boolean, 0 or 1, or -1 or 1.

        """
        positive = parse_label(y)
        with self._lock:
            names, now, event = self._read(x)
            if type(x) is SeenRecord:
                now, event = self._clock, np.zeros(len(event))
            event[LABELS], event[POSITIVES] = 1.0, positive
            self._count(names, now, event)

    def transform_many(self, X: IntoDataFrame) -> IntoDataFrame:  # type: ignore[override]
        """Return a data frame with the histories of each row, as `transform_one` does.

        Rows know nothing of each other, because they have not been learned yet. So let frames be
        short, or go through records.

        Parameters
        ----------
        X
            A data frame of records.

        """
        frame = dataframe.into_frame(X)
        rows = [self.transform_one(record) for record in to_records(frame)]
        columns = {name: frame.get_column(name) for name in frame.columns}
        columns |= {label: [row[label] for row in rows] for label in self._labels}
        return dataframe.to_native_frame(columns, like=frame)

    def learn_many(self, X: IntoDataFrame, y: IntoSeries) -> None:  # type: ignore[override]
        """Count each row of `X` and its label in turn, as `learn_one` does.

        Parameters
        ----------
        X
            A data frame of records.
        y
            A series of labels.

        """
        frame = dataframe.into_frame(X)
        labels, _ = read_labels(y, len(frame))
        for record, positive in zip(to_records(frame), labels.tolist(), strict=True):
            self.learn_one(record, positive)

    def _read(self, x: Record) -> tuple[list[Hashable], float, FloatArray]:
        """Return the names of the entities of a record (or None), its time, and what it adds."""
        if not isinstance(x, Mapping):
            raise record_type_error(x)
        now, event = parse_seconds(self.time, x.get(self.time)), [1.0, 0.0, 0.0]
        for name in self.of:
            number = parse_value(name, x.get(name)).number
            event += (1.0, number) if number == number else (0.0, 0.0)
        names = [_entity(name, x.get(name)) for name in self.by]
        return names, now if now == now else self._clock, np.array(event)

    def _described(
        self, x: Record, names: list[Hashable], now: float, event: FloatArray
    ) -> dict[Name, typing.Any]:
        features: list[float] = []
        for entities, name in zip(self._entities, names, strict=True):
            features += describe_entity(
                entities.sums, entities.times, entities.rows.get(name, -1), now, entities.windows,
                event, self._overall,
            )  # fmt: skip
        described = dict(x)
        described.update(zip(self._labels, features, strict=True))
        return described

    def _count(self, names: list[Hashable], now: float, event: FloatArray) -> None:
        self._overall += event
        for entities, name in zip(self._entities, names, strict=True):
            if name is not None:
                entities.count(name, now, event)
        if event[RECORDS]:
            self._clock = now

    def __iadd__(self, other: Histories) -> typing.Self:
        """Add the histories of another part of the stream, which stays as it is."""
        if type(other) is not type(self):
            return NotImplemented
        if other is self or other._get_params() != self._get_params():
            raise ValueError(
                "only other Histories with the same parameters can be added: join features with a "
                "pipeline instead"
            )
        state = other.__getstate__()
        with self._lock:
            for entities, theirs in zip(self._entities, state["entities"], strict=True):
                entities.merge(theirs)
            self._overall += state["overall"]
            self._clock = max(self._clock, state["clock"])
        return self

    def __add__(self, other: typing.Any) -> typing.Any:
        """Return histories of both parts of a stream, or river's union with another transformer."""
        if type(other) is not type(self):
            return super().__add__(other)
        return copy.deepcopy(self).__iadd__(other)

    def __getstate__(self) -> State:
        with self._lock:
            return {
                "parameters": self._get_params(),
                "entities": [entities.get_state() for entities in self._entities],
                "overall": self._overall.copy(),
                "clock": self._clock,
            }

    def __setstate__(self, state: State) -> None:
        fields: State = {
            "parameters": dict, "entities": [Stateful], "overall": (float, "s"), "clock": float,
        }  # fmt: skip
        read = read_fields(state, dict.fromkeys(fields, typing.Any))
        try:
            type(self).__init__(self, **read["parameters"])
        except TypeError:
            raise damage("the parameters are not those of the class") from None
        overall = self._overall
        read = read_fields(state, fields, {"entities": self._entities})
        self._overall, self._clock = read["overall"], read["clock"]
        counts = [RECORDS, LABELS, POSITIVES, *range(FIRST_NUMBER, len(overall), 2)]
        if self._overall.shape != overall.shape or (self._overall[counts] < 0.0).any():
            raise damage("overall has counts below 0, or too few")

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"by": ("is_ipv6",), "of": ("age_of_domain",), "time": "when"}
        yield {"by": ("empty_server_form_handler",), "time": "when", "max_entities": 2}


def _contents(of: Sequence[Name]) -> list[str]:
    """Return what is told of each window."""
    return ["count", *(f"{name} {what}" for name in of for what in ("mean", "ratio")), "share"]


def _seconds(window: typing.Any) -> float:
    """Return the length of a window.

    Examples
    --------
    >>> from river_oauc.histories import _seconds
    >>> _seconds("1d"), _seconds("1.5h")
    (86400.0, 5400.0)

    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw])", str(window), re.ASCII)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds:
        raise ValueError(
            f"a window is {short_repr(window)}: it must be a number and s, m, h, d or w, such as "
            "'7d'"
        )
    return seconds


def _entity(name: Name, value: typing.Any) -> Hashable:
    """Return which entity the value of a key means; None if it is unknown."""
    number, category = parse_value(name, value)
    if type(category) is dict:
        # A time.
        return parse_seconds(name, value)
    return number if category is None and number == number else category
