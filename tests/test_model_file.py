"""Model files: what is saved comes back bit for bit, and nothing else is read."""

from __future__ import annotations

import enum
import hashlib
import json
import pathlib
import pickle
import random
from typing import Any

import numpy as np
import pytest
from classifiers import CASES, Factory, each_case, learn, make_stream, plain
from river import optim

from river_oauc import OAUCM, OKAUCM, AutoOAUC, SparseOAUCM, kernels, model_file
from river_oauc.decisions import AlertBudget

RECORDS: list[tuple[dict[Any, Any], bool]] = [
    ({"amount": 1.5 + i % 7, "country": "FR" if i % 3 else "IT", "code": b"\xff", ("a", 1): i}, y)
    for i, y in enumerate([True, False, False] * 40)
]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "model.oauc"


def with_header(content: bytes, change: Any) -> bytes:
    """Return a file whose header has been changed, with the hash that belongs to it."""
    start = len(b"river-oauc model\n") + 8
    end = start + int.from_bytes(content[start - 8 : start], "little")
    header = change(content[start:end])
    body = content[: start - 8] + len(header).to_bytes(8, "little") + header + content[end:-32]
    return body + hashlib.sha256(body).digest()


@each_case
def test_what_is_saved_comes_back_and_learns_on(make: Factory, path: pathlib.Path) -> None:
    model = learn(make(), make_stream(80))
    model_file.save(model, path)
    twin = model_file.load(path)
    assert plain(twin.__getstate__()) == plain(model.__getstate__())
    for each in (model, twin):
        learn(each, make_stream(30, seed=5))
    assert model_file.to_bytes(twin) == model_file.to_bytes(model)


@pytest.mark.parametrize("make", [AutoOAUC, SparseOAUCM])
def test_names_and_categories_of_all_plain_types(make: Any, path: pathlib.Path) -> None:
    model = learn(make(), RECORDS)
    model_file.save(model, path, {"note": [1, "two"]})
    file = model_file.read(path)
    assert plain(file.model.__getstate__()) == plain(model.__getstate__())
    assert file.notes == {"note": [1, "two"]}


@pytest.mark.parametrize(
    "model",
    [
        OKAUCM(kernel=kernels.RBF(0.5)),
        OKAUCM(kernel=kernels.Polynomial(degree=3)),
        OAUCM(lr=optim.schedulers.InverseScaling(0.1)),
        OAUCM(lr=optim.schedulers.Constant(0.1)),
    ],
    ids=repr,
)
def test_parameters_that_are_objects(model: Any, path: pathlib.Path) -> None:
    model_file.save(learn(model, make_stream(20)), path)
    assert repr(model_file.load(path)) == repr(model)


class Cosine(kernels.Linear):
    """A kernel of the user's own."""


def test_what_is_not_plain_is_refused(path: pathlib.Path) -> None:
    colours = enum.Enum("colours", "RED BLUE")
    with pytest.raises(ValueError, match="Cosine.*pickle"):
        model_file.save(OKAUCM(kernel=Cosine()), path)
    with pytest.raises(ValueError, match="RED.*strings"):
        model_file.save(learn(SparseOAUCM(), [({"colour": colours.RED}, True)]), path)
    with pytest.raises(ValueError, match="AlertBudget.*pickle"):
        model_file.save(AlertBudget(OAUCM()), path)  # type: ignore[arg-type]
    assert not path.exists()


@pytest.mark.parametrize("notes", [{"n": np.int64(3)}, {1: 2}, {"pair": (1, 2)}, [1], "text"])
def test_notes_come_back_as_they_are_or_are_refused(notes: Any, path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="notes are .*: they must be a dict that JSON can hold"):
        model_file.save(OAUCM(), path, notes)
    assert not path.exists()
    plain = {"n": 3, "names": ["a", None], "shares": {"b": 0.5}}
    model_file.save(OAUCM(), path, plain)
    assert model_file.read(path).notes == plain


def test_a_failed_save_keeps_the_old_file(path: pathlib.Path) -> None:
    model_file.save(learn(OAUCM(), make_stream(20)), path)
    before = path.read_bytes()
    with pytest.raises(ValueError):
        model_file.save(OKAUCM(kernel=Cosine()), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_cut_off_or_flipped_files_are_refused() -> None:
    content = model_file.to_bytes(learn(AutoOAUC(seed=1), RECORDS))
    rng = random.Random(1)
    for _ in range(200):
        at = rng.randrange(len(content))
        flipped = bytearray(content)
        flipped[at] ^= 1 << rng.randrange(8)
        for damaged in (content[:at], bytes(flipped)):
            with pytest.raises(ValueError, match=r"^(not a model file|the model file is damaged)"):
                model_file.from_bytes(damaged)


class Bomb:
    """Fails the test when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("code was executed",)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n" * 100, pickle.dumps(Bomb()), b"river-oauc model\n" + pickle.dumps(Bomb())],
)
def test_other_files_are_refused(content: bytes, path: pathlib.Path) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.oauc: (not a|the) model file"):
        model_file.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "format 9, and this version of river-oauc reads format 1"),
        ({"class": "Popen"}, "damaged: KeyError"),
        ({"arrays": [["float64", [2**70]]]}, "damaged"),
        ({"arrays": [["float64", [-1]]]}, "damaged"),
        ({"arrays": [["object", [1]]]}, "damaged"),
        ({"state": {"object": ["Popen", {"dict": {}}]}}, "damaged: KeyError"),
        ({"state": {"object": ["RBF", {"dict": {"gamma": -1}}]}}, "gamma is -1"),
        ({"state": {"bytes": "zz"}}, "damaged|hexadecimal"),
        ({"state": {"dict": {}}}, "format is missing"),
        ({"notes": 3}, "damaged"),
    ],
    ids=str,
)
def test_hostile_headers_are_refused(change: dict[str, Any], message: str) -> None:
    content = model_file.to_bytes(learn(OAUCM(), make_stream(20)))
    hostile = with_header(content, lambda text: json.dumps(json.loads(text) | change).encode())
    with pytest.raises(ValueError, match=message):
        model_file.from_bytes(hostile)


def test_deep_nesting_is_refused() -> None:
    content = model_file.to_bytes(OAUCM())
    with pytest.raises(ValueError, match="damaged"):
        model_file.from_bytes(with_header(content, lambda text: b"[" * 1_000_000))


@pytest.mark.parametrize("name", ["OAUCM-0", "OKAUCM-0", "SparseOAUCM-0", "AutoOAUC-0"])
def test_mutated_headers_are_refused_or_work(name: str) -> None:
    model = learn(CASES[name](), make_stream(60))
    content = model_file.to_bytes(model)
    rng = random.Random(3)

    def mutate(text: bytes) -> bytes:
        mutated = bytearray(text)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(mutated))
            mutated[at : at + 1] = rng.choice([b"", b"0", b"9", b"-", b"]", b",1", b'"', b"e9"])
        return bytes(mutated)

    n_refused = 0
    for _ in range(150):
        try:
            twin = model_file.from_bytes(with_header(content, mutate)).model
        except ValueError:
            n_refused += 1
        else:
            for x, y in make_stream(5, seed=9):
                try:
                    twin.learn_one(x, y)
                    assert twin.score_one(x) == twin.score_one(x)
                except ValueError:
                    break
    assert n_refused > 50
