"""The benchmark sets and streams: facts, files, downloads, decompression, and the command."""

from __future__ import annotations

import dataclasses
import functools
import gzip
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
import tracemalloc
import zipfile
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
from river_oauc.datasets import BENCHMARKS, DatasetError, download, libsvm, lzw, recipes
from river_oauc.datasets.streams import STREAMS, RealStream
from river_oauc.datasets.unpacking import unpack

DATA = os.environ.get("RIVER_OAUC_DATA")
if DATA is not None and os.path.isdir(os.path.join(DATA, "datasets")):
    DATA = os.path.join(DATA, "datasets")

needs_data = pytest.mark.skipif(DATA is None, reason="RIVER_OAUC_DATA is not set")
every_set = pytest.mark.parametrize("name", BENCHMARKS)

# Rows, features, and negatives per positive.
PAPER = {
    "splice": (1000, 60, 1.07), "australian": (690, 14, 1.25), "heart": (270, 13, 1.25),
    "svmguide1": (7089, 4, 1.29), "ionosphere": (351, 34, 1.79), "fourclass": (862, 2, 1.81),
    "magic04": (19020, 10, 1.84), "diabetes": (768, 8, 1.87), "german": (1000, 24, 2.33),
    "vehicle": (846, 18, 2.90), "svmguide3": (1284, 21, 3.34), "segment": (2310, 19, 6.00),
    "svmguide2": (391, 20, 6.38), "satimage": (6435, 36, 9.28), "vowel": (990, 10, 10.00),
    "letter": (15000, 16, 26.88), "shuttle": (43500, 9, 44.89), "poker": (25010, 10, 47.75),
}  # fmt: skip

TOY_TEXT = b"+1 1:0.5 3:-2\n-1 2:1e3\n-1\n+1 1:4.00\n"
TOY_SOURCE = b"yes 1:0.5 2:0 3:-2 \r\nno 1:0.0 2:1e3 3:0\r\nno 3:-0.000\r\n+yes 1:4.00\r\n"


class Toy(datasets.BenchmarkDataset):
    """A set of four rows."""

    facts = datasets.Facts(
        n_samples=4, n_features=3, n_positives=2, paper_imbalance_ratio=1.0,
        sha256=hashlib.sha256(TOY_TEXT).hexdigest(), size=len(TOY_TEXT),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "river_data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(url, timeout):
        raise AssertionError(f"{url} was requested")

    monkeypatch.setattr(download.request, "urlopen", refuse)


NOT_HTTP = b"SSH-2.0-OpenSSH\r\n"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        body = self.server.answers.get(self.path.lstrip("/"))
        if body is None:
            return self.send_error(404)
        if body == NOT_HTTP:
            return self.wfile.write(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + self.server.n_missing))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answers, server.n_missing, server.requested = {}, 0, []
        server.url = f"http://127.0.0.1:{server.server_port}/".__add__
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _set_urls(monkeypatch, *urls, **options):
    read_row = recipes.from_libsvm(positive="yes").read_row
    recipe = recipes.NumericRecipe(urls, "yes", read_row, **options)
    monkeypatch.setattr(Toy, "recipe", recipe, raising=False)


@pytest.fixture
def toy(server, monkeypatch, tmp_path):
    """A set in an empty directory, whose published file is on the test's server."""
    server.answers["toy.txt"] = TOY_SOURCE
    _set_urls(monkeypatch, server.url("toy.txt"))
    (tmp_path / "toy").mkdir()
    return Toy(tmp_path / "toy")


@functools.cache
def _canonical_text(name):
    return lzma.decompress(pathlib.Path(str(DATA), f"{name}.svm.xz").read_bytes())


# Facts and data


def test_the_sets_are_those_of_the_paper_in_its_order():
    ours = [
        (name, (cls.facts.n_samples, cls.facts.n_features, cls.facts.paper_imbalance_ratio))
        for name, cls in BENCHMARKS.items()
    ]
    assert ours == list(PAPER.items())


