"""`Vectorizer` against a plain dict from name to position."""

from __future__ import annotations

import collections
import math
import pickle
import random
import types
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import river_oauc
from river_oauc.inputs.limits import MAX_NORM
from river_oauc.inputs.vectorizer import Vectorizer

Names = list[list[Hashable]]

# Names of every kind, none of which can be sorted among the others.
names = st.one_of(
    st.text(max_size=3),
    st.integers(-5, 5),
    st.none(),
    st.binary(max_size=2),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.frozensets(st.integers(0, 2)),
)
batches_of_names = st.lists(st.lists(names, unique=True, max_size=12), max_size=6)
values = st.floats(-1e40, 1e40)


def learned(batches: Names) -> Vectorizer:
    vectorizer = Vectorizer()
    for batch in batches:
        vectorizer.extend(batch)
    return vectorizer


def positions(batches: Names) -> dict[Hashable, int]:
    """The plain model: names in the order in which they turned up."""
    known = dict.fromkeys(name for batch in batches for name in batch)
    return {name: position for position, name in enumerate(known)}


def plain_encode(known: dict[Hashable, int], size: int, x: dict[Any, float]) -> list[float]:
    array = [0.0] * size
    for name, value in x.items():
        if name in known:
            array[known[name]] = value
    return array


def contents(vectorizer: Vectorizer) -> bytes:
    return pickle.dumps(vectorizer)


@given(batches_of_names)
def test_names_stand_in_the_order_of_their_arrival(batches: Names) -> None:
    vectorizer = learned(batches)
    assert vectorizer.names == list(positions(batches))
    assert vectorizer.size >= max(1, len(vectorizer.names))


@given(batches_of_names, st.data())
def test_encode_known_names(batches: Names, data: st.DataObject) -> None:
    """Any subset of the known names, in any order."""
    vectorizer, known = learned(batches), positions(batches)
    chosen = data.draw(st.lists(st.sampled_from(list(known)), unique=True)) if known else []
    x = {name: data.draw(values) for name in chosen}
    expected = plain_encode(known, vectorizer.size, x)
    for array in (vectorizer.encode(x), vectorizer.encode(x, lenient=True)):
        assert array is not None
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert array.tolist() == expected


@given(batches_of_names, st.dictionaries(names, values))
def test_encode_any_names(batches: Names, x: dict[Any, float]) -> None:
    vectorizer, known = learned(batches), positions(batches)
    before = contents(vectorizer)
    strict, lenient = vectorizer.encode(x), vectorizer.encode(x, lenient=True)
    assert (strict is None) == any(name not in known for name in x)
    assert lenient is not None
    assert lenient.tolist() == plain_encode(known, vectorizer.size, x)
    assert contents(vectorizer) == before


@given(batches_of_names, st.data())
def test_encode_all_names_in_any_order(batches: Names, data: st.DataObject) -> None:
    vectorizer, known = learned(batches), positions(batches)
    x = {name: data.draw(values) for name in known}
    shuffled = {name: x[name] for name in data.draw(st.permutations(list(x)))}
    assert vectorizer.encode(x).tobytes() == vectorizer.encode(shuffled).tobytes()


@given(batches_of_names, st.data())
def test_decode_is_the_inverse(batches: Names, data: st.DataObject) -> None:
    vectorizer, known = learned(batches), positions(batches)
    x = {name: data.draw(values) for name in known}
    assert vectorizer.decode(vectorizer.encode(x)) == x
    assert list(vectorizer.decode(vectorizer.encode(x))) == list(known)


@given(batches_of_names, st.lists(names, unique=True))
def test_growth_keeps_positions_and_free_slots_are_zero(
    batches: Names, more: list[Hashable]
) -> None:
    vectorizer = learned(batches)
    n_names, size = len(vectorizer.names), vectorizer.size
    x = {name: 1.0 + position for name, position in positions(batches).items()}
    array = vectorizer.encode(x)
    assert not array[n_names:].any()
    vectorizer.extend(more)
    assert vectorizer.size >= size
    grown = vectorizer.encode(x)
    assert len(grown) == vectorizer.size
    assert grown[:size].tolist() == array.tolist()
    assert not grown[size:].any()


@given(batches_of_names, st.lists(names, unique=True))
def test_truncate_undoes_extend(batches: Names, more: list[Hashable]) -> None:
    vectorizer = learned(batches)
    before, n_names, size = contents(vectorizer), len(vectorizer.names), vectorizer.size
    vectorizer.extend(more)
    vectorizer.truncate(n_names, size)
    assert contents(vectorizer) == before


