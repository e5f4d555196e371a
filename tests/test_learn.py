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
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import psutil
import pytest
from commands import call, output, refusal

from river_oauc import OAUCM, AutoOAUC, SparseOAUCM, model_file
from river_oauc.cli.readers import source as source_module
from river_oauc.cli.readers.rows import read_rows
from river_oauc.cli.readers.source import open_source

PROGRAM = [sys.executable, "-c", "from river_oauc_command import main; raise SystemExit(main())"]


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


def write_csv(rows: Sequence[dict[str, Any]], name: str = "data.csv", **options: Any) -> str:
    with open(name, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)
    return name


def write_json(rows: Iterable[dict[str, Any]], name: str = "data.jsonl") -> str:
    pathlib.Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def learned(rows: Iterable[dict[str, Any]], model: Any = None) -> Any:
    """Return a model that has learned rows through the API, as the command does."""
    model = AutoOAUC(seed=42) if model is None else model
    for row in rows:
        x = {name: value for name, value in row.items() if name != "fraud"}
        model.score_one(x)
        model.learn_one(x, row["fraud"] == 1)
    return model


def model_bytes(model: Any) -> bytes:
    return model_file.to_bytes(model)


def same_model(path: str, model: Any) -> bool:
    return model_bytes(model_file.load(path)) == model_bytes(model)


LEARN = ("--target", "fraud", "--model", "m.oauc")


# --- Reading -------------------------------------------------------------------------------------


def read(path: str) -> list[tuple[int, dict[str, Any]]]:
    with open_source(path) as source:
        return [(row.line, row.record) for row in read_rows(source)]


def test_csv_cells_become_values() -> None:
    pathlib.Path("f").write_text(
        '\ufeff,amount, colour ,when,y\n0,1.5,red,2024-02-29,no\n\n1,-2e3,,?,yes\n2,3,"a, b",,no\n'
    )
    assert read("f") == [
        (2, {"amount": 1.5, "colour": "red", "when": datetime.date(2024, 2, 29), "y": "no"}),
        (4, {"amount": -2000.0, "colour": None, "when": "?", "y": "yes"}),
        (5, {"amount": 3, "colour": "a, b", "when": None, "y": "no"}),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separators_and_encodings_are_detected(separator: str, encoding: str) -> None:
    rows = [{"café": "à, la; carte", "n": 1}, {"café": "crème", "n": 2}]
    write_csv(rows, delimiter=separator, encoding=encoding)
    assert [record for _, record in read("data.csv")] == rows


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["data.csv", "data.jsonl", "data.parquet"])
def test_compressed_files(compress: Any, name: str) -> None:
    rows = payments(30)
    write_csv(rows)
    write_json(rows)
    pd.DataFrame(rows).to_parquet("data.parquet")
    pathlib.Path("packed").write_bytes(compress(pathlib.Path(name).read_bytes()))
    assert [record for _, record in read("packed")] == rows


def test_json_objects_are_flattened_and_dates_are_read() -> None:
    pathlib.Path("f").write_text(
        '{"card": {"country": "FR", "bank": {"id": "007"}}, "at": "2024-02-29T18:30"}\n\n'
        '{"a": null}\n'
    )
    at = datetime.datetime(2024, 2, 29, 18, 30)
    assert read("f") == [
        (1, {"card.country": "FR", "card.bank.id": "007", "at": at}),
        (3, {"a": None}),
    ]


def test_libsvm_rows() -> None:
    pathlib.Path("f").write_text("# made by hand\n+1 1:0.5 7:2 # a comment\n\n-1 qid:3 2:1e3\n-1\n")
    assert read("f") == [
        (2, {"label": 1.0, "1": 0.5, "7": 2.0}),
        (4, {"label": -1.0, "2": 1000.0}),
        (5, {"label": -1.0}),
    ]


