"""Histories: what entities have done, against a loop over all that they have done."""

from __future__ import annotations

import copy
import datetime
import functools
import math
import pickle
import random
import threading
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifiers import TRIES, state
from river import base, checks, datasets, preprocessing

from river_oauc.preprocessing import Histories, SeenRecord
from river_oauc.records.parse import parse_seconds

DAY = 86_400.0
START = datetime.datetime(2024, 2, 29, 8)
KEYS, WINDOWS = ("card", "shop"), {"1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
make = functools.partial(Histories, by=KEYS, of=("amount",), time="when")

Payments = list[tuple[dict[str, Any], bool]]


def stream(n: int, seed: int = 1, forwards: bool = False) -> Payments:
    """Return payments with ties, gaps, clocks that go backwards, and values that are missing."""
    rng, now, payments = random.Random(seed), START, []
    for _ in range(n):
        now += datetime.timedelta(hours=rng.choice([0, 0, 40 * rng.random() ** 9, 1]))
        now += datetime.timedelta(days=40 * (rng.random() < 0.001))
        back = datetime.timedelta(0 if forwards or rng.random() < 0.9 else rng.random())
        card, amount = int(200 * rng.random() ** 2), rng.choice([rng.gauss(10.0, 20.0), 5])
        x = {"card": card, "shop": f"s{rng.randrange(50)}", "amount": amount, "when": now - back}
        for name in x.keys() - ({"when"} if forwards else set()):
            x[name] = None if rng.random() < 0.1 else x[name]
        payments.append((x, rng.random() < 0.2))
    return payments


def learned(payments: Payments, **params: Any) -> Histories:
    histories = make(**params)
    for x, y in payments:
        histories.learn_one(x, y)
    return histories


def added(x: dict[str, Any]) -> dict[str, float]:
    """Return what histories have added to a record."""
    return {name: value for name, value in x.items() if " " in name}


def close(x: dict[str, Any]) -> Any:
    """Return what histories have added to a record, up to rounding."""
    return pytest.approx(added(x), rel=1e-9, abs=1e-9)


class Plain:
    """The definition: all events of each entity, with their times."""

    def __init__(self) -> None:
        self.events: dict[Any, list[list[float]]] = {}
        self.total, self.clock = np.zeros(5), -1e50

    def time(self, x: dict[str, Any]) -> float:
        return parse_seconds("when", x["when"]) if x["when"] else self.clock

    def transform(self, x: dict[str, Any]) -> dict[str, float]:
        found, amount, nothing = {}, x["amount"], [[-math.inf, 0, 0, 0, 0, 0]]
        for key in KEYS:
            events = np.array(self.events.get((key, x[key]), nothing))
            last = max(time for time, is_record, *_ in events if is_record or time < 0)
            found[f"{key} days since"] = min(max(self.time(x) - last, 0.0) / DAY, 30.0)
            age = max(self.time(x), events[-1, 0]) - events[:, 0]
            for name, window in WINDOWS.items():
                n, labels, positives, known, sum_ = np.exp(-age / window) @ events[:, 1:]
                mean = (sum_ + self.total[4] / max(self.total[3], 1)) / (known + 1)
                ratio = amount / mean if amount is not None and mean else 1.0
                share = (self.total[2] + 0.5) / (self.total[1] + 1)
                found[f"{key} count {name}"] = n
                found[f"{key} amount mean {name}"] = mean
                found[f"{key} amount ratio {name}"] = min(max(ratio, -1e3), 1e3)
                found[f"{key} share {name}"] = (positives + share) / (labels + 1)
        return found

    def count(self, x: dict[str, Any], is_record: bool, y: bool | None) -> None:
        now = self.time(x) if is_record else self.clock
        is_known = is_record and x["amount"] is not None
        event = [is_record, y is not None, y or False, is_known, x["amount"] if is_known else 0.0]
        self.total += event
        for key in KEYS:
            if x[key] is not None:
                events = self.events.setdefault((key, x[key]), [])
                events.append([max(now, events[-1][0]) if events else now, *event])
        self.clock = now


def test_features_are_those_of_a_loop_over_all_events() -> None:
    """With labels at once, late or never."""
    histories, plain, rng = make(), Plain(), random.Random(2)
    late: list[tuple[SeenRecord, bool]] = []
    for i, (x, y) in enumerate(stream(20_000)):
        is_prompt = rng.random() < 0.3
        if i % 7 == 0:
            found = histories.transform_one(x)
            assert plain.transform(x) == close(found)
            assert {name: found[name] for name in x} == x
        if is_prompt:
            histories.learn_one(x, y)
        else:
            late.append((histories.see_one(x), y))
        plain.count(x, True, y if is_prompt else None)
        if rng.random() < 0.6 and len(late) > 300:
            seen, label = late.pop(rng.randrange(10))
            histories.learn_one(seen, label)
            plain.count(seen, False, label)


def test_what_is_quiet_is_empty_when_it_is_read() -> None:
    histories = learned([({"card": 7, "amount": 3, "when": "2024-01-01"}, True)] * 5)
    before = state(histories)
    later = histories.transform_one({"card": 7, "amount": 3, "when": "2024-02-10"})
    assert later["card count 7d"] < 0.02 and later["card days since"] == 30.0
    for name in range(50):
        new = histories.transform_one({"card": f"new {name}", "when": "2024-01-01"})
    assert state(histories) == before
    # A record without a key has the features of an entity that is new.
    assert added(new) == added(histories.transform_one({"when": "2024-01-01"}))


@pytest.mark.parametrize("key", [7, 7.0, "7", " 7 ", np.int64(7), np.float32(7)])
def test_a_key_means_the_same_in_all_types(key: Any) -> None:
    histories = learned([({"card": 7, "when": 0}, True)])
    assert histories.transform_one({"card": key, "when": 0})["card count 1d"] == 1.0


SECONDS = 1_709_193_600
TIMES = [
    START, str(START), START.replace(tzinfo=datetime.UTC), "2024-02-29T10:00:00+02:00",
    pd.Timestamp(START), np.datetime64(START), np.datetime64(START, "ns"), SECONDS, str(SECONDS),
    None, "", math.nan, pd.NaT, np.datetime64("NaT"), START - datetime.timedelta(days=3),
]  # fmt: skip


@pytest.mark.parametrize("when", TIMES, ids=repr)
def test_a_time_means_the_same_in_all_types(when: Any) -> None:
    """An unknown one is that of the record before, and an earlier one that of the last event."""
    times = ((7, START - datetime.timedelta(days=1)), (8, START), (7, START))
    histories = learned([({"card": card, "when": time}, True) for card, time in times])
    found = histories.transform_one({"card": 7, "when": when})
    assert found["card days since"] == 0.0
    assert found["card count 1d"] == pytest.approx(1.0 + math.exp(-1.0))


def test_a_clock_that_was_wrong_is_forgotten() -> None:
    histories = Histories(by=("card",), time="when")
    for when in ("2024-02-28", "9999-12-31", "2024-02-29", "2024-03-01"):
        found = histories.see_one({"card": 7, "when": when})
    assert found["card days since"] == 1.0
    assert found["card count 1d"] == pytest.approx(2 / math.e)


def test_dates_are_entities_too_and_begin_at_midnight() -> None:
    histories = Histories(by=("day",), time="day")
    histories.learn_one({"day": datetime.date(2024, 2, 29)}, True)
    assert histories.transform_one({"day": "2024-02-29 00:00"})["day count 1d"] == 1.0


# Two moments -------------------------------------------------------------------------------------


class Spy(base.Classifier):
    """Remembers what it was given to predict and to learn."""

    def __init__(self) -> None:
        self.predicted: list[Any] = []
        self.learned: list[Any] = []

    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        return self.predicted.append(x)

    def learn_one(self, x: Any, y: Any) -> None:
        self.learned.append(x)


def test_a_pipeline_learns_what_it_has_predicted() -> None:
    """With prompt labels by itself, and with late ones from what was seen."""
    prompt, late = make() | Spy(), make() | Spy()
    waiting = []
    for x, y in stream(400):
        prompt.predict_proba_one(x)
        prompt.learn_one(x, y)
        seen = late["Histories"].see_one(x)
        late.predict_proba_one(seen)
        waiting.append((pickle.loads(pickle.dumps(seen)), y))
        if len(waiting) > 100:
            late.learn_one(*waiting.pop(0))
    for model in (prompt, late):
        assert model["Spy"].learned == model["Spy"].predicted[: len(model["Spy"].learned)]
    # Only shares differ.
    last = {k: v for k, v in added(prompt["Spy"].learned[-1]).items() if "share" not in k}
    assert last == close({name: seen[name] for name in last})
    # Stored as plain data, it can be made again.
    again, before = SeenRecord(dict(seen)), state(late["Histories"])
    assert late["Histories"].transform_one(again) is again is late["Histories"].see_one(again)
    assert state(late["Histories"]) == before


# Limits ------------------------------------------------------------------------------------------


def test_the_entity_that_was_seen_least_recently_is_forgotten() -> None:
    histories = Histories(by=("card",), time="when", max_entities=3)
    seen = [histories.see_one({"card": card, "when": 0}) for card in "abcad"]
    for card, n in (("a", 2.0), ("b", 0.0), ("c", 1.0), ("d", 1.0)):
        assert histories.transform_one({"card": card, "when": 0})["card count 1d"] == n
    # The label of one that is forgotten counts for all only.
    histories.learn_one(seen[1], True)
    assert histories.transform_one({"card": "b", "when": 0})["card share 1d"] == 0.75


def test_memory_is_bounded() -> None:
    histories, sizes, n = make(max_entities=1_000), [], 10_000 * TRIES
    tracemalloc.start()
    for i in range(n):
        histories.see_one({"card": i, "shop": f"s{i}", "amount": 1.5, "when": i})
        if i in (3_000, n - 1):
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[1] < 1.2 * sizes[0] < 2e6


# Merging, copies and states ----------------------------------------------------------------------


def test_parts_of_a_stream_are_the_whole() -> None:
    """Whether they are divided by entity or at random."""
    payments, rng = stream(2_000, forwards=True), random.Random(1)
    whole, now = learned(payments), payments[-1][0]["when"]
    for is_first in (lambda x: hash(x["card"]) % 2, lambda x: rng.random() < 0.5):
        chosen = [is_first(x) for x, _ in payments]
        a, b = (learned([each for each, c in zip(payments, chosen, strict=True) if c == k])
                for k in (True, False))  # fmt: skip
        before, both = state(b), a + b
        a += b
        assert state(b) == before and state(both) == state(a)
        for x, _ in stream(200, seed=3):
            x["when"] = now
            assert added(a.transform_one(x)) == close(whole.transform_one(x))
    for same in (make() + whole, whole + make()):
        assert same.transform_one(x) == whole.transform_one(x)
    few = learned(payments[:50], max_entities=10) + learned(payments[50:], max_entities=10)
    assert [len(each["names"]) for each in few.__getstate__()["entities"]] == [10, 10]


def test_what_does_not_merge() -> None:
    histories = make()
    for other in (histories, make(windows=("2d",)), 3):
        with pytest.raises(
            ValueError, match="(?s)^cannot add .*only other Histories with the same"
        ):
            histories += other
    assert type(histories + preprocessing.StandardScaler()).__name__ == "TransformerUnion"


def test_copies_go_on_bit_for_bit() -> None:
    payments = stream(600)
    histories = learned(payments[:300], max_entities=40)
    copies = histories, copy.deepcopy(histories), pickle.loads(pickle.dumps(histories))
    for x, y in payments[300:]:
        for each in copies:
            each.learn_one(x, y)
    assert len({state(each) for each in copies}) == 1
    assert state(histories.clone()) == state(make(max_entities=40))


def test_a_refused_record_changes_nothing() -> None:
    histories, good = learned(stream(50)), {"card": 1, "amount": 2, "when": START}
    before = state(histories)
    for change, y, problem in (
        ({"card": [1]}, True, "^feature 'card' is .*a list"),
        ({"amount": math.inf}, True, "^feature 'amount' is inf"),
        ({"when": "yesterday"}, True, "^feature 'when' is 'yesterday': a time must be"),
        ({"when": "2024-02-30"}, True, "^feature 'when' is .*leave it out"),
        ({"when": [START]}, True, "^feature 'when' is .*a time must be"),
        ({}, "fraud", "y == 'fraud'"),
    ):
        with pytest.raises(ValueError, match=problem):
            histories.learn_one(good | change, y)
        if change:
            with pytest.raises(ValueError, match=problem):
                histories.see_one(good | change)
    with pytest.raises(ValueError, match="they must be a dict"):
        histories.see_one([1, 2])  # type: ignore[arg-type]
    assert state(histories) == before
    for when in (-1e50, 1e50, np.datetime64(2**40, "D"), datetime.datetime.max):
        histories.learn_one({"card": 1, "amount": 1e50, "when": when}, False)
        found = histories.transform_one(good | {"amount": -1e50})
        assert all(map(math.isfinite, added(found).values()))


def test_wrong_parameters() -> None:
    for params, problem in (
        ({"by": "card"}, "by is 'card': it must be a tuple"), ({"by": ()}, "by is"),
        ({"by": ("a", "a")}, "by is .*different"), ({"max_entities": 0}, "max_entities is 0"),
        ({"windows": ("7 days",)}, "a window is '7 days': it must be a number and s, m, h, d or w"),
        ({"windows": ("0d",)}, "a window is '0d'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            make(**params)


def test_damaged_states_are_refused() -> None:
    good = learned(stream(20)).__getstate__()
    one, two = good["entities"]
    names, table = one.values()
    for change in (
        {"more": 1}, {"clock": math.nan}, {"total": np.zeros(4)}, {"parameters": {"by": ("a",)}},
        {"parameters": 3}, {"entities": [one]}, {"entities": None},
        *({"entities": [one | each, two]} for each in (
            {"names": []}, {"names": [[1]]}, {"names": names[:1] * len(names)},
            {"table": table[:, :-1]}, {"table": table * math.nan},
        )),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="is damaged"):
            Histories.__new__(Histories).__setstate__(good | change)


def test_others_read_while_one_learns() -> None:
    histories, failures = make(max_entities=20), []

    def read() -> None:
        try:
            for _ in range(200):
                pickle.loads(pickle.dumps(histories)).transform_one({"card": 3, "when": START})
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    while thread.is_alive():
        for x, y in stream(100):
            histories.learn_one(x, y)
    assert not failures


@pytest.mark.parametrize("check", list(checks.yield_checks(make())), ids=lambda c: c.__name__)
def test_river_check(check: Any) -> None:
    """river tries supervised transformers on the target of a regression; here it is a class."""
    if "dataset" in getattr(check, "keywords", {}):
        check = type(check)(check.func, dataset=list(datasets.Phishing().take(100)))
    for params in Histories._unit_test_params():
        check(Histories(**params))