@every_set
def test_a_set_is_a_documented_dataset_of_river(name):
    cls, facts = BENCHMARKS[name], BENCHMARKS[name].facts
    assert getattr(datasets, cls.__name__) is cls and cls.__name__ in datasets.__all__
    dataset = cls()
    assert isinstance(dataset, Dataset) and dataset.task == BINARY_CLF
    assert (dataset.n_samples, dataset.n_features) == PAPER[name][:2]
    assert dataset.desc and "    " not in dataset.desc
    agrees = round(facts.imbalance_ratio, 2) == facts.paper_imbalance_ratio
    assert agrees is (name not in ("svmguide3", "shuttle"))
    relation = "as in the paper" if agrees else f"where the paper has {PAPER[name][2]}"
    ratio = f"Negatives per positive: {facts.imbalance_ratio:.2f}, {relation}"
    assert ratio in " ".join((cls.__doc__ or "").split())
    for url in map(parse.urlsplit, cls.recipe.urls):
        assert url.scheme == "https"
        assert url.hostname in {"www.csie.ntu.edu.tw", "archive.ics.uci.edu"}


def test_repr_leaves_no_trace(tmp_path):
    lines = repr(datasets.German()).splitlines()
    path = pathlib.Path(os.environ["RIVER_DATA"], "German", "german.svm.xz")
    assert lines[0] == "German bank customers as credit risks."
    assert " ".join(" ".join(lines[-8:]).split()) == (
        "Name German Task Binary classification Samples 1,000 Features 24 Sparse False "
        f"Path {path} Positives 300 Downloaded False"
    )
    assert list(tmp_path.iterdir()) == []


@needs_data
@every_set
def test_the_data(name):
    text, facts = _canonical_text(name), BENCHMARKS[name].facts
    assert len(text) == facts.size
    assert hashlib.sha256(text).hexdigest() == facts.sha256

    dataset = BENCHMARKS[name](DATA)
    X, y = dataset.to_numpy()
    assert X.dtype == np.float64 and y.dtype == np.bool_
    assert X.shape == PAPER[name][:2] and y.sum() == facts.n_positives
    expected_X, expected_y = load_svmlight_file(io.BytesIO(text), n_features=X.shape[1])
    np.testing.assert_array_equal(X, expected_X.toarray())
    np.testing.assert_array_equal(y, expected_y > 0)

    names = [str(j) for j in range(1, X.shape[1] + 1)]
    pairs = list(dataset)
    assert len(pairs) == dataset.n_samples
    for i in range(0, len(pairs), 50):
        x, label = pairs[i]
        assert list(x) == names and list(x.values()) == X[i].tolist()
        assert all(type(value) is float for value in x.values())
        assert label is bool(y[i])


@needs_data
def test_a_pickled_set_gives_the_same_data():
    dataset = datasets.Heart(DATA)
    copy = pickle.loads(pickle.dumps(dataset))
    assert type(copy) is datasets.Heart
    assert list(copy.take(3)) == list(dataset)[:3]


def test_segment_comes_with_river(no_network):
    dataset = datasets.Segment()
    X, y = dataset.to_numpy()
    assert dataset.is_downloaded and dataset.is_intact
    assert X.shape == (2310, 19) and y.sum() == 330
    assert (X[:, 2] == 0).all()
    others = np.delete(X, 2, axis=1)
    np.testing.assert_array_equal(others.min(axis=0), -1.0)
    np.testing.assert_array_equal(others.max(axis=0), 1.0)


