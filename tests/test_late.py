"""AutoOAUC with labels that come late: what was served, and learning with a lag."""

from __future__ import annotations

import collections
import pickle
from typing import Any

import pytest
from classifiers import learned_state, scores, state
from record_reference import stream

from river_oauc import AutoOAUC, model_file
from river_oauc.rankers.auto import AutoRanker

EXAMPLES = list(stream(400))


def learned(model: Any, examples: Any) -> Any:
    for x, y, w in examples:
        model.learn_one(x, y, w)
    return model


def served_late(model: Any, examples: Any, delay: int) -> Any:
    """Learn each example as it was served, `delay` labels late."""
    pending: collections.deque[Any] = collections.deque()
    for x, y, w in examples:
        pending.append((model.encode_one(x), y, w))
        if len(pending) > delay:
            model.learn_one(*pending.popleft())
    return model, pending


def test_with_prompt_labels_what_was_served_changes_nothing() -> None:
    plain, served = AutoOAUC(seed=1), AutoOAUC(seed=1)
    for x, y, w in EXAMPLES:
        example = served.encode_one(x)
        assert served.score_one(example) == plain.score_one(x)
        assert served.predict_proba_one(example) == plain.predict_proba_one(x)
        plain.learn_one(x, y, w)
        served.learn_one(example, y, w)
    assert learned_state(served) == learned_state(plain)


def test_what_was_served_keeps_its_log_odds_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    model = learned(AutoOAUC(seed=1), EXAMPLES[:200])
    x = EXAMPLES[200][0]
    served, before = model.encode_one(x), model._encoder.encode(x)[0]
    learned(model, EXAMPLES[200:300])
    dense, (rows, values) = model._encoder.encode(served.record)[0]
    new = model._encoder.encode(x)[0]
    # Columns that are new since then are as now.
    known = before[0] == before[0]
    assert (dense[: len(known)][known] == before[0][known]).all()
    assert (dense[: len(known)][known] != new[0][: len(known)][known]).any()
    old = dict(zip(before[1][0].tolist(), before[1][1].tolist(), strict=True))
    assert {
        row: value for row, value in zip(rows.tolist(), values.tolist(), strict=True) if row in old
    } == old
    given: list[Any] = []
    learn = AutoRanker.learn
    monkeypatch.setattr(AutoRanker, "learn", lambda *args: given.append(args[4:]) or learn(*args))
    model.learn_one(served, True)
    assert given == [(served.scores,)]


@pytest.mark.parametrize("delay", [0, 1, 40])
def test_examples_pickle_and_survive_whatever_happens_to_the_model(delay: int) -> None:
    model, pending = served_late(AutoOAUC(seed=1, max_categories=60), EXAMPLES, delay)
    again = pickle.loads(pickle.dumps(pending))
    loaded = model_file.from_bytes(model_file.to_bytes(model)).model
    merged = model + AutoOAUC(seed=1, max_categories=60)
    for other in (pickle.loads(pickle.dumps(model)), loaded, merged):
        for theirs, y, w in again:
            other.explain_one(theirs)
            other.learn_one(theirs, y, w)
        assert other.n_drifts_detected == 0 and len(other._encoder.row_names) <= 60


def test_an_example_is_small() -> None:
    model = AutoOAUC(seed=1)
    records = [
        {f"number {j}": 0.1 * i * j for j in range(10)}
        | {f"code {j}": f"c{i * j % 7}" for j in range(5)}
        for i in range(300)
    ]
    for i, x in enumerate(records):
        model.learn_one(x, i % 7 == 0)
    assert len(model.encode_one(records[0]).record.odds) == 5
    assert len(pickle.dumps(model.encode_one(records[0]))) < 1_000


