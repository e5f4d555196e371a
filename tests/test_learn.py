"""The commands `learn`, `score` and `explain`, and the readers of files."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import json
import lzma
import os
import pathlib
import random
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import call, output, refusal

from river_oauc import OAUCM, AutoOAUC, SparseOAUCM, model_file
from river_oauc.cli import saved, writing
from river_oauc.cli.readers import rows as rows_module
from river_oauc.cli.readers import source as source_module
from river_oauc.cli.readers.rows import read_rows
from river_oauc.cli.readers.source import open_source

PROGRAM = [sys.executable, "-c", "from river_oauc_command import main; raise SystemExit(main())"]
LEARN = ("--target", "fraud", "--model", "m.oauc")
SPARSE = (*LEARN, "--learner", "SparseOAUCM")


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def payments(n: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        amount, country = round(rng.expovariate(0.02), 2), rng.choice(["FR", "IT", "DE"])
        fraud = int(rng.random() < (0.3 if country == "IT" and amount > 60 else 0.05))
        rows.append({"amount": amount, "country": country, "n": rng.randint(0, 9), "fraud": fraud})
    return rows


def write(content: str | bytes, name: str = "f") -> str:
    pathlib.Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def write_csv(rows: Sequence[dict[str, Any]], name: str = "data.csv", **options: Any) -> str:
    with open(name, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)
    return name


def write_json(rows: Iterable[dict[str, Any]], name: str = "data.jsonl") -> str:
    return write("".join(json.dumps(row, default=str) + "\n" for row in rows), name)


def learned(rows: Iterable[dict[str, Any]], model: Any = None) -> Any:
    """Return a model that has learned rows through the API, as the command does."""
    model = SparseOAUCM() if model is None else model
    for row in rows:
        x = {name: value for name, value in row.items() if name != "fraud"}
        model.score_one(x)
        model.learn_one(x, row["fraud"] == 1)
    return model


def same_model(model: Any, path: str = "m.oauc") -> bool:
    return model_file.to_bytes(model_file.load(path)) == model_file.to_bytes(model)


def scored(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# --- Reading -------------------------------------------------------------------------------------


def read(path: str) -> list[tuple[int, dict[str, Any]]]:
    with open_source(path) as source:
        return [(row.line, row.record) for row in read_rows(source)]


def test_what_is_read_of_text() -> None:
    write('\ufeff,amount, colour ,when\n0,1.5, red,2024-02-29\n\n1,-2e3,,?\n2,3,"a,\n b",')
    assert read("f") == [
        (2, {"amount": "1.5", "colour": " red", "when": "2024-02-29"}),
        (4, {"amount": "-2e3", "colour": "", "when": "?"}),
        (5, {"amount": "3", "colour": "a,\n b", "when": ""}),
    ]
    write('{"card": {"country": "FR", "bank": {"id": "007"}}, "none": {}}\n\n{"a": null}')
    assert read("f") == [(1, {"card.country": "FR", "card.bank.id": "007"}), (3, {"a": None})]
    write("# made by hand\n+1 1:0.5 7:2 # a comment\n\n-1 qid:3 2:1e3\n-1")
    assert read("f") == [
        (2, {"label": 1.0, "1": 0.5, "7": 2.0}),
        (4, {"label": -1.0, "2": 1000.0}),
        (5, {"label": -1.0}),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separators_and_encodings_are_detected(separator: str, encoding: str) -> None:
    rows = [{"café,;": "à, la; carte", "n": "1"}, {"café,;": "crème", "n": "2"}]
    write_csv(rows, delimiter=separator, encoding=encoding, quoting=csv.QUOTE_ALL)
    assert [record for _, record in read("data.csv")] == rows


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl", "data.parquet"])
def test_compressed_files(name: str) -> None:
    rows = payments(300)
    write_csv(rows)
    write_json(rows)
    pd.DataFrame(rows).to_parquet("data.parquet")
    for compress in (gzip.compress, bz2.compress, lzma.compress):
        write(compress(pathlib.Path(name).read_bytes()))
        assert read("f") == read(name)


@pytest.mark.parametrize("has_pandas", [True, False])
def test_values_of_parquet(has_pandas: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    far = pa.array([300_000_000_000_000], pa.timestamp("ms"))
    night = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns", "Europe/Rome"))
    card = pa.array([{"country": "FR", "at": datetime.time(18, 30)}])
    pq.write_table(pa.table({"far": far, "night": night, "card": card, "raw": [b"\0"]}), "f")
    if not has_pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    ((_, record),) = read("f")
    assert str(record.pop("far")).startswith("11476-08-15T05:20")
    assert record.pop("night").hour == 23
    assert record == {"card.country": "FR", "card.at": datetime.time(18, 30), "raw": b"\0"}


TWICE = pa.table([[1], [2], [0]], names=["a", "a", "fraud"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,fraud\n1,0\n2\n3,1\n", "line 3: 1 cells below a header of 2"),
        ('a,fraud\n1,0\n"2"1,0\n', "line 3 is not CSV.*quote"),
        ("a,a,fraud\n1,2,0\n", "'a' occurs twice"),
        ('{"a": 1, "a": 0}\n', "line 1: 'a' occurs twice"),
        ('{"a.b": 1, "a": {"b": 2}}\n', "line 1: 'a.b' occurs twice"),
        (TWICE, "line 1: 'a' occurs twice"),
        ('{"a": 1, "fraud": 0}\n{"a": \n', "line 2: not JSON"),
        ('{"a": 1, "fraud": 0}\n[1]\n', r"line 2: '\[1\]' is not an object"),
        ('{"a": ' + "[" * 100_000 + "\n", "line 1: maximum recursion depth"),
        ("1 1:2\n-1 1:2 1:3\n", "line 2: '1' occurs twice"),
        ("1 1:2\n-1 1:x\n", "line 2: could not convert string to float: 'x'"),
        (b"PAR1nonsense", "the Parquet file is damaged"),
        (gzip.compress(b"a,fraud\n" * 1000, mtime=0)[:-20], "damaged or cut off"),
        (b"a,fraud\n" + b"x,0\n" * 2**17 + b"\xe9,0\n", "in another encoding; save it as UTF-8"),
        (b"PK\x03\x04" + bytes(99), "a zip file"),
        (b"\x28\xb5\x2f\xfd" + bytes(99), "a zst file"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_files_that_cannot_be_read(content: Any, message: str) -> None:
    if isinstance(content, pa.Table):
        pq.write_table(content, "f")
    else:
        write(content)
    said = call("learn", "f", *SPARSE)
    assert said.code == 2
    (line,) = said.error.splitlines()
    assert re.search(message, line) and len(line) < 300, line


def test_rows_that_expand_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_ROW_BYTES", 2**16)
    monkeypatch.setattr(rows_module, "MAX_ROW_BYTES", 2**16)
    for content in (b"a,fraud\n" + b"1" * 2**22, b"a,fraud\n" + b"\n" * 2**22 + b"1,1\n"):
        write(lzma.compress(content))
        assert "a row has more than 65,536 bytes" in refusal("learn", "f", *SPARSE)
    for value in ("x" * 10**6, [0] * 10**6):
        pq.write_table(pa.table({"a": [value], "fraud": [1]}), "f", compression="zstd")
        assert "a row has more than 65,536 bytes" in refusal("learn", "f", *SPARSE)
    write(json.dumps({"k" * 5_000: {str(i): i for i in range(20)}}) + "\n")
    assert "its names have more than 65,536 characters" in refusal("learn", "f", *SPARSE)


# --- Learning ------------------------------------------------------------------------------------


def test_all_formats_give_the_model_of_the_api() -> None:
    rows = payments(300)
    pd.DataFrame(rows).to_parquet("data.parquet")
    for path in (write_csv(rows), write_json(rows), "data.parquet"):
        output("learn", path, "--target", "fraud", "--model", f"{path}.oauc")
        assert same_model(learned(rows, AutoOAUC(seed=42)), f"{path}.oauc"), path
    with open("data.csv", "rb") as stdin:
        subprocess.run([*PROGRAM, "learn", "-", *SPARSE], stdin=stdin, check=True)
    assert same_model(learned(rows))
    write("".join(f"{2 * (i % 3) - 1} 1:{i} 2:1\n" for i in range(2)) * 40)
    assert "learned 80 rows" in output("learn", "f", "--model", "libsvm.oauc")


@pytest.mark.parametrize("learner", ["SparseOAUCM", "AutoOAUC"])
def test_a_record_means_the_same_by_every_way_in(learner: str) -> None:
    rng = random.Random(7)
    start = datetime.datetime(2024, 2, 29)
    rows = [
        row
        | {
            "amount": None if i % 9 == 4 else row["amount"],
            "new": rng.random() < 0.5,
            "at": start + datetime.timedelta(minutes=rng.randrange(10**5)),
            "day": datetime.date(2024, 1, 1 + i % 28),
            "id": f"{i % 7:03}",
            "country": None if i % 11 == 3 else row["country"],
        }
        for i, row in enumerate(payments(700))
    ]
    output("learn", write_csv(rows[:300], "past.csv"), *LEARN, "--learner", learner)
    model = model_file.load("m.oauc")
    typed = [{name: row[name] for name in row if name != "fraud"} for row in rows[300:]]
    names = typed[0].keys()
    expected = [model.score_one(x) for x in typed]
    assert len(set(expected)) > 300

    frame, arrow = pd.DataFrame(typed), pa.Table.from_pylist(typed)
    pq.write_table(arrow, "new.parquet")
    frame.to_csv("pandas.csv")
    ways = {
        "strings": [model.score_one(x) for x in csv.DictReader(open(write_csv(typed, "new.csv")))],
        "pandas": model.score_many(frame),
        "pandas, as objects": model.score_many(frame.astype(object)),
        "polars": model.score_many(pl.from_arrow(arrow)),
        "pyarrow": model.score_many(arrow).to_pylist(),
    }
    for path in ("new.csv", "pandas.csv", write_json(typed, "new.jsonl"), "new.parquet"):
        ways[path] = [float(row["score"]) for row in scored(output("score", "m.oauc", path))]
    assert names == {"amount", "country", "n", "new", "at", "day", "id"}
    for way, scores in ways.items():
        assert list(scores) == expected, way


def test_the_same_command_resumes_where_it_stopped() -> None:
    rows = payments(200)
    write_csv(rows[:120])
    assert "learned 120 rows" in output("learn", "data.csv", *SPARSE)
    assert "nothing to learn" in output("learn", "data.csv", *SPARSE)
    write_csv(rows)
    said = output("learn", "data.csv", *SPARSE)
    assert "120 rows had been learned before" in said and "learned 80 rows" in said
    assert same_model(learned(rows))
    # Moved or compressed, it is the same file; of another one, everything is new.
    os.rename("data.csv", "data.csv.1")
    write(gzip.compress(pathlib.Path("data.csv.1").read_bytes()), "data.csv.1.gz")
    assert output("learn", "data.csv.1", "data.csv.1.gz", *SPARSE).count("nothing to learn") == 2
    more = payments(50, seed=2)
    assert "learned 50 rows" in output("learn", write_csv(more), *SPARSE)
    assert same_model(learned([*rows, *more]))


def test_of_files_that_begin_alike_each_row_is_learned_once() -> None:
    """Exports from the first of the month on, and a growing log with an early copy."""
    rows = payments(150)
    files = ["log"]
    for night in range(1, 6):
        files.append(write_csv(rows[: 30 * night], f"{night}.csv"))
        if night == 2:
            files.append(write_csv(rows[:60], "copy"))
        write_csv(rows[: 30 * night], "log")
        random.Random(night).shuffle(files)
        output("learn", *files, *SPARSE)
        assert same_model(learned(rows[: 30 * night])), night


def test_a_log_that_is_rotated_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, more = payments(100), payments(30, seed=2)
    write_csv(rows, "log")
    real = saved.SavedModel.write

    def write_and_rotate(*args: Any) -> None:
        real(*args)
        if not os.path.exists("log.1"):
            os.rename("log", "log.1")
            write_csv(more, "log")

    monkeypatch.setattr(saved.SavedModel, "write", write_and_rotate)
    output("learn", "log", *SPARSE, "--every", "40")
    assert same_model(learned(rows))
    said = output("learn", "log.1", "log", *SPARSE)
    assert "log.1: nothing to learn" in said and "log: learned 30 rows" in said


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("id,amount,fraud\nä1,2.5,1\nä2,10.25,0\n", SPARSE),
        ('fraud,text\n1,"a ""b""\n"\n0,"one\r\ntwo"\n', SPARSE),
        ('fraud,text\r\n1,a\r\n0,"b"\r\n', SPARSE),
        ('{"fraud": 1, "a": 2.5}\n\n{"fraud": 0, "ä": 10.25}\n', SPARSE),
        ("-1 1:0.5\n+1 1:25 2:1\n", ("--model", "m.oauc", "--learner", "SparseOAUCM")),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_last_row_that_is_still_being_written(
    content: str, options: tuple[str, ...], encoding: str
) -> None:
    data = content.encode(encoding)
    write(data)
    output("learn", "f", *options)
    whole = model_file.to_bytes(model_file.load("m.oauc"))
    for n in range(len(data) // 3, len(data)):
        os.remove("m.oauc")
        for part in (data[:n], data):
            write(part)
            output("learn", "f", *options)
        assert model_file.to_bytes(model_file.load("m.oauc")) == whole, data[:n]


def test_a_last_row_without_an_end_is_reported() -> None:
    write("a,fraud\n1,0\n2,1")
    said = output("learn", "f", *SPARSE)
    assert "learned 1 rows" in said and "f: the last row has no end yet, and was not learn" in said
    assert "learned 1 rows" in output("learn", "f", *SPARSE, "--complete")
    write(gzip.compress(b"a,fraud\n1,0\n2,1"), "g")
    assert "learned 2 rows" in output("learn", "g", "--target", "fraud", "--model", "new.oauc")


LABELS = ["1 0", "1 -1", "True false", "1.0 0.0", "true false --positive 1", "2 1 --positive 2.0"]
LABELS += ["theft none --positive theft", "2024-02-29 2024-02-22 --positive 2024-02-29"]


@pytest.mark.parametrize("labels", LABELS)
def test_labels(labels: str) -> None:
    rows, (yes, no, *options) = payments(60), labels.split()
    write_csv([row | {"fraud": yes if row["fraud"] else no} for row in rows])
    output("learn", "data.csv", *SPARSE, *options)
    assert same_model(learned(rows))


def test_rows_without_a_label_or_with_a_bad_value_are_reported() -> None:
    rows = payments(60)
    written: list[dict[str, Any]] = [dict(row) for row in rows]
    written.insert(7, {"amount": 3.0})
    written.insert(9, {"amount": 3.0, "country": ["FR"], "fraud": 1})
    said = output("learn", write_json(written), *SPARSE)
    assert "1 rows have no label or" in said
    assert "1 rows were refused; the first: line 10: feature 'country' is ['FR'], a list" in said
    assert same_model(learned(rows))
    write_csv(rows, "again.csv")
    said = output("learn", "again.csv", *SPARSE[:2], "--model", "n", "--positive", "ja")
    assert "no row is positive: 'fraud' is never 'ja': it is '0', '1'" in said


def test_text_that_was_meant_otherwise_is_reported_once() -> None:
    rows = [
        {
            "eur": f"{i},50",
            "usd": f"$ {i}",
            "n": f"{i % 3},000.00",
            "code": "1,5" if i < 9 else "A",
            "fraud": 0,
        }
        | {"day": f"{i}/02/2024", "at": f"{i}.2.2024 18:30", "ip": "10.0.0.1", "iso": "2024-02-29"}
        for i in range(1, 29)
    ]
    write_csv(rows)
    said = output("learn", "data.csv", write_json(rows * 2), *SPARSE)
    for name, example in (("eur", "1,50"), ("usd", "$ 1"), ("n", "1,000.00")):
        hint = f"{name!r} is text such as {example!r}: if it is a number, write 1250.50"
        assert said.count(f"data.csv: {hint}") == 1
    for name, example in (("day", "1/02/2024"), ("at", "1.2.2024 18:30")):
        assert f"{name!r} is text such as {example!r}: if it is a date, write 2024-02-29" in said
    assert said.count("is text") == 5


def test_labels_that_come_later() -> None:
    rows = [row | {"id": i} for i, row in enumerate(payments(90))]
    write_json([{name: row[name] for name in row if name != "fraud"} for row in rows])
    labels = [{"id": row["id"], "fraud": row["fraud"]} for row in rows]
    random.Random(1).shuffle(labels)
    command = ["learn", "data.jsonl", "--labels", "labels.csv", "--id", "id", *SPARSE]
    write_csv([*labels[:40], {"id": "none", "fraud": 1}], "labels.csv")
    said = output(*command)
    assert "labels.csv: learned 40 rows" in said and "1 rows have no label or no record" in said
    write_csv([*labels[:40], {"id": "none", "fraud": 1}, *labels[40:]], "labels.csv")
    assert "labels.csv: learned 50 rows" in output(*command)
    assert same_model(learned(rows[label["id"]] for label in labels))
    for other, message in (
        (["--id", "x"], "no column 'x'"),
        (["--labels", "-"], "--labels FILE and --id COLUMN go together, and FILE is a file"),
        (["--labels", write("id,fraud\nx,0\n")], "f: no record has the 'id' of a label"),
    ):
        write_csv(labels, "labels.csv")
        assert message in refusal(*command, *other)


def test_files_of_other_features_are_refused() -> None:
    output("learn", write_csv(payments(40)), *SPARSE)
    before = pathlib.Path("m.oauc").read_bytes()
    for name, rows, message in (
        ("labels.csv", [{"id": i, "fraud": i % 2} for i in range(9)], "it has 0 of the 3 features"),
        ("few.csv", [{"amount": i, "fraud": 0} for i in range(9)], "it has 1 of the 3 features"),
        (
            "comma.csv",
            [row | {"amount": f"{row['amount']},5"} for row in payments(9)],
            "'amount' is text, and was a number in what the model has learned",
        ),
    ):
        said = refusal("learn", write_csv(rows, name), *SPARSE)
        assert said.startswith(f"{name}: {message}") and "--allow-new-features learns it" in said
        assert pathlib.Path("m.oauc").read_bytes() == before
    # A few of another kind, unknown values and a feature more are no other file.
    rows = [
        row | {"amount": "x" if i == 7 else row["amount"]} for i, row in enumerate(payments(20))
    ]
    output("learn", write_csv([row | {"n": "", "new": 1} for row in rows], "good.csv"), *SPARSE)
    output("learn", "comma.csv", *SPARSE, "--allow-new-features")
    with open("few.csv", "rb") as stdin:
        done = subprocess.run([*PROGRAM, "learn", "-", *SPARSE], stdin=stdin, capture_output=True)
    assert b"it has 1 of the 4 features" in done.stderr


def test_many_small_files_are_learned_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is not written for each of them."""
    files = [write_csv(payments(5, seed), f"{seed}.csv") for seed in range(30)]
    real, n_written = saved.SavedModel.write, []
    monkeypatch.setattr(saved.SavedModel, "write", lambda *a: n_written.append(1) or real(*a))
    output("learn", *files, *SPARSE, "--every", "60")
    assert len(n_written) == 3
    assert same_model(learned(row for seed in range(30) for row in payments(5, seed)))


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, KeyboardInterrupt, OverflowError])
def test_whatever_ends_a_run_keeps_what_was_learned(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = payments(60)
    write_csv(rows)
    real = SparseOAUCM.learn_one

    def fail(model: SparseOAUCM, x: dict[str, Any], y: bool) -> None:
        if x["amount"] == str(rows[40]["amount"]):
            if error is not KeyboardInterrupt:
                raise error
            # It waits until the row is learned.
            os.kill(os.getpid(), signal.SIGINT)
        real(model, x, y)

    with monkeypatch.context() as patch, pytest.raises(BaseException) as raised:
        patch.setattr(SparseOAUCM, "learn_one", fail)
        raise SystemExit(call("learn", "data.csv", *SPARSE).code)
    assert raised.type is error or raised.value.code in (2, 130)
    assert same_model(learned(rows[: 41 if error is KeyboardInterrupt else 40]))
    output("learn", "data.csv", *SPARSE)
    assert same_model(learned(rows))


def test_what_was_learned_before_a_damaged_row_is_kept() -> None:
    rows = payments(60)
    write_csv(rows)
    with open("data.csv", "a") as file:
        file.write("1,2\n")
    assert "line 62: 2 cells" in refusal("learn", "data.csv", *SPARSE)
    write_csv(rows + payments(5, seed=3))
    assert "learned 5 rows" in output("learn", "data.csv", *SPARSE)
    assert same_model(learned(rows + payments(5, seed=3)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("data.csv --target frod", "no column 'frod' (did you mean 'fraud'?)"),
        ("data.csv", "no column 'label'"),
        ("data.csv --target country", "unless its values are 1 and 0, 1 and -1, or true and false"),
        ("data.csv --target fraud --exclude x", "no column 'x'"),
        ("data.csv --target fraud --exclude amount country n", "no column is left to learn from"),
        ("none.csv --target fraud", "none.csv: No such file or directory"),
        (". --target fraud", ".: Is a directory"),
    ],
)
def test_requests_that_are_refused(arguments: str, message: str) -> None:
    write_csv(payments(20))
    assert message in refusal("learn", "--model", "m.oauc", *arguments.split())
    assert os.listdir() == ["data.csv"]


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("learn", "-", *SPARSE) == "standard input is closed"


def test_a_model_goes_on_as_it_was_begun() -> None:
    write_csv(payments(40))
    output("learn", "data.csv", *SPARSE, "--exclude", "n")
    before = pathlib.Path("m.oauc").read_bytes()
    for other in ("--target n", "--positive 1", "--exclude country", "--learner OTAUC"):
        said = refusal("learn", "data.csv", "--model", "m.oauc", *other.split())
        assert "it was made with" in said
    assert pathlib.Path("m.oauc").read_bytes() == before
    # Nothing needs to be said twice, and a model made in Python learns on.
    write_csv(payments(40) + payments(10, seed=4))
    assert "learned 10 rows" in output("learn", "data.csv", "--model", "m.oauc")
    rows = payments(60)
    model = learned(rows[:30], SparseOAUCM(max_categories=100))
    model_file.save(model, "python.oauc")
    output("learn", write_csv(rows[30:]), "--target", "fraud", "--model", "python.oauc")
    assert same_model(learned(rows[30:], model), "python.oauc")


# --- The model file ------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_one_command_at_a_time_writes_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(payments(20))
    write("", ".m.oauc.dead.tmp")
    with writing.locked(pathlib.Path("m.oauc"), "model"):
        said = refusal("learn", "data.csv", *SPARSE)
        assert said == "m.oauc: another command is writing the model; try again later"
    output("learn", "data.csv", *SPARSE)
    # Nothing is left behind, by killed commands neither.
    assert sorted(os.listdir()) == ["data.csv", "m.oauc"]

    def flock(*args: object) -> None:
        # The last owner removes the lock, and the next one makes another.
        os.remove(".m.oauc.lock")
        write("", ".m.oauc.lock")

    monkeypatch.setattr(writing.fcntl, "flock", flock)
    assert "another command" in refusal("learn", "data.csv", *SPARSE)


@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
def test_permissions_and_links_of_a_model_are_kept() -> None:
    os.mkdir("models")
    os.symlink("models/real.oauc", "m.oauc")
    output("learn", write_csv(payments(20)), *SPARSE)
    os.chmod("m.oauc", 0o640)
    output("learn", write_csv(payments(20, seed=2)), *SPARSE)
    assert stat.S_IMODE(os.stat("models/real.oauc").st_mode) == 0o640
    assert os.path.islink("m.oauc") and os.listdir("models") == ["real.oauc"]


def test_models_that_cannot_be_written_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(payments(20))
    no = "the model cannot be written there"
    for path in ("nowhere/m.oauc", "."):
        said = refusal("learn", "data.csv", "--target", "fraud", "--model", path)
        assert said == f"{path}: {no}"
    write("my thesis", "m.oauc")
    assert refusal("learn", "data.csv", *SPARSE) == "m.oauc: not a model file of river-oauc"
    assert pathlib.Path("m.oauc").read_text() == "my thesis"
    os.mkdir("read-only")
    os.symlink("read-only/m.oauc", "link.oauc")
    folder = os.path.realpath("read-only")
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != folder)
    said = refusal("learn", "data.csv", "--target", "fraud", "--model", "link.oauc")
    assert said == f"link.oauc: {no}"
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        assert refusal("learn", "data.csv", *LEARN[:2], "--model", "pipe") == f"pipe: {no}"
        assert refusal("score", "pipe", "data.csv") == "pipe: not a file"


