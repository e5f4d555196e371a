"""Histories: what the card, the terminal or another entity of a record has done before."""

from __future__ import annotations

import collections
import copy
import itertools
import math
import re
import typing
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from river import base

from river_oauc.acceleration import accelerated
from river_oauc.limits import MAX_NORM, clipped, short_repr
from river_oauc.locks import new_lock
from river_oauc.parameters import check_count
from river_oauc.records.features import longer
from river_oauc.records.labels import parse_label
from river_oauc.records.parse import Name, Record, parse_seconds, parse_value, record_type_error
from river_oauc.state import FloatArray, State, Stateful, damage, read_fields

# Every entity is taken to have begun with this many records and labels of the average.
PRIOR_WEIGHT = 1.0

# How many times the mean a number may be, at most.
MAX_RATIO = 1e3

DAY = 86_400.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY, "w": 7 * DAY}

# The columns of the table of entities: when an entity had its last event, and when its last record;
# from `SUMS` on, the sums of its events for each window.
CHANGED, LAST, SUMS = range(3)

# An event is what is added to these sums: the numbers of records, labels and positives, and for
# each number whether it is known, and its value.
RECORDS, LABELS, POSITIVES, NUMBERS = range(4)


@accelerated
def describe_entity(
    table: FloatArray,
    row: int,
    now: float,
    windows: FloatArray,
    event: FloatArray,
    total: FloatArray,
) -> list[float]:
    """Return the features of the entity in a row; for row -1, of one that was never seen.

    They are the days since its last record, and for each window the number of records, the mean of
    each number, how many times the mean it is in this event, and the share of positives.
    """
    width, numbers, overall = len(event), event.tolist(), total.tolist()
    share = (overall[POSITIVES] + 0.5) / (overall[LABELS] + 1.0)
    changed, last, *sums = table[row].tolist() if row >= 0 else [-math.inf] * 2
    features = [min(max(now - last, 0.0), float(windows.max())) / DAY]
    for k, window in enumerate(windows.tolist()):
        kept = math.exp(-max(now - changed, 0.0) / window)
        own = [kept * each for each in sums[k * width : (k + 1) * width]] or [0.0] * width
        features.append(own[RECORDS])
        for i in range(NUMBERS, width, 2):
            mean = overall[i + 1] / max(overall[i], 1.0)
            mean = (own[i + 1] + PRIOR_WEIGHT * mean) / (own[i] + PRIOR_WEIGHT)
            is_known = numbers[i] and mean
            features += mean, clipped(numbers[i + 1] / mean, MAX_RATIO) if is_known else 1.0
        features.append((own[POSITIVES] + PRIOR_WEIGHT * share) / (own[LABELS] + PRIOR_WEIGHT))
    return features


@accelerated
def count_event(
    table: FloatArray, row: int, now: float, windows: FloatArray, event: FloatArray
) -> None:
    """Add an event to the sums of an entity.

    A time before that of its last event is that time, unless no window goes back so far.
    """
    changed, sums = float(table[row, CHANGED]), table[row, SUMS:].reshape(len(windows), -1)
    if now > changed - float(windows.max()):
        now = max(now, changed)
    sums *= np.exp(min(changed - now, 0.0) / windows)[:, np.newaxis]
    sums += event
    table[row, CHANGED] = now
    if event[RECORDS]:
        table[row, LAST] = now