def test_an_example_of_another_model_is_refused() -> None:
    model, fresh = learned(AutoOAUC(seed=1), EXAMPLES[:50]), AutoOAUC(seed=1)
    others = [model.encode_one(EXAMPLES[0][0]), AutoOAUC(("linear",)).encode_one(EXAMPLES[0][0])]
    before = state(fresh)
    for example in others:
        for call in (fresh.score_one, fresh.explain_one, lambda x: fresh.learn_one(x, True)):
            with pytest.raises(ValueError, match="was not served by this model"):
                call(example)
    assert state(fresh) == before


@pytest.mark.parametrize("lag", [1, 30, 500])
def test_the_lag_is_a_queue_and_flush_learns_it(lag: int) -> None:
    """Against a loop: encoded when the label comes, and learned as that later."""
    model, plain = AutoOAUC(seed=1, lag=lag), AutoOAUC(seed=1)
    queue: collections.deque[Any] = collections.deque()

    def learn_first() -> None:
        served, y, w = queue.popleft()
        AutoOAUC.__mro__[1]._learn(plain, plain._encoder.encode, served.record, y, w, served.scores)

    for t, (x, y, w) in enumerate(EXAMPLES):
        queue.append((plain.encode_one(x), y, w))
        if len(queue) > lag:
            learn_first()
        if t == 200:
            model = pickle.loads(pickle.dumps(model))
        model.learn_one(x, y, w)
        assert len(model._ranker.queue) == len(queue)
    assert model.n_drifts_detected == 0
    model.flush()
    while queue:
        learn_first()
    probes = [x for x, _, _ in EXAMPLES[:20]]
    assert scores(model, probes) == pytest.approx(scores(plain, probes), abs=1e-9)
    assert model._ranker.n_seen == plain._ranker.n_seen == len(EXAMPLES)


def test_with_a_lag_a_record_is_refused_when_its_label_comes() -> None:
    model = learned(AutoOAUC(seed=1, lag=20), EXAMPLES[:50])
    before = state(model)
    for x, y in (({"a": []}, True), ({"a": 1.0}, "maybe"), ({"a": float("inf")}, False)):
        with pytest.raises(ValueError):
            model.learn_one(x, y)
    model.learn_one({"a": 1.0}, True, 0.0)
    assert state(model) == before
    for lag in (-1, 1.5, True, "5"):
        with pytest.raises(ValueError, match="lag is"):
            AutoOAUC(lag=lag)


@pytest.mark.parametrize("delay", [600, 1_000])
def test_late_labels_wait_longer_the_later_they_come(delay: int) -> None:
    examples = [(x, y, 1.0) for x, y, _ in stream(1_600)]
    model, _ = served_late(AutoOAUC(("linear", "sparse")), examples, delay)
    assert len(model._ranker.queue) == min(100, delay // 3)


def test_records_that_wait_are_learned_in_the_end() -> None:
    """Labels come 300 records late, so the first ones wait, and those after them do not."""
    model, _ = served_late(AutoOAUC(("linear",)), [(x, y, 1.0) for x, y, _ in stream(900)], 300)
    assert model._ranker.queue == [] and model._ranker.n_seen == 600


def test_merging_keeps_what_waits() -> None:
    one, other = AutoOAUC(("linear",), lag=30), AutoOAUC(("linear",), lag=30)
    learned(one, EXAMPLES[:100])
    learned(other, EXAMPLES[100:120])
    for merged in (one + other, other + one):
        assert len(merged._ranker.queue) == 50 and merged._ranker.n_seen == 70
        merged.flush()
        assert merged._ranker.n_seen == 120


@pytest.mark.parametrize("damage", [None, (), ((), True, 1.0), (("a",), True), 5, ("x", "y", "z")])
def test_a_queue_that_is_none_is_refused(damage: Any) -> None:
    model = learned(AutoOAUC(seed=1, lag=20), EXAMPLES[:50])
    content = model.__getstate__()
    content["ranker"]["queue"][3] = damage
    with pytest.raises(ValueError, match="damaged"):
        AutoOAUC(lag=20).__setstate__(content)