def test_parquet_values() -> None:
    frame = pd.DataFrame(
        {
            "at": [datetime.datetime(2024, 2, 29, 18, 30)],
            "of": [datetime.time(18, 30)],
            "card": [{"country": "FR"}],
            "raw": [b"\x00"],
        }
    )
    frame.to_parquet("f")
    ((_, record),) = read("f")
    assert record["at"] == datetime.datetime(2024, 2, 29, 18, 30)
    assert record["of"] == "18:30:00"
    assert record["card.country"] == "FR"
    assert record["raw"] == b"\x00"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,fraud\n1,0\n2\n", "line 3 has 1 cells, the header has 2"),
        ('a,fraud\n1,0\n"2,1\n', "line 3 is not CSV.*quote"),
        ("a,a,fraud\n1,2,0\n", "'a' occurs twice"),
        ('{"a": 1, "fraud": 0}\n{"a": \n', "line 2: not JSON"),
        ('{"a": 1, "fraud": 0}\n[1]\n', r"line 2: '\[1\]' is not an object"),
        ('{"a.b": 1, "a": {"b": 2}}\n', "line 1: 'a.b' occurs twice"),
        ("1 1:2\n-1 1:2 1:3\n", "line 2: '1:3' is not of the form INDEX:VALUE"),
        (b"PAR1nonsense", "the Parquet file is damaged"),
        (gzip.compress(b"a,fraud\n" * 1000, mtime=0)[:-20], "damaged or cut off"),
        (b"a,fraud\n" + b"x,0\n" * 2**17 + b"\xe9,0\n", "not utf-8 text any more"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_files_that_cannot_be_read(content: str | bytes, message: str) -> None:
    pathlib.Path("f").write_bytes(content if isinstance(content, bytes) else content.encode())
    said = call("learn", "f", "--learner", "SparseOAUCM", *LEARN)
    assert said.code == 2
    (line,) = said.error.splitlines()
    assert re.search(message, line), line


def test_a_row_without_end_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_ROW", 2**16)
    pathlib.Path("f").write_bytes(lzma.compress(b"a,fraud\n" + b"1" * 2**22))
    assert "a row has more than 65,536 characters" in refusal("learn", "f", *LEARN)


# --- Learning ------------------------------------------------------------------------------------


def test_all_formats_give_the_model_of_the_api() -> None:
    rows = payments(300)
    expected = learned(rows)
    pd.DataFrame(rows).to_parquet("data.parquet")
    for path in (write_csv(rows), write_json(rows), "data.parquet"):
        output("learn", path, "--target", "fraud", "--model", f"{path}.oauc")
        assert same_model(f"{path}.oauc", expected), path
    with open("data.csv", "rb") as stdin:
        subprocess.run([*PROGRAM, "learn", "-", *LEARN], stdin=stdin, check=True)
    assert same_model("m.oauc", expected)


def test_libsvm_needs_no_target() -> None:
    pathlib.Path("f").write_text("".join(f"{2 * (i % 3) - 1} 1:{i} 2:1\n" for i in range(2)) * 40)
    assert "learned 80 rows" in output("learn", "f", "--model", "m.oauc")


def test_the_same_command_goes_on_where_it_ended() -> None:
    rows = payments(200)
    write_csv(rows[:120])
    assert "learned 120 rows" in output("learn", "data.csv", *LEARN)
    assert "nothing to learn" in output("learn", "data.csv", *LEARN)
    write_csv(rows)
    said = output("learn", "data.csv", *LEARN)
    assert "120 rows had been learned before" in said
    assert "learned 80 rows" in said
    assert same_model("m.oauc", learned(rows))
    # Moved, it is the same file; of another file everything is new.
    os.rename("data.csv", "old.csv")
    assert "nothing to learn" in output("learn", "old.csv", *LEARN)
    more = payments(50, seed=2)
    write_csv(more)
    assert "learned 50 rows" in output("learn", "data.csv", *LEARN)
    assert same_model("m.oauc", learned([*rows, *more]))


def test_several_files_at_once() -> None:
    january, february = payments(60), payments(60, seed=2)
    output("learn", write_csv(january, "1.csv"), write_json(february, "2.jsonl"), *LEARN)
    assert same_model("m.oauc", learned([*january, *february]))


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (["1", "0"], []),
        (["1", "-1"], []),
        (["True", "false"], []),
        (["1.0", "0.0"], []),
        (["theft", "none"], ["--positive", "theft"]),
        (["2", "1"], ["--positive", "2"]),
        (["yes", "no"], ["--positive", "yes"]),
    ],
    ids=str,
)
def test_labels(labels: list[str], options: list[str]) -> None:
    rows = payments(60)
    write_csv([row | {"fraud": labels[0] if row["fraud"] else labels[1]} for row in rows])
    output("learn", "data.csv", *LEARN, *options)
    assert same_model("m.oauc", learned(rows))


def test_rows_without_a_label_or_with_a_bad_value_are_reported() -> None:
    rows = payments(60)
    written: list[dict[str, Any]] = [dict(row) for row in rows]
    written.insert(7, {"amount": 3.0})
    written.insert(9, {"amount": 3.0, "country": ["FR"], "fraud": 1})
    said = output("learn", write_json(written), *LEARN)
    assert "1 rows have no label" in said
    assert "1 rows were refused; line 10: feature 'country' is ['FR'], a list" in said
    assert same_model("m.oauc", learned(rows))


