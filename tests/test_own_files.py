"""The user's own files in `river-oauc compare`: what is read from them, and what is refused."""

from __future__ import annotations

import itertools
import json
import lzma
import os
import pathlib
import random
import tracemalloc
from typing import Any

import pandas as pd
import pytest
from commands import output, refusal, results

from river_oauc.cli.compare import curves, own_file
from river_oauc.cli.compare.own_file import file_stream
from river_oauc.cli.compare.streams import Stream, named_stream

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


def read(text: str | bytes, target: str | None = "y", **options: Any) -> Stream:
    return file_stream(write(text), target=target, **options)


def numbered(n: int) -> str:
    return "i,y\n" + "".join(f"{i},{i % 3 == 0:d}\n" for i in range(n))


# --- rows ----------------------------------------------------------------------------------------


def test_rows_become_examples() -> None:
    text = "a,b,c d,y\n1,2,x,no\n3,,z,\n4.5,z,,yes\n"
    stream = read(text, positive="yes", exclude=["c d"])
    assert stream.examples == [({"a": 1, "b": 2}, False), ({"a": 4.5, "b": "z"}, True)]
    assert (stream.title, stream.size, stream.positives) == ("FILE", 2, 1)
    assert stream.notes[0] == "1 rows have no label, and are left out"


def test_every_format_gives_the_same_examples() -> None:
    rows = [{"a": i % 7, "b": "xyz"[i % 3], "c": i / 8, "y": i % 5 == 0} for i in range(40)]
    pd.DataFrame(rows).to_csv("f.csv", index=False)
    pd.DataFrame(rows).to_parquet("f.parquet")
    write("".join(json.dumps(row) + "\n" for row in rows), "f.jsonl")
    write(lzma.compress(pathlib.Path("f.csv").read_bytes()), "f.xz")
    expected = [({name: row[name] for name in "abc"}, row["y"]) for row in rows]
    for name in ("f.csv", "f.parquet", "f.jsonl", "f.xz"):
        assert file_stream(name, target="y").examples == expected


def test_order_limit_and_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_file, "DEFAULT_LIMIT", 25)

    def order(**options: Any) -> list[int]:
        return [x["i"] for x, _ in read(numbered(30), **options).examples]

    assert order() == list(range(25)) and order(limit=1000) == list(range(30))
    assert order(limit=7) == list(range(7))
    shuffled = order(shuffle=True, seed=5, limit=30)
    assert shuffled == order(shuffle=True, seed=5, limit=30) != sorted(shuffled)
    assert sorted(shuffled) == list(range(30))
    # A sample of the whole file.
    seen = [order(shuffle=True, seed=seed, limit=15) for seed in range(200)]
    assert {len(set(each)) for each in seen} == {15}
    counts = [sum(i in each for each in seen) for i in range(30)]
    assert 70 < min(counts) and max(counts) < 130
    assert read(numbered(30)).notes == ("the first 25 rows; --limit N takes more",)
    notes = read(numbered(30), shuffle=True).notes
    assert notes == ("a random sample of 25 rows; --limit N takes more",)
    assert not read(numbered(30), limit=7).notes and not read(numbered(25)).notes


def test_a_long_file_is_not_held_in_memory() -> None:
    write(numbered(20_000))
    for shuffle in (False, True):
        tracemalloc.start()
        stream = file_stream("FILE", target="y", limit=100, shuffle=shuffle)
        assert stream.size == 100
        assert tracemalloc.get_traced_memory()[1] < 5e6
        tracemalloc.stop()


def test_a_column_that_is_nearly_always_a_number() -> None:
    rows = [f"{'oops' if i == 39 else i},{'NULL' if i % 3 else i},{i % 2}" for i in range(300)]
    stream = read("amount,agent,y\n" + "\n".join(rows))
    assert stream.notes == ("amount: 299 of 300 are numbers; line 41 is 'oops'",)
    assert stream.examples[39][0] == {"amount": "oops", "agent": 39}


def test_rows_that_no_learner_takes() -> None:
    lines = ['{"a": [1], "y": 0}', *(f'{{"a": {i}, "y": {i % 2}}}' for i in range(9))]
    stream = read("\n".join(lines))
    assert stream.size == 9
    assert stream.notes[0].startswith("1 rows are refused; line 1: feature 'a' is [1], a list")


