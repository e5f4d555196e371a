from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import math
import os
import pathlib
import random
import re
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib import image
from river import base, datasets, forest, imblearn, linear_model, optim, preprocessing
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_info

from river_oauc import OAUCM, AutoOAUCM, AutoOKAUCM, SparseOAUCM
from river_oauc.cli.compare import command as compare
from river_oauc.cli.compare import race as race_module
from river_oauc.cli.compare.columns import MAX_CATEGORIES
from river_oauc.cli.compare.csv_file import csv_stream
from river_oauc.cli.compare.libsvm_file import libsvm_stream
from river_oauc.cli.compare.race import Run, pipeline, race
from river_oauc.cli.compare.streams import Stream, is_wide, known_sets, named_stream
from river_oauc.cli.main import main
from river_oauc.cli.models import CONTENDERS, contenders
from river_oauc.datasets import download

Write = Callable[..., pathlib.Path]


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Write:
    def write(text: str | bytes, name: str = "data.csv") -> pathlib.Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def table_cells(output: str) -> dict[str, list[str]]:
    """The cells by model, from the first table that is printed, in the printed order."""
    names = {contender.name for contender in CONTENDERS}
    cells = [line.split() for line in output.partition("AUC in windows")[0].splitlines()]
    return {c[0]: c[1:] for c in cells if c and c[0] in names}


def table_rows(output: str) -> dict[str, float]:
    """The AUC by model, from the printed table, in the printed order."""
    return {name: float(cells[0]) for name, cells in table_cells(output).items()}


def pairwise_auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    wins = [
        (p > n) + (p == n) / 2
        for p, y in zip(scores, labels, strict=True)
        if y
        for n, z in zip(scores, labels, strict=True)
        if not z
    ]
    return sum(wins) / len(wins)


def progressive(
    examples: Iterable[tuple[dict[Any, Any], bool]], model: Any
) -> tuple[list[float], list[bool]]:
    """The scores before learning, and the labels."""
    scores, labels = [], []
    for x, y in examples:
        prediction = model.predict_proba_one(x)
        p = prediction.get(True, 0.0) if prediction else 0.5
        scores.append(0.5 if math.isnan(p) else p)
        labels.append(y)
        model.learn_one(x, y)
    return scores, labels


def progressive_auc(examples: Iterable[tuple[dict[Any, Any], bool]], model: Any) -> float:
    return pairwise_auc(*progressive(examples, model))


# --- the run -------------------------------------------------------------------------------------