@given(batches_of_names)
def test_known_names_are_learned_once(batches: Names) -> None:
    vectorizer = learned(batches)
    before = contents(vectorizer)
    for batch in batches:
        vectorizer.extend(batch)
    vectorizer.extend([])
    assert contents(vectorizer) == before


@given(batches_of_names, st.dictionaries(names, values))
def test_a_pickled_copy_is_the_same(batches: Names, x: dict[Any, float]) -> None:
    vectorizer = learned(batches)
    twin = pickle.loads(contents(vectorizer))
    assert (twin.names, twin.size) == (vectorizer.names, vectorizer.size)
    for one in (vectorizer, twin):
        one.extend(x)
    assert twin.encode(x).tobytes() == vectorizer.encode(x).tobytes()
    assert (twin.names, twin.size) == (vectorizer.names, vectorizer.size)


def test_arrays_are_seldom_made_longer() -> None:
    vectorizer = Vectorizer()
    sizes = set()
    for n_names in range(1, 2001):
        vectorizer.extend([n_names])
        assert vectorizer.size <= n_names + n_names // 8 + 1
        sizes.add(vectorizer.size)
    assert len(sizes) < 60


def test_names_that_come_together_leave_no_free_slots() -> None:
    vectorizer = Vectorizer()
    vectorizer.extend(range(100))
    assert vectorizer.size == 100


def test_no_names() -> None:
    vectorizer = Vectorizer()
    assert vectorizer.encode({}).tolist() == [0.0]
    assert vectorizer.encode({"a": 1.0}) is None
    assert vectorizer.encode({"a": 1.0}, lenient=True).tolist() == [0.0]
    assert vectorizer.decode(np.zeros(1)) == {}


@pytest.mark.parametrize("name", ["a", 0, None, (1, 2), ()])
def test_one_name(name: Hashable) -> None:
    vectorizer = Vectorizer()
    vectorizer.extend([name])
    assert vectorizer.encode({name: 2}).tolist() == [2.0]
    assert vectorizer.encode({}).tolist() == [0.0]
    assert vectorizer.encode({"b": 1.0}) is None
    assert vectorizer.encode({name: 2, "b": 1.0}, lenient=True).tolist() == [2.0]
    assert vectorizer.decode(np.array([2.0])) == {name: 2.0}


# Every now and then one that is refused, in the middle of an array.
few_values = st.sampled_from([0.0, -0.0, 1.5, 2, True, math.nan, math.inf, 1e200, "a", None])


@given(st.lists(st.tuples(few_values, few_values, few_values, st.booleans()), max_size=20))
def test_what_was_encoded_before_makes_no_difference(calls: list[tuple[Any, ...]]) -> None:
    """Nothing is left of an earlier example in the array that is used again."""

    def outcome(vectorizer: Vectorizer, x: dict[Any, Any], lenient: bool) -> bytes | str:
        try:
            return vectorizer.encode(x, lenient).tobytes()
        except ValueError as refusal:
            return str(refusal)

    def made() -> Vectorizer:
        return learned([range(16), ["late"]])

    vectorizer = made()
    assert vectorizer.size == 18
    for *three, lenient in calls:
        x = dict.fromkeys(range(14), 1.0) | dict(zip([14, 15, "late"], three, strict=True))
        assert outcome(vectorizer, x, lenient) == outcome(made(), x, lenient)


def test_without_memory_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_out(*_: object) -> None:
        raise MemoryError

    vectorizer = learned([["a", "b"]])
    before = contents(vectorizer)
    with monkeypatch.context() as patched:
        patched.setattr(np, "zeros", give_out)
        with pytest.raises(MemoryError):
            vectorizer.extend(["c"])
    assert contents(vectorizer) == before
    assert vectorizer.encode({"a": 1.0, "b": 2.0}).tolist() == [1.0, 2.0]
    assert vectorizer.encode({"c": 1.0}) is None


def test_what_is_scored_and_what_is_learned_share_no_array() -> None:
    vectorizer = learned([["a", "b"]])
    for x in ({"a": 1.0, "b": 2.0}, {"b": 3.0}):
        to_score, to_learn = vectorizer.encode(x, lenient=True), vectorizer.encode(x)
        assert not np.shares_memory(to_score, to_learn)
        assert not np.shares_memory(to_learn, vectorizer.spare)


