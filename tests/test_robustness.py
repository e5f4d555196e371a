"""Whatever happens, a model is left whole: interrupts, threads, forks, damaged states."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from classifiers import (
    PROBES,
    STREAM,
    assert_unharmed,
    each_class,
    learn,
    learned_state,
    make_small,
    make_stream,
    scores,
    state,
)
from river import optim

from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS, OLUBAUC, SparseOAUCM, kernels, locks
from river_oauc.classifier import FORMAT, OnlineAUCClassifier
from river_oauc.rankers.linear import LinearRanker

# RIVER_OAUC_TRIES multiplies the number of random trials.
TRIES = int(os.environ.get("RIVER_OAUC_TRIES", "1"))

on_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and fork")


# Interrupts ------------------------------------------------------------------------------------


class Interrupt:
    """Raise KeyboardInterrupt at the n-th line of this package that is executed."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if "river_oauc" not in frame.f_code.co_filename.replace(os.sep, "/").split("/tests/")[0]:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupted(at: int, action: Callable[[], Any]) -> bool:
    """Run an action, interrupted at a line; return whether there were that many lines."""
    previous = sys.gettrace()
    sys.settrace(Interrupt(at))
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(previous)
    return False


def steps(cls: type[OnlineAUCClassifier]) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return models, and what is done to them while they are interrupted."""
    x, y = PROBES[0], True
    frame = pd.DataFrame([{**PROBES[1], "newest": 1.0}, {**PROBES[2], "newest": 0.0}])
    trained, other = learn(make_small(cls), STREAM), learn(make_small(cls), STREAM[:30])
    return {
        "the first example": (make_small(cls), lambda m: m.learn_one(x, y)),
        "a step": (trained, lambda m: m.learn_one(x, y)),
        "new features": (trained, lambda m: m.learn_one({**x, "n1": 1.0, "n2": -1.0}, not y)),
        "a frame": (trained, lambda m: m.learn_many(frame, pd.Series([True, False]))),
        "merging": (trained, lambda m: m.__iadd__(other)),
    }


@pytest.mark.parametrize(
    "action", ["the first example", "a step", "new features", "a frame", "merging"]
)
@each_class
def test_an_interrupt_at_any_line_leaves_a_whole_model(
    cls: type[OnlineAUCClassifier], action: str
) -> None:
    """It can be pickled, unpickled, merged and continued."""
    untouched, act = steps(cls)[action]
    lines = itertools.count(1)
    # Every line at first, and ever fewer of the thousands that a step of an Auto learner has.
    for at in lines:
        model = copy.deepcopy(untouched)
        if not interrupted(at, lambda model=model: act(model)):
            break
        assert_unharmed(model)
        for _ in range(at // (5 * TRIES)):
            next(lines)
    assert at > 3


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@on_posix
@each_class
def test_an_interrupt_at_any_instant_leaves_a_whole_model(cls: type[OnlineAUCClassifier]) -> None:
    rng = random.Random(3)
    stream = [({**x, f"late{i % 37}": 1.0}, y) for i, (x, y) in enumerate(make_stream(300))]
    for _ in range(25 * TRIES):
        model = make_small(cls)
        with contextlib.suppress(KeyboardInterrupt), interrupted_after(1e-4 + 3e-3 * rng.random()):
            learn(model, stream)
        assert_unharmed(model)


# Code of the user that fails in the middle of a step -------------------------------------------


class Trap:
    """Goes off at a chosen call. It is kept out of the models, so that they can be compared."""

    n_calls_left = 0

    @classmethod
    def step(cls) -> None:
        cls.n_calls_left -= 1
        if cls.n_calls_left == 0:
            raise RuntimeError("trapped")


class TrapSchedule(optim.base.Scheduler):
    def get(self, t: int) -> float:
        Trap.step()
        return 0.5 / (1 + t)


class TrapKernel(kernels.RBF):
    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        Trap.step()
        return super().__call__(x, vectors)


TRAPPED = {
    **{
        f"{cls.__name__} with a schedule": lambda cls=cls: make_small(
            cls, lr=TrapSchedule(), policy="reservoir"
        )
        for cls in (OAUCM, OAUCS, OLUBAUC, OKAUCM, OKAUCS)
    },
    **{
        f"{cls.__name__} with a kernel": lambda cls=cls: make_small(cls, kernel=TrapKernel(0.5))
        for cls in (OKAUCM, OKAUCS, KOIL)
    },
}


@pytest.mark.parametrize("late", [{}, {"late": 1.0}], ids=["known features", "a late feature"])
@pytest.mark.parametrize("make", TRAPPED.values(), ids=TRAPPED)
def test_a_failure_in_code_of_the_user_leaves_no_trace(
    make: Callable[[], Any], late: dict[str, float]
) -> None:
    x = {**PROBES[0], **late}
    for y in (False, True):
        model = learn(make(), STREAM)
        before = pickle.dumps(model)
        n_failures = 0
        for n_calls in range(1, 20):
            Trap.n_calls_left = n_calls
            try:
                model.learn_one(x, y)
            except RuntimeError:
                n_failures += 1
                assert pickle.dumps(model) == before
            else:
                break
        assert 1 <= n_failures < 10
        Trap.n_calls_left = 0
        assert pickle.dumps(model) == pickle.dumps(learn(make(), [*STREAM, (x, y)]))


@pytest.mark.parametrize("make", TRAPPED.values(), ids=TRAPPED)
def test_a_failure_in_a_frame_names_the_row(make: Callable[[], Any]) -> None:
    X, y = pd.DataFrame([x for x, _ in STREAM]), pd.Series([y for _, y in STREAM])
    stops = set()
    for n_calls in range(1, 30):
        model = make()
        Trap.n_calls_left = n_calls
        with pytest.raises(RuntimeError) as failure:
            model.learn_many(X, y)
        (note,) = failure.value.__notes__
        row = int(re.fullmatch(rf"learn_many was in row (\d+) of {len(X)}", note)[1])
        stops.add(row)
        Trap.n_calls_left = 0
        assert learned_state(model) == learned_state(learn(make(), STREAM[:row]))
    assert len(stops) > 5


# Foreign memory --------------------------------------------------------------------------------


@each_class
def test_a_memory_mapped_model_learns_on(cls: type[OnlineAUCClassifier], tmp_path: Any) -> None:
    stream = make_stream(40, n_features=60)
    model = learn(make_small(cls), stream)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert state(learn(mapped, stream)) == state(learn(model, stream))


@each_class
def test_out_of_band_buffers_are_not_written_to(cls: type[OnlineAUCClassifier]) -> None:
    stream = make_stream(40, n_features=60)
    model = learn(make_small(cls), stream)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    frozen = [bytes(buffer) for buffer in buffers]
    twin = pickle.loads(data, buffers=frozen)
    assert state(learn(twin, stream)) == state(learn(model, stream))
    assert frozen == [bytes(buffer) for buffer in buffers]


def _learned(model: Any, stream: Any) -> Any:
    return scores(learn(model, stream))


def test_joblib_parallel_with_large_models() -> None:
    """joblib maps large arrays into its workers read-only."""
    stream = make_stream(30, n_features=400)
    model = learn(OAUCM(), stream)
    jobs = [joblib.delayed(_learned)(model, stream) for _ in range(2)]
    results = joblib.Parallel(n_jobs=2, max_nbytes=1000)(jobs)
    assert results == [_learned(copy.deepcopy(model), stream)] * 2


# Damaged states --------------------------------------------------------------------------------

STRANGE: list[Any] = [
    None, "", "x", b"x", -1, 0, 1, 2**40, 2**70, -0.5, math.nan, math.inf, 1e308, True, [], {},
    [1, 2], np.zeros(0), np.zeros(3), np.zeros((2, 2)), np.full(4, math.nan), np.arange(5),
    np.array(["a"]), np.array([None, 1]), object(), (1, 2), {"n": 1},
]  # fmt: skip


def containers(value: Any) -> Iterator[Any]:
    """Yield all dicts, lists and arrays in plain data."""
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)
    elif isinstance(value, np.ndarray) and value.size:
        yield value


def damage(data: Any, rng: random.Random) -> None:
    """Change something in plain data."""
    place = rng.choice([each for each in containers(data) if len(each)])
    if isinstance(place, np.ndarray):
        flat = place.reshape(-1)
        if flat.dtype == np.float64:
            flat[rng.randrange(flat.size)] = rng.choice([math.nan, math.inf, -1.0, 1e300, 0.0, 7.0])
        else:
            flat[rng.randrange(flat.size)] = rng.choice([-1, 0, 1, 10**6, 2**60])
        return
    key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
    if rng.random() < 0.2:
        del place[key]
    elif rng.random() < 0.3 and isinstance(place[key], np.ndarray):
        shape = [rng.randrange(2 * length + 2) for length in place[key].shape]
        place[key] = np.ones(shape, dtype=rng.choice([float, float, np.int64, np.float32]))
    elif isinstance(place[key], int | float) and rng.random() < 0.5:
        place[key] = place[key] * rng.choice([-1, 2, 10**6]) + rng.choice([0, 1, -1])
    else:
        place[key] = copy.deepcopy(rng.choice(STRANGE))


def works(model: OnlineAUCClassifier) -> None:
    """Use a model in every way; it may refuse to learn or to merge with a ValueError."""
    for action in (
        lambda: learn(model, STREAM[:12]),
        lambda: learn(model, [({**PROBES[0], "late": 1.0}, True), ({"later": 2.0}, False)]),
        lambda: model + learn(model.clone(), STREAM[:20]),
    ):
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):
            action()
    again = pickle.loads(pickle.dumps(model))
    assert all(map(math.isfinite, scores(again)))
    assert 0.0 <= again.predict_proba_one(PROBES[0])[True] <= 1.0


@pytest.mark.filterwarnings("ignore")
@each_class
def test_a_damaged_state_is_refused_or_works(cls: type[OnlineAUCClassifier]) -> None:
    rng = random.Random(1)
    models = [learn(make_small(cls), STREAM[:n]) for n in (0, 5, 60)]
    n_refused = 0
    for _ in range(120 * TRIES):
        damaged = copy.deepcopy(rng.choice(models).__getstate__())
        for _ in range(rng.choice([1, 1, 2])):
            damage(damaged, rng)
        model = cls.__new__(cls)
        try:
            model.__setstate__(damaged)
        except ValueError as refusal:
            n_refused += 1
            assert len(str(refusal)) < 500
        else:
            works(model)
    assert n_refused > 30


@each_class
def test_a_state_that_lacks_a_field_is_refused(cls: type[OnlineAUCClassifier]) -> None:
    whole = learn(make_small(cls), STREAM).__getstate__()
    for path in itertools.chain(
        ((key,) for key in whole), (("ranker", k) for k in whole["ranker"])
    ):
        lacking = copy.deepcopy(whole)
        place = lacking
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        with pytest.raises(ValueError, match=f"{path[-1]} is missing"):
            cls.__new__(cls).__setstate__(lacking)


def nested(state: Any) -> Iterator[dict[str, Any]]:
    """Yield a state and the states in it."""
    if isinstance(state, dict):
        yield state
    parts = state.values() if isinstance(state, dict) else state
    if isinstance(state, dict | list):
        for part in parts:
            yield from nested(part)


@each_class
def test_a_state_with_an_unknown_field_is_refused(cls: type[OnlineAUCClassifier]) -> None:
    whole = learn(make_small(cls), STREAM).__getstate__()
    for part in ("encoder", "ranker"):
        for i, _ in enumerate(nested(whole[part])):
            damaged = copy.deepcopy(whole)
            next(itertools.islice(nested(damaged[part]), i, None))["unknown"] = 1
            with pytest.raises(ValueError, match=r"unknown fields: \['unknown'\]"):
                cls.__new__(cls).__setstate__(damaged)


@pytest.mark.parametrize("number", [-1, 0, 1, FORMAT + 1, "2", None, True])
def test_other_formats_are_refused(number: Any) -> None:
    state = OAUCM().__getstate__() | {"format": number}
    with pytest.raises(ValueError, match="format"):
        OAUCM.__new__(OAUCM).__setstate__(state)


def test_a_state_that_needs_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    state = OAUCM().__getstate__()
    monkeypatch.setattr(LinearRanker, "set_state", fail)
    with pytest.raises(ValueError, match="more memory than there is"):
        OAUCM.__new__(OAUCM).__setstate__(state)


@pytest.mark.filterwarnings("ignore")
@each_class
def test_a_flipped_byte_in_a_pickle_causes_no_crash(cls: type[OnlineAUCClassifier]) -> None:
    """In a process of its own: a crash would end this one."""
    program = f"""