def test_table_equals_an_independent_progressive_loop(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["Phishing", "--no-shuffle", "--limit", "300", "--top", "7"]
    assert main(["compare", *arguments]) == 0
    table = table_cells(capsys.readouterr().out)

    examples = list(datasets.Phishing().take(300))
    logistic = linear_model.LogisticRegression
    even = {False: 0.5, True: 0.5}
    models: dict[str, Any] = {
        "AutoOKAUCM": AutoOKAUCM(),
        "AutoOAUCM": AutoOAUCM(),
        "SparseOAUCM": SparseOAUCM(),
        "LogisticRegression": logistic(),
        "LogisticRegression(AdaGrad)": logistic(optim.AdaGrad()),
        "RandomUnderSampler": imblearn.RandomUnderSampler(logistic(), even, seed=42),
        "PAClassifier": linear_model.PAClassifier(),
        "ARFClassifier": forest.ARFClassifier(n_models=10, seed=42),
    }
    assert table.keys() == models.keys()
    for name, model in models.items():
        prepared = {"none": model.clone()}
        if not name.endswith("OAUCM") and not name.endswith("OKAUCM"):
            prepared["standard"] = preprocessing.StandardScaler() | model.clone()
            prepared["minmax"] = preprocessing.MinMaxScaler() | model.clone()
        found = {scaler: progressive(examples, each) for scaler, each in prepared.items()}
        aucs = {scaler: roc_auc_score(y, score) for scaler, (score, y) in found.items()}
        # Of equally good ones the first.
        scaler = max(aucs, key=lambda scaler: round(aucs[scaler], 12))
        scores, labels = map(np.array, found[scaler])
        parts = [slice(start, start + 30) for start in range(0, 300, 30)]
        highest = sorted(zip(scores, labels, strict=True), key=lambda pair: -pair[0])
        threshold = highest[6][0]
        above = [y for score, y in highest if score > threshold]
        tied = [y for score, y in highest if score == threshold]
        hits = sum(above) + (7 - len(above)) * sum(tied) / len(tied)
        expected = [
            roc_auc_score(labels, scores),
            np.mean([roc_auc_score(labels[part], scores[part]) for part in parts]),
            average_precision_score(labels, scores),
            hits / 7,
        ]
        assert [float(cell) for cell in table[name][:4]] == pytest.approx(expected, abs=5.1e-5)
        assert table[name][-1] == scaler


def test_windows_are_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Phishing", "--limit", "200", "--models", "PAI", "OAUCM"]) == 0
    output = capsys.readouterr().out
    header, _, *rows = output[output.index("AUC in windows, to") :].splitlines()[:4]
    # 84 are positive, ten and a half per window.
    assert header.split()[4:] == [str(end) for end in range(25, 201, 25)]
    examples = list(named_stream("Phishing", limit=200).examples)
    scores, labels = progressive(examples, preprocessing.MinMaxScaler() | OAUCM())
    (cells,) = (row.split()[1:] for row in rows if row.startswith("OAUCM"))
    for i, cell in enumerate(cells):
        window = slice(25 * i, 25 * i + 25)
        expected = pairwise_auc(scores[window], labels[window])
        assert float(cell) == pytest.approx(expected, abs=5.1e-4)


def test_default_run(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--limit", "250"]) == 0
    output = capsys.readouterr().out
    assert "ImageSegments (cement against the rest): 250 examples" in output
    assert "curves written to river-oauc-compare.png" in output
    rows = table_rows(output)
    assert set(rows) == {contender.name for contender in CONTENDERS if contender.by_default}
    assert {"AutoOKAUCM", "LogisticRegression", "ARFClassifier"} <= set(rows)
    aucs = list(rows.values())
    assert aucs == sorted(aucs, reverse=True)
    assert [path.name for path in tmp_path.iterdir()] == ["river-oauc-compare.png"]


def test_models_scaler_and_plot(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--models", "OAUCM", "ARFClassifier", "--scaler", "standard", "--plot", "a.png"]
    assert main(["compare", "Bananas", "--limit", "60", *arguments]) == 0
    cells = table_cells(capsys.readouterr().out)
    assert {name: row[-1] for name, row in cells.items()} == {
        "OAUCM": "standard",
        "ARFClassifier": "standard",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize("top, k", [("1%", 2), ("12.5%", 25), ("30", 30), ("1000", 200)])
def test_the_top(capsys: pytest.CaptureFixture[str], top: str, k: int) -> None:
    arguments = ["Phishing", "--limit", "200", "--models", "SparseOAUCM", "--top", top]
    assert main(["compare", *arguments]) == 0
    output = capsys.readouterr().out
    assert f"top {top} " in output
    scores, labels = progressive(named_stream("Phishing", limit=200).examples, SparseOAUCM())
    highest = sorted(zip(scores, labels, strict=True), reverse=True)[:k]
    expected = sum(y for _, y in highest) / k
    assert float(table_cells(output)["SparseOAUCM"][3]) == pytest.approx(expected, abs=5.1e-5)


def test_figure_is_an_image_with_every_curve(tmp_path: pathlib.Path) -> None:
    assert main(["compare", "Phishing", "--limit", "200", "--scaler", "none"]) == 0
    pixels = image.imread(tmp_path / "river-oauc-compare.png")
    assert pixels.shape == (750, 1350, 4)
    colours = {tuple(colour) for colour in np.round(pixels[..., :3].reshape(-1, 3) * 255)}
    # The first three are ours, the next five the others'.
    for code in ("D55E00", "0072B2", "CC79A7", "009E73", "E69F00", "56B4E9", "000000", "999999"):
        assert tuple(bytes.fromhex(code)) in colours


@pytest.mark.parametrize("width", ["20", "40", "80"])
def test_numbers_stay_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["compare", "Phishing", "--limit", "50", "--models", "OAUCM", "PAI"]) == 0
    table = capsys.readouterr().out.partition("model")[2].partition("\n\nAUC in windows")[0]
    assert max(map(len, table.splitlines())) <= int(width)
    for name in ("OAUCM", "PAI"):
        cells = " ".join(line for line in table.splitlines() if line.startswith(name)).split()
        figures = " ".join(cell for cell in cells if cell != name)
        assert re.fullmatch(r"([01]\.\d{4} ){4}\d+\.\d \d+\.\d+ KiB minmax", figures)


def test_blas_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def spy(*args: object, **kwargs: object) -> None:
        pools = threadpool_info()
        threads.update(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "race", spy)
    assert main(["compare", "Phishing"]) == 130
    assert threads == {1}


def test_same_seed_same_table(capsys: pytest.CaptureFixture[str]) -> None:
    def rows(seed: str) -> dict[str, float]:
        assert main(["compare", "Phishing", "--limit", "80", "--seed", seed]) == 0
        return table_rows(capsys.readouterr().out)

    first = rows("1")
    assert rows("1") == first
    assert rows("2") != first


@pytest.mark.parametrize("name", ["ImageSegments", "Phishing", "Bananas", "Shuttle"])
def test_bundled_sets(name: str) -> None:
    stream = named_stream(name, limit=1000)
    assert stream.size == len(list(stream.examples)) == 1000
    assert stream.positives == sum(y for _, y in stream.examples)
    assert all(type(y) is bool for _, y in stream.examples)
    # Shuffled, the first thousand represent the set.
    own = {"ImageSegments": 1 / 7, "Phishing": 548 / 1250, "Bananas": 0.448, "Shuttle": 0.0715}
    assert stream.positives / 1000 == pytest.approx(own[name], abs=0.05)


def test_shuffle_of_a_named_set_keeps_its_examples() -> None:
    own_order = list(datasets.Phishing())
    assert list(named_stream("Phishing", shuffle=False).examples) == own_order
    shuffled = list(named_stream("Phishing").examples)
    assert shuffled != own_order
    assert sorted(map(repr, shuffled)) == sorted(map(repr, own_order))


@pytest.mark.skipif("RIVER_OAUC_DATA" not in os.environ, reason="RIVER_OAUC_DATA is unset")
def test_benchmark_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "heart", "--models", "OAUCM"]) == 0
    output = capsys.readouterr().out
    assert "heart: 270 examples, 44.4% positive" in output


def test_benchmark_set_that_cannot_be_had(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> bytes:
        raise OSError("no network")

    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path))
    monkeypatch.setattr(download, "fetch", fail)
    assert "cannot be loaded: no network" in refused(capsys, "heart")


def test_known_sets_are_the_bundled_and_the_benchmarks() -> None:
    names = known_sets()
    assert len(names) == len(set(names)) == 4 + 18
    assert {"ImageSegments", "Shuttle", "shuttle", "german"} <= set(names)


# --- progressive validation ----------------------------------------------------------------------


class Spy(base.Classifier):
    """Logs what it is asked, and answers what it is told."""

    def __init__(self, log: list[str], answers: Sequence[dict[bool, float]]) -> None:
        self.log = log
        self.answers = iter(answers)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self.log.append(f"predict {x['i']}")
        return next(self.answers)

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.log.append(f"learn {x['i']}")


def run_of(model: Any) -> Run:
    return Run(CONTENDERS[0], "none", model)


def test_predict_before_learning() -> None:
    log: list[str] = []
    run = run_of(Spy(log, [{False: 0.7, True: 0.3}, {False: 0.2, True: 0.8}]))
    run.follow([({"i": 0}, False), ({"i": 1}, True)])
    assert log == ["predict 0", "learn 0", "predict 1", "learn 1"]
    assert list(run.scores) == [0.3, 0.8]


def test_a_score_is_noted_before_learning() -> None:
    class Memoriser(base.Classifier):
        def __init__(self) -> None:
            self.answer: dict[Any, float] = {}

        def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
            self.answer[True] = 0.5
            return self.answer

        def learn_one(self, x: dict[Any, Any], y: Any) -> None:
            # In the dict that was handed out.
            self.answer[True] = float(y)

    run = run_of(Memoriser())
    run.follow([({}, i % 3 == 0) for i in range(60)])
    assert set(run.scores) == {0.5}


def test_no_answer_is_scored_as_one_half() -> None:
    answers = [{}, {False: 1.0}, {False: math.nan, True: math.nan}, {True: 0.6}]
    run = run_of(Spy([], answers))
    run.follow([({"i": i}, False) for i in range(4)])
    assert list(run.scores) == [0.5, 0.0, 0.5, 0.6]


