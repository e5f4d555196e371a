from __future__ import annotations

import functools
import hashlib
import http.server
import io
import itertools
import lzma
import os
import pathlib
import pickle
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from urllib import parse

import numpy as np
import pytest
from commands import refusal
from hypothesis import given
from hypothesis import strategies as st
from river.datasets.base import BINARY_CLF, Dataset, get_data_home
from sklearn.datasets import load_svmlight_file

from river_oauc import datasets
from river_oauc.cli import main as cli
from river_oauc.datasets import (
    BENCHMARKS,
    BenchmarkDataset,
    DatasetError,
    Facts,
    download,
    libsvm,
    lzw,
    recipes,
)

DATA = os.environ.get("RIVER_OAUC_DATA")
if DATA is not None and os.path.isdir(os.path.join(DATA, "datasets")):
    DATA = os.path.join(DATA, "datasets")

needs_data = pytest.mark.skipif(DATA is None, reason="RIVER_OAUC_DATA is not set")
needs_gzip = pytest.mark.skipif(shutil.which("gzip") is None, reason="there is no gzip")
every_set = pytest.mark.parametrize("name", BENCHMARKS)

PAPER = {
    "splice": (1000, 60, 1.07),
    "australian": (690, 14, 1.25),
    "heart": (270, 13, 1.25),
    "svmguide1": (7089, 4, 1.29),
    "ionosphere": (351, 34, 1.79),
    "fourclass": (862, 2, 1.81),
    "magic04": (19020, 10, 1.84),
    "diabetes": (768, 8, 1.87),
    "german": (1000, 24, 2.33),
    "vehicle": (846, 18, 2.90),
    "svmguide3": (1284, 21, 3.34),
    "segment": (2310, 19, 6.00),
    "svmguide2": (391, 20, 6.38),
    "satimage": (6435, 36, 9.28),
    "vowel": (990, 10, 10.00),
    "letter": (15000, 16, 26.88),
    "shuttle": (43500, 9, 44.89),
    "poker": (25010, 10, 47.75),
}

TOY_TEXT = b"+1 1:0.5 3:-2\n-1 2:1e3\n-1\n+1 1:4.00\n"
TOY_SOURCE = b"yes 1:0.5 2:0 3:-2 \r\nno 1:0.0 2:1e3 3:0\r\nno 3:-0.000\r\n+yes 1:4.00\r\n"


class Toy(BenchmarkDataset):
    """A set of four rows.

    Its published file is on a server of the test.

    """

    facts = Facts(
        n_samples=4,
        n_features=3,
        n_positives=2,
        paper_imbalance_ratio=1.0,
        sha256=hashlib.sha256(TOY_TEXT).hexdigest(),
    )
    recipe = recipes.from_libsvm("toy.txt", positive="yes")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "river_data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, timeout: float) -> None:
        raise AssertionError(f"{url} was asked for")

    monkeypatch.setattr(download.request, "urlopen", refuse)


class Server(http.server.ThreadingHTTPServer):
    """Serves the bodies in `answers` by path; `announced` overrides what Content-Length says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, bytes] = {}
        self.announced: int | None = None
        self.asked: list[str] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.answers.get(self.path.lstrip("/"))
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(self.server.announced or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def toy(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Toy:
    """A set in an empty directory, whose published file is on the test's server."""
    server.answers["toy.txt"] = TOY_SOURCE
    monkeypatch.setattr(Toy, "recipe", _recipe_at(server.url("toy.txt")))
    directory = tmp_path / "toy"
    directory.mkdir()
    return Toy(directory)


def _recipe_at(*urls: str) -> recipes.Recipe:
    return recipes.Recipe(urls, "yes", recipes.from_libsvm(positive="yes").read_row)


@functools.cache
def _canonical_text(name: str) -> bytes:
    return lzma.decompress(pathlib.Path(str(DATA), f"{name}.svm.xz").read_bytes())


# The table


def test_the_sets_are_those_of_the_paper_in_its_order() -> None:
    ours = {
        name: (cls.facts.n_samples, cls.facts.n_features, cls.facts.paper_imbalance_ratio)
        for name, cls in BENCHMARKS.items()
    }
    assert list(ours.items()) == list(PAPER.items())


