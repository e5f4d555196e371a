"""Compiled functions do what their numpy originals do, whatever arguments they get."""

from __future__ import annotations

import copy
import functools
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from classifiers import CASES, TAKE_RECORDS, make_stream
from record_reference import stream

import river_oauc
from river_oauc.acceleration import in_numpy
from river_oauc.preprocessing import Histories

pytestmark = pytest.mark.skipif(not river_oauc.compiled, reason="there is no compiled code")
each_function = pytest.mark.parametrize("name", in_numpy)

Call = tuple[Any, ...]
N_KEPT = 24
# Linear systems that are nearly singular.
TOLERANCES = {"solve_ridge": 1e-6}
# The compiled function keeps the lower triangle of symmetric matrices only.
TRIANGULAR = {"oauc_step"}


def compiled(name: str) -> Callable[..., Any]:
    """Return what the package calls by the name of a function."""
    return getattr(sys.modules[in_numpy[name].__module__], name)


@functools.cache
def calls() -> dict[str, list[Call]]:
    """Return some of the arguments that each function gets while all classifiers learn."""
    kept: dict[str, list[Call]] = {name: [] for name in in_numpy}
    n_calls, rng = dict.fromkeys(in_numpy, 0), random.Random(1)

    def recording(name: str, fast: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(in_numpy[name])

        def record(*args: Any, **options: Any) -> Any:
            args = signature.bind(*args, **options).args
            # All calls are kept with the same probability.
            place = rng.randrange(n_calls[name] + 1)
            if place < N_KEPT:
                kept[name][place : place + (n_calls[name] >= N_KEPT)] = [copy.deepcopy(args)]
            n_calls[name] += 1
            return fast(*args)

        return record

    with pytest.MonkeyPatch.context() as patch:
        for name in in_numpy:
            fast = compiled(name)
            for key, module in list(sys.modules.items()):
                if key.startswith("river_oauc.") and vars(module).get(name) is fast:
                    patch.setattr(module, name, recording(name, fast))
        for make in CASES.values():
            model = make()
            for x, y in make_stream(150):
                model.predict_proba_one(x)
                model.learn_one(x, y, rng.choice([0.5, 1.0, 3.0]))
        for cls in TAKE_RECORDS:
            model = cls()
            for x, y, w in stream(400):
                model.predict_proba_one(x)
                model.learn_one(x, y, w)
        histories = Histories(by=("terminal", "country"), of=("amount", "rain"), time="when")
        for x, y, _ in stream(400):
            histories.learn_one(histories.see_one(x), y)
    return kept


def outcome(function: Callable[..., Any], args: Call) -> Any:
    """Return the result and the arguments after a call, or the type of the error."""
    args = copy.deepcopy(args)
    try:
        return function(*args), args
    except (ValueError, TypeError) as error:
        return type(error)


def assert_equal(a: Any, b: Any, name: str) -> None:
    tolerance = TOLERANCES.get(name, 1e-9)
    assert (a is None) == (b is None)
    if isinstance(a, np.ndarray):
        if name in TRIANGULAR and a.ndim > 1:
            a, b = np.tril(a), np.tril(b)
        sizes = np.abs(a.astype(float)) if a.dtype.kind == "f" else np.zeros(0)
        # A unit of 1e300 says that a term has not been seen.
        scale = float(sizes[sizes < 1e100].max(initial=0.0))
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=1e-3 * tolerance * scale)
    elif isinstance(a, float):
        assert b == pytest.approx(a, rel=tolerance, abs=1e-3 * tolerance, nan_ok=True)
    elif isinstance(a, list | tuple | dict):
        assert len(a) == len(b)
        parts = (
            zip(a.items(), b.items(), strict=True)
            if isinstance(a, dict)
            else zip(a, b, strict=True)
        )
        for each, other in parts:
            assert_equal(each, other, name)
    elif hasattr(a, "__dict__") and not isinstance(a, type):
        assert_equal(vars(a), vars(b), name)
    else:
        assert a == b


@each_function
def test_compiled_and_numpy(name: str) -> None:
    original, fast = in_numpy[name], compiled(name)
    assert fast is not original and calls()[name], "no classifier calls this function"
    for args in calls()[name]:
        assert_equal(outcome(original, args), outcome(fast, args), name)


@each_function
def test_a_function_that_does_nothing_is_noticed(name: str) -> None:
    with pytest.raises(AssertionError):
        for args in calls()[name]:
            assert_equal(outcome(in_numpy[name], args), outcome(lambda *_: None, args), name)


def damaged(value: Any) -> Iterator[Any]:
    """Yield values in the place of one, in which one array, index or part is another."""
    if isinstance(value, np.ndarray) and value.ndim:
        strided = np.repeat(value, 2, axis=-1)[..., ::2]
        frozen = value.copy()
        frozen.setflags(write=False)
        yield from (strided, frozen, value[:-1], value[:0], np.concatenate((value, value)))
        with np.errstate(over="ignore"):
            yield value.astype(np.float32 if value.dtype != np.float32 else np.float64)
        yield from (value + 10**6, -1 - value) if value.dtype.kind == "i" else ()
    elif type(value) is int:
        yield from (-1, value + 10**6)
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            for other in damaged(part):
                parts = *value[:i], other, *value[i + 1 :]
                yield type(value)(*parts) if hasattr(value, "_fields") else parts
    if value is not None and not isinstance(value, bool | int | float | str):
        yield None


@each_function
def test_no_argument_crashes(name: str) -> None:
    """What is wrong is refused, or used within its bounds; a crash would end the tests here."""
    for args in calls()[name]:
        for others in damaged(args):
            if others is not None:
                outcome(compiled(name), others)