@needs_data
def test_segment_of_river_is_that_of_libsvm_up_to_rounding():
    X, y = datasets.Segment().to_numpy()
    from_file = datasets.Segment(DATA)
    assert from_file.path == pathlib.Path(str(DATA), "segment.svm.xz")
    np.testing.assert_allclose(X, from_file.to_numpy()[0], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(y, from_file.to_numpy()[1])


# Local files


def _put(directory, text, name="toy"):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.svm.xz"
    path.write_bytes(lzma.compress(text))
    return path


def test_order_of_the_directories(monkeypatch, tmp_path, no_network):
    assert Toy().path == pathlib.Path(get_data_home(), "Toy", "toy.svm.xz")
    in_river = _put(tmp_path / "river_data" / "Toy", TOY_TEXT)
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path / "mine"))
    assert Toy().path == in_river
    for directory in (tmp_path / "mine" / "datasets", tmp_path / "mine"):
        assert _put(directory, TOY_TEXT) == Toy().path
    assert len(list(Toy())) == 4
    assert Toy(tmp_path / "other").path == tmp_path / "other" / "toy.svm.xz"
    for variable in ("RIVER_OAUC_DATA", "RIVER_DATA"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Toy().path == pathlib.Path(get_data_home(), "Toy", "toy.svm.xz")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("toy", b"+1 1:0.5\n", "not supported by decoder"),
        ("toy", b"", "ended before the end-of-stream marker"),
        ("toy", lzma.compress(TOY_TEXT)[:-8], "ended before the end-of-stream marker"),
        ("toy", lzma.compress(TOY_TEXT.replace(b"+1", b"-1", 1)), "another sha256"),
        ("toy", lzma.compress(TOY_TEXT + b"\n"), f"more than {len(TOY_TEXT)} bytes"),
        ("abalone19", lzma.compress(b"+1 1:0.5\n"), "another sha256"),
        ("usenet1", lzma.compress(b"+1 1:0.5\n1 2:1\n"), "line 2 is not LIBSVM text with a label"),
        ("usenet1", lzma.compress(b"+1 1:0.5\n-1 2:\n"), "line 2 is not LIBSVM text with a label"),
    ],
)
def test_a_wrong_file_is_refused(name, content, reason, tmp_path, no_network):
    path = tmp_path / f"{name}.svm.xz"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=reason) as error:
        list(Toy(tmp_path) if name == "toy" else RealStream(name, tmp_path))
    assert str(path) in str(error.value)
    assert path.read_bytes() == content


# Downloads


def test_download(toy, server, capsys):
    assert not toy.is_downloaded
    rows = list(toy)
    assert [y for _, y in rows] == [True, False, False, True]
    assert rows[0][0] == {"1": 0.5, "2": 0.0, "3": -2.0}
    assert toy.is_downloaded
    assert [path.name for path in toy.path.parent.iterdir()] == ["toy.svm.xz"]
    assert lzma.decompress(toy.path.read_bytes()) == TOY_TEXT
    assert capsys.readouterr().err == f"Downloading {server.url('toy.txt')}\n"
    assert list(toy) == rows
    assert server.requested == ["/toy.txt"]


def test_download_replaces_a_file_in_the_data_directory_of_river(toy, tmp_path, capfd):
    path = _put(tmp_path / "river_data" / "Toy", b"something else\n")
    Toy().download(verbose=False)
    assert lzma.decompress(path.read_bytes()) == TOY_TEXT
    assert capfd.readouterr() == ("", "")


def test_parts_are_joined_in_order(toy, server, monkeypatch):
    first, *rest = TOY_SOURCE.splitlines(keepends=True)
    server.answers |= {"a": first, "b": b"".join(rest)}
    _set_urls(monkeypatch, server.url("a"), server.url("b"))
    assert len(list(toy)) == 4
    assert server.requested == ["/a", "/b"]


def _assert_refused(toy, *reasons):
    before = list(toy.path.parent.iterdir())
    with pytest.raises(DatasetError) as error:
        toy.to_numpy()
    message = str(error.value)
    assert "\n" not in message
    for part in (*reasons, "toy.svm.xz", str(toy.path.parent), "RIVER_OAUC_DATA"):
        assert part in message
    assert list(toy.path.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (TOY_SOURCE.replace(b"0.5", b"0.6"), f"sha256 {Toy.facts.sha256}"),
        (b"<html>Please log in</html>", "refused: "),
        (b"yes 1:x", "refused: "),
        (b"\xff\xfe", "refused: "),
        (lzw.MAGIC + b"\x90\xff\xff", "refused: damaged .Z file"),
        (bytes(10**6), f"more than {8 * len(TOY_TEXT)} bytes"),
        (None, "cannot be loaded: HTTP Error 404"),
        (NOT_HTTP, "cannot be loaded: SSH"),
    ],
)
def test_a_wrong_answer_is_refused(toy, server, body, reason):
    server.answers = {} if body is None else {"toy.txt": body}
    _assert_refused(toy, server.url("toy.txt"), reason)


