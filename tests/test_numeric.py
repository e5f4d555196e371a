"""Numbers as arrays: `Vectorizer` and `SparseVectorizer` against a dict of positions."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from classifiers import digest
from conftest import Backend
from hypothesis import given
from hypothesis import strategies as st
from river.utils import dataframe

from river_oauc.limits import MAX_NORM
from river_oauc.records import numeric
from river_oauc.records.numeric import SparseVectorizer, Vectorizer

# Names of every kind, which cannot be sorted.
names = st.text(max_size=2) | st.integers(-5, 5) | st.none() | st.binary(max_size=1)
names |= st.tuples(st.integers(0, 3), st.text(max_size=1))
numbers = st.floats(-1e40, 1e40) | st.integers(-(2**70), 2**70) | st.booleans() | st.just("-2.5e3")
records = st.lists(st.dictionaries(names, numbers, max_size=8), max_size=6)


def as_dict(vectorizer: Vectorizer, example: Any) -> dict[Any, float]:
    """Return what is not 0 in an example, by name."""
    if isinstance(vectorizer, SparseVectorizer):
        known = vectorizer.names
        return {
            known[row]: value for row, value in zip(*map(np.ndarray.tolist, example), strict=True)
        }
    assert example.shape == (vectorizer.size,) and not example[len(vectorizer.names) :].any()
    return {name: number for name, number in vectorizer.decode(example).items() if number}


@pytest.mark.parametrize("cls", [Vectorizer, SparseVectorizer])
@given(stream=records, data=st.data())
def test_an_example_is_a_look_up(cls: type[Vectorizer], stream: list[Any], data: Any) -> None:
    """In learning and in prediction, from dicts in any order, with compiled code and without."""
    vectorizer, known = cls(), dict[Any, None]()
    for x in stream:
        expected = {name: float(number) for name, number in x.items() if float(number)}
        before = digest(vectorizer.get_state())
        for each in (x, dict(data.draw(st.permutations(list(x.items()))))):
            found = as_dict(vectorizer, vectorizer.encode(each)[0])
            assert found == {name: expected[name] for name in expected if name in known}
        vectorizer.rollback(vectorizer.encode({**x, "refused": 1.0}, learning=True)[1])
        assert digest(vectorizer.get_state()) == before
        assert as_dict(vectorizer, vectorizer.encode(x, learning=True)[0]) == expected
        known |= dict.fromkeys(expected if cls is SparseVectorizer else x)
        assert vectorizer.names == list(known)
        twin = cls()
        twin.set_state(vectorizer.get_state())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(numeric, "encode_numbers", lambda *_: None)
            assert as_dict(twin, twin.encode(dict(reversed(x.items())))[0]) == expected
    if vectorizer.names:
        with pytest.raises(
            ValueError, match=f"there would be {len(known) + 1:,} features, and max"
        ):
            vectorizer.max_features = len(known)
            vectorizer.encode({**dict.fromkeys(known, 1.0), ("one", "more"): 1.0}, learning=True)
        assert vectorizer.names == list(known)


def test_late_names_make_arrays_longer_by_an_eighth() -> None:
    vectorizer, sizes = Vectorizer(), set()
    for name in range(2_000):
        vectorizer.encode({name: 1.0}, learning=True)
        assert name < vectorizer.size <= name + name // 8 + 1
        sizes.add(vectorizer.size)
    assert len(sizes) < 70


def test_norms_are_limited() -> None:
    vectorizer = Vectorizer()
    for learning in (True, False):
        vectorizer.encode({"a": 0.0, "b": -MAX_NORM}, learning)
        for x in ({"a": MAX_NORM, "b": MAX_NORM}, {"a": MAX_NORM, "new": MAX_NORM}):
            with pytest.raises(ValueError, match=r"norm above 1e\+50.*StandardScaler"):
                vectorizer.encode(x, learning)


@pytest.mark.parametrize("cls", [Vectorizer, SparseVectorizer])
def test_rows_of_frames_are_encoded_like_records(cls: type[Vectorizer], backend: Backend) -> None:
    """With names that come late, NaN, and rows that are refused, while others learn, too."""
    rng, vectorizer, twin = random.Random(1), cls(), cls()
    values = [0.0, 1.5, -2.0, math.nan, math.inf, 1e50]
    x = {name: rng.choices(values, [9, 9, 9, 1, 0.3, 0.5], k=100) for name in "abc"}
    encode_row, rows = vectorizer.rows(dataframe.into_frame(backend.frame(x)))
    for row in range(100):
        outcomes, record = [], {name: x[name][row] for name in x}
        for learning, encode in itertools.product((False, True), (encode_row, twin.encode)):
            try:
                example, _ = encode(rows[row] if encode is encode_row else record, learning)
                outcomes.append(np.concatenate(example, axis=None).tolist())
            except ValueError as refusal:
                outcomes.append(str(refusal))
        assert outcomes[::2] == outcomes[1::2]
        assert digest(vectorizer.get_state()) == digest(twin.get_state())
        if row % 30 == 0:
            for each in (vectorizer, twin):
                each.encode({f"late {row}": 1.0, "c": 2.0}, learning=True)


@pytest.mark.parametrize(
    "state",
    [
        {"names": ["a", "a"], "size": 1}, {"names": ["a", "b"], "size": 1}, {"names": ["a"]},
        {"names": ["a"], "size": 2**40}, {"names": "ab", "size": 2}, {"names": [[]], "size": 1},
        {"names": [], "size": 0}, {"names": ["a"], "size": 1, "more": 0}, None,
    ],
)  # fmt: skip
def test_a_damaged_state_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="^the state is damaged: "):
        Vectorizer().set_state(state)