# --- Interrupted ---------------------------------------------------------------------------------


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*PROGRAM, *arguments], stderr=subprocess.PIPE, **options)


def wait_for_model() -> None:
    deadline = time.monotonic() + 60
    while not os.path.exists("m.oauc"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "waiting"), [(signal.SIGINT, False), (signal.SIGTERM, True)], ids=str
)
def test_an_interrupt_keeps_what_was_learned(number: int, waiting: bool) -> None:
    """In the middle of a file, and while waiting for standard input."""
    rows = payments(300 if waiting else 100_000)
    path = write_csv(rows)
    process = start("learn", "-" if waiting else path, *SPARSE, "--every", "100", stdin=-1)
    if process.stdin and waiting:
        process.stdin.write(pathlib.Path(path).read_bytes())
        process.stdin.flush()
    wait_for_model()
    time.sleep(0.5 if waiting else 0.0)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"river-oauc: interrupted\n")
    notes = model_file.read("m.oauc").notes
    n = notes["rows"]
    assert n == 300 if waiting else 100 <= n < 100_000
    assert waiting or notes["files"][0][2:] == [n, "part"]
    assert same_model(learned(rows[:n]))


def killed_and_resumed(n_kills: int, n_rows: int, learner: str) -> None:
    rows = payments(n_rows)
    command = ["learn", write_csv(rows), *LEARN, "--learner", learner, "--every", "500"]
    rng = random.Random(n_kills)
    for _ in range(n_kills):
        process = start(*command)
        wait_for_model()
        time.sleep(2.0 * rng.random())
        process.kill()
        process.communicate()
    subprocess.run([*PROGRAM, *command], check=True)
    output(*command[:4], "--model", "whole.oauc", *command[6:])
    assert pathlib.Path("m.oauc").read_bytes() == pathlib.Path("whole.oauc").read_bytes()