def test_time_is_that_of_predicting_and_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0

    class Slow(base.Classifier):
        def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
            nonlocal now
            now += 3_000
            return SlowAnswer()

        def learn_one(self, x: dict[Any, Any], y: Any) -> None:
            nonlocal now
            now += 4_000

    class SlowAnswer(dict[Any, float]):
        def __bool__(self) -> bool:
            nonlocal now
            now += 1_000_000
            return False

    monkeypatch.setattr(race_module.time, "perf_counter_ns", lambda: now)
    run = run_of(Slow())
    run.follow([({}, i % 2 == 0) for i in range(10)])
    assert run.microseconds_per_example == 7.0


def test_race_gives_all_the_same_order() -> None:
    examples = list(datasets.Phishing().take(250))
    stream = Stream("Phishing", iter(examples), 250, sum(y for _, y in examples))
    finished: list[int] = []
    both = contenders(["OAUCM", "LogisticRegression"])
    labels, runs = race(stream, both, on_progress=finished.append)
    assert labels.tolist() == [y for _, y in examples]
    assert sum(finished) == 250 and set(finished) == {3, 1}

    logistic = linear_model.LogisticRegression
    models = {
        ("OAUCM", "minmax"): preprocessing.MinMaxScaler() | OAUCM(),
        ("LogisticRegression", "none"): logistic(),
        ("LogisticRegression", "standard"): preprocessing.StandardScaler() | logistic(),
        ("LogisticRegression", "minmax"): preprocessing.MinMaxScaler() | logistic(),
    }
    assert [(run.contender.name, run.scaler) for run in runs] == list(models)
    for run, model in zip(runs, models.values(), strict=True):
        assert list(run.scores) == progressive(examples, model)[0]