def test_all_but_two_sets_have_the_imbalance_ratio_of_the_paper() -> None:
    different = {
        name
        for name, cls in BENCHMARKS.items()
        if round(cls.facts.imbalance_ratio, 2) != cls.facts.paper_imbalance_ratio
    }
    assert different == {"svmguide3", "shuttle"}
    for name in different:
        doc = BENCHMARKS[name].__doc__ or ""
        facts = BENCHMARKS[name].facts
        assert f"{facts.imbalance_ratio:.2f}, where the paper has" in " ".join(doc.split())
        assert str(facts.paper_imbalance_ratio) in doc


@every_set
def test_the_package_exports_the_set(name: str) -> None:
    cls = BENCHMARKS[name]
    assert getattr(datasets, cls.__name__) is cls
    assert cls.__name__ in datasets.__all__


@every_set
def test_docstring_tells_the_ratio(name: str) -> None:
    doc = " ".join((BENCHMARKS[name].__doc__ or "").split())
    assert f"Negatives per positive: {BENCHMARKS[name].facts.imbalance_ratio:.2f}, " in doc


@every_set
def test_published_files_are_at_libsvm_or_uci_over_https(name: str) -> None:
    for url in BENCHMARKS[name].recipe.urls:
        assert parse.urlsplit(url).scheme == "https"
        assert parse.urlsplit(url).hostname in {"www.csie.ntu.edu.tw", "archive.ics.uci.edu"}


# As a dataset of river


@every_set
def test_is_a_dataset_of_river(name: str) -> None:
    dataset = BENCHMARKS[name]()
    assert isinstance(dataset, Dataset)
    assert dataset.task == BINARY_CLF
    assert (dataset.n_samples, dataset.n_features) == PAPER[name][:2]
    assert dataset.desc and "    " not in dataset.desc


def test_repr() -> None:
    lines = repr(datasets.German()).splitlines()
    path = pathlib.Path(os.environ["RIVER_DATA"], "German", "german.svm.xz")
    assert lines[0] == "German bank customers as credit risks."
    assert [line.strip() for line in lines[-8:]] == [
        "Name  German",
        "Task  Binary classification",
        "Samples  1,000",
        "Features  24",
        "Sparse  False",
        f"Path  {path}",
        "Positives  300",
        "Downloaded  False",
    ]


@needs_data
@every_set
def test_the_data(name: str) -> None:
    cls = BENCHMARKS[name]
    dataset = cls(DATA)
    X, y = dataset.to_numpy()
    assert X.dtype == np.float64 and y.dtype == np.bool_
    assert X.shape == PAPER[name][:2] and y.shape == PAPER[name][:1]
    assert y.sum() == cls.facts.n_positives
    assert hashlib.sha256(_canonical_text(name)).hexdigest() == cls.facts.sha256

    expected_X, expected_y = load_svmlight_file(
        io.BytesIO(_canonical_text(name)), n_features=cls.facts.n_features
    )
    np.testing.assert_array_equal(X, expected_X.toarray())
    np.testing.assert_array_equal(y, expected_y > 0)


@needs_data
@every_set
def test_iterating_gives_the_rows_of_the_arrays(name: str) -> None:
    dataset = BENCHMARKS[name](DATA)
    X, y = dataset.to_numpy()
    names = [str(j) for j in range(1, X.shape[1] + 1)]
    pairs = list(dataset)
    assert len(pairs) == dataset.n_samples
    for i in range(0, len(pairs), 50):
        x, label = pairs[i]
        assert list(x) == names
        assert list(x.values()) == X[i].tolist()
        assert all(type(value) is float for value in x.values())
        assert label is bool(y[i])


@needs_data
def test_take() -> None:
    assert list(datasets.Heart(DATA).take(3)) == list(itertools.islice(datasets.Heart(DATA), 3))
    assert len(list(datasets.Heart(DATA).take(3))) == 3


@needs_data
def test_pickled_set_gives_the_same_data() -> None:
    dataset = datasets.Heart(DATA)
    copy = pickle.loads(pickle.dumps(dataset))
    assert type(copy) is datasets.Heart
    assert list(copy) == list(dataset)


@needs_data
def test_svmguide3_ends_with_copies_of_positive_rows() -> None:
    X, y = datasets.SVMGuide3(DATA).to_numpy()
    positive_train_rows = {row.tobytes() for row in X[:1243][y[:1243]]}
    assert y[1243:].all()
    assert all(row.tobytes() in positive_train_rows for row in X[1243:])


# Segment without a file