def test_killed_at_its_end_it_ends_with_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(payments(40))
    output("learn", "data.csv", *SPARSE)
    whole = pathlib.Path("m.oauc").read_bytes()
    os.remove("m.oauc")
    real, n_before = saved.SavedModel.write, iter(range(3))

    def fail_at_the_end(*args: Any) -> None:
        if next(n_before) == 2:
            raise MemoryError
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(saved.SavedModel, "write", fail_at_the_end)
        assert "not enough memory" in refusal("learn", "data.csv", *SPARSE, "--every", "20")
    output("learn", "data.csv", *SPARSE)
    assert pathlib.Path("m.oauc").read_bytes() == whole


def test_killed_it_ends_with_the_same_model() -> None:
    killed_and_resumed(1, 10_000, "SparseOAUCM")


@pytest.mark.slow
def test_killed_20_times_it_ends_with_the_same_model() -> None:
    killed_and_resumed(20, 40_000, "AutoOAUC")


# --- Scoring and explaining ----------------------------------------------------------------------


def test_scores_are_those_of_the_model() -> None:
    rows = [row | {"id": f"p{i}"} for i, row in enumerate(payments(200))]
    rows[170]["id"] = "\ud800"
    output("learn", write_csv(rows[:150]), *SPARSE, "--exclude", "id")
    model: Any = model_file.load("m.oauc")
    write_json(rows[150:])
    reasons = ("--id", "id", "--reasons", "2", "--output", "s")
    assert not output("score", "m.oauc", "data.jsonl", *reasons)
    lines = scored(pathlib.Path("s").read_text())
    plain = scored(output("score", "m.oauc", "data.jsonl"))
    assert [line["id"] for line in lines] == [
        row["id"].replace("\ud800", "?") for row in rows[150:]
    ]
    assert [int(line["row"]) for line in plain] == list(range(1, 51))
    for row, line, other in zip(rows[150:], lines, plain, strict=True):
        x = {name: row[name] for name in ("amount", "country", "n")}
        assert float(line["score"]) == float(other["score"]) == model.score_one(x)
        assert float(line["probability"]) == model.predict_proba_one(x)[True]
        moves = sorted(model.explain_one(x).items(), key=lambda item: -abs(item[1]))[:2]
        assert line["reasons"] == ", ".join(f"{name} {move:+.3g}" for name, move in moves)


