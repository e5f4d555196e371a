"""Numbers at the edge of a double, and streams without anything to learn.

Whatever comes, an example is learned or refused without a trace, and no state is ever infinite.
"""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from classifiers import Example, Factory, assert_finite, each_case, learn, make_stream, scores

from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS, OTAUC, SPAUC, AdaOAM, AutoOAUC
from river_oauc.kernels import RBF
from river_oauc.metrics import exact_auc

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def scaled(stream: list[Example], factors: Any, offset: float = 0.0) -> list[Example]:
    factors = itertools.cycle(factors)
    return [({name: next(factors) * v + offset for name, v in x.items()}, y) for x, y in stream]


# Whether some learners refuse them, for a step that is too long.
KINDS = {
    "tiny": ([1e-300], False),
    "tiny squares": ([1e-160], False),
    "nothing but zeros": ([0.0], False),
    "large": ([1e8], True),
    "huge": ([1e49], True),
    "of all sizes": ([1e-40, 1.0, 1e25, 1e-310, 1e-5], True),
}


@pytest.mark.parametrize("kind", KINDS)
@each_case
def test_examples_of_any_size_are_learned_or_refused_without_a_trace(
    make: Factory, kind: str
) -> None:
    factors, may_refuse = KINDS[kind]
    model, stream = make(), scaled(make_stream(60, 3), factors)
    weights = itertools.cycle([1.0, 1.0, 1.0, 1e-50, 1e50] if may_refuse else [1.0, 0.5])
    for (x, y), w in zip([*stream, *make_stream(20, 3)], weights, strict=False):
        before = pickle.dumps(model)
        try:
            model.learn_one(x, y, w)
        except ValueError as refusal:
            # Those that cannot diverge refuse nothing.
            assert may_refuse and not isinstance(model, AutoOAUC | OTAUC)
            assert "scale" in str(refusal)
            assert pickle.dumps(model) == before
        assert_finite(model)
    for x in ({}, {"x0": 1e50}, {"x2": -1e50}, stream[0][0]):
        try:
            score, p = model.score_one(x), model.predict_proba_one(x)
        except ValueError as refusal:
            assert "scale" in str(refusal)
        else:
            assert math.isfinite(score) and 0.0 <= p[True] <= 1.0


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("x", [{"a": 1.0, "b": -2.0, "c": 3.0}, {}], ids=repr)
@each_case
def test_of_identical_examples_only_the_frequency_is_known(
    make: Factory, x: dict[str, float], prior: str
) -> None:
    model = make().clone({"prior": prior})
    learn(model, [(x, i % 5 == 0) for i in range(200)])
    # The Auto learners start from a hundred assumed scores of each class.
    tolerance = 0.09 if isinstance(model, AutoOAUC) else 0.06
    expected = 0.5 if prior == "balanced" else 0.2
    assert model.predict_proba_one(x)[True] == pytest.approx(expected, abs=tolerance)


# Those that look at differences of examples, and never at an example by itself.
INVARIANT = [
    AutoOAUC(("linear", "kernel")),
    OAUCM(),
    OAUCS(),
    SPAUC(),
    AdaOAM(),
    *(cls(RBF(0.1), budget=50) for cls in (OKAUCM, OKAUCS, KOIL)),
]


@pytest.mark.parametrize("untrained", INVARIANT, ids=lambda model: type(model).__name__)
def test_an_offset_of_a_hundred_million_does_not_change_the_ranking(untrained: Any) -> None:
    def auc(offset: float) -> float:
        model = learn(untrained.clone(), scaled(make_stream(400), [1.0], offset))
        test = scaled(make_stream(200, seed=2), [1.0], offset)
        found, labels = np.array(scores(model, [x for x, _ in test])), [y for _, y in test]
        return exact_auc(found[labels], found[np.logical_not(labels)])

    assert auc(0.0) > 0.7
    # The landmarks of AutoOAUC are stored in single precision.
    assert auc(1e8) == pytest.approx(auc(0.0), abs=2e-3 if type(untrained) is AutoOAUC else 1e-3)