def test_a_preparation_that_fails_is_out(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    # Behind `MinMaxScaler`, the numbers have a variance of 0 and are not equal.
    numbers = ["0", "0", "1e-160", "5e-324", "1"]
    path = write("a,y\n" + "".join(f"{number},{i % 2}\n" for i, number in enumerate(numbers)))
    arguments = ["--csv", str(path), "--target", "y", "--positive", "1"]
    arguments += ["--models", "HoeffdingTreeClassifier"]
    assert main(["compare", *arguments]) == 0
    assert table_cells(capsys.readouterr().out)["HoeffdingTreeClassifier"][-1] != "minmax"


def test_text_beside_the_scaler() -> None:
    examples = [({"a": 5.0, "colour": "red"}, True), ({"a": 9.0, "colour": "blue"}, False)]
    one_hot = pipeline(linear_model.LogisticRegression(), "minmax", ["colour"])
    as_it_is = pipeline(forest.ARFClassifier(), "minmax", ["colour"], takes_text=True)
    for model in (one_hot, as_it_is):
        for x, y in examples:
            model.learn_one(x, y)
    union = one_hot["TransformerUnion"]
    assert union.transform_one({"a": 7.0, "colour": "red"}) == {"a": 0.5, "colour_red": 1}
    assert union.transform_one({"colour": "blue"}) == {"colour_blue": 1}
    union = as_it_is["TransformerUnion"]
    assert union.transform_one({"a": 7.0, "colour": "red"}) == {"a": 0.5, "colour": "red"}
    learner = SparseOAUCM()
    assert pipeline(learner, "none", ["colour"], takes_text=True) is learner


def test_contenders() -> None:
    assert len({contender.name for contender in CONTENDERS}) == len(CONTENDERS)
    for contender in CONTENDERS:
        name = contender.name.removeprefix("river.").removesuffix("(AdaGrad)")
        assert type(contender.make(1)).__name__ == name
        assert contender.ours == type(contender.make(1)).__module__.startswith("river_oauc.")
    (arf,) = contenders(["ARFClassifier"])
    model = arf.make(7)
    assert isinstance(model, forest.ARFClassifier)
    assert (model.n_models, model.seed) == (10, 7)


# --- CSV -----------------------------------------------------------------------------------------


def test_csv_cells_become_features(write: Write) -> None:
    path = write(
        "\ufeff,amount, colour ,note,empty,y\n"
        "0,1.5,red,,,no\n"
        "1,-2e3,,NA,,yes\n"
        "\n"
        '2,?,"red, dark",x,NaN,no\n'
    )
    stream = csv_stream(path, target="y", positive="yes")
    assert list(stream.examples) == [
        ({"amount": 1.5, "colour": "red"}, False),
        ({"amount": -2000.0}, True),
        ({"amount": None, "colour": "red, dark", "note": "x"}, False),
    ]
    assert (stream.title, stream.size, stream.positives) == ("data.csv", 3, 1)
    assert stream.text_features == ("colour", "note")
    assert stream.notes == (
        "1 of 3 rows are positive (y = yes)",
        "left out, for want of a name or a value: 'column 1', 'empty'",
        "one-hot encoded: 'colour', 'note'",
    )


def test_csv_text_with_many_values(write: Write) -> None:
    n = MAX_CATEGORIES
    rows = [
        f"{i % n},name {i % (n + 1)},{i % n},{i % (n + 1) if i != 7 else 'x'},{i % 2}"
        for i in range(2 * n)
    ]
    path = write("a,name,code,broken,y\n" + "\n".join(rows))
    stream = csv_stream(path, target="y", positive="1")
    assert next(iter(stream.examples))[0] == {
        "a": 0.0,
        "name": "name 0",
        "code": 0.0,
        "broken": "0",
    }
    assert stream.many_valued == ("name", "broken")
    assert not stream.is_wide
    assert stream.notes[1:] == (
        f"more than {n} distinct texts, left out for learners that keep a matrix: 'name', 'broken'",
    )

    # Fewer rows, and the names are few enough.
    shorter = csv_stream(path, target="y", positive="1", limit=n)
    assert shorter.text_features == ("name", "broken")
    assert shorter.many_valued == () and not shorter.is_wide


def test_csv_ids_are_left_out(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    n = 200
    rng = random.Random(5)
    shuffled = rng.sample(range(10**6), n)
    rows = [
        # A row number, a name, an id in random order, an amount, a clock that stands still at
        # times, an id that comes again, a customer.
        (i + 7, f"T{shuffled[i]}", shuffled[i], shuffled[i], i // 2, i % 60, f"c{i % 60}", i % 3)
        for i in range(n)
    ]
    header = "row,who,cardId,amount,clock,shop_id,customer,y\n"
    path = write(header + "".join(",".join(map(str, row)) + "\n" for row in rows))
    stream = csv_stream(path, target="y", positive="0")
    assert list(next(iter(stream.examples))[0]) == ["amount", "clock", "shop_id", "customer"]
    ids = "left out, for they look like ids (--include keeps them): 'row', 'who', 'cardId'"
    assert ids in stream.notes

    arguments = ["--csv", str(path), "--target", "y", "--positive", "0"]
    assert main(["compare", *arguments, "--models", "PAI", "--include", "row", "who"]) == 0
    assert "like ids (--include keeps them): 'cardId'\n" in capsys.readouterr().out
    stream = csv_stream(path, target="y", positive="0", include=["row", "who"])
    assert next(iter(stream.examples))[0].keys() >= {"row", "who"}
    assert stream.many_valued == ("who", "customer")

    message = refused(capsys, *arguments, "--include", "rows")
    assert message.startswith(f"{path}: nothing to include under 'rows' (did you mean 'row'?)")
    for other in (["Phishing"], ["--libsvm", str(path)]):
        message = refused(capsys, *other, "--include", "row")
        assert message == "--include goes with --csv FILE; nothing else has columns of ids"


def test_csv_of_ids_only(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("row,y\n" + "".join(f"{i},{i % 2}\n" for i in range(100)))
    message = refused_csv(capsys, path)
    assert message == (
        "FILE: no column besides 'y' can serve as a feature but 'row', like ids: "
        "--include keeps them"
    )


def test_csv_times_become_hours_and_weekdays(write: Write) -> None:
    path = write(
        "when,day,code,y\n"
        "2024-02-29 18:30:00,2024-03-02,20240101,1\n"
        ",,20240103,0\n"
        "2024-03-01T00:00:00Z,2024-03-03,20240102,0\n"
    )
    stream = csv_stream(path, target="y", positive="1")
    assert [x for x, _ in stream.examples] == [
        {
            "when, hour": 18.5,
            "when, weekday": 3.0,
            "day, hour": 0.0,
            "day, weekday": 5.0,
            "code": 20240101.0,
        },
        {
            "when, hour": None,
            "when, weekday": None,
            "day, hour": None,
            "day, weekday": None,
            "code": 20240103.0,
        },
        {
            "when, hour": 0.0,
            "when, weekday": 4.0,
            "day, hour": 0.0,
            "day, weekday": 6.0,
            "code": 20240102.0,
        },
    ]
    assert "times, read as hour and weekday: 'when', 'day'" in stream.notes
    assert stream.text_features == ()


def test_csv_order_limit_and_shuffle(write: Write) -> None:
    path = write("i,y\n" + "".join(f"{i},{i % 3}\n" for i in range(30)))

    def order(**kwargs: Any) -> list[float]:
        stream = csv_stream(path, target="y", positive="0", **kwargs)
        examples = list(stream.examples)
        assert len(examples) == stream.size
        assert sum(y for _, y in examples) == stream.positives
        return [x["i"] for x, _ in examples]

    assert order() == list(range(30))
    assert order(limit=7) == list(range(7))
    assert order(limit=1000) == list(range(30))
    expected = list(range(30))
    random.Random(5).shuffle(expected)
    assert order(shuffle=True, seed=5) == expected
    assert order(shuffle=True, seed=5, limit=10) == expected[:10]


def test_csv_target_with_more_than_two_values(write: Write) -> None:
    labels = ["fraud", "fine", "unknown", "fine"] * 3
    path = write("i,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(labels)))
    stream = csv_stream(path, target="y", positive="fraud")
    assert [y for _, y in stream.examples] == [label == "fraud" for label in labels]
    assert stream.notes == (
        "3 of 12 rows are positive (y = fraud)",
        "the other values of 'y' are negative: 'fine', 'unknown'",
    )


@pytest.mark.parametrize(
    "n_rows, n_positives, share, warning",
    [
        (800, 1, "0.12%", "Only 1 of the examples is positive: chance alone moves an AUC by 0.50"),
        (
            800,
            796,
            "99.50%",
            "Only 4 of the examples are negative: chance alone moves an AUC by 0.25",
        ),
        (200, 100, "50.0%", None),
    ],
)
def test_a_rare_class(
    write: Write,
    capsys: pytest.CaptureFixture[str],
    n_rows: int,
    n_positives: int,
    share: str,
    warning: str | None,
) -> None:
    labels = [int(i < n_positives) for i in range(n_rows)]
    random.Random(4).shuffle(labels)
    path = write("i,y\n" + "".join(f"{i % 7},{y}\n" for i, y in enumerate(labels)))
    arguments = ["--csv", str(path), "--target", "y", "--positive", "1", "--models", "PAI"]
    assert main(["compare", *arguments]) == 0
    output = capsys.readouterr().out
    assert f"data.csv: {n_rows} examples, {share} positive\n" in output
    warnings = [line for line in output.splitlines() if line.startswith("Only ")]
    assert warnings == ([f"{warning} (one standard error, at most)"] if warning else [])


@pytest.mark.parametrize("reverse", [False, True])
def test_csv_ordered_by_class_is_pointed_out(write: Write, reverse: bool) -> None:
    labels = sorted((i % 2 for i in range(10)), reverse=reverse)
    path = write("i,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(labels)))
    hint = "the rows are ordered by 'y', no fair stream: try --shuffle"
    assert hint in csv_stream(path, target="y", positive="1").notes
    assert hint not in csv_stream(path, target="y", positive="1", shuffle=True).notes


@pytest.mark.parametrize("length, told", [(1, False), (3, True), (50, True)])
def test_csv_of_labels_in_runs_is_pointed_out(write: Write, length: int, told: bool) -> None:
    rng = random.Random(1)
    labels = [y for _ in range(900 // length) for y in [int(rng.random() < 0.2)] * length]
    path = write("i,y\n" + "".join(f"{i % 7},{y}\n" for i, y in enumerate(labels)))
    notes = csv_stream(path, target="y", positive="1").notes
    n_runs = 1 + sum(a != b for a, b in itertools.pairwise(labels))
    hint = f"'y' comes in {n_runs} runs, in random order in about "
    assert any(note.startswith(hint) for note in notes) == told
    assert len(csv_stream(path, target="y", positive="1", shuffle=True).notes) == 1


def test_compare_on_csv(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(3)
    rows = []
    for _ in range(200):
        fraud = rng.random() < 0.3
        amount = f"{rng.gauss(2.0 * fraud, 1):.3f}" if rng.random() < 0.9 else ""
        shop = rng.choice("ab" if fraud else "bcd") if rng.random() < 0.9 else ""
        rows.append((amount, shop, "fraud" if fraud else "fine"))
    path = write("amount,shop,verdict\n" + "\n".join(map(",".join, rows)))
    arguments = ["--csv", str(path), "--target", "verdict", "--positive", "fraud"]
    assert main(["compare", *arguments]) == 0
    output = capsys.readouterr().out
    n_fraud = sum(row[2] == "fraud" for row in rows)
    assert f"{n_fraud} of 200 rows are positive (verdict = fraud)" in output
    assert "one-hot encoded: 'shop'" in output

    examples = [
        (
            ({"amount": float(amount)} if amount else {}) | ({"shop": shop} if shop else {}),
            verdict == "fraud",
        )
        for amount, shop, verdict in rows
    ]
    # As it is for those that take text, one-hot encoded for the others.
    encoded = [
        (
            {("shop_" + v if k == "shop" else k): 1 if k == "shop" else v for k, v in x.items()},
            y,
        )
        for x, y in examples
    ]
    table = table_rows(output)
    shown = pytest.approx(progressive_auc(examples, SparseOAUCM()), abs=5.1e-5)
    assert table["SparseOAUCM"] == shown
    known = [({"amount": None} | x, y) for x, y in encoded]
    assert table["AutoOAUCM"] == pytest.approx(progressive_auc(known, AutoOAUCM()), abs=5.1e-5)
    for name, model in {
        "LogisticRegression": linear_model.LogisticRegression(),
        "PAClassifier": linear_model.PAClassifier(),
    }.items():
        # The scaler is for the numbers only.
        fronts = [preprocessing.StandardScaler(), preprocessing.MinMaxScaler()]
        aucs = [progressive_auc(encoded, model.clone())]
        for front in fronts:
            learner = model.clone()
            scores = []
            for x, y in encoded:
                number = {k: v for k, v in x.items() if k == "amount"}
                rest = {k: v for k, v in x.items() if k != "amount"}
                p = learner.predict_proba_one(front.transform_one(number) | rest)[True]
                scores.append(0.5 if math.isnan(p) else p)
                front.learn_one(number)
                learner.learn_one(front.transform_one(number) | rest, y)
            aucs.append(pairwise_auc(scores, [y for _, y in encoded]))
        assert table[name] == pytest.approx(max(aucs), abs=5.1e-5)


# --- what each learner is shown ------------------------------------------------------------------


def test_learners_without_preparation_run_bare_and_take_what_is_missing(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(6)
    rows = [
        (f"{rng.gauss(10.0 * (i % 3 == 0), 9):.2f}" if i % 5 else "", "ab"[i % 2], int(i % 3 == 0))
        for i in range(120)
    ]
    path = write("amount,shop,y\n" + "".join(f"{a},{s},{y}\n" for a, s, y in rows))
    arguments = ["--csv", str(path), "--target", "y", "--positive", "1", "--scaler", "standard"]
    models = ["AutoOAUCM", "AutoOKAUCM", "SparseOAUCM", "OAUCM"]
    assert main(["compare", *arguments, "--models", *models]) == 0
    output = capsys.readouterr().out
    scalers = {name: cells[-1] for name, cells in table_cells(output).items()}
    bare = ["AutoOAUCM", "AutoOKAUCM", "SparseOAUCM"]
    assert scalers == dict.fromkeys(bare, "none") | {"OAUCM": "standard"}

    table = table_rows(output)
    one_hot = [
        (
            {
                "amount": float(a) if a else None,
                f"shop_{s}": 1,
            },
            y == 1,
        )
        for a, s, y in rows
    ]
    as_it_is = [(({"amount": float(a)} if a else {}) | {"shop": s}, y == 1) for a, s, y in rows]
    for name, model, examples in (
        ("AutoOAUCM", AutoOAUCM(), one_hot),
        ("AutoOKAUCM", AutoOKAUCM(), one_hot),
        ("SparseOAUCM", SparseOAUCM(), as_it_is),
    ):
        assert table[name] == pytest.approx(progressive_auc(examples, model), abs=5.1e-5)


def test_text_of_many_values_is_learned_as_it_is(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(7)
    users = [f"user {rng.randrange(2 * MAX_CATEGORIES)}" for _ in range(400)]
    rows = [(rng.gauss(0, 1), user, int(user[-1] in "37")) for user in users]
    path = write("amount,user,y\n" + "".join(f"{a!r},{u},{y}\n" for a, u, y in rows))
    arguments = ["--csv", str(path), "--target", "y", "--positive", "1"]
    models = ["AutoOAUCM", "SparseOAUCM", "LogisticRegression"]
    assert main(["compare", *arguments, "--models", *models]) == 0
    output = capsys.readouterr().out
    assert "50 distinct texts, left out for learners that keep a matrix: 'user'" in output
    assert "wide" not in output
    table = table_rows(output)
    seen = [({"amount": a, "user": u}, y == 1) for a, u, y in rows]
    expected = progressive_auc(seen, SparseOAUCM())
    assert table["SparseOAUCM"] == pytest.approx(expected, abs=5.1e-5)
    assert expected > 0.8
    # Those with a matrix know the amount only.
    expected = progressive_auc([({"amount": a}, y == 1) for a, _, y in rows], AutoOAUCM())
    assert table["AutoOAUCM"] == pytest.approx(expected, abs=5.1e-5)
    # Rivals know everything.
    encoded = [({"amount": a, f"user_{u}": 1}, y == 1) for a, u, y in rows]
    bare = progressive_auc(encoded, linear_model.LogisticRegression())
    assert table["LogisticRegression"] >= bare - 5.1e-5

    assert main(["compare", *arguments, "--models", "OAUCM", "SparseOAUCM"]) == 0
    output = capsys.readouterr().out
    assert set(table_rows(output)) == {"OAUCM", "SparseOAUCM"}
    assert "wide" not in output


def test_text_of_many_values_alone(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{i % (MAX_CATEGORIES + 5)},x{i % (MAX_CATEGORIES + 5)}\n" for i in range(200))
    path = write("y,name\n" + rows)
    assert main(["compare", "--csv", str(path), "--target", "y", "--positive", "3"]) == 0
    assert set(table_rows(capsys.readouterr().out)) == {
        contender.name for contender in CONTENDERS if contender.by_default
    }


def test_is_wide_looks_at_the_first_thousand() -> None:
    wide = [({str(i): 1.0}, True) for i in range(301)]
    narrow = [({"0": 1.0}, True)] * 699
    assert is_wide(wide) and is_wide(narrow + wide)
    assert not is_wide(wide[:300]) and not is_wide([*narrow, *narrow[:1], *wide])


# --- LIBSVM --------------------------------------------------------------------------------------


def test_libsvm_rows_become_examples(write: Write) -> None:
    path = write("# a comment\n+1 1:0.5 12:-3\n\n-1 qid:4 3:1e2 # 7:1\r\n-1\n+1 2:0")
    stream = libsvm_stream(path)
    assert list(stream.examples) == [
        ({"1": 0.5, "12": -3.0}, True),
        ({"3": 100.0}, False),
        ({}, False),
        ({"2": 0.0}, True),
    ]
    assert (stream.size, stream.positives) == (4, 2)
    assert stream.scalers == ("none", "standard", "maxabs")
    assert stream.notes == ("2 of 4 rows are positive (label = 1)",)
    assert not stream.is_wide


@pytest.mark.parametrize(
    "labels, positive, expected, notes",
    [
        ("+1 -1 1", None, "1 0 1", ["(label = 1)"]),
        ("0 1 0", None, "0 1 0", ["(label = 1)"]),
        ("2 1 2", None, "1 0 1", ["(label = 2)"]),
        ("-2.5 -1.5 -2.5", None, "0 1 0", ["(label = -1.5)"]),
        ("1 -1 1", "-1.0", "0 1 0", ["(label = -1)"]),
        (
            "1 2 3 1",
            "+1",
            "1 0 0 1",
            ["(label = 1)", "the other labels are negative: '2', '3'"],
        ),
    ],
)
def test_libsvm_labels(
    write: Write, labels: str, positive: str | None, expected: str, notes: list[str]
) -> None:
    path = write("".join(f"{label} 1:1\n" for label in labels.split()))
    stream = libsvm_stream(path, positive=positive)
    assert [y for _, y in stream.examples] == [y == "1" for y in expected.split()]
    assert [note.rpartition("positive ")[2] for note in stream.notes] == notes


def test_libsvm_order_limit_and_shuffle(write: Write) -> None:
    path = write("".join(f"{i % 3 == 0:d} 1:{i}\n" for i in range(30)))

    def order(**kwargs: Any) -> list[float]:
        stream = libsvm_stream(path, **kwargs)
        examples = list(stream.examples)
        assert len(examples) == stream.size
        assert sum(y for _, y in examples) == stream.positives
        return [x["1"] for x, _ in examples]

    assert order() == list(range(30))
    assert order(limit=7) == list(range(7))
    expected = list(range(30))
    random.Random(5).shuffle(expected)
    assert order(shuffle=True, seed=5, limit=10) == expected[:10]


def test_libsvm_ordered_by_class_is_pointed_out(write: Write) -> None:
    path = write("0 1:1\n0 1:2\n1 1:3\n")
    hint = "the rows are ordered by 'label', no fair stream: try --shuffle"
    assert hint in libsvm_stream(path).notes


def test_compare_on_wide_libsvm(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(8)
    examples = []
    for _ in range(300):
        spam = rng.random() < 0.3
        words = {rng.randrange(1, 200) + 150 * spam for _ in range(rng.randrange(8))}
        examples.append(({str(word): float(rng.randint(1, 3)) for word in words}, spam))
    lines = [
        " ".join([str(int(y)), *(f"{index}:{value!r}" for index, value in x.items())])
        for x, y in examples
    ]
    path = write(gzip.compress("\n".join(lines).encode()), name="words.svm.gz")
    assert main(["compare", "--libsvm", str(path)]) == 0
    output = capsys.readouterr().out
    assert "wide, so without AutoOKAUCM, AutoOAUCM, ARFClassifier; --models" in output
    assert "words.svm.gz: 300 examples" in output
    table = table_rows(output)
    assert set(table) == {contender.name for contender in CONTENDERS if contender.for_wide}
    bare = progressive_auc(examples, SparseOAUCM())
    assert table["SparseOAUCM"] == pytest.approx(bare, abs=5.1e-5)
    bare = progressive_auc(examples, linear_model.LogisticRegression())
    behind = preprocessing.MaxAbsScaler() | linear_model.LogisticRegression()
    scaled = progressive_auc(examples, behind)
    assert table["LogisticRegression"] == pytest.approx(max(bare, scaled), abs=5.1e-5)
    assert {cells[-1] for cells in table_cells(output).values()} <= {"none", "maxabs"}

    for scaler, expected in (("none", bare), ("maxabs", scaled)):
        arguments = ["--scaler", scaler, "--models", "LogisticRegression"]
        assert main(["compare", "--libsvm", str(path), *arguments]) == 0
        shown = table_rows(capsys.readouterr().out)["LogisticRegression"]
        assert shown == pytest.approx(expected, abs=5.1e-5)


def test_compare_on_narrow_libsvm(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("".join(f"{i % 2} 1:{i % 5} 2:{i % 3}\n" for i in range(40)))
    assert main(["compare", "--libsvm", str(path)]) == 0
    output = capsys.readouterr().out
    assert set(table_rows(output)) == {c.name for c in CONTENDERS if c.by_default}
    assert "wide" not in output


def test_libsvm_is_not_held_in_memory(write: Write) -> None:
    path = write("".join(f"{i % 2} {i}:1 {i + 1}:2\n" for i in range(1, 60_000)))
    tracemalloc.start()
    n_rows = sum(1 for _ in libsvm_stream(path).examples)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 59_999
    assert peak < 1e6


# --- packed files --------------------------------------------------------------------------------

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("name", ["data.{}", "no ending"])
def test_packed_files(write: Write, kind: str, name: str) -> None:
    name = name.format(kind)
    path = write(PACK[kind](GOOD.encode("utf-8-sig")), name=name)
    packed = csv_stream(path, target="y", positive="1")
    plain = csv_stream(write(GOOD), target="y", positive="1")
    assert list(packed.examples) == list(plain.examples)
    path = write(PACK[kind](b"1 1:2\n0 3:4\n"), name=name)
    assert list(libsvm_stream(path).examples) == [({"1": 2.0}, True), ({"3": 4.0}, False)]


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: data[:12] + b"x" * 40])
def test_damaged_packed_files(
    write: Write,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    damage: Callable[[bytes], bytes],
) -> None:
    path = write(damage(PACK[kind](GOOD.encode() * 50)))
    assert refused_csv(capsys, path).startswith("FILE: the compressed file is damaged or cut off: ")


# --- columns to leave out ------------------------------------------------------------------------


def test_excluded_columns(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a,b,c d,y\n1,2,x,0\n3,4,z,1\n5,6,x,0\n")
    stream = csv_stream(path, target="y", positive="1", exclude=["a", "c d"])
    assert [x for x, _ in stream.examples] == [{"b": 2.0}, {"b": 4.0}, {"b": 6.0}]
    assert stream.text_features == ()

    arguments = ["--csv", str(path), "--target", "y", "--positive", "1", "--models", "PAI"]
    assert main(["compare", *arguments, "--exclude", "a", "c d"]) == 0
    assert "one-hot" not in capsys.readouterr().out
    for excluded, message in [
        (["a", "C d"], "nothing to exclude under 'C d' (did you mean 'c d'?); there are 'a', 'b',"),
        (["y"], "'y' is the target, and can't be excluded"),
        (["a", "b", "c d"], "no column besides 'y' can serve as a feature"),
    ]:
        said = refused(capsys, *arguments, "--exclude", *excluded)
        assert said.replace(str(path), "FILE").startswith(f"FILE: {message}")


def test_excluded_indices(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("1 1:2 2:5\n0 3:4 1:1\n1 7:1\n")
    stream = libsvm_stream(path, exclude=["1", "7"])
    assert [x for x, _ in stream.examples] == [{"2": 5.0}, {"3": 4.0}, {}]
    for excluded, message in [
        (["1", "9"], "no index '9' to exclude (the nearest is '7')"),
        (["age"], "no index 'age' to exclude: they are whole numbers"),
        (["1", "2", "3", "7"], "no row has a feature"),
    ]:
        said = refused(capsys, "--libsvm", str(path), "--exclude", *excluded)
        assert said.replace(str(path), "FILE") == f"FILE: {message}"


def test_excluded_features_of_a_named_set(capsys: pytest.CaptureFixture[str]) -> None:
    stream = named_stream("Phishing", exclude=["https"], limit=30)
    assert {len(x) for x, _ in stream.examples} == {8}
    message = refused(capsys, "Phishing", "--exclude", "http")
    assert message.startswith("Phishing: nothing to exclude under 'http' (did you mean 'https'?)")


# --- requests that can't be met ------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a refused command prints."""
    assert main(["compare", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("river-oauc: ")
    assert captured.err.endswith("\n") and captured.err.count("\n") == 1
    return captured.err[len("river-oauc: ") : -1]


def refused_csv(
    capsys: pytest.CaptureFixture[str], path: pathlib.Path, *, target: str = "y", **more: str
) -> str:
    arguments = ["--csv", str(path), "--target", target, "--positive", more.pop("positive", "1")]
    for option, value in more.items():
        arguments += [f"--{option}", value]
    message = refused(capsys, *arguments)
    return message.replace(str(path), "FILE")


GOOD = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n"


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "FILE: the file is empty"),
        ("\n\n", "FILE: the file is empty"),
        ("a,b,y\n", "FILE: there is a header but no row below it"),
        (
            "a,b,y\n1,2,0\n3,1\n",
            "FILE: line 3 has 2 cells, the header has 3; a cell with a comma in it needs quotes",
        ),
        (
            "a,b,y\n1,2,0\n3,4,1,9\n",
            "FILE: line 3 has 4 cells, the header has 3; a cell with a comma in it needs quotes",
        ),
        (
            "a,b,y\n1,2,1\n3,4,1\n",
            "data.csv: each of the 2 examples is positive; a larger --limit may help",
        ),
        (
            "a,b,y\n1,2,0\n3,4,0\n",
            "FILE: '1' never occurs in column 'y' of 2 rows, which holds '0'",
        ),
        (
            "a,b,y\n1,2,0\n3,4,NA\n",
            "FILE: line 3: the target 'y' is missing ('NA'); fill it in or remove the row",
        ),
        ("a,a,y\n1,2,0\n3,4,1\n", "FILE: the column 'a' stands twice in the header; rename one"),
        ("y\n0\n1\n", "FILE: no column besides 'y' can serve as a feature"),
        (",a,y\n7,,0\n8,?,1\n", "FILE: no column besides 'y' can serve as a feature"),
        (
            "a;y\n7;0\n",
            "FILE: no column 'y'; the columns are 'a;y'; are they separated by commas?",
        ),
        (
            'a,y\n1,0\n2,"1\n3,0\n4,1\n',
            "FILE: the row that begins in line 3 is not CSV: unexpected end of data; is a quote "
            "not closed, or not doubled?",
        ),
        (b"a,y\n\xe9,1\nb,0\n", "FILE: not UTF-8 text; save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "FILE: not UTF-8 text; save it as UTF-8"),
        ("a,y\n1,0\n".encode("utf-16"), "FILE: not UTF-8 text; save it as UTF-8"),
    ],
)
def test_bad_csv(
    write: Write, capsys: pytest.CaptureFixture[str], content: str | bytes, message: str
) -> None:
    assert refused_csv(capsys, write(content)) == message


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "FILE: there is no row in it"),
        ("# nothing\n\n", "FILE: there is no row in it"),
        ("1\n-1\n", "FILE: no row has a feature"),
        ("1 1:1\nx 1:1\n", "FILE: line 2: the label 'x' is not a number"),
        ("1 1:1\nnan 1:1\n", "FILE: line 2: the label 'nan' is not a number"),
        ("1,3 1:1\n", "FILE: line 1: the label '1,3' is not a number"),
        (
            "# c\n1 1:1 2\n",
            "FILE: line 2: '2' is not of the form INDEX:VALUE, a whole number and a number",
        ),
        (
            "1 1:x\n",
            "FILE: line 1: '1:x' is not of the form INDEX:VALUE, a whole number and a number",
        ),
        (
            "1 1:inf\n",
            "FILE: line 1: '1:inf' is not of the form INDEX:VALUE, a whole number and a number",
        ),
        (
            "1 -1:1\n",
            "FILE: line 1: '-1:1' is not of the form INDEX:VALUE, a whole number and a number",
        ),
        ("1 1:1 2:1 1:3\n", "FILE: line 1: the index 1 stands there twice"),
        (
            "1 1:1\n1 2:1\n",
            "FILE: there are to be two labels, not '1'; a larger --limit may help",
        ),
        (
            "1 1:1\n2 2:1\n0 1:1\n",
            "FILE: there are to be two labels, not '0', '1', '2'; --positive VALUE picks one",
        ),
        (b"\xff\xfe1 1:1\n", "FILE: not UTF-8 text; save it as UTF-8"),
    ],
)
def test_bad_libsvm(
    write: Write, capsys: pytest.CaptureFixture[str], content: str | bytes, message: str
) -> None:
    path = write(content)
    assert refused(capsys, "--libsvm", str(path)).replace(str(path), "FILE") == message


@pytest.mark.parametrize("positive", ["3", "yes", "nan"])
def test_wrong_positive_label(
    write: Write, capsys: pytest.CaptureFixture[str], positive: str
) -> None:
    path = write("1 1:1\n-1 1:1\n")
    message = refused(capsys, "--libsvm", str(path), "--positive", positive)
    assert message == f"{path}: the label {positive!r} never occurs; there are '-1', '1'"


def test_no_file_or_one_that_can_be_read_only_once(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "none.csv", tmp_path]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        paths.append(tmp_path / "pipe")
    for path in paths:
        assert refused_csv(capsys, path) == (
            "FILE: there is no such file, or it is not a regular one"
        )


def test_wrong_column(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("amount,verdict\n1,0\n2,1\n")
    assert refused_csv(capsys, path, target="Verdikt") == (
        "FILE: no column 'Verdikt' (did you mean 'verdict'?); the columns are 'amount', 'verdict'"
    )
    wide = write(",".join(f"c{i}" for i in range(20)) + "\n")
    assert refused_csv(capsys, wide, target="zzz").endswith("'c10', 'c11' and 8 more")


def test_wrong_positive_value(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a,y\n1,True\n2,False\n3,False\n")
    assert refused_csv(capsys, path, positive="1") == (
        "FILE: '1' never occurs in column 'y' of 3 rows, which holds 'False', 'True'"
    )


def test_limit_without_positives(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a,y\n1,0\n2,0\n3,1\n")
    assert refused_csv(capsys, path, limit="2") == (
        "FILE: '1' never occurs in column 'y' of 2 rows, which holds '0'"
    )
    assert "ImageSegments" in refused(capsys, "--limit", "1")


@pytest.mark.parametrize(
    "scaler, numbers, model, message",
    [
        ("minmax", ["0", "1e-20", "1e40", "1"], "OAUCM", "example 3: feature 'a' is 1e+60: "),
        ("standard", ["0", "1e-20", "1e40", "1"], "OAUCM", "example 3: feature 'a' is 2e+60: "),
        (
            "minmax",
            ["0", "0", "1e-160", "5e-324", "1"],
            "HoeffdingTreeClassifier",
            "example 5: (34, 'Numerical result out of range')",
        ),
    ],
)
def test_numbers_too_far_apart_for_the_scaler(
    write: Write,
    capsys: pytest.CaptureFixture[str],
    scaler: str,
    numbers: list[str],
    model: str,
    message: str,
) -> None:
    path = write("a,y\n" + "".join(f"{number},{i % 2}\n" for i, number in enumerate(numbers)))
    arguments = ["--csv", str(path), "--target", "y", "--positive", "1", "--scaler", scaler]
    assert main(["compare", *arguments, "--models", model]) == 2
    error = capsys.readouterr().err
    name = {"minmax": "MinMaxScaler", "standard": "StandardScaler"}[scaler]
    assert error.startswith(f"river-oauc: {model} behind {name} can't take {message}")
    assert error.endswith("; --models picks others\n")
    assert error.count("\n") == 1


def test_line_breaks_in_a_message_stay_on_one_line(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write('"a\nb",y\n1,0\n2,1\n', name="two\nlines.csv")
    assert "two lines.csv: no column 'z'" in refused_csv(capsys, path, target="z")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["--target", "y"],
            "--target goes with --csv FILE, --positive with that or --libsvm FILE",
        ),
        (
            ["--positive", "1"],
            "--target goes with --csv FILE, --positive with that or --libsvm FILE",
        ),
        (["--csv", "f.csv", "--libsvm", "f"], "either --csv f.csv or --libsvm f, not both"),
        (["Phishing", "--libsvm", "f"], "either the set 'Phishing' or --libsvm f, not both"),
        (
            ["--libsvm", "f", "--target", "y"],
            "--target goes with --csv FILE; a LIBSVM file begins with the label",
        ),
        (["--csv", "f.csv"], "--csv FILE needs --target COLUMN and --positive VALUE"),
        (
            ["--csv", "f.csv", "--target", "y"],
            "--csv FILE needs --target COLUMN and --positive VALUE",
        ),
        (
            ["Phishing", "--csv", "f.csv", "--target", "y", "--positive", "1"],
            "either the set 'Phishing' or --csv f.csv, not both",
        ),
        (
            ["./f.csv", "--target", "y", "--positive", "1"],
            "./f.csv is a file: write --csv ./f.csv --target COLUMN --positive VALUE, "
            "or --libsvm ./f.csv",
        ),
        (
            ["--plot", "no/such/directory/a.png"],
            "no/such/directory/a.png: the figure can't be written there",
        ),
        (["--plot", "a.pdf"], "a.pdf: the figure is a PNG, its name must end in .png"),
    ],
)
def test_contradictory_requests(
    write: Write, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    write(GOOD, name="f.csv")
    assert refused(capsys, *arguments) == message


def test_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "phising")
    assert message.startswith("unknown set 'phising' (did you mean 'Phishing'?)")
    assert message.endswith("; the known ones are " + ", ".join(known_sets()))
    # It could be river's or the paper's.
    assert refused(capsys, "SHUTTLE").startswith("unknown set 'SHUTTLE' (did you mean 'shuttle'?)")
    assert refused(capsys, "").startswith("unknown set ''; the known ones are ")
    assert refused(capsys, "--models", "SVM").startswith("unknown model 'SVM'; the known ones are ")


def test_an_infinite_number_is_refused_by_the_learner(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("a,y\n1,0\n2,1\nInfinity,0\n3,1\n")
    arguments = ["--csv", str(path), "--target", "y", "--positive", "1", "--models", "OAUCM"]
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("river-oauc: OAUCM behind MinMaxScaler can't take example 3: feature")
    assert error.count("\n") == 1


def test_plot_is_refused_before_the_run(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "directory.png").mkdir()
    monkeypatch.setattr(datasets.ImageSegments, "__iter__", lambda self: pytest.fail("too late"))
    message = refused(capsys, "--plot", "directory.png")
    assert message == "directory.png: the figure can't be written there"


def test_a_refused_run_leaves_no_figure_and_keeps_an_old_one(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.png").write_bytes(b"old")
    refused(capsys, "nonsense", "--plot", "new.png")
    refused(capsys, "nonsense", "--plot", "old.png")
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_bytes() == b"old"


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--limit", "x"], ["--scaler", "robust"]])
def test_what_argparse_refuses(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *arguments])
    assert exit_.value.code == 2
    assert repr(arguments[1]) in capsys.readouterr().err