def test_an_output_replaces_another_file_at_the_end_only() -> None:
    output("learn", write_csv(payments(20)), *SPARSE)
    write_json([*payments(30), {"amount": [1, 2]}], "bad.jsonl")
    write("yesterday", "s")
    said = refusal("score", "m.oauc", "bad.jsonl", "--output", "s")
    assert said.startswith("bad.jsonl: line 31: feature 'amount' is [1, 2]")
    assert pathlib.Path("s").read_text() == "yesterday"
    os.link("data.csv", "hard")
    before = {name: pathlib.Path(name).read_bytes() for name in ("data.csv", "m.oauc")}
    for name in ("data.csv", "m.oauc", "hard"):
        said = refusal("score", "m.oauc", "data.csv", "--output", name)
        assert said == f"{name}: the output would replace the model or the input"
    assert before == {name: pathlib.Path(name).read_bytes() for name in before}
    assert sorted(os.listdir()) == ["bad.jsonl", "data.csv", "hard", "m.oauc", "s"]


def test_rows_that_cannot_be_scored_are_skipped() -> None:
    output("learn", write_csv(payments(20)), *SPARSE)
    lines = ['{"amount": 1, "n": 2}', '{"amount": [1]}', "{", '{"amount": 3}']
    write("\n".join(lines), "new.jsonl")
    assert "new.jsonl: line 2: feature 'amount'" in call("score", "m.oauc", "new.jsonl").error
    said = call("score", "m.oauc", "new.jsonl", "--on-error", "skip")
    assert said.code == 0 and [row["row"] for row in scored(said.out)] == ["1", "4"]
    refused = "river-oauc: new.jsonl: 2 rows were refused; the first: line 2: feature 'amount'"
    assert said.error.startswith(refused) and said.error.count("\n") == 1


