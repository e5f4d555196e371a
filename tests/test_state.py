"""States as plain data: what a `StateReader` takes, what it refuses, and how arrays come out."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from river_oauc.state import StateReader, pack_symmetric, unpack_symmetric


def reader(**fields: Any) -> StateReader:
    return StateReader(fields, "model")


@pytest.mark.parametrize("state", [None, [], 3, "state", [("n", 1)], np.zeros(3)])
def test_a_state_is_a_dict(state):
    with pytest.raises(ValueError, match="^the state of model is damaged: it is a .*, not a dict"):
        StateReader(state, "model")


def test_fields_are_taken_once_and_all():
    taking = reader(a=1, b=2)
    assert taking.count("a") == 1
    for missing in ("a", "c"):
        with pytest.raises(ValueError, match=f"damaged: {missing} is missing"):
            taking.take(missing)
    with pytest.raises(ValueError, match="unknown fields: .*b"):
        taking.finish()
    taking.take("b")
    taking.finish()


def test_the_state_itself_stays_as_it_is():
    state = {"n": 1, "mean": np.zeros(2)}
    taking = StateReader(state, "model")
    taking.array("mean", 2)[:] = 7.0
    assert list(state) == ["n", "mean"] and not state["mean"].any()


def test_nested_states_are_named_by_their_path():
    taking = reader(encoder={"size": -1}, classes=[{}, {"n": 1.5}], empty=[])
    with pytest.raises(ValueError, match=r"the state of model.encoder is damaged: size is -1"):
        taking.reader("encoder").count("size")
    classes = taking.readers("classes", 2)
    with pytest.raises(ValueError, match=r"the state of model.classes\[1\] is damaged: n is 1.5"):
        classes[1].count("n")
    assert taking.readers("empty") == []
    for bad in (None, {}, ({},), [{}], [{}, {}, {}]):
        with pytest.raises(ValueError, match="bad is not a list of 2"):
            reader(bad=bad).readers("bad", 2)


ACCEPTED = [
    ("number", (), {}, 1.5, 1.5),
    ("number", (), {}, np.float64(1.5), 1.5),
    ("number", (0.0, 2.0), {}, 2, 2.0),
    ("total_weight", (), {}, 0.0, 0.0),
    ("total_weight", (), {}, 1e-50, 1e-50),
    ("total_weight", (), {}, 1e60, 1e60),
    ("count", (), {}, 2**53, 2**53),
    ("flag", (), {}, True, True),
    ("names", (), {}, ["a", 1, (1, "a"), None], ["a", 1, (1, "a"), None]),
]


@pytest.mark.parametrize(("method", "args", "kwargs", "value", "expected"), ACCEPTED)
def test_accepted(method, args, kwargs, value, expected):
    taken = getattr(reader(field=value), method)("field", *args, **kwargs)
    assert taken == expected and type(taken) is type(expected)


REFUSED = [
    *(("number", (), bad) for bad in (None, "1", True, math.nan, math.inf, -math.inf, 1j)),
    *(("number", (), bad) for bad in (10**400, np.array(1.0), [1.0])),
    *(("number", (0.0, 1.0), bad) for bad in (-1e-9, 1.1, 2)),
    *(("total_weight", (), bad) for bad in (-1.0, 1e-51, 5e-324, 1e100, math.nan)),
    *(("count", (), bad) for bad in (-1, 1.0, True, None, "1", 2**53 + 1, 10**400, np.int64(1))),
    *(("count", (2, 4), bad) for bad in (1, 5)),
    *(("flag", (), bad) for bad in (0, 1, None, "True", np.bool_(True))),
    *(("names", (), bad) for bad in (None, "ab", ("a",), {"a"}, ["a", "a"], [1, True], [[]])),
    *(("rng", (), bad) for bad in (None, 1, "abc", (), {}, (3, (1, 2), None), np.zeros(0))),
    ("rng", (), (3, (0,) * 624 + (999,), None)),
    ("rng", (), (3, ("a",) * 625, None)),
    ("rng", (), (9, random.Random(1).getstate()[1], None)),
    *(("array", (2,), bad) for bad in (None, [0.0, 1.0], 1.0, "ab", np.zeros(3), np.zeros((2, 1)))),
    *(("array", (2,), np.array(bad)) for bad in ([0.0, math.nan], [math.inf, 0.0], [0, 1])),
    *(("array", (2,), np.zeros(2, dtype)) for dtype in ("f4", "i8", "U1", "O", "c16", "f8,f8")),
    ("array", (None, 2), np.zeros((2, 3))),
    *(("vector", (), bad) for bad in (np.zeros(0), np.array([1e51]), np.zeros((1, 1)))),
    ("vector", (2,), np.zeros(3)),
    *(
        ("integers", (2,), np.array(bad))
        for bad in ([0, -1], [0, 2**60], [0.0, 1.0], [True, False])
    ),
    *(
        ("symmetric", (2,), bad)
        for bad in (np.zeros(2), np.zeros((2, 2)), np.array([0.0, math.nan, 0]))
    ),
]


@pytest.mark.parametrize(("method", "args", "value"), REFUSED)
def test_refused(method, args, value):
    with pytest.raises(ValueError, match="^the state of model is damaged: field ") as refusal:
        getattr(reader(field=value), method)("field", *args)
    assert len(str(refusal.value)) < 300


def test_bounds_of_arrays():
    for method, array in (("array", np.array([0.0, 5.0])), ("integers", np.array([0, 5]))):
        for minimum, maximum in ((1, 9), (0, 4)):
            with pytest.raises(ValueError, match=r"numbers outside"):
                getattr(reader(a=array), method)("a", 2, minimum=minimum, maximum=maximum)
        taken = getattr(reader(a=array), method)("a", None, minimum=0, maximum=5)
        assert taken.tolist() == [0, 5]
    with pytest.raises(ValueError, match=r"numbers outside"):
        reader(a=np.array([1.0, 2.0, 3.0])).symmetric("a", 2, maximum=2.0)
    assert reader(a=np.zeros((0, 3))).array("a", None, 3, minimum=1.0).shape == (0, 3)


def sources(tmp_path: Path) -> dict[str, np.ndarray]:
    array = np.arange(6.0).reshape(2, 3)
    read_only = array.copy()
    read_only.flags.writeable = False
    np.save(tmp_path / "array.npy", array)
    return {
        "usual": array,
        "read-only": read_only,
        "memory-mapped": np.load(tmp_path / "array.npy", mmap_mode="r"),
        "a buffer": np.frombuffer(array.tobytes()).reshape(2, 3),
        "big-endian": array.astype(">f8"),
        "little-endian": array.astype("<f8"),
        "by columns": np.asfortranarray(array),
        "a view with gaps": np.repeat(array, 2, axis=1)[:, ::2],
        "unaligned": np.frombuffer(b"x" + array.tobytes(), offset=1).reshape(2, 3),
    }


def test_arrays_come_out_owned_and_writable(tmp_path):
    for kind, source in sources(tmp_path).items():
        taken = reader(a=source).array("a", 2, 3)
        assert type(taken) is np.ndarray, kind
        assert taken.dtype == np.float64 and taken.dtype.isnative, kind
        assert taken.flags.c_contiguous and taken.flags.aligned, kind
        assert taken.flags.owndata and taken.flags.writeable, kind
        assert not np.shares_memory(taken, source), kind
        assert taken.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], kind
        integers = reader(a=source.astype(source.dtype.str.replace("f", "i"))).integers("a", 2, 3)
        assert integers.dtype == np.int64 and integers.dtype.isnative, kind
        assert integers.tolist() == [[0, 1, 2], [3, 4, 5]], kind


def test_a_random_generator_goes_on():
    rng = random.Random(3)
    rng.gauss(0.0, 1.0)
    taken = reader(rng=rng.getstate()).rng("rng")
    assert [taken.random(), taken.gauss(0, 1)] == [rng.random(), rng.gauss(0, 1)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_symmetric_matrix_is_packed_and_unpacked(size):
    rows = np.random.default_rng(size).normal(size=(size, size))
    matrix = rows + rows.T
    packed = pack_symmetric(matrix)
    assert packed.shape == (size * (size + 1) // 2,)
    np.testing.assert_array_equal(unpack_symmetric(packed, size), matrix)
    np.testing.assert_array_equal(reader(m=packed).symmetric("m", size), matrix)
    # Of a matrix that is not symmetric, the upper triangle counts.
    np.testing.assert_array_equal(
        unpack_symmetric(pack_symmetric(rows), size), np.triu(rows) + np.triu(rows, 1).T
    )