def test_what_was_learned_before_a_damaged_row_is_kept() -> None:
    rows = payments(60)
    write_csv(rows)
    with open("data.csv", "a") as file:
        file.write("1,2\n")
    assert "line 62 has 2 cells" in refusal("learn", "data.csv", *LEARN)
    assert same_model("m.oauc", learned(rows))
    write_csv(rows + payments(5, seed=3))
    assert "learned 5 rows" in output("learn", "data.csv", *LEARN)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.csv", "--target", "frod"], "no column 'frod' (did you mean 'fraud'?)"),
        (["data.csv"], "no column 'label'"),
        (
            ["data.csv", "--target", "country"],
            "neither 1 nor 0: --positive VALUE",
        ),
        (["data.csv", "--target", "fraud", "--exclude", "x"], "no column 'x'"),
        (["none.csv", "--target", "fraud"], "none.csv: there is no such file"),
        ([".", "--target", "fraud"], ".: there is no such file"),
    ],
    ids=str,
)
def test_requests_that_are_refused(arguments: list[str], message: str) -> None:
    write_csv(payments(20))
    assert message in refusal("learn", *arguments, "--model", "m.oauc")
    assert not os.path.exists("m.oauc")


def test_a_model_goes_on_as_it_was_begun() -> None:
    write_csv(payments(40))
    output("learn", "data.csv", *LEARN, "--exclude", "n")
    before = pathlib.Path("m.oauc").read_bytes()
    for other in (
        ["--target", "n"],
        ["--positive", "1"],
        ["--exclude", "country"],
        ["--learner", "SparseOAUCM"],
    ):
        assert "it was made with" in refusal("learn", "data.csv", "--model", "m.oauc", *other)
    assert pathlib.Path("m.oauc").read_bytes() == before
    # Nothing needs to be said twice.
    write_csv(payments(40) + payments(10, seed=4))
    assert "learned 10 rows" in output("learn", "data.csv", "--model", "m.oauc")


def test_a_model_made_in_python_goes_on() -> None:
    rows = payments(60)
    model = learned(rows[:30], SparseOAUCM(max_features=100))
    model_file.save(model, "m.oauc")
    output("learn", write_csv(rows[30:]), *LEARN)
    assert same_model("m.oauc", learned(rows[30:], model))


def test_labels_of_one_kind_are_reported() -> None:
    write_csv(payments(20))
    said = output("learn", "data.csv", *LEARN, "--positive", "fraud")
    assert "no row is positive; is --positive right?" in said


def test_no_model_is_written_over_another_file() -> None:
    pathlib.Path("m.oauc").write_text("my thesis")
    write_csv(payments(20))
    assert refusal("learn", "data.csv", *LEARN) == "m.oauc: not a model file of river-oauc"
    assert pathlib.Path("m.oauc").read_text() == "my thesis"


# --- Interrupted ---------------------------------------------------------------------------------


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*PROGRAM, *arguments], stderr=subprocess.PIPE, **options)


def wait_for_model() -> None:
    deadline = time.monotonic() + 60
    while not os.path.exists("m.oauc"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_learned(number: int) -> None:
    rows = payments(20_000)
    process = start("learn", write_csv(rows), *LEARN, "--every", "100")
    wait_for_model()
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"river-oauc: interrupted\n")
    saved = model_file.read("m.oauc")
    n = saved.notes["rows"]
    assert 100 <= n < 20_000
    assert saved.notes["files"][0]["n_rows"] == n
    assert model_bytes(saved.model) == model_bytes(learned(rows[:n]))


def test_an_interrupt_while_waiting_for_input_keeps_what_was_learned() -> None:
    rows = payments(300)
    process = start("learn", "-", *LEARN, "--every", "100", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(pathlib.Path(write_csv(rows)).read_bytes())
    process.stdin.flush()
    wait_for_model()
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"river-oauc: interrupted\n")
    assert model_file.read("m.oauc").notes["rows"] == 300


def killed_and_continued(n_kills: int, n_rows: int) -> None:
    rows = payments(n_rows)
    command = ["learn", write_csv(rows), *LEARN, "--every", "500"]
    rng = random.Random(n_kills)
    for _ in range(n_kills):
        process = start(*command)
        wait_for_model()
        time.sleep(2.0 * rng.random())
        process.kill()
        process.communicate()
    subprocess.run([*PROGRAM, *command], check=True)
    output("learn", "data.csv", "--target", "fraud", "--model", "whole.oauc", "--every", "500")
    assert pathlib.Path("m.oauc").read_bytes() == pathlib.Path("whole.oauc").read_bytes()