def test_explain_shows_experts_and_features() -> None:
    output("learn", write_csv(payments(300)), *LEARN)
    said = output("explain", "m.oauc", "data.csv", "--limit", "50")
    assert "m.oauc: AutoOAUC, learned from 300 rows" in said
    features = said.partition("moves of the score over 50 rows of data.csv")[2]
    assert all(name in features for name in ("amount", "country", "n "))
    assert "trees" in output("explain", "m.oauc")
    write('{"amount": 1.5}\n{"amount": [1, 2]}\n', "bad.jsonl")
    assert "bad.jsonl: line 2: feature 'amount' is" in call("explain", "m.oauc", "bad.jsonl").error


def test_what_cannot_be_explained_or_scored_is_refused() -> None:
    write_csv([{"a": "x"}])
    model_file.save(OAUCM(), "m.oauc")
    assert "does not explain" in refusal("score", "m.oauc", "data.csv", "--reasons", "1")
    assert "is the string" in call("score", "m.oauc", "data.csv").error
    assert "does not explain" in call("explain", "m.oauc", "data.csv").error
    assert "not a model file" in refusal("score", "data.csv", "data.csv")
    assert "No such file" in refusal("score", "none.oauc", "data.csv")


def test_a_closed_pipe_is_no_error() -> None:
    output("learn", write_csv(payments(3_000)), *SPARSE)
    process = start("score", "m.oauc", "data.csv", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read() if process.stderr else b"", process.wait(60)) == (b"", 0)