def test_segment_needs_nothing_but_river(no_network: None) -> None:
    dataset = datasets.Segment()
    X, y = dataset.to_numpy()
    assert dataset.is_downloaded
    assert X.shape == (2310, 19) and y.sum() == 330
    assert (X[:, 2] == 0).all()
    others = np.delete(X, 2, axis=1)
    np.testing.assert_array_equal(others.min(axis=0), -1.0)
    np.testing.assert_array_equal(others.max(axis=0), 1.0)


@needs_data
def test_segment_of_river_is_that_of_libsvm_to_rounding() -> None:
    X, y = datasets.Segment().to_numpy()
    from_file = datasets.Segment(DATA)
    assert from_file.path == pathlib.Path(str(DATA), "segment.svm.xz")
    expected_X, expected_y = from_file.to_numpy()
    np.testing.assert_allclose(X, expected_X, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(y, expected_y)


# Where files are looked for


def _put(directory: pathlib.Path, text: bytes = TOY_TEXT) -> pathlib.Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "toy.svm.xz"
    path.write_bytes(lzma.compress(text))
    return path


def test_the_variable_comes_before_the_data_directory_of_river(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, no_network: None
) -> None:
    in_river = _put(tmp_path / "river_data" / "Toy")
    assert Toy().path == in_river
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path / "mine"))
    assert Toy().path == in_river
    in_mine = _put(tmp_path / "mine")
    assert Toy().path == in_mine
    assert len(list(Toy())) == 4
    assert Toy(tmp_path / "other").path == tmp_path / "other" / "toy.svm.xz"


def test_the_data_directory_is_that_of_river(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    assert Toy().path == pathlib.Path(get_data_home(), "Toy", "toy.svm.xz")
    monkeypatch.delenv("RIVER_DATA")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Toy().path == pathlib.Path(get_data_home(), "Toy", "toy.svm.xz")


def test_looking_leaves_no_trace(tmp_path: pathlib.Path) -> None:
    for cls in BENCHMARKS.values():
        repr(cls())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"+1 1:0.5\n", "not a whole xz file"),
        (b"", "not a whole xz file"),
        (lzma.compress(TOY_TEXT)[:-8], "not a whole xz file"),
        (lzma.compress(TOY_TEXT.replace(b"+1", b"-1", 1)), "wrong sha256"),
    ],
)
def test_damaged_file_is_refused(
    content: bytes, reason: str, tmp_path: pathlib.Path, no_network: None
) -> None:
    path = _put(tmp_path)
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=reason) as error:
        Toy(tmp_path).to_numpy()
    assert str(path) in str(error.value)
    assert path.read_bytes() == content


# Downloads