def test_killed_it_ends_with_the_same_model() -> None:
    killed_and_continued(1, 3_000)


@pytest.mark.slow
def test_killed_20_times_it_ends_with_the_same_model() -> None:
    killed_and_continued(20, 40_000)


# --- Scoring -------------------------------------------------------------------------------------


def scored(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_scores_are_those_of_the_model() -> None:
    rows = payments(200)
    output("learn", write_csv(rows[:150]), *LEARN, "--exclude", "n")
    model = model_file.load("m.oauc")
    for path in (write_csv(rows[150:], "new.csv"), write_json(rows[150:])):
        lines = scored(output("score", "m.oauc", path))
        assert [int(line["row"]) for line in lines] == list(range(1, 51))
        for row, line in zip(rows[150:], lines, strict=True):
            x = {"amount": row["amount"], "country": row["country"]}
            assert float(line["score"]) == model.score_one(x)
            assert float(line["probability"]) == model.predict_proba_one(x)[True]


def test_ids_reasons_and_an_output_file() -> None:
    rows = [row | {"id": f"p{i}"} for i, row in enumerate(payments(200))]
    output("learn", write_csv(rows), *LEARN, "--exclude", "id")
    assert not output(
        "score", "m.oauc", "data.csv", "--id", "id", "--reasons", "2", "--output", "s"
    )
    lines = scored(pathlib.Path("s").read_text())
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    model: Any = model_file.load("m.oauc")
    x = {name: rows[0][name] for name in ("amount", "country", "n")}
    moves = sorted(model.explain_one(x).items(), key=lambda item: -abs(item[1]))[:2]
    assert lines[0]["reasons"] == ", ".join(f"{name} {move:+.3g}" for name, move in moves)


def test_explain_shows_experts_and_features() -> None:
    output("learn", write_csv(payments(300)), *LEARN)
    said = output("explain", "m.oauc", "data.csv", "--limit", "50")
    assert "m.oauc: AutoOAUC, learned from 300 rows" in said
    assert "moves of the score over 50 rows of data.csv" in said
    features = said.partition("moves of")[2]
    assert all(name in features for name in ("amount", "country", "n "))
    assert "trees" in output("explain", "m.oauc")


def test_what_cannot_be_explained_or_scored_is_refused() -> None:
    write_csv(payments(20))
    model_file.save(OAUCM(), "m.oauc")
    assert "gives no --reasons" in refusal("score", "m.oauc", "data.csv", "--reasons", "1")
    assert "is the string" in call("score", "m.oauc", "data.csv").error
    assert "does not explain" in call("explain", "m.oauc", "data.csv").error
    assert "not a model file" in refusal("score", "data.csv", "data.csv")
    assert "No such file" in refusal("score", "none.oauc", "data.csv")


def test_a_closed_pipe_is_no_error() -> None:
    output("learn", write_csv(payments(3_000)), "--learner", "SparseOAUCM", *LEARN)
    process = start("score", "m.oauc", "data.csv", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read() if process.stderr else b"", process.wait(60)) == (b"", 0)


# --- Cost ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_long_files_take_constant_memory_and_at_most_twice_the_time_of_the_api() -> None:
    """1 GB of CSV, as the command is used: memory after 20 % and at the end, and the rate."""
    rows, size = payments(10_000), 2**30
    for row in rows:
        row["comment"] = "x" * 200
    start_of_api = time.process_time()
    learned(rows)
    rate_of_api = len(rows) / (time.process_time() - start_of_api)
    text = pathlib.Path(write_csv(rows)).read_bytes()
    header, _, body = text.partition(b"\n")
    with open("long.csv", "wb") as file:
        file.write(header + b"\n")
        n_copies = size // len(body) + 1
        for _ in range(n_copies):
            file.write(body)
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


@pytest.mark.parametrize("command", ["score", "explain"])
def test_a_refused_row_takes_one_line(command: str) -> None:
    output("learn", write_csv(payments(20)), *LEARN)
    pathlib.Path("bad.jsonl").write_text('{"amount": 1.5}\n{"amount": [1, 2]}\n')
    reasons = ["--reasons", "2"] if command == "score" else []
    said = call(command, "m.oauc", "bad.jsonl", *reasons)
    assert said.code == 2
    (line,) = said.error.splitlines()
    assert "feature 'amount' is [1, 2]" in line
    assert ("line 2" in line) == (command == "score")


def test_a_model_that_cannot_be_written_is_refused_at_once() -> None:
    message = refusal("learn", "no.csv", "--target", "fraud", "--model", "nowhere/m.oauc")
    assert message == "nowhere/m.oauc: the model cannot be written there"