@pytest.mark.slow
def test_long_files_take_constant_memory_and_at_most_twice_the_time_of_the_api() -> None:
    """1 GB of CSV, as the command is used: memory after 20 % and at the end, and the rate."""
    rows = [row | {"comment": "x" * 200} for row in payments(10_000)]
    start_of_api = time.process_time()
    learned(rows, AutoOAUC(seed=42))
    rate_of_api = len(rows) / (time.process_time() - start_of_api)
    header, _, body = pathlib.Path(write_csv(rows)).read_bytes().partition(b"\n")
    n_copies = 2**30 // len(body) + 1
    write(header + b"\n" + n_copies * body, "long.csv")
    process = psutil.Popen([*PROGRAM, "learn", "long.csv", *LEARN])
    sizes = []
    while process.poll() is None:
        sizes.append((process.cpu_times().user, process.memory_info().rss))
        time.sleep(1.0)
    seconds, _ = sizes[-1]
    rate = n_copies * len(rows) / seconds
    early = max(rss for at, rss in sizes if at < 0.2 * seconds)
    print(f"{rate:,.0f} rows per second, API {rate_of_api:,.0f}; {early:,} -> {sizes[-1][1]:,}")
    assert process.returncode == 0
    assert max(rss for _, rss in sizes) < early + 50e6
    assert rate > 0.5 * rate_of_api
