"""The user's own files in `river-oauc compare`: what is read from them, and what is refused."""

from __future__ import annotations

import json
import lzma
import pathlib
import random
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import output, refusal, results

from river_oauc.cli.compare import curves
from river_oauc.cli.compare.streams import Stream, file_stream
from river_oauc.cli.target import Target

Y = Target("y")
GOOD = "a,b,y\n1,2,0\n3,x,1\n5,6,0\n"


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    # The figures take most of the time of a small run.
    monkeypatch.setattr(curves, "draw_curves", lambda *args, **kwargs: b"")


def write(text: str | bytes, name: str = "FILE") -> str:
    pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def read(
    text: str | bytes,
    target: Target = Y,
    n: int = 10**6,
    **options: Any,
) -> Stream:
    return file_stream(write(text), target, lambda width: n, **options)


def numbered(n: int) -> str:
    return "i,y\n" + "".join(f"{i},{i % 3 == 0:d}\n" for i in range(n))


# --- rows ----------------------------------------------------------------------------------------


def test_rows_become_examples() -> None:
    text = "a,b,c d,y\n1,2,x,no\n3,,z,\n4.5,z,,yes\n"
    stream = read(text, Target("y", "yes", ("c d",)))
    assert stream.examples == [({"a": 1, "b": 2}, False), ({"a": 4.5, "b": "z"}, True)]
    assert (stream.title, stream.n_positives) == ("FILE", 1)
    assert stream.notes[0] == "1 rows have no label, and are left out"


def test_every_format_gives_the_same_examples() -> None:
    rows = [{"a": i % 7, "b": "xyz"[i % 3], "c": i / 8, "y": i % 5 == 0} for i in range(40)]
    pd.DataFrame(rows).to_csv("f.csv", index=False)
    pd.DataFrame(rows).to_parquet("f.parquet")
    write("".join(json.dumps(row) + "\n" for row in rows), "f.jsonl")
    write(lzma.compress(pathlib.Path("f.csv").read_bytes()), "f.xz")
    expected = [({name: row[name] for name in "abc"}, row["y"]) for row in rows]
    for name in ("f.csv", "f.parquet", "f.jsonl", "f.xz"):
        assert file_stream(name, Y, lambda width: 99).examples == expected


def test_order_rows_and_shuffle() -> None:
    def order(n: int, **options: Any) -> list[int]:
        return [x["i"] for x, _ in read(numbered(30), n=n, **options).examples]

    assert order(25) == list(range(25)) and order(1000) == list(range(30))
    shuffled = order(30, seed=5)
    assert shuffled == order(30, seed=5) != sorted(shuffled)
    assert sorted(shuffled) == list(range(30))
    # A sample of the whole file.
    seen = [order(15, seed=seed) for seed in range(200)]
    assert {len(set(each)) for each in seen} == {15}
    counts = [sum(i in each for each in seen) for i in range(30)]
    assert 70 < min(counts) and max(counts) < 130
    enough = "25 rows, as many as --seconds and --limit allow"
    assert read(numbered(30), n=25).notes == (f"the first {enough}",)
    assert read(numbered(30), n=25, seed=1).notes == (f"a random sample of {enough}",)
    assert not read(numbered(25), n=25).notes and not read(numbered(25), n=25, seed=1).notes


def test_a_long_file_is_not_held_in_memory() -> None:
    write(numbered(20_000))
    for seed in (None, 1):
        tracemalloc.start()
        stream = file_stream("FILE", Y, lambda width: 100, seed=seed)
        assert len(stream.examples) == 100
        assert tracemalloc.get_traced_memory()[1] < 5e6
        tracemalloc.stop()


def test_rows_in_order_of_time() -> None:
    times = ["2024-01-03", "2024-01-01 12:00", "2024-01-02T00:00+02:00", "", "soon"]
    text = "t,i,y\n" + "".join(f"{time},{i},{i % 2}\n" for i, time in enumerate(times))
    stream = read(text, time="t")
    assert [x["i"] for x, _ in stream.examples] == [1, 2, 0]
    assert stream.times is not None and np.diff(stream.times).tolist() == [10 * 3600, 26 * 3600]
    assert stream.notes[0].startswith("2 rows were refused; the first: line 5: the time is None")
    assert read("t,y\n7,1\n5.5,0\n", time="t").times == (5.5, 7.0)


def test_rows_that_no_learner_takes() -> None:
    lines = ['{"a": [1], "y": 0}', *(f'{{"a": {i}, "y": {i % 2}}}' for i in range(9))]
    stream = read("\n".join(lines))
    assert len(stream.examples) == 9
    assert stream.notes[0].startswith(
        "1 rows were refused; the first: line 1: feature 'a' is [1], a list"
    )


@pytest.mark.parametrize("first", [0, 1])
def test_rows_sorted_by_class_are_pointed_out(first: int) -> None:
    text = "a,y\n" + f"1,{first}\n" * 5 + f"2,{1 - first}\n" * 5
    hint = "the rows are sorted by 'y', no fair stream: try --shuffle"
    assert read(text).notes == (hint,)
    assert read(text, seed=1).notes == ()