def test_download(toy: Toy, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert not toy.is_downloaded
    rows = list(toy)
    assert [y for _, y in rows] == [True, False, False, True]
    assert rows[0][0] == {"1": 0.5, "2": 0.0, "3": -2.0}
    assert toy.is_downloaded
    assert [path.name for path in toy.path.parent.iterdir()] == ["toy.svm.xz"]
    assert lzma.decompress(toy.path.read_bytes()) == TOY_TEXT
    assert capsys.readouterr().err == f"Downloading {server.url('toy.txt')}\n"

    assert list(toy) == rows
    assert server.asked == ["/toy.txt"]


def test_download_replaces_a_file(toy: Toy) -> None:
    path = _put(toy.path.parent, b"something else\n")
    toy.download(verbose=False)
    assert lzma.decompress(path.read_bytes()) == TOY_TEXT


def test_download_goes_to_the_data_directory_of_river(toy: Toy, tmp_path: pathlib.Path) -> None:
    Toy().download(verbose=False)
    assert (tmp_path / "river_data" / "Toy" / "toy.svm.xz").is_file()


def test_parts_are_put_together_in_order(
    toy: Toy, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = TOY_SOURCE.splitlines(keepends=True)
    server.answers |= {"a": first, "b": b"".join(rest)}
    monkeypatch.setattr(Toy, "recipe", _recipe_at(server.url("a"), server.url("b")))
    toy.download(verbose=False)
    assert lzma.decompress(toy.path.read_bytes()) == TOY_TEXT
    assert server.asked == ["/a", "/b"]


def _assert_refused(toy: Toy, reason: str) -> str:
    with pytest.raises(DatasetError, match=reason) as error:
        toy.to_numpy()
    message = str(error.value)
    assert "\n" not in message
    assert "toy.svm.xz" in message and str(toy.path.parent) in message
    assert list(toy.path.parent.iterdir()) == []
    return message


def test_truncated_body_is_refused(toy: Toy, server: Server) -> None:
    server.announced = len(TOY_SOURCE) + 1
    _assert_refused(toy, f"ended after {len(TOY_SOURCE)} of {len(TOY_SOURCE) + 1} bytes")


def test_wrong_data_are_refused(toy: Toy, server: Server) -> None:
    server.answers["toy.txt"] = TOY_SOURCE.replace(b"0.5", b"0.6")
    message = _assert_refused(toy, "another sha256")
    assert server.url("toy.txt") in message
    assert Toy.facts.sha256 in message


@pytest.mark.parametrize(
    "body", [b"<html>Please log in</html>", b"yes 1:x", b"\xff\xfe", lzw.MAGIC + b"\x90\xff\xff"]
)
def test_data_of_another_form_are_refused(toy: Toy, server: Server, body: bytes) -> None:
    server.answers["toy.txt"] = body
    _assert_refused(toy, "not of the expected form")


def test_missing_page_is_reported(toy: Toy, server: Server) -> None:
    del server.answers["toy.txt"]
    message = _assert_refused(toy, "404")
    assert "put toy.txt as published" in message
    assert "RIVER_OAUC_DATA" in message


def test_refused_connection_is_reported(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(Toy, "recipe", _recipe_at(f"http://127.0.0.1:{port}/toy.txt"))
    _assert_refused(toy, "refused")


def test_answer_that_is_not_http_is_reported(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        port = listener.getsockname()[1]
        monkeypatch.setattr(Toy, "recipe", _recipe_at(f"http://127.0.0.1:{port}/toy.txt"))
        _assert_refused(toy, "cannot be loaded")
        thread.join()


def test_unwritable_directory_is_reported(toy: Toy, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DatasetError, match="cannot be written"):
        Toy(tmp_path / "file").download(verbose=False)


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_interrupted_write_leaves_nothing(
    toy: Toy, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        toy.download(verbose=False)
    assert list(toy.path.parent.iterdir()) == []


def test_published_file_put_there_by_hand_is_used(toy: Toy, no_network: None) -> None:
    by_hand = toy.path.with_name("toy.txt")
    by_hand.write_bytes(TOY_SOURCE)
    assert len(list(toy)) == 4
    assert {path.name for path in toy.path.parent.iterdir()} == {"toy.txt", "toy.svm.xz"}


def test_wrong_file_put_there_by_hand_is_named(toy: Toy, no_network: None) -> None:
    by_hand = toy.path.with_name("toy.txt")
    by_hand.write_bytes(b"yes 1:1\n")
    with pytest.raises(DatasetError, match="another sha256") as error:
        toy.to_numpy()
    assert str(by_hand) in str(error.value)
    assert list(toy.path.parent.iterdir()) == [by_hand]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["big.data"] = bytes(200_000)
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    assert download.fetch(server.url("big.data")) == bytes(200_000)
    _, *states = terminal.getvalue().rstrip("\n").split("\r")
    assert len(states) > 1
    assert states[-1] == f"big.data  [{'#' * 30}] 100%  200 kB"
    assert terminal.getvalue().endswith("\n")


def test_no_word_unless_verbose(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.answers["x"] = b"x"
    download.fetch(server.url("x"), verbose=False)
    assert capfd.readouterr() == ("", "")


# Recipes

FIRST_PART_SIZES = {"svmguide1": 3089, "svmguide3": 1243, "satimage": 4435}


def _published(name: str, zero: str = "0", separator: str = ",", ending: str = "\n") -> list[bytes]:
    """Write the canonical text as the source would, with a made-up label for the negatives."""
    cls = BENCHMARKS[name]
    negative = "g" if name in ("ionosphere", "magic04") else "77"
    lines = []
    for line in _canonical_text(name).decode().splitlines():
        sign, *pairs = line.split()
        values = dict(pair.split(":") for pair in pairs)
        row = [values.get(str(j), zero) for j in range(1, cls.facts.n_features + 1)]
        label = cls.recipe.positive if sign == "+1" else negative
        if cls.recipe.urls[0].startswith(recipes.LIBSVM):
            lines.append(" ".join([label, *(f"{j}:{v}" for j, v in enumerate(row, start=1)), ""]))
        else:
            lines.append(separator.join([*["9"] * (3 if name == "vowel" else 0), *row, label]))
    cut = FIRST_PART_SIZES.get(name, len(lines))
    parts = [lines[:cut], lines[cut:]] if cut < len(lines) else [lines]
    return ["".join(line + ending for line in part).encode() for part in parts]


@needs_data
@every_set
def test_recipe_makes_the_canonical_text(name: str) -> None:
    sources = _published(name, zero="0.000000", separator="  ", ending="\r\n")
    recipe = BENCHMARKS[name].recipe
    assert len(sources) == len(recipe.urls)
    assert recipe.canonical_text(sources) == _canonical_text(name)


@needs_data
@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("ionosphere", "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"),
        ("magic04", "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a"),
    ],
)
def test_recipe_fits_the_very_bytes_that_uci_publishes(name: str, sha256: str) -> None:
    # These two sources can be rebuilt from the set; their checksums are public knowledge.
    (source,) = _published(name)
    assert hashlib.sha256(source).hexdigest() == sha256
    assert BENCHMARKS[name].recipe.canonical_text([source]) == _canonical_text(name)


@needs_data
def test_recipe_reads_compressed_sources() -> None:
    (source,) = _published("shuttle", separator=" ")
    compressed = _compress(source)
    assert BENCHMARKS["shuttle"].recipe.filenames == ("shuttle.trn.Z",)
    text = BENCHMARKS["shuttle"].recipe.canonical_text([compressed])
    assert hashlib.sha256(text).hexdigest() == BENCHMARKS["shuttle"].facts.sha256


# LIBSVM text

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(
    rows=st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.integers(1, 6), numbers, max_size=6)),
        min_size=1,
    )
)
def test_parse_reads_what_was_written(rows: list[tuple[bool, dict[int, float]]]) -> None:
    text = "".join(
        " ".join(["+1" if y else "-1", *(f"{j}:{v!r}" for j, v in x.items())]) + "\n"
        for y, x in rows
    )
    X, y = libsvm.parse(text.encode(), n_features=6)
    assert X.tolist() == [[x.get(j, 0.0) for j in range(1, 7)] for _, x in rows]
    assert y.tolist() == [label for label, _ in rows]


# .Z files


def _compress(data: bytes, max_width: int = 16, clears: bool = False) -> bytes:
    """Unix compress; `clears` starts a new dictionary whenever the old one is full."""
    output, group, width, n_read = bytearray(lzw.MAGIC + bytes([0x80 | max_width])), [], 9, 0

    def flush(pad: bool) -> None:
        bits = sum(code << (width * i) for i, code in enumerate(group))
        n_bytes = width if pad else -(-len(group) * width // 8)
        output.extend(bits.to_bytes(n_bytes, "little"))
        group.clear()

    def emit(code: int) -> None:
        nonlocal width, n_read
        if min(256 + n_read, 1 << max_width) == 1 << width and n_read and width < max_width:
            if group:
                flush(pad=True)
            width += 1
        group.append(code)
        n_read += 1
        if len(group) == 8:
            flush(pad=True)

    codes, current = {bytes([i]): i for i in range(256)}, b""
    for byte in data:
        longer = current + bytes([byte])
        if longer in codes:
            current = longer
            continue
        emit(codes[current])
        if len(codes) + 1 < 1 << max_width:
            codes[longer] = len(codes) + 1
        elif clears:
            emit(256)
            if group:
                flush(pad=True)
            codes, width, n_read = {bytes([i]): i for i in range(256)}, 9, 0
        current = bytes([byte])
    if current:
        emit(codes[current])
    flush(pad=False)
    return bytes(output)


def _long_text(max_width: int) -> bytes:
    """Return a text that fills a dictionary of this size, and goes on."""
    rng = random.Random(1)
    return b" ".join(b"%d" % rng.randrange(1000) for _ in range(3 << max_width - 1))


@given(data=st.binary(max_size=400) | st.text("ab", max_size=2000).map(str.encode))
def test_decompress_undoes_compress(data: bytes) -> None:
    assert lzw.decompress(_compress(data)) == data


@pytest.mark.parametrize("max_width", [9, 12, 16])
@pytest.mark.parametrize("clears", [False, True])
def test_decompress_a_long_text(max_width: int, clears: bool) -> None:
    data = _long_text(max_width)
    compressed = _compress(data, max_width, clears)
    assert lzw.decompress(compressed) == data
    assert (compressed == _compress(data, max_width)) is not clears


@needs_gzip
@pytest.mark.parametrize("max_width", [12, 16])
@pytest.mark.parametrize("clears", [False, True])
def test_gzip_takes_the_same_files(max_width: int, clears: bool) -> None:
    compressed = _compress(_long_text(max_width), max_width, clears)
    by_gzip = subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True)
    assert by_gzip.stdout == lzw.decompress(compressed)


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x9d", b"\x1f\x8b\x90abc", b"\x1f\x9d\x88abc", b"\x1f\x9d\x90\xff\xff"]
)
def test_decompress_refuses_other_files(data: bytes) -> None:
    with pytest.raises(ValueError):
        lzw.decompress(data)