def test_a_truncated_answer_is_refused(toy, server):
    server.n_missing = 1
    _assert_refused(toy, f"ended after {len(TOY_SOURCE)} of {len(TOY_SOURCE) + 1} bytes")


def test_a_refused_connection(toy, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    _set_urls(monkeypatch, f"http://127.0.0.1:{port}/toy.txt")
    _assert_refused(toy, "cannot be loaded: ", "refused", "put toy.txt as published")


def test_an_unwritable_directory_is_reported(toy, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DatasetError, match="cannot be written"):
        Toy(tmp_path / "file").download(verbose=False)


@pytest.mark.parametrize(
    "step", ["river_oauc.datasets.download.check_size", "os.fsync", "pathlib.Path.replace"]
)
def test_an_interrupted_download_leaves_nothing(toy, step, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        toy.download(verbose=False)
    assert list(toy.path.parent.iterdir()) == []


def test_a_published_file_beside_the_destination_is_used(toy, no_network):
    beside = toy.path.with_name("toy.txt")
    beside.write_bytes(b"yes 1:1\n")
    _assert_refused(toy, str(beside), "another sha256")
    beside.write_bytes(TOY_SOURCE)
    assert len(list(toy)) == 4
    assert {path.name for path in toy.path.parent.iterdir()} == {"toy.txt", "toy.svm.xz"}


def test_a_terminal_gets_a_bar(server, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    server.answers["big.data"] = bytes(200_000)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert download.fetch(server.url("big.data"), limit=200_000) == bytes(200_000)
    _, *states = terminal.getvalue().rstrip("\n").split("\r")
    assert len(states) > 1
    assert states[-1] == f"big.data  [{'#' * 30}] 100%  200 kB"
    assert terminal.getvalue().endswith("\n")


# Recipes

FIRST_PART_SIZES = {"svmguide1": 3089, "svmguide3": 1243, "satimage": 4435}


def _published(name, zero="0", separator=",", ending="\n"):
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


# The two published files that can be rebuilt from the set; their checksums are public knowledge.
PUBLISHED_SHA256 = {
    "ionosphere": "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
    "magic04": "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
}


@needs_data
@every_set
def test_a_recipe_makes_the_canonical_text(name):
    sources = _published(name, zero="0.000000", separator="  ", ending="\r\n")
    if name in PUBLISHED_SHA256:
        sources = _published(name)
        assert hashlib.sha256(sources[0]).hexdigest() == PUBLISHED_SHA256[name]
    recipe, limit = BENCHMARKS[name].recipe, 8 * BENCHMARKS[name].facts.size
    assert len(sources) == len(recipe.urls)
    if name == "shuttle":
        assert recipe.filenames == ("shuttle.trn.Z",)
        sources = [_compress(sources[0])]
    assert recipe.canonical_text(sources, limit) == _canonical_text(name)


@given(
    rows=st.lists(
        st.tuples(
            st.booleans(),
            st.dictionaries(
                st.integers(1, 6), st.floats(allow_nan=False, allow_infinity=False), max_size=6
            ),
        ),
        min_size=1,
    )
)
def test_parse_reads_libsvm_text(rows):
    text = "".join(
        " ".join(["+1" if y else "-1", *(f"{j}:{v!r}" for j, v in x.items())]) + "\n"
        for y, x in rows
    )
    X, y = libsvm.parse(text.encode(), n_features=6)
    assert X.tolist() == [[x.get(j, 0.0) for j in range(1, 7)] for _, x in rows]
    assert y.tolist() == [label for label, _ in rows]


# Decompression


def _compress(data, max_width=16, clears=False):
    """Compress like Unix compress; `clears` starts a new dictionary when the old one is full."""
    roots = {bytes([i]): i for i in range(256)}
    codes, current, runs = roots.copy(), b"", [[]]
    for byte in data:
        longer = current + bytes([byte])
        if longer in codes:
            current = longer
            continue
        runs[-1].append(codes[current])
        if len(codes) + 1 < 1 << max_width:
            codes[longer] = len(codes) + 1
        elif clears:
            runs[-1].append(256)
            codes, runs = roots.copy(), [*runs, []]
        current = bytes([byte])
    if current:
        runs[-1].append(codes[current])

    output, padding = lzw.MAGIC + bytes([0x80 | max_width]), 0
    for run in runs:
        # The decoder has 256 + n entries when it reads code n; the widths follow from that.
        widths = (min(max((256 + n).bit_length(), 9), max_width) for n in range(len(run)))
        for width, pairs in itertools.groupby(zip(widths, run, strict=True), lambda pair: pair[0]):
            group = [code for _, code in pairs]
            bits = "".join(f"{code:0{width}b}" for code in reversed(group))
            output += bytes(padding) + int(bits, 2).to_bytes(-(-len(bits) // 8), "little")
            padding = -(-len(group) // 8) * width + -len(bits) // 8
    return output


def _zip(data, method=zipfile.ZIP_DEFLATED):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as members:
        members.writestr("in/table", data)
    return archive.getvalue()


@given(data=st.binary(max_size=400) | st.text("ab", max_size=2000).map(str.encode))
def test_lzw_decompression_inverts_compression(data):
    assert lzw.decompress(_compress(data), limit=len(data)) == data


@pytest.mark.parametrize("max_width", [9, 12, 16])
@pytest.mark.parametrize("clears", [False, True])
def test_lzw_decompression_of_a_text_that_fills_the_dictionary(max_width, clears):
    rng = random.Random(1)
    data = b" ".join(b"%d" % rng.randrange(1000) for _ in range(3 << max_width - 1))
    compressed = _compress(data, max_width, clears)
    assert lzw.decompress(compressed, limit=len(data)) == data
    assert (compressed == _compress(data, max_width)) is not clears
    if max_width > 9 and shutil.which("gzip"):
        by_gzip = subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True)
        assert by_gzip.stdout == data


TABLE = bytes(range(256)) * 20
GZ, ZIP = gzip.compress(TABLE), _zip(TABLE)


@pytest.mark.parametrize(
    ("source", "members"),
    [(TABLE, ()), (GZ, ()), (GZ * 2, ()), (_compress(TABLE), ()), (ZIP, ("in/table",))],
)
def test_unpack(source, members):
    table = TABLE * (2 if source == GZ * 2 else 1)
    assert unpack(source, len(table), members) == [table]


@pytest.mark.parametrize(
    ("source", "members"),
    [
        (GZ[:-30], ()),
        (GZ[:30] + b"\xff" * 40 + GZ[70:], ()),
        (ZIP[:-30], ("in/table",)),
        (ZIP, ("table",)),
        (ZIP.replace(b"\x00\x00\x08\x00", b"\x01\x00\x08\x00"), ("in/table",)),  # "encrypted"
        (TABLE, ("in/table",)),
        (b"\x1f\x9d", ()),
        (b"\x1f\x9d\x88abc", ()),
        (b"\x1f\x9d\x90\xff\xff", ()),
    ],
)
def test_unpack_refuses_damaged_files(source, members):
    with pytest.raises(ValueError):
        unpack(source, 10**6, members)


@pytest.fixture
def traced_memory():
    tracemalloc.start()
    yield
    tracemalloc.stop()


BOMBS = {
    "gz": (gzip.compress(bytes(4 * 10**6)), ()),
    "zip": (_zip(bytes(4 * 10**6)), ("in/table",)),
    "zip, bz2": (_zip(bytes(4 * 10**6), zipfile.ZIP_BZIP2), ("in/table",)),
    "Z": (_compress(bytes(5 * 10**5)), ()),
    "plain": (b"0\n" * 10**6, ()),
}


@pytest.mark.parametrize(("bomb", "members"), BOMBS.values(), ids=BOMBS)
def test_a_published_bomb_is_refused_before_it_fills_the_memory(
    toy, bomb, members, monkeypatch, traced_memory
):
    monkeypatch.setattr(Toy, "facts", dataclasses.replace(Toy.facts, size=2_500))
    _set_urls(monkeypatch, "https://localhost/toy.bin", members=members)
    toy.path.with_name("toy.bin").write_bytes(bomb)
    reason = "not compressed by the deflate" if b"BZh" in bomb else "more than 20,000 bytes"
    tracemalloc.reset_peak()
    _assert_refused(toy, reason)
    assert tracemalloc.get_traced_memory()[1] < 300_000


@pytest.mark.parametrize("name", ["heart", "abalone19", "usenet1"])
def test_a_bomb_in_place_of_a_set_is_refused_before_it_fills_the_memory(
    name, tmp_path, traced_memory
):
    dataset = RealStream(name, tmp_path) if name in STREAMS else BENCHMARKS[name](tmp_path)
    limit = dataset.facts.size * (8 if name == "usenet1" else 1)
    path = _put(tmp_path, b"-1\n" * 10**7, name)  # to unpack it takes a buffer of 8 MB
    tracemalloc.reset_peak()
    with pytest.raises(DatasetError) as error:
        list(dataset)
    assert tracemalloc.get_traced_memory()[1] < 15 * 10**6
    assert str(error.value).startswith(f"{path} cannot be used: it has more than {limit:,} bytes")


# The command


def _table(output):
    """Split the table into the cells of each set."""
    rows = (re.split(r"  +", line.strip()) for line in output.splitlines())
    return {row[0]: row[1:] for row in rows if row[0] in BENCHMARKS}


def test_command_without_files(capsys, no_network):
    assert cli.main(["datasets"]) == 0
    output = capsys.readouterr().out
    table = _table(output)
    assert list(table) == list(BENCHMARKS)
    assert table["german"] == ["1,000", "24", "300", "2.33", "2.33", "-"]
    assert table["shuttle"] == ["43,500", "9", "132", "328.55", "* 44.89", "-"]
    assert table["segment"][-1] == "(1)"
    assert f"(1) {datasets.Segment().path.parent}" in output.splitlines()
    assert "17 sets are not on this machine" in output
    assert cli.main(["datasets", "Vowel", "heart"]) == 0
    assert list(_table(capsys.readouterr().out)) == ["heart", "vowel"]


@pytest.mark.parametrize(("name", "hint"), [("hart", " (did you mean 'heart'?)"), ("", "")])
def test_unknown_name(capsys, name, hint):
    assert cli.main(["datasets", name]) == 2
    known = ", ".join(BENCHMARKS)
    error = f"river-oauc: unknown set {name!r}{hint}; the known ones are {known}\n"
    assert capsys.readouterr() == ("", error)


def test_a_damaged_file_is_not_listed_as_present(capsys, monkeypatch, tmp_path):
    (tmp_path / "heart.svm.xz").write_bytes(b"nonsense")
    _put(tmp_path, b"+1 1:2\n", "vowel")
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    assert cli.main(["datasets"]) == 0
    output = capsys.readouterr().out
    files = {name: cells[-1] for name, cells in _table(output).items()}
    assert (files["heart"], files["vowel"], files["german"]) == ("damaged", "damaged", "-")
    assert str(tmp_path) not in output
    assert "2 files are damaged; delete them to have them downloaded again." in output


@pytest.mark.parametrize(
    "arguments", ["datasets", "streams", "compare heart", "tables linear --datasets segment"]
)
def test_the_variable_must_be_a_directory(monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVER_OAUC_DATA", "no/such/place")
    error = "RIVER_OAUC_DATA is no/such/place, which is not a directory"
    assert refusal(*arguments.split()) == error
    assert not datasets.Heart().is_downloaded


@needs_data
def test_command_with_files(capsys, monkeypatch):
    monkeypatch.setenv("RIVER_OAUC_DATA", str(DATA))
    assert cli.main(["datasets"]) == 0
    output = capsys.readouterr().out
    assert {cells[-1] for cells in _table(output).values()} == {"(1)"}
    assert output.splitlines()[-1] == f"(1) {pathlib.Path(str(DATA))}"