@pytest.mark.skipif(river_oauc.compiled, reason="compiled, one pass does for any names")
def test_only_the_first_example_of_the_usual_names_is_encoded_name_by_name() -> None:
    vectorizer = learned([["a", "b", *range(8)]])
    by_name, asked = vectorizer._encode_by_name, []

    def counted(x: dict[Any, float], lenient: bool) -> np.ndarray | None:
        asked.append(x)
        return by_name(x, lenient)

    vectorizer._encode_by_name = counted
    usual = dict.fromkeys(vectorizer.names, 1.0)
    for value in (1.0, 2.0, 3.0):
        assert vectorizer.encode({**usual, "b": value})[1] == value
    assert len(asked) == 1
    # New names make the arrays longer, and the next one takes a slot that is free.
    vectorizer.extend(["c"])
    vectorizer.encode(usual | {"c": 1.0})
    assert len(asked) == 2
    vectorizer._set_size(20)
    vectorizer.encode(usual | {"c": 1.0})
    assert len(asked) == 3
    vectorizer.extend(["d"])
    assert vectorizer.encode(usual | {"c": 5.0})[10:12].tolist() == [5.0, 0.0]
    assert len(asked) == 3


@pytest.mark.parametrize("x", [{"a": 1.0, "b": 2.0}, {"b": 2.0}, {}])
@pytest.mark.parametrize("lenient", [False, True])
def test_an_array_may_be_changed(x: dict[Any, float], lenient: bool) -> None:
    vectorizer = learned([["a", "b"]])
    expected = vectorizer.encode(x, lenient).tolist()
    vectorizer.encode(x, lenient)[:] = 9.0
    assert vectorizer.encode(x, lenient).tolist() == expected


# Every way through `encode`: all the names, some of them, one that is new.
WAYS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "all names": lambda value: {"a": 1.0, "b": value, "c": 3.0},
    "all names out of order": lambda value: {"c": 3.0, "b": value, "a": 1.0},
    "one name": lambda value: {"b": value},
    "a new name too": lambda value: {"new": 1.0, "b": value},
    "as many names, one of them new": lambda value: {"a": 1.0, "b": value, "new": 3.0},
}
each_way = pytest.mark.parametrize("way", WAYS)


@pytest.mark.parametrize(
    "value",
    [2, 2.0, True, np.int8(2), np.float16(2), np.bool_(True), Fraction(1, 3), Decimal("0.1")],
    ids=repr,
)
@each_way
def test_numbers_of_any_kind(way: str, value: Any) -> None:
    vectorizer = learned([["a", "b", "c"]])
    array = vectorizer.encode(WAYS[way](value), lenient=True)
    assert array[1] == float(value)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("red", "is the string 'red': .*OneHotEncoder"),
        ("1.5", "is the string '1.5': .*OneHotEncoder"),
        (None, "is None: .*StatImputer"),
        (math.inf, "is inf: .*scale or clip"),
        (-math.inf, "is -inf: .*scale or clip"),
        (1.1e50, r"is 1.1e\+50: .*scale or clip"),
        (-1e300, r"is -1e\+300: .*scale or clip"),
        (10**400, "is .*too large"),
        (-(10**400), "is .*too large"),
        (Fraction(10**400), "is .*too large"),
        (1j, "is 1j, a complex: features must be real numbers"),
        ([1.0], r"is \[1.0\], a list: features must be real numbers"),
        (b"1", "is b'1', a bytes: features must be real numbers"),
    ],
    ids=lambda parameter: repr(parameter)[:20],
)
@pytest.mark.filterwarnings("ignore")
@each_way
def test_other_values_are_refused(way: str, value: Any, complaint: str) -> None:
    vectorizer = learned([["a", "b", "c"]])
    before = contents(vectorizer)
    for lenient in (False, True):
        with pytest.raises(ValueError, match=f"^feature 'b' {complaint}"):
            vectorizer.encode(WAYS[way](value), lenient)
    assert contents(vectorizer) == before


@pytest.mark.parametrize("nan", [math.nan, np.float32("nan"), Decimal("nan")], ids=repr)
@each_way
def test_nan_is_refused_or_absent(way: str, nan: Any) -> None:
    vectorizer = learned([["a", "b", "c"]])
    with pytest.raises(ValueError, match="^feature 'b' is NaN: .*scaler"):
        vectorizer.encode(WAYS[way](nan))
    assert (
        vectorizer.encode(WAYS[way](nan), lenient=True).tolist()
        == vectorizer.encode(WAYS[way](0.0), lenient=True).tolist()
    )


@each_way
def test_a_value_under_a_new_name_is_checked_too(way: str) -> None:
    vectorizer = learned([["a", "b", "c"]])
    for lenient in (False, True):
        with pytest.raises(ValueError, match="^feature 'newer' is the string"):
            vectorizer.encode({**WAYS[way](1.0), "newer": "red"}, lenient)


@pytest.mark.parametrize("sign", [-1, 1])
def test_norms_up_to_the_largest(sign: int) -> None:
    vectorizer = learned([["a", "b"]])
    assert vectorizer.encode({"a": 0.0, "b": sign * MAX_NORM}).tolist() == [0.0, sign * MAX_NORM]
    for x in ({"a": MAX_NORM, "b": sign * MAX_NORM}, {"a": MAX_NORM, "new": sign * MAX_NORM}):
        for lenient in (False, True):
            with pytest.raises(ValueError, match=r"norm above 1e\+50.*StandardScaler"):
                vectorizer.encode(x, lenient)


