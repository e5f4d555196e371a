"""The user's own CSV and LIBSVM files: what is read from them, and what is refused."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import pathlib
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from commands import output, refusal

from river_oauc.cli.compare import text_file
from river_oauc.cli.compare.columns import MAX_CATEGORIES
from river_oauc.cli.compare.csv_file import csv_stream
from river_oauc.cli.compare.libsvm_file import libsvm_stream
from river_oauc.cli.compare.streams import Stream, named_stream

GOOD = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n"


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str | bytes, name: str = "FILE") -> pathlib.Path:
    path = pathlib.Path(name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read_csv(text: str | bytes, positive: str = "1", **options: Any) -> Stream:
    return csv_stream(write(text), target="y", positive=positive, **options)


def read_libsvm(text: str | bytes, **options: Any) -> Stream:
    return libsvm_stream(write(text), **options)


# --- CSV -----------------------------------------------------------------------------------------


def test_csv_cells_become_features() -> None:
    stream = read_csv(
        "\ufeff,amount, colour ,note,empty,y\n"
        "0,1.5,red,,,no\n"
        "1,-2e3,,NA,,yes\n"
        "\n"
        '2,?,"red, dark",x,NaN,no\n',
        positive="yes",
    )
    assert list(stream.examples) == [
        ({"amount": 1.5, "colour": "red"}, False),
        ({"amount": -2000.0}, True),
        ({"amount": None, "colour": "red, dark", "note": "x"}, False),
    ]
    assert (stream.title, stream.size, stream.positives) == ("FILE", 3, 1)
    assert stream.text_features == ("colour", "note")
    assert stream.notes == (
        "1 of 3 rows are positive (y = yes)",
        "left out because they have no name or no value: 'column 1', 'empty'",
        "one-hot encoded: 'colour', 'note'",
    )


def test_csv_text_with_many_values() -> None:
    n = MAX_CATEGORIES
    rows = [
        f"{i % n},name {i % (n + 1)},{i % n},{i % (n + 1) if i != 7 else 'x'},{i % 2}"
        for i in range(2 * n)
    ]
    text = "a,name,code,broken,y\n" + "\n".join(rows)
    stream = read_csv(text)
    first = {"a": 0.0, "name": "name 0", "code": 0.0, "broken": "0"}
    assert next(iter(stream.examples))[0] == first
    assert stream.many_valued == ("name", "broken") and not stream.is_wide
    assert stream.notes[1].endswith("left out for learners that keep a matrix: 'name', 'broken'")
    # Fewer rows have few enough names.
    shorter = read_csv(text, limit=n)
    assert shorter.text_features == ("name", "broken")
    assert shorter.many_valued == () and not shorter.is_wide


def test_csv_ids_are_left_out() -> None:
    n = 200
    shuffled = random.Random(5).sample(range(10**6), n)
    rows = [
        # A row number, a name, an id in random order, an amount, a clock with repeated times, an id
        # and a customer that recur.
        (i + 7, f"T{shuffled[i]}", shuffled[i], shuffled[i], i // 2, i % 60, f"c{i % 60}", i % 3)
        for i in range(n)
    ]
    header = "row,who,cardId,amount,clock,shop_id,customer,y\n"
    text = header + "".join(",".join(map(str, row)) + "\n" for row in rows)
    stream = read_csv(text, positive="0")
    assert list(next(iter(stream.examples))[0]) == ["amount", "clock", "shop_id", "customer"]
    assert any(note.endswith(": 'row', 'who', 'cardId'") for note in stream.notes)
    options = "--csv FILE --target y --positive 0 --models PAI --include row who".split()
    assert "like ids (--include keeps them): 'cardId'\n" in output("compare", *options)
    stream = read_csv(text, positive="0", include=["row", "who"])
    assert next(iter(stream.examples))[0].keys() >= {"row", "who"}
    assert stream.many_valued == ("who", "customer")


def test_csv_times_become_hours_and_weekdays() -> None:
    stream = read_csv(
        "when,day,code,y\n"
        "2024-02-29 18:30:00,2024-03-02,20240101,1\n"
        ",,20240103,0\n"
        "2024-03-01T00:00:00Z,2024-03-03,20240102,0\n"
    )
    names = ["when, hour", "when, weekday", "day, hour", "day, weekday", "code"]
    assert [x for x, _ in stream.examples] == [
        dict(zip(names, values, strict=True))
        for values in (
            (18.5, 3.0, 0.0, 5.0, 20240101.0),
            (None, None, None, None, 20240103.0),
            (0.0, 4.0, 0.0, 6.0, 20240102.0),
        )
    ]
    assert "times, read as hour and weekday: 'when', 'day'" in stream.notes
    assert stream.text_features == ()


def test_csv_target_with_more_than_two_values() -> None:
    labels = ["fraud", "fine", "unknown", "fine"] * 3
    rows = "".join(f"{i},{y}\n" for i, y in enumerate(labels))
    stream = read_csv("i,y\n" + rows, positive="fraud")
    assert [y for _, y in stream.examples] == [label == "fraud" for label in labels]
    assert stream.notes[1] == "the other values of 'y' are negative: 'fine', 'unknown'"


@pytest.mark.parametrize("length, has_note", [(1, False), (3, True), (50, True)])
def test_labels_in_runs_are_pointed_out(length: int, has_note: bool) -> None:
    rng = random.Random(1)
    labels = [y for _ in range(900 // length) for y in [int(rng.random() < 0.2)] * length]
    text = "i,y\n" + "".join(f"{i % 7},{y}\n" for i, y in enumerate(labels))
    n_runs = 1 + sum(a != b for a, b in itertools.pairwise(labels))
    notes = read_csv(text).notes
    assert any(note.startswith(f"'y' comes in {n_runs} runs, ") for note in notes) == has_note
    assert len(read_csv(text, shuffle=True).notes) == 1


# --- both formats --------------------------------------------------------------------------------

READERS: dict[str, tuple[Callable[..., Stream], str, str, str]] = {
    "csv": (read_csv, "1,y\n", "{x},{y:d}\n", "y"),
    "libsvm": (read_libsvm, "", "{y:d} 1:{x}\n", "label"),
}


@pytest.mark.parametrize("kind", READERS)
def test_order_limit_and_shuffle(kind: str) -> None:
    read, header, row, _ = READERS[kind]
    text = header + "".join(row.format(x=i, y=i % 3 == 0) for i in range(30))

    def order(**options: Any) -> list[float]:
        stream = read(text, **options)
        examples = list(stream.examples)
        assert len(examples) == stream.size
        assert sum(y for _, y in examples) == stream.positives
        return [x["1"] for x, _ in examples]

    assert order() == order(limit=1000) == list(range(30))
    assert order(limit=7) == list(range(7))
    expected = list(range(30))
    random.Random(5).shuffle(expected)
    assert order(shuffle=True, seed=5) == expected
    assert order(shuffle=True, seed=5, limit=10) == expected[:10]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", READERS)
def test_rows_sorted_by_class_are_pointed_out(kind: str, reverse: bool) -> None:
    read, header, row, target = READERS[kind]
    labels = sorted((i % 2 for i in range(10)), reverse=reverse)
    text = header + "".join(row.format(x=i, y=y) for i, y in enumerate(labels))
    hint = f"the rows are sorted by {target!r}, which is not a fair stream: try --shuffle"
    assert hint in read(text).notes
    assert hint not in read(text, shuffle=True).notes


def test_excluded_features() -> None:
    stream = read_csv("a,b,c d,y\n1,2,x,0\n3,4,z,1\n", exclude=["a", "c d"])
    assert [x for x, _ in stream.examples] == [{"b": 2.0}, {"b": 4.0}]
    assert stream.text_features == ()
    stream = read_libsvm("1 1:2 2:5\n0 3:4 1:1\n1 7:1\n", exclude=["1", "7"])
    assert [x for x, _ in stream.examples] == [{"2": 5.0}, {"3": 4.0}, {}]
    stream = named_stream("Phishing", exclude=["https"], limit=30)
    assert {len(x) for x, _ in stream.examples} == {8}


# --- LIBSVM --------------------------------------------------------------------------------------


def test_libsvm_rows_become_examples() -> None:
    stream = read_libsvm("# a comment\n+1 1:0.5 12:-3\n\n-1 qid:4 3:1e2 # 7:1\r\n-1\n+1 2:0")
    assert list(stream.examples) == [
        ({"1": 0.5, "12": -3.0}, True),
        ({"3": 100.0}, False),
        ({}, False),
        ({"2": 0.0}, True),
    ]
    assert (stream.size, stream.positives, stream.is_wide) == (4, 2, False)
    assert stream.scalers == ("none", "standard", "maxabs")
    assert stream.notes == ("2 of 4 rows are positive (label = 1)",)


@pytest.mark.parametrize(
    "labels, positive, expected, note",
    [
        ("+1 -1 1", None, "1 0 1", "(label = 1)"),
        ("2 1 2", None, "1 0 1", "(label = 2)"),
        ("-2.5 -1.5 -2.5", None, "0 1 0", "(label = -1.5)"),
        ("1 -1 1", "-1.0", "0 1 0", "(label = -1)"),
        ("1 2 3 1", "+1", "1 0 0 1", "the other labels are negative: '2', '3'"),
    ],
)
def test_libsvm_labels(labels: str, positive: str | None, expected: str, note: str) -> None:
    text = "".join(f"{label} 1:1\n" for label in labels.split())
    stream = read_libsvm(text, positive=positive)
    assert [y for _, y in stream.examples] == [y == "1" for y in expected.split()]
    assert stream.notes[-1].endswith(note)


def test_libsvm_is_not_held_in_memory() -> None:
    path = write("".join(f"{i % 2} {i}:1 {i + 1}:2\n" for i in range(1, 60_000)))
    n_rows, peak = traced(lambda: sum(1 for _ in libsvm_stream(path).examples))
    assert n_rows == 59_999
    assert peak < 1e6


def traced(work: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of some work and its peak memory in bytes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- compressed files ----------------------------------------------------------------------------

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
CSV_FILE = "--csv FILE --target y --positive 1".split()
every_kind = pytest.mark.parametrize("kind", COMPRESS)


@every_kind
@pytest.mark.parametrize("name", ["data.{}", "no suffix"])
def test_compressed_files(kind: str, name: str) -> None:
    path = write(COMPRESS[kind](GOOD.encode("utf-8-sig")), name.format(kind))
    examples = csv_stream(path, target="y", positive="1").examples
    assert list(examples) == list(read_csv(GOOD).examples)
    stream = read_libsvm(COMPRESS[kind](b"1 1:2\n0 3:4\n"))
    assert list(stream.examples) == [({"1": 2.0}, True), ({"3": 4.0}, False)]


@every_kind
@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: data[:12] + b"x" * 40])
def test_damaged_compressed_files(kind: str, damage: Callable[[bytes], bytes]) -> None:
    write(damage(COMPRESS[kind](GOOD.encode() * 50)))
    message = refusal("compare", *CSV_FILE)
    assert message.startswith("FILE: the compressed file is damaged or cut off: ")


@every_kind
@pytest.mark.parametrize(
    "kind_of_file, beginning, row",
    [("--csv", b"a,y\n", b"7"), ("--csv", b"a,y\n", b'"\n",'), ("--libsvm", b"1 1:", b"7")],
    ids=["CSV in one line", "CSV in many lines", "LIBSVM"],
)
def test_a_row_without_end(
    monkeypatch: pytest.MonkeyPatch, kind: str, kind_of_file: str, beginning: bytes, row: bytes
) -> None:
    """A bomb of 32 MiB is refused in bounded memory; xz alone takes 8 MiB."""
    monkeypatch.setattr(text_file, "MAX_ROW", 2**17)
    path = write(COMPRESS[kind](beginning + row * (2**25 // len(row))))
    assert path.stat().st_size < 2**17
    options = CSV_FILE if kind_of_file == "--csv" else ["--libsvm", "FILE"]
    message, peak = traced(lambda: refusal("compare", *options))
    assert message == "FILE: a row has more than 131,072 characters"
    assert peak < 2**24


@every_kind
def test_a_file_that_expands_too_much(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "MAX_DECOMPRESSED", 2**20)
    rows = GOOD.encode() + b"7,8,1\n" * 2**18
    write(COMPRESS[kind](rows))
    assert refusal("compare", *CSV_FILE).startswith("FILE: expands to more than 0.000976562 GiB; ")
    # The limit is on what is read, and plain files have none.
    csv_stream(pathlib.Path("FILE"), target="y", positive="1", limit=1000)
    assert read_csv(rows).size == 3 + 2**18


# --- files that are refused ----------------------------------------------------------------------

NOT_UTF_8 = "not UTF-8 text; save it as UTF-8"
NO_FEATURE = "no column besides 'y' can serve as a feature"


@pytest.mark.parametrize(
    "content, options, message",
    [
        ("", "", "the file is empty"),
        ("\n\n", "", "the file is empty"),
        ("a,b,y\n", "", "there is a header but no row below it"),
        ("a,b,y\n1,2,0\n3,1\n", "", "line 3 has 2 cells, the header has 3; a cell with a comma"),
        ("a,b,y\n1,2,0\n3,4,1,9\n", "", "line 3 has 4 cells, the header has 3; a cell with a"),
        ("a,b,y\n1,2,1\n3,4,1\n", "", "each of the 2 examples is positive; a larger --limit may"),
        ("a,b,y\n1,2,0\n3,4,0\n", "", "'1' never occurs in column 'y' of 2 rows, which holds '0'"),
        ("a,y\n1,0\n2,0\n3,1\n", "--limit 2", "'1' never occurs in column 'y' of 2 rows, which"),
        ("a,y\n1,True\n2,no\n", "", "'1' never occurs in column 'y' of 2 rows, which holds 'True'"),
        ("a,b,y\n1,2,0\n3,4,NA\n", "", "line 3: the target 'y' is missing ('NA'); fill it in or"),
        ("a,a,y\n1,2,0\n3,4,1\n", "", "the column 'a' occurs twice in the header; rename one"),
        ("y\n0\n1\n", "", NO_FEATURE),
        (",a,y\n7,,0\n8,?,1\n", "", NO_FEATURE),
        (GOOD, "--exclude a b", NO_FEATURE),
        (
            GOOD,
            "--exclude a B",
            "no column 'B' to exclude (did you mean 'b'?); the columns are",
        ),
        (GOOD, "--include c", "no column 'c' to include; the columns are 'a', 'b', 'y'"),
        (GOOD, "--exclude y", "'y' is the target and cannot be excluded"),
        (
            "row,y\n" + "".join(f"{i},{i % 2}\n" for i in range(100)),
            "",
            f"{NO_FEATURE}; 'row' look like ids: --include keeps them",
        ),
        ("a;y\n7;0\n", "", "no column 'y'; the columns are 'a;y'; are they separated by commas?"),
        (GOOD, "--target Y", "no column 'Y' (did you mean 'y'?); the columns are 'a', 'b', 'y'"),
        ('a,y\n1,0\n2,"1\n3,0\n', "", "the row that begins in line 3 is not CSV: unexpected end"),
        (b"a,y\n\xe9,1\nb,0\n", "", NOT_UTF_8),
        ("a,y\n1,0\n".encode("utf-16"), "", NOT_UTF_8),
    ],
)
def test_bad_csv(content: str | bytes, options: str, message: str) -> None:
    write(content)
    assert refusal("compare", *CSV_FILE, *options.split()).startswith(f"FILE: {message}")


@pytest.mark.parametrize(
    "content, options, message",
    [
        ("", "", "there is no row in it"),
        ("# nothing\n\n", "", "there is no row in it"),
        ("1\n-1\n", "", "no row has a feature"),
        ("1 1:1\nx 1:1\n", "", "line 2: the label 'x' is not a number"),
        ("1 1:1\nnan 1:1\n", "", "line 2: the label 'nan' is not a number"),
        ("# c\n1 1:1 2\n", "", "line 2: '2' is not of the form INDEX:VALUE, a whole number and"),
        ("1 1:x\n", "", "line 1: '1:x' is not of the form INDEX:VALUE"),
        ("1 1:inf\n", "", "line 1: '1:inf' is not of the form INDEX:VALUE"),
        ("1 -1:1\n", "", "line 1: '-1:1' is not of the form INDEX:VALUE"),
        ("1 1:1 2:1 1:3\n", "", "line 1: the index 1 occurs twice"),
        ("1 1:1\n1 2:1\n", "", "two labels are needed, not '1'; a larger --limit may help"),
        ("1 1:1\n2 2:1\n0 1:1\n", "", "two labels are needed, not '0', '1', '2'; --positive VALUE"),
        ("1 1:1\n-1 1:1\n", "--positive 3", "the label '3' never occurs; there are '-1', '1'"),
        ("1 1:1\n-1 1:1\n", "--positive nan", "the label 'nan' never occurs; there are '-1', '1'"),
        ("1 1:1\n0 7:1\n", "--exclude 9", "no index '9' to exclude (the nearest is '7')"),
        ("1 1:1\n0 7:1\n", "--exclude age", "no index 'age' to exclude: they are whole numbers"),
        ("1 1:1\n0 7:1\n", "--exclude 1 7", "no row has a feature"),
        (b"\xff\xfe1 1:1\n", "", NOT_UTF_8),
    ],
)
def test_bad_libsvm(content: str | bytes, options: str, message: str) -> None:
    write(content)
    said = refusal("compare", "--libsvm", "FILE", *options.split())
    assert said.startswith(f"FILE: {message}")


def test_files_that_cannot_be_read_twice(tmp_path: pathlib.Path) -> None:
    names = ["none.csv", "."]
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        names.append("pipe")
    for name in names:
        message = refusal("compare", "--csv", name, "--target", "y", "--positive", "1")
        assert message == f"{name}: there is no such file, or it is not a regular one"


def test_a_message_with_line_breaks_stays_on_one_line() -> None:
    write('"a\nb",y\n1,0\n2,1\n', name="two\nlines.csv")
    options = ["--csv", "two\nlines.csv", "--target", "z", "--positive", "1"]
    assert refusal("compare", *options).startswith("two lines.csv: no column 'z'")
