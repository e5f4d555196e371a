"""The sets and streams: their facts, their files, and how missing files are made."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import hashlib
import http.server
import io
import lzma
import pathlib
import re
import threading
import zipfile

import numpy as np
import pytest
from commands import refusal
from sklearn.datasets import load_svmlight_file

from benchmarks.datasets import BENCHMARKS, STREAMS, Dataset, data_directory
from benchmarks.datasets.published import libsvm, numbers, table
from benchmarks.examples import SETS
from river_oauc.cli.messages import UserError

needs_data = pytest.mark.skipif(data_directory() is None, reason="RIVER_OAUC_DATA is not set")

# Rows, features, and negatives per positive.
PAPER = {
    "splice": (1000, 60, 1.07), "australian": (690, 14, 1.25), "heart": (270, 13, 1.25),
    "svmguide1": (7089, 4, 1.29), "ionosphere": (351, 34, 1.79), "fourclass": (862, 2, 1.81),
    "magic04": (19020, 10, 1.84), "diabetes": (768, 8, 1.87), "german": (1000, 24, 2.33),
    "vehicle": (846, 18, 2.90), "svmguide3": (1284, 21, 3.34), "segment": (2310, 19, 6.00),
    "svmguide2": (391, 20, 6.38), "satimage": (6435, 36, 9.28), "vowel": (990, 10, 10.00),
    "letter": (15000, 16, 26.88), "shuttle": (43500, 9, 44.89), "poker": (25010, 10, 47.75),
}  # fmt: skip


def put(directory: pathlib.Path, name: str, content: bytes) -> pathlib.Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.svm.xz"
    path.write_bytes(content)
    return path


# The tables --------------------------------------------------------------------------------------


def test_the_sets_are_those_of_the_paper_in_its_order() -> None:
    assert list(BENCHMARKS) == list(PAPER)
    for name, each in BENCHMARKS.items():
        ratio = round((each.n_samples - each.n_positives) / each.n_positives, 2)
        ours = (each.n_samples, each.n_features, ratio)
        assert (ours == PAPER[name]) == (name not in ("svmguide3", "shuttle"))
        assert ours[:2] == PAPER[name][:2]


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_the_facts_are_those_of_the_files(name: str) -> None:
    each = SETS[name]
    if not each.path.is_file() or each.n_samples > 50_000:
        pytest.skip("the file is not here, or is long")
    text = lzma.decompress(each.path.read_bytes())
    assert hashlib.sha256(text).hexdigest() == each.sha256
    assert text.count(b"\n") == each.n_samples
    assert sum(line.startswith(b"+1") for line in text.splitlines()) == each.n_positives
    assert max(map(int, set(re.findall(rb" (\d+):", text)))) <= each.n_features


@needs_data
@pytest.mark.parametrize("name", ["german", "segment", "vowel"])
def test_examples_are_those_of_the_file(name: str) -> None:
    X, y = BENCHMARKS[name].to_numpy()
    assert X.dtype == np.float64 and y.dtype == np.bool_
    text = lzma.decompress(BENCHMARKS[name].path.read_bytes())
    expected_X, expected_y = load_svmlight_file(io.BytesIO(text), n_features=X.shape[1])
    np.testing.assert_array_equal(X, expected_X.toarray())
    np.testing.assert_array_equal(y, expected_y > 0)
    x, label = next(iter(BENCHMARKS[name]))
    assert list(x) == [str(j) for j in range(1, X.shape[1] + 1)]
    assert list(x.values()) == X[0].tolist() and label is bool(y[0])


@needs_data
def test_wide_streams_leave_out_zeros() -> None:
    x, _ = next(iter(STREAMS["sms_spam"]))
    assert 0 < len(x) < 50 and all(x.values())


@needs_data
def test_segment_of_river_is_that_of_libsvm_up_to_rounding(monkeypatch) -> None:
    X, y = BENCHMARKS["segment"].to_numpy()
    monkeypatch.delenv("RIVER_OAUC_DATA")
    assert not BENCHMARKS["segment"].path.is_file() and BENCHMARKS["segment"].is_here
    from_river = BENCHMARKS["segment"].to_numpy()
    np.testing.assert_allclose(from_river[0], X, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(from_river[1], y)


# Files -------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path: pathlib.Path) -> pathlib.Path:
    monkeypatch.setattr("benchmarks.datasets.dataset.CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_where_files_are_looked_up(monkeypatch, tmp_path: pathlib.Path, cache) -> None:
    heart, mine = BENCHMARKS["heart"], tmp_path / "mine"
    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    assert heart.path == cache / "heart.svm.xz" and not heart.is_here
    mine.mkdir()
    monkeypatch.setenv("RIVER_OAUC_DATA", str(mine))
    assert heart.path == cache / "heart.svm.xz"
    for directory in (cache, mine / "streams", mine / "datasets", mine):
        assert put(directory, "heart", b"") == heart.path
    assert heart.is_here


@pytest.mark.parametrize("command", ["streams", "tables linear --datasets segment"])
def test_the_variable_must_be_a_directory(monkeypatch, command: str) -> None:
    monkeypatch.setenv("RIVER_OAUC_DATA", "no/such/place")
    error = "RIVER_OAUC_DATA is no/such/place, which is not a directory"
    assert refusal(*command.split()) == error


GOOD = b"+1 1:0.5\n"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("heart", GOOD, "is damaged"),
        ("heart", lzma.compress(GOOD)[:-8], "is damaged"),
        ("heart", lzma.compress(GOOD), "is not the published set"),
        ("usenet1", lzma.compress(GOOD + b"1 2:1\n"), "line 2 is not LIBSVM text with a label"),
        ("usenet1", lzma.compress(GOOD + b"-1 2:\n"), "line 2 is not LIBSVM text with a label"),
    ],
)
def test_a_wrong_file_is_refused(monkeypatch, tmp_path, name, content, reason) -> None:
    path = put(tmp_path, name, content)
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    with pytest.raises(UserError, match=reason) as error:
        list(SETS[name])
    assert str(path) in str(error.value)


# Downloads ---------------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch, tmp_path: pathlib.Path):
    """Serve a directory on this machine; `requested` are the paths that were asked for."""
    requested = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            requested.append(self.path)
            super().do_GET()

        def log_message(self, format, *args) -> None:
            pass

    for variable, value in (("RIVER_OAUC_DATA", ""), ("no_proxy", "127.0.0.1")):
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    directory = tmp_path / "published"
    directory.mkdir()
    handler = functools.partial(Handler, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        running.url = f"http://127.0.0.1:{running.server_port}/".__add__
        running.directory, running.requested = directory, requested
        yield running
        running.shutdown()


def lzw(data: bytes) -> bytes:
    """Write a short text as Unix compress would, if nothing in it occurred twice."""
    codes = sum(byte << 9 * i for i, byte in enumerate(data))
    return b"\x1f\x9d\x90" + codes.to_bytes(-(-9 * len(data) // 8), "little")


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"in/{name}.csv", content)
    return file.getvalue()


SPARSE = b"yes 1:0.5 2:0 3:-2 \r\nno 1:0.0 2:1e3 3:0\r\n", b"no 3:-0.000\r\n+yes 1:4.00\r\n"
SPARSE_TEXT = b"+1 1:0.5 3:-2\n-1 2:1e3\n-1\n+1 1:4.00\n"
NUMBERS = b"9,9, 0.50,0.0,b\n\n9,8, -1e3,3,77\n"
NUMBERS_TEXT = b"+1 1:0.50\n-1 1:-1e3 2:3\n"
TABLES = {
    "second": b"id;sex;size;rings;note\n3;M;0.50;19;Ab ab c\n1;F;?;7;cd\n",
    "first": b"id;sex;size;rings;note\n2;M;1e-9;8;ab\n0;F;1;x;ab\n",
}
TABLE_TEXT = b"-1 2:1 3:1\n-1 1:1e-09 4:1 5:1\n+1 1:0.5 4:1 5:2\n"
as_table = functools.partial(
    table, positive=("19",), label=3, among=("7", "8", "19"), numbers=(2,), names=(1,), texts=(4,),
    delimiter=";", n_header=1, sort=0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("files", "published", "text"),
    [
        ({"a": SPARSE[0], "b.t": SPARSE[1]}, libsvm(positive="yes"), SPARSE_TEXT),
        ({"a.gz": gzip.compress(NUMBERS)}, numbers(positive="b", skip=2), NUMBERS_TEXT),
        ({"a.Z": lzw(NUMBERS)}, numbers(positive="b", skip=2), NUMBERS_TEXT),
        ({"a.csv": TABLES["second"] + TABLES["first"][23:]}, as_table(), TABLE_TEXT),
        (
            {"a.zip": zipped(**TABLES)},
            as_table(members=("in/second.csv", "in/first.csv"), among=None, sort=None),
            b"+1 1:0.5 2:1 3:2\n-1 4:1 5:1\n-1 1:1e-09 2:1 3:1\n-1 1:1 3:1 4:1\n",
        ),
    ],
    ids=["libsvm", "gz", "Z", "table", "zip"],
)
def test_a_file_is_made_of_the_published_ones(server, cache, files, published, text) -> None:
    for name, content in files.items():
        (server.directory / name).write_bytes(content)
    published = dataclasses.replace(published, urls=tuple(map(server.url, files)))
    toy = Dataset("toy", 4, 3, 2, "", published, sha256=hashlib.sha256(text).hexdigest())
    assert not toy.is_here
    examples = list(toy)
    assert toy.is_here and lzma.decompress((cache / "toy.svm.xz").read_bytes()) == text
    assert [y for _, y in examples] == [line.startswith(b"+1") for line in text.splitlines()]
    assert examples[0][0].keys() >= {"1", "2", "3"}
    assert list(toy) == examples
    assert len(server.requested) == len(files)

    # A changed or damaged file is refused, and nothing is made of it.
    for change in (content[: len(content) // 2], b"<html>Please log in</html>"):
        (cache / "toy" / name).unlink()
        (cache / "toy.svm.xz").unlink(missing_ok=True)
        (server.directory / name).write_bytes(change)
        with pytest.raises(UserError, match="toy cannot be made of http") as error:
            toy.download()
        assert str(cache / "toy") in str(error.value)
        assert not (cache / "toy.svm.xz").exists()


def test_a_failed_download_is_tried_again_and_then_reported(server, cache) -> None:
    published = dataclasses.replace(libsvm(positive="1"), urls=(server.url("a"),))
    toy = Dataset("toy", 4, 3, 2, "", published, sha256="")
    with pytest.raises(UserError, match="404"):
        list(toy)
    assert server.requested.count("/a") == 3
    assert [path for path in cache.rglob("*") if path.is_file()] == []


# The two published files that can be rebuilt from the set; their checksums are public knowledge.
@needs_data
@pytest.mark.parametrize(
    ("name", "labels", "sha256"),
    [
        ("ionosphere", "bg", "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"),
        ("magic04", "hg", "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a"),
    ],
)
def test_the_text_of_a_published_file(name: str, labels: str, sha256: str) -> None:
    text = lzma.decompress(BENCHMARKS[name].path.read_bytes()).decode()
    rows = []
    for sign, *pairs in map(str.split, text.splitlines()):
        values = dict(pair.split(":") for pair in pairs)
        row = [values.get(str(j), "0") for j in range(1, BENCHMARKS[name].n_features + 1)]
        rows.append(",".join([*row, labels[sign == "-1"]]) + "\n")
    source = "".join(rows)
    assert hashlib.sha256(source.encode()).hexdigest() == sha256
    assert "".join(BENCHMARKS[name].published.lines([source])) == text


def test_a_set_that_cannot_be_downloaded_says_where_to_get_it(monkeypatch) -> None:
    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    with pytest.raises(UserError, match="get it from https://www.openml.org"):
        list(STREAMS["mammography"])


def test_streams_that_river_downloads(monkeypatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path))
    # river recognises a complete file by its size.
    there = property(lambda self: self.path.is_file())
    monkeypatch.setattr("river.datasets.base.RemoteDataset.is_downloaded", there)
    for name, content in {
        "SMSSpam/SMSSpamCollection": "ham\tOk lar.. u ok\nspam\tFREE\n",
        "SMTP/smtp.csv": "duration,src_bytes,dst_bytes,service\n0.5,1,2,1\n",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(content)
    assert list(STREAMS["sms_spam"]) == [({"ok": 2, "lar": 1}, False), ({"free": 1}, True)]
    assert list(STREAMS["smtp"]) == [({"1": 0.5, "2": 1.0, "3": 2.0}, True)]
    assert STREAMS["smtp"].is_here and not STREAMS["credit_card"].is_here