# The command and the imports


def _run_command(*names: str) -> int:
    return cli.main(["datasets", *names])


def _table(output: str) -> dict[str, list[str]]:
    """The cells of the row of each set."""
    rows = (re.split(r"  +", line.strip()) for line in output.splitlines())
    return {row[0]: row[1:] for row in rows if row[0] in BENCHMARKS}


def test_command_without_files(capsys: pytest.CaptureFixture[str], no_network: None) -> None:
    assert _run_command() == 0
    output = capsys.readouterr().out
    table = _table(output)
    assert list(table) == list(BENCHMARKS)
    assert table["german"] == ["1,000", "24", "300", "2.33", "2.33", "-"]
    assert table["shuttle"] == ["43,500", "9", "132", "328.55", "* 44.89", "-"]
    assert table["segment"][-1] == "(1)"
    assert f"(1) {datasets.Segment().path.parent}" in output.splitlines()
    assert "17 sets are not on this machine" in output


def test_command_with_some_names(capsys: pytest.CaptureFixture[str], no_network: None) -> None:
    assert _run_command("Vowel", "heart") == 0
    assert list(_table(capsys.readouterr().out)) == ["heart", "vowel"]


@pytest.mark.parametrize(("name", "hint"), [("hart", " (did you mean 'heart'?)"), ("", "")])
def test_unknown_name(capsys: pytest.CaptureFixture[str], name: str, hint: str) -> None:
    assert _run_command(name) == 2
    known = ", ".join(BENCHMARKS)
    error = f"river-oauc: unknown set {name!r}{hint}; the known ones are {known}\n"
    assert capsys.readouterr() == ("", error)