import pickle, random, river_oauc, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_robustness import *
rng = random.Random(2)
model = learn(make_small(river_oauc.{cls.__name__}), STREAM)
data = pickle.dumps(model)
for _ in range({60 * TRIES}):
    flipped = bytearray(data)
    flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    try:
        again = pickle.loads(bytes(flipped))
    except Exception:
        continue
    if isinstance(again, type(model)):
        with contextlib.suppress(Exception):
            works(again)
print("survived")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True)
    assert done.stdout.strip() == b"survived", done.stderr[-500:]


# Threads and forks -----------------------------------------------------------------------------


@pytest.fixture
def hectic() -> Iterator[None]:
    """Let threads take turns every ten microseconds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def growing_stream(n: int) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(1)
    examples = []
    for i in range(n):
        y = rng.random() < 0.3
        names = [f"f{j}" for j in range(min(3 + i // 4, 60))]
        x = {name: rng.gauss(y, 1.0) for name in names if name == "f0" or rng.random() < 0.5}
        examples.append((x, y))
    return examples


def beside(action: Callable[[], Any], learning: Callable[[], Any], n_threads: int = 2) -> list[Any]:
    """Repeat an action in other threads while one learns; return what the action returned."""
    results: list[Any] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def repeat() -> None:
        try:
            while not done.is_set():
                results.append(action())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=repeat) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    try:
        learning()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures
    return results


@each_class
def test_predictions_and_copies_see_whole_states(
    cls: type[OnlineAUCClassifier], hectic: None
) -> None:
    """Each is what the model would have been, alone, after one of its examples."""
    examples = growing_stream(150)
    model, alone = (
        make_small(cls, budget=20, buffer_size=20),
        make_small(cls, budget=20, buffer_size=20),
    )
    probe = {"f0": 0.5, "f7": -1.0, "unknown": 1.0}

    def look() -> tuple[float, bytes]:
        return model.predict_proba_one(probe)[True], pickle.dumps(copy.deepcopy(model))

    seen = beside(look, lambda: learn(model, examples))
    predictions, pickles = (
        {alone.predict_proba_one(probe)[True]},
        {pickle.dumps(copy.deepcopy(alone))},
    )
    for x, y in examples:
        alone.learn_one(x, y)
        predictions.add(alone.predict_proba_one(probe)[True])
        pickles.add(pickle.dumps(copy.deepcopy(alone)))
    assert len(seen) > 1
    assert {p for p, _ in seen} <= predictions
    assert {data for _, data in seen} <= pickles
    assert state(model) == state(alone)


@each_class
def test_a_record_changed_by_another_thread_does_no_harm(
    cls: type[OnlineAUCClassifier], hectic: None
) -> None:
    model, record = learn(make_small(cls), STREAM), dict(PROBES[0])
    names = itertools.cycle([f"n{j}" for j in range(20)])

    def change() -> None:
        name = next(names)
        record[name] = 1.0
        record.pop(name, None)

    def learning() -> None:
        for i in range(150):
            # What another thread does to the dict may raise a RuntimeError in Python itself.
            with contextlib.suppress(RuntimeError):
                model.learn_one(record, i % 2 == 0)

    beside(change, learning)
    assert_unharmed(model)


def test_a_batch_lets_others_predict_between_its_rows(hectic: None) -> None:
    X = pd.DataFrame([x for x, _ in growing_stream(3_000)]).fillna(0.0)
    y = pd.Series([y for _, y in growing_stream(3_000)])
    model = make_small(OKAUCM, budget=20)
    seen = beside(lambda: model.score_one({"f0": 0.5}), lambda: model.learn_many(X, y))
    assert len(set(seen)) > 3
    alone = make_small(OKAUCM, budget=20)
    alone.learn_many(X, y)
    assert learned_state(model) == learned_state(alone)


def test_two_threads_that_add_each_other_end() -> None:
    one, other = learn(OAUCM(), STREAM), learn(OAUCM(), STREAM)

    def add(mine: OAUCM, theirs: OAUCM) -> None:
        for _ in range(10):
            mine += theirs

    threads = [
        threading.Thread(target=add, args=p, daemon=True) for p in ((one, other), (other, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_explained_records_may_come_from_a_thread_that_learns() -> None:
    model = learn(SparseOAUCM(), STREAM)

    def records() -> Iterator[dict[str, float]]:
        learner = threading.Thread(target=learn, args=(model, STREAM), daemon=True)
        learner.start()
        learner.join(10.0)
        assert not learner.is_alive()
        yield PROBES[0]

    assert model.explain_each(records()) == [model.explain_one(PROBES[0])]


def test_two_threads_that_fork_take_turns() -> None:
    model, others = OAUCM(), []
    locks._acquire_all()
    second = threading.Thread(target=lambda: (locks._acquire_all(), locks._release_all()))
    try:
        second.start()
        # A model that is created meanwhile is not released with the others.
        others.append(OAUCM())
        second.join(0.05)
        assert second.is_alive()
    finally:
        locks._release_all()
    second.join(10.0)
    assert not second.is_alive()
    for each in (model, *others):
        learn(each, STREAM[:2])


@on_posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@each_class
def test_a_forked_child_has_a_whole_model(cls: type[OnlineAUCClassifier], hectic: None) -> None:
    model, stop = learn(make_small(cls), STREAM), threading.Event()

    def keep_learning() -> None:
        while not stop.is_set():
            learn(model, STREAM[:20])

    learning = threading.Thread(target=keep_learning)
    learning.start()
    try:
        for _ in range(8):
            child = os.fork()
            if not child:
                try:
                    signal.alarm(20)
                    pickle.loads(pickle.dumps(model)).predict_proba_one(PROBES[0])
                    model.learn_one(*STREAM[0])
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            time.sleep(0.002)
    finally:
        stop.set()
        learning.join()


# Kernels of the user's own ---------------------------------------------------------------------


class Meddling(kernels.RBF):
    """A kernel that does something to the model or to its arguments."""

    def __init__(self, gamma: float, meddle: Callable[..., Any] | None = None) -> None:
        super().__init__(gamma)
        self.meddle = meddle

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        if self.meddle is not None:
            self.meddle(x, vectors)
        return super().__call__(np.array(x).reshape(-1), np.array(vectors).reshape(-1, x.size))


@pytest.mark.parametrize("cls", [OKAUCM, OKAUCS, KOIL])
def test_a_kernel_that_meddles_leaves_the_model_whole(cls: type[OnlineAUCClassifier]) -> None:
    for number, (x, y) in enumerate(make_stream(12, seed=8)):
        kernel = Meddling(0.5)
        model = learn(make_small(cls, kernel=kernel), STREAM)
        inner = iter(make_stream(1, seed=9))

        def learn_inside(*_: Any, model: Any = model, inner: Any = inner) -> None:
            for example in inner:
                model.learn_one(*example)

        def reshape(x: np.ndarray, vectors: np.ndarray) -> None:
            x.shape = (1, -1)
            vectors.shape = (-1,)

        def write(x: np.ndarray, vectors: np.ndarray) -> None:
            x[:] = 7.0

        live = model.kernel
        live.meddle = (learn_inside, reshape, write)[number % 3]
        with contextlib.suppress(ValueError, RuntimeError):
            model.learn_one({**x, "late": 1.0}, y)
        live.meddle = None
        assert_unharmed(model)


def test_a_step_may_ask_its_own_model() -> None:
    kernel = Meddling(0.5)
    model = OKAUCM(kernel)
    asked: list[float] = []
    for i in range(10):
        # Not when it asks itself.
        kernel.meddle = None
        if i > 5:

            def ask(*_: Any) -> None:
                kernel.meddle = None
                asked.append(model.score_one({"a": 1.0}))

            kernel.meddle = ask
        model.learn_one({"a": float(i)}, i % 2 == 0)
    assert asked


# Sums ------------------------------------------------------------------------------------------


def test_what_is_not_a_model_is_not_added() -> None:
    for other in (1, 0.5, None, {"a": 1.0}, OAUCS()):
        with pytest.raises(TypeError, match="unsupported operand"):
            OAUCM() + other
        with pytest.raises(TypeError, match="unsupported operand"):
            model = OAUCM()
            model += other


def test_models_can_be_summed() -> None:
    parts = [learn(OAUCM(), STREAM[i::3]) for i in range(3)]
    total = sum(parts)
    expected = parts[0] + parts[1] + parts[2]
    assert learned_state(total) == learned_state(expected)
    assert sum([parts[0]]) is not parts[0]


# Loading compiled code -------------------------------------------------------------------------

LOADING = """
import importlib, sys, warnings
real = importlib.import_module
def fake(name, *rest):
    if name.startswith("river_oauc._compiled."):
        raise {error}
    return real(name, *rest)
importlib.import_module = fake
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import river_oauc
print(river_oauc.compiled, [str(w.message) for w in caught if w.category is RuntimeWarning])
"""


@pytest.mark.parametrize(
    ("error", "wanted", "output"),
    [
        ("ModuleNotFoundError('none', name=name)", "", "False []"),
        ("ImportError('built for another numpy')", "", "False ['river_oauc uses numpy, because"),
        ("ImportError('built for another numpy')", "0", "False []"),
    ],
)
def test_compiled_code_that_cannot_be_loaded_is_reported(
    error: str, wanted: str, output: str
) -> None:
    environment = {key: v for key, v in os.environ.items() if key != "RIVER_OAUC_COMPILED"}
    if wanted:
        environment["RIVER_OAUC_COMPILED"] = wanted
    program = [sys.executable, "-c", LOADING.format(error=error)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    assert done.stdout.startswith(output), done.stderr
    environment["RIVER_OAUC_COMPILED"] = "1"
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    assert "RIVER_OAUC_COMPILED is 1, but" in done.stderr