@pytest.mark.parametrize(
    "labels, positive, expected",
    [
        ("+1 -1 1", None, "1 0 1"),
        ("1 -1 1", "-1.0", "0 1 0"),
        ("1 2 3 1", "+1", "1 0 0 1"),
    ],
)
def test_libsvm_labels(labels: str, positive: str | None, expected: str) -> None:
    text = "".join(f"{label} 1:{i}\n" for i, label in enumerate(labels.split()))
    stream = read(text, Target("", positive))
    assert [y for _, y in stream.examples] == [y == "1" for y in expected.split()]
    assert [x for x, _ in stream.examples] == [{"1": i} for i in range(len(expected.split()))]


def test_no_column_hides_another() -> None:
    """Once, the hour of a time `t` hid a column `t, hour`."""
    rng = random.Random(3)
    rows = []
    for i in range(300):
        y = rng.random() < 0.3
        signal = f"{rng.gauss(3.0 * y):.3f}"
        category = "red" if rng.random() < 0.1 + 0.8 * y else "blue"
        rows.append((f"2024-01-{1 + i % 28:02d} {i % 24:02d}:00", signal, category, "red", int(y)))

    def aucs(*names: str) -> dict[str, float]:
        table = [names, *rows]
        write("".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in table))
        models = ["SparseOAUCM", "LogisticRegression", "PAClassifier", "OAUCM"]
        found = results("FILE", "--target", "y", "--models", *models)
        return {name: each["auc"] for name, each in found.items()}

    expected = aucs("t", "s", "u", "c", "y")
    assert min(expected.values()) > 0.9
    for names in (
        ("t", "t, hour", "t, weekday", "c", "y"),
        ("t", "t_hour", "t_hour_log_odds", "c", "y"),
        ("t", "c_red", "c_log_odds", "c", "y"),
    ):
        assert aucs(*names) == pytest.approx(expected, abs=0.01), names


# --- files that are refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, options, message",
    [
        ("", "", "there is no row in it"),
        ("a,b,y\n", "", "there is no row in it"),
        ("a,b,y\n1,2,\n", "", "there is no row with a label"),
        ("a,b,y\n1,2,0\n3,1\n", "", "line 3: 2 cells below a header of 3"),
        ("a,b,y\n1,2,1\n3,4,1\n", "", "the 2 rows are of one class: 'y' is always '1'"),
        (
            "a,y\n1,0\n2,0\n3,1\n",
            "--limit 2",
            "the 2 rows are of one class: 'y' is always '0'; --shuffle takes",
        ),
        ("a,y\n1,0\n2,no\n", "", "line 3: 'y' is 'no': unless its values are 1 and 0"),
        (GOOD, "--positive 7", "the 3 rows are of one class: 'y' is never '7': it is '0', '1'"),
        ("y\n0\n1\n", "", "no column is left to learn from"),
        (GOOD, "--exclude a b", "no column is left to learn from"),
        (GOOD, "--exclude a B", "no column 'B' (did you mean 'b'?); the columns are 'a', 'b', 'y'"),
        (GOOD, "--exclude y", "'y' is the target, and not to exclude"),
        (GOOD, "--target Y", "no column 'Y' (did you mean 'y'?); the columns are 'a', 'b', 'y'"),
        ('{"a": 1}\n{"b": 0}\n', "", "no column 'y'; the columns are 'a', 'b'"),
        ('{"a": 1, "y": 1}\n{"a": 0\n', "", "line 2: not JSON"),
        (b"a,y\n1,\x00\n", "", "line 2: 'y' is '\\x00': unless"),
        (lzma.compress(GOOD.encode())[:-9], "", "the compressed file is damaged or cut off"),
    ],
)
def test_bad_files(content: str | bytes, options: str, message: str) -> None:
    write(content)
    said = refusal("compare", "FILE", "--target", "y", *options.split())
    assert said.startswith(f"FILE: {message}")


@pytest.mark.parametrize(
    "content, options, message",
    [
        ("1 1:1\n1 2:1\n", "", "the 2 rows are of one class: 'label' is always '1.0'"),
        ("1 1:1\n2 2:1\n", "", "line 2: 'label' is 2.0: unless its values are 1 and 0, 1 and -1"),
        ("1 1:1\n-1 1:1\n", "--positive 3", "the 2 rows are of one class: 'label' is never '3'"),
        ("1 1:1\n0 7:1\n", "--exclude 9", "no column '9'; the columns are 'label', '1', '7'"),
        ("1 1:1\n0 1:1\n", "--exclude 1", "no column is left to learn from"),
        ("a,b\n1,2\n", "", "--target COLUMN says which column is the label"),
    ],
)
def test_bad_files_without_a_target(content: str, options: str, message: str) -> None:
    write(content)
    assert refusal("compare", "FILE", *options.split()).startswith(f"FILE: {message}")


def test_files_that_are_none() -> None:
    assert refusal("compare", ".", "--target", "y") == ".: Is a directory"
    assert refusal("compare", "no.csv", "--target", "y").startswith("no.csv: no such file or set")


def test_a_message_with_line_breaks_stays_on_one_line() -> None:
    name = write('"a\nb",y\n1,0\n2,1\n', name="two\nlines.csv")
    assert refusal("compare", name, "--target", "z").startswith("two lines.csv: no column 'z'")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(write(numbered(90))) as file:
        monkeypatch.setattr("sys.stdin", file)
        text = output("compare", "-", "--target", "y", "--models", "SparseOAUCM")
    assert "standard input: 90 rows, 33.3% positive" in text