def test_damaged_file_is_not_listed_as_present(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "heart.svm.xz").write_bytes(b"nonsense")
    # Whole, but another text.
    (tmp_path / "vowel.svm.xz").write_bytes(lzma.compress(b"+1 1:2\n"))
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    assert _run_command() == 0
    output = capsys.readouterr().out
    files = {name: cells[-1] for name, cells in _table(output).items()}
    assert (files["heart"], files["vowel"], files["german"]) == ("damaged", "damaged", "-")
    assert str(tmp_path) not in output
    assert "2 files are damaged; delete them to have them downloaded again." in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["datasets"],
        ["streams"],
        ["compare", "heart"],
        ["tables", "linear", "--datasets", "segment"],
    ],
)
def test_variable_that_names_no_directory_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVER_OAUC_DATA", "no/such/place")
    assert refusal(*arguments) == "RIVER_OAUC_DATA is no/such/place, which is no directory"
    # To look at a set is still possible.
    assert not datasets.Heart().is_downloaded


def test_numbers_stay_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert _run_command("shuttle", "poker") == 0
    lines = capsys.readouterr().out.partition("*:")[0].splitlines()
    assert max(map(len, lines)) <= 40
    cells = " ".join(lines).split()
    for number in ("43,500", "9", "132", "328.55", "44.89"):
        assert number in cells


@needs_data
def test_command_with_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVER_OAUC_DATA", str(DATA))
    assert _run_command() == 0
    output = capsys.readouterr().out
    assert {cells[-1] for cells in _table(output).values()} == {"(1)"}
    assert output.splitlines()[-1] == f"(1) {pathlib.Path(str(DATA))}"


def test_importing_the_sets_imports_no_more_than_river_does() -> None:
    heavy = "{'pandas', 'sklearn', 'matplotlib', 'rich'} & set(sys.modules)"
    script = (
        f"import sys; import river.datasets; before = {heavy}\n"
        f"import river_oauc.datasets; assert {heavy} == before; assert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