@pytest.mark.parametrize("length, has_note", [(1, False), (3, True), (50, True), (450, True)])
def test_labels_in_runs_are_pointed_out(length: int, has_note: bool) -> None:
    rng = random.Random(1)
    labels = [y for _ in range(900 // length) for y in [int(rng.random() < 0.4)] * length]
    labels[0] = 1 - labels[-1]
    n_runs = 1 + sum(a != b for a, b in itertools.pairwise(labels))
    text = "i,y\n" + "".join(f"{i % 7},{y}\n" for i, y in enumerate(labels))
    notes = read(text).notes
    assert any(f"'y' comes in {n_runs} runs, " in note for note in notes) == (
        has_note and n_runs > 2
    )
    assert len(notes) == has_note
    assert not read(text, shuffle=True).notes


@pytest.mark.parametrize("first", [0, 1])
def test_rows_sorted_by_class_are_pointed_out(first: int) -> None:
    text = "a,y\n" + f"1,{first}\n" * 5 + f"2,{1 - first}\n" * 5
    hint = "the rows are sorted by 'y', which is not a fair stream: try --shuffle"
    assert read(text).notes == (hint,)
    assert read(text, shuffle=True).notes == ()


@pytest.mark.parametrize(
    "labels, positive, expected",
    [
        ("+1 -1 1", None, "1 0 1"),
        ("2 1 2", None, "1 0 1"),
        ("-2.5 -1.5 -2.5", None, "0 1 0"),
        ("1 -1 1", "-1.0", "0 1 0"),
        ("1 2 3 1", "+1", "1 0 0 1"),
    ],
)
def test_libsvm_labels(labels: str, positive: str | None, expected: str) -> None:
    text = "".join(f"{label} 1:{i}\n" for i, label in enumerate(labels.split()))
    stream = read(text, target=None, positive=positive)
    assert [y for _, y in stream.examples] == [y == "1" for y in expected.split()]
    assert [x for x, _ in stream.examples] == [{"1": i} for i in range(len(expected.split()))]


def test_excluded_features_of_a_set() -> None:
    stream = named_stream("Phishing", exclude=["https"], limit=30)
    assert {len(x) for x, _ in stream.examples} == {8}


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
        ("a,b,y\n1,2,1\n3,4,1\n", "", "each of the 2 examples is positive; a larger --limit may"),
        ("a,y\n1,0\n2,0\n3,1\n", "--limit 2", "none of the 2 examples is positive; a larger"),
        ("a,y\n1,0\n2,no\n", "", "line 3: 'y' is 'no', neither 1 nor 0: --positive VALUE says"),
        (GOOD, "--positive 7", "none of the 3 examples is positive"),
        ("y\n0\n1\n", "", "there is no column besides 'y'"),
        (GOOD, "--exclude a b", "there is no column besides 'y'"),
        (GOOD, "--exclude a B", "no column 'B' (did you mean 'b'?); the columns are 'a', 'b', 'y'"),
        (GOOD, "--exclude y", "'y' is the target, and not to exclude"),
        (GOOD, "--target Y", "no column 'Y' (did you mean 'y'?); the columns are 'a', 'b', 'y'"),
        ('{"a": 1}\n{"b": 0}\n', "", "no column 'y'; the columns are 'a', 'b'"),
        ('{"a": 1, "y": 1}\n{"a": 0\n', "", "line 2: not JSON"),
        (b"a,y\n1,\x00\n", "", "line 2: 'y' is '\\x00', neither 1 nor 0"),
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
        ("1 1:1\n1 2:1\n", "", "two labels are needed, not '1'; --positive VALUE picks one"),
        ("1 1:1\n2 2:1\n0 1:1\n", "", "two labels are needed, not '0', '1', '2'; --positive VALUE"),
        ("1 1:1\n-1 1:1\n", "--positive 3", "none of the 2 examples is positive"),
        ("1 1:1\n0 7:1\n", "--exclude 9", "no column '9'; the columns are 'label', '1', '7'"),
        ("1 1:1\n0 1:1\n", "--exclude 1", "there is no column besides 'label'"),
        ("a,b\n1,2\n", "", "--target COLUMN says which column is the label"),
    ],
)
def test_bad_files_without_a_target(content: str, options: str, message: str) -> None:
    write(content)
    assert refusal("compare", "FILE", *options.split()).startswith(f"FILE: {message}")


def test_files_that_are_none() -> None:
    assert refusal("compare", ".", "--target", "y").startswith("--target and --positive go with a")
    assert refusal("compare", "no.csv", "--target", "y").endswith("and 'no.csv' is none")
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        assert refusal("compare", "pipe").startswith("unknown set 'pipe'")


def test_a_message_with_line_breaks_stays_on_one_line() -> None:
    name = write('"a\nb",y\n1,0\n2,1\n', name="two\nlines.csv")
    assert refusal("compare", name, "--target", "z").startswith("two lines.csv: no column 'z'")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(write(numbered(90))) as file:
        monkeypatch.setattr("sys.stdin", file)
        text = output("compare", "-", "--target", "y", "--models", "SparseOAUCM")
    assert "standard input: 90 rows, 33.3% positive" in text