@pytest.mark.parametrize(
    "mapping",
    [
        collections.OrderedDict,
        collections.Counter,
        lambda x: collections.defaultdict(lambda: 7.0, x),
        types.MappingProxyType,
    ],
    ids=["OrderedDict", "Counter", "defaultdict", "MappingProxyType"],
)
@given(st.dictionaries(st.sampled_from("abcde"), values))
def test_any_mapping(mapping: Callable[..., Any], x: dict[str, float]) -> None:
    """Some mappings have an answer, or even make room, for names that are not there."""
    vectorizer = learned([["a", "b"]])
    given_x = mapping(x)
    strict, lenient = vectorizer.encode(given_x), vectorizer.encode(given_x, lenient=True)
    assert dict(given_x) == x
    assert (strict is None) == any(name not in "ab" for name in x)
    assert lenient.tolist() == [x.get("a", 0.0), x.get("b", 0.0)]


# Matrices --------------------------------------------------------------------------------------


@given(batches_of_names, st.lists(names, unique=True, max_size=6), st.integers(0, 5))
def test_encode_columns_is_encode_of_each_row(
    batches: Names, columns: list[Hashable], n_rows: int
) -> None:
    vectorizer = learned(batches)
    rng = random.Random(1)
    rows = [[rng.gauss(0, 1) for _ in columns] for _ in range(n_rows)]
    matrix = np.array(rows).reshape(n_rows, len(columns))
    before = matrix.copy()
    encoded = vectorizer.encode_columns(matrix, columns)
    assert encoded.shape == (n_rows, vectorizer.size)
    assert encoded.flags.c_contiguous
    for row, array in zip(rows, encoded, strict=True):
        x = dict(zip(columns, row, strict=True))
        assert array.tobytes() == vectorizer.encode(x, lenient=True).tobytes()
    encoded[:] = 9.0
    assert matrix.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (math.nan, "feature 'b' is NaN: .*scaler"),
        (math.inf, "feature 'b' is inf: "),
        (-1e200, r"feature 'b' is -1e\+200: "),
        (1e50, "the features have a norm above"),
    ],
)
def test_check_matrix_names_the_first_bad_row(value: float, complaint: str) -> None:
    matrix = np.array([[1.0, 2.0], [1e50, 0.0], [1e50, value], [math.nan, math.nan]])
    with pytest.raises(ValueError, match=rf"^{complaint}.*\(row 2 of the data frame\)$"):
        Vectorizer().check_matrix(matrix, ["a", "b"])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3)])
def test_check_matrix_accepts(shape: tuple[int, int]) -> None:
    Vectorizer().check_matrix(np.full(shape, 1e49), list("abc")[: shape[1]])


# Values that are not known -----------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan"), Decimal("nan")])
def test_missing_values_are_nan_for_those_that_take_them(missing: Any) -> None:
    vectorizer = Vectorizer(takes_missing=True)
    vectorizer.extend("abc")
    for lenient in (False, True):
        for _ in range(3):
            for x in ({"a": 1.0, "b": missing, "c": 3}, {"c": 3, "b": missing, "a": 1.0}):
                array = vectorizer.encode(x, lenient) if lenient else vectorizer.encode(x)
                np.testing.assert_array_equal(array, [1.0, math.nan, 3.0])
            # An absent one is 0 all the same.
            array = vectorizer.encode({"b": missing}, True)
            np.testing.assert_array_equal(array, [0.0, math.nan, 0.0])
            assert vectorizer.encode({"a": 1, "b": 2, "c": 3}).tolist() == [1.0, 2.0, 3.0]
    assert vectorizer.encode({"new": missing}) is None
    assert vectorizer.encode({"new": missing}, True).tolist() == [0.0, 0.0, 0.0]
    copied = pickle.loads(pickle.dumps(vectorizer))
    np.testing.assert_array_equal(copied.encode({"b": missing}), [0.0, math.nan, 0.0])


def test_a_matrix_may_have_missing_values_for_those_that_take_them() -> None:
    vectorizer = Vectorizer(takes_missing=True)
    matrix = np.array([[1.0, math.nan], [math.nan, math.nan], [math.nan, 2e50]])
    vectorizer.check_matrix(matrix[:2], ["a", "b"])
    with pytest.raises(ValueError, match=r"^feature 'b' is 2e\+50.*\(row 2 of the data frame\)$"):
        vectorizer.check_matrix(matrix, ["a", "b"])