class Entities(Stateful):
    """What the entities of one key have done, in a table with a row for each.

    Parameters
    ----------
    windows
        The windows in seconds.
    width
        The length of an event.
    limit
        The largest number of entities. Beyond it, the one that was seen least recently goes.

    Attributes
    ----------
    rows
        The row of each entity, in the order in which they were last seen.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {"names": list, "table": (float, "n", "c")}

    def __init__(self, windows: FloatArray, width: int, limit: int) -> None:
        self.windows, self.width, self.limit = windows, width, limit
        self.table: FloatArray = np.zeros((0, SUMS + len(windows) * width))
        self._set_names(())

    def _set_names(self, names: Iterable[Hashable]) -> None:
        self.rows = collections.OrderedDict(zip(names, itertools.count(), strict=False))

    def count(self, name: Hashable, now: float, event: FloatArray) -> None:
        """Count an event. Only a record makes an entity known."""
        row = self.rows.get(name)
        if event[RECORDS]:
            if row is None:
                row = self._new_row()
                self.table[row], self.table[row, :SUMS] = 0.0, now
            self.rows[name] = row
            self.rows.move_to_end(name)
        if row is not None:
            count_event(self.table, row, now, self.windows, event)

    def _new_row(self) -> int:
        n = len(self.rows)
        if n >= self.limit:
            return self.rows.popitem(last=False)[1]
        if n == len(self.table):
            self.table = longer(self.table, min(n + n // 2 + 8, self.limit))
        return n

    def get_state(self) -> State:
        return {"names": list(self.rows), "table": self.table[list(self.rows.values())]}

    def set_state(self, state: typing.Any) -> None:
        names, table = read_fields(state, self.FIELDS).values()
        self._set_names(names)
        shape = len(self.rows), self.table.shape[1]
        if len(names) != len(self.rows) or table.shape != shape or len(names) > self.limit:
            raise damage("its entities do not fit together")
        self.table = table

    def merge(self, other: State) -> None:
        """Add the entities of another part of the stream. Sums of those that both know add."""
        own, nothing = self.get_state(), np.zeros(self.width)
        names, theirs = list(dict.fromkeys(own["names"] + other["names"])), other["table"]
        index, both = dict(zip(names, itertools.count())), longer(own["table"], len(names))
        both[len(own["names"]) :, :SUMS] = -MAX_NORM
        for i, row in enumerate(index[name] for name in other["names"]):
            now, last = np.maximum(both[row, :SUMS], theirs[i, :SUMS])
            count_event(both, row, now, self.windows, nothing)
            count_event(theirs, i, now, self.windows, nothing)
            both[row, LAST] = last
            both[row, SUMS:] += theirs[i, SUMS:]
        kept = np.argsort(both[:, LAST], kind="stable")[-self.limit :]
        self._set_names(names[row] for row in kept.tolist())
        self.table = both[kept]


class SeenRecord(dict[Name, typing.Any]):
    """A record with its histories as of when it was seen: what `Histories.see_one` returns.

    It is a dict, and can be pickled. If it has been stored in another way, such as JSON, make one
    again: `SeenRecord(json.loads(text))`. Otherwise it would be counted once more.
    """


# Pipelines treat a supervised transformer as one only if it is a Transformer as well.
class Histories(base.SupervisedTransformer, base.Transformer):
    """Add to each record what its card, its terminal or another entity has done before.

    No record tells that this is the card's fourth payment within an hour, that it is five times as
    large as the others, or that the terminal had three frauds last week. Make this the first step
    of a pipeline, in front of `AutoOAUC` or `RecordEncoder` for instance, and name the features
    that say which entities a record belongs to. For each of them, a record gets:

    | feature | meaning |
    |---|---|
    | `card days since` | days since its last record, at most the longest window |
    | `card count 7d` | number of records |
    | `card amount mean 7d` | mean of a number |
    | `card amount ratio 7d` | the number in this record, divided by that mean |
    | `card share 7d` | share of positives among the labels that have come |

    - Windows fade: an event counts e^(-age / window). At a steady rate, `count 7d` is the number of
      records in seven days. It is as of the time of the record, so a card that has been quiet for
      40 days has a count close to 0.
    - Means and shares begin with one record and one label of the average of all entities. A ratio
      is 1 while it is unknown, and within ±1,000. So every record gets all features.
    - The record itself is not in its features, nor is its label, so nothing leaks.
    - A key decides by its meaning: 7, 7.0 and `"7"` are one entity. A record whose key is unknown
      gets the features of a new entity, and counts for none.
    - A time is a date, a datetime, a string in ISO 8601 or a number of seconds; without a time zone
      it is in UTC. If it is unknown, it is that of the record before. A time before the entity's
      last event is taken as that of this event. If it is earlier by the longest window or more, the
      clock was wrong, and time goes on from there.
    - What has no meaning as a key, a number or a time is refused with a `ValueError` that names the
      feature.

    **Labels that come late.** A record counts when it is seen, and its label when that comes: it
    is in the windows as of the latest record seen. With prompt labels, pipelines do that by
    themselves. With late ones, call `see_one` when a record is scored; score what it returns, and
    learn the same when its label has come. So a model learns what it had when it scored.

    A record takes about 4 µs per entity, and 12 µs without compiled code. An entity takes 16 bytes,
    24 + 16 `len(of)` for each window, and about 400 for its name.

    `a += b` and `a + b` add what another part of the stream has seen. There is no `learn_many`:
    river's pipelines transform all rows of a data frame before they learn the first, so that rows
    would know nothing of each other.

    Parameters
    ----------
    by
        The names of the features that say which entities a record belongs to, such as
        `("card", "terminal")`.
    of
        The names of the numbers to compare with their means, such as `("amount",)`.
    time
        The name of the feature that is the time.
    windows
        The lengths of the windows: numbers with `s`, `m`, `h`, `d` or `w`.
    max_entities
        The largest number of entities to remember for each key. When there would be more, the one
        that was seen least recently is forgotten.

    Examples
    --------
    >>> from river_oauc.preprocessing import Histories

    >>> histories = Histories(by=("card",), of=("amount",), time="when", windows=("1d",))
    >>> for hour, amount, fraud in [(9, 20, False), (10, 30, False), (11, 25, True)]:
    ...     when = f"2024-02-29 {hour:02}:00"
    ...     histories.learn_one({"card": 7, "when": when, "amount": amount}, fraud)
    >>> x = histories.transform_one({"card": 7, "when": "2024-02-29 12:00", "amount": 100})
    >>> {name: round(value, 2) for name, value in x.items() if name.startswith("card ")}
    {'card days since': 0.04, 'card count 1d': 2.76, 'card amount mean 1d': 25.05,
     'card amount ratio 1d': 3.99, 'card share 1d': 0.35}

    With late labels, a record is seen when it is scored, and learned when its label has come:

    >>> from river_oauc import AutoOAUC
    >>> model = Histories(by=("card",), of=("amount",), time="when") | AutoOAUC(seed=42)
    >>> seen = model["Histories"].see_one({"card": 7, "when": "2024-03-01 08:00", "amount": 90})
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
                    f"as {('7d',) if name == 'windows' else ('card',)}"
                )
        check_count("max_entities", max_entities)
        # Not tuples: river clones none that is empty.
        self.by, self.of, self.windows = list(by), list(of), list(windows)
        self.time, self.max_entities = time, max_entities
        seconds = np.array([_seconds(window) for window in windows])
        width = NUMBERS + 2 * len(of)
        self._entities = [Entities(seconds, width, max_entities) for _ in by]
        self._total: FloatArray = np.zeros(width)
        # The time of the latest record; at first, before all times.
        self._clock = -MAX_NORM
        self._labels = [f"{key} {what}" for key in by for what in _contents(of, windows)]
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
            return dict(x) | self._describe(*self._read(x))

    def see_one(self, x: Record) -> SeenRecord:
        """Return a record with its histories so far, and count it. Its label may come later.

        Parameters
        ----------
        x
            A record. One that was seen already is returned as it is, and not counted again.

        """
        if type(x) is SeenRecord:
            return x
        with self._lock:
            read = self._read(x)
            seen = SeenRecord(x)
            seen.update(self._describe(*read))
            self._count(*read)
        return seen

    def learn_one(self, x: Record, y: base.typing.ClfTarget) -> None:  # type: ignore[override]
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

    def _read(self, x: Record) -> tuple[list[Hashable], float, FloatArray]:
        """Return the entities of a record (None if unknown), its time, and what it adds."""
        if not isinstance(x, Mapping):
            raise record_type_error(x)
        now, event = parse_seconds(self.time, x.get(self.time)), [1.0, 0.0, 0.0]
        for name in self.of:
            number = parse_value(name, x.get(name)).number
            event += (1.0, number) if number == number else (0.0, 0.0)
        names = [_entity(name, x.get(name)) for name in self.by]
        return names, now if now == now else self._clock, np.array(event)

    def _describe(
        self, names: list[Hashable], now: float, event: FloatArray
    ) -> dict[Name, typing.Any]:
        """Return the features of the entities of a record."""
        features: list[float] = []
        for entities, name in zip(self._entities, names, strict=True):
            row = entities.rows.get(name, -1)
            features += describe_entity(
                entities.table, row, now, entities.windows, event, self._total
            )
        return dict(zip(self._labels, features, strict=True))

    def _count(self, names: list[Hashable], now: float, event: FloatArray) -> None:
        self._total += event
        for entities, name in zip(self._entities, names, strict=True):
            if name is not None:
                entities.count(name, now, event)
        if event[RECORDS]:
            self._clock = now

    def __iadd__(self, other: typing.Self) -> typing.Self:  # type: ignore[misc, override]
        """Add the histories of another part of the stream, which stays as it is."""
        is_other = type(other) is type(self) and other is not self
        if not is_other or other._get_params() != self._get_params():
            raise ValueError(f"cannot add {other!r}: only other Histories with the same parameters")
        state = other.__getstate__()
        with self._lock:
            for entities, theirs in zip(self._entities, state["entities"], strict=True):
                entities.merge(theirs)
            self._total += state["total"]
            self._clock = max(self._clock, state["clock"])
        return self

    def __add__(self, other: typing.Any) -> typing.Any:
        """Return the histories of both parts of a stream; with other transformers, their union."""
        if type(other) is not type(self):
            return super().__add__(other)
        return copy.deepcopy(self).__iadd__(other)

    def __getstate__(self) -> State:
        with self._lock:
            return {
                "parameters": self._get_params(),
                "entities": [entities.get_state() for entities in self._entities],
                "total": self._total.copy(),
                "clock": self._clock,
            }

    def __setstate__(self, state: State) -> None:
        fields: State = {
            "parameters": dict, "entities": [Stateful], "total": (float, "s"), "clock": float
        }  # fmt: skip
        read = read_fields(state, dict.fromkeys(fields, typing.Any))
        try:
            type(self).__init__(self, **read["parameters"])
        except TypeError:
            raise damage("the parameters are not those of the class") from None
        fields["total"] = float, len(self._total)
        read = read_fields(state, fields, {"entities": self._entities})
        self._total, self._clock = read["total"], read["clock"]

    def clone(
        self, new_params: dict[str, typing.Any] | None = None, include_attributes: bool = False
    ) -> typing.Self:
        """Return new histories with the same parameters.

        Parameters
        ----------
        new_params
            Parameters to override, by name.
        include_attributes
            Whether to copy what entities have done as well.

        """
        twin: typing.Self = super().clone(new_params)
        if include_attributes:
            twin.__setstate__(self.__getstate__() | {"parameters": twin._get_params()})
        return twin

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"by": ("is_ipv6",), "of": ("age_of_domain",), "time": "when"}
        yield {"by": ("empty_server_form_handler",), "time": "when", "max_entities": 2}


def _contents(of: Sequence[Name], windows: Sequence[str]) -> Iterator[str]:
    """Yield what is told of each entity."""
    yield "days since"
    for window in windows:
        yield f"count {window}"
        for name, what in itertools.product(of, ("mean", "ratio")):
            yield f"{name} {what} {window}"
        yield f"share {window}"


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
