"""`river-oauc compare`: what it runs, prints and draws, and what it refuses."""

from __future__ import annotations

import gzip
import math
import pathlib
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from commands import call, output, refusal, run, table_aucs, table_cells
from matplotlib import image
from river import base, datasets, forest, linear_model, preprocessing
from threadpoolctl import threadpool_info

from river_oauc import OAUCM, SparseOAUCM
from river_oauc.cli.compare import command as compare
from river_oauc.cli.compare import race as race_module
from river_oauc.cli.compare.race import Run, pipeline, race
from river_oauc.cli.compare.streams import Stream, is_wide, named_stream
from river_oauc.cli.models import CONTENDERS, contenders
from river_oauc.datasets import download
from river_oauc.metrics import exact_auc

BY_DEFAULT = {contender.name for contender in CONTENDERS if contender.by_default}


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def write(text: str | bytes, name: str = "data.csv") -> str:
    pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def on_csv(text: str, *arguments: str, positive: str = "1") -> list[str]:
    """Return the arguments to compare on a CSV file with this text."""
    options = ["--csv", write(text), "--target", "y", "--positive", positive]
    return ["compare", *options, *arguments]


def progressive(examples: Any, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores before learning, and the labels."""
    scores, labels = [], []
    for x, y in examples:
        prediction = model.predict_proba_one(x)
        p = prediction.get(True, 0.0) if prediction else 0.5
        scores.append(0.5 if math.isnan(p) else p)
        labels.append(y)
        model.learn_one(x, y)
    return np.array(scores), np.array(labels)


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    return exact_auc(scores[labels], scores[~labels])


# --- the run -------------------------------------------------------------------------------------


def test_default_run(tmp_path: pathlib.Path) -> None:
    text = output("compare", "--limit", "250")
    assert "ImageSegments (cement against the rest): 250 examples" in text
    aucs = table_aucs(text)
    assert set(aucs) == BY_DEFAULT
    assert list(aucs.values()) == sorted(aucs.values(), reverse=True)
    assert [path.name for path in tmp_path.iterdir()] == ["river-oauc-compare.png"]


def test_windows_are_reported_one_by_one() -> None:
    text = output("compare", "Phishing", "--limit", "200", "--models", "PAI", "OAUCM")
    header, _, *rows = text[text.index("AUC in windows, to") :].splitlines()[:4]
    # 84 are positive, ten and a half per window.
    assert header.split()[4:] == [str(end) for end in range(25, 201, 25)]
    examples = named_stream("Phishing", limit=200).examples
    scores, labels = progressive(examples, preprocessing.MinMaxScaler() | OAUCM())
    (cells,) = (row.split()[1:] for row in rows if row.startswith("OAUCM"))
    for i, cell in enumerate(cells):
        window = slice(25 * i, 25 * i + 25)
        assert float(cell) == pytest.approx(auc(scores[window], labels[window]), abs=5.1e-4)


def test_models_scaler_and_plot(tmp_path: pathlib.Path) -> None:
    options = ["--limit", "60", "--scaler", "standard", "--plot", "a.png"]
    text = output("compare", "Bananas", *options, "--models", "OAUCM", "ARFClassifier", "AutoOAUC")
    scalers = {name: cells[-1] for name, cells in table_cells(text).items()}
    # AutoOAUC needs no scaler.
    assert scalers == {"OAUCM": "standard", "ARFClassifier": "standard", "AutoOAUC": "none"}
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize("top, k", [("1%", 2), ("12.5%", 25), ("30", 30), ("1000", 200)])
def test_the_top(top: str, k: int) -> None:
    options = ["--limit", "200", "--models", "SparseOAUCM", "--top", top]
    text = output("compare", "Phishing", *options)
    assert f"top {top} " in text
    scores, labels = progressive(named_stream("Phishing", limit=200).examples, SparseOAUCM())
    expected = labels[np.argsort(-scores)][:k].sum() / k
    assert float(table_cells(text)["SparseOAUCM"][3]) == pytest.approx(expected, abs=5.1e-5)


def test_figure_has_every_curve(tmp_path: pathlib.Path) -> None:
    output("compare", "Phishing", "--limit", "200", "--scaler", "none")
    pixels = image.imread(tmp_path / "river-oauc-compare.png")
    assert pixels.shape == (750, 1350, 4)
    colours = {tuple(colour) for colour in np.round(pixels[..., :3].reshape(-1, 3) * 255)}
    # Two of ours, then five others.
    for code in ("D55E00", "0072B2", "009E73", "E69F00", "56B4E9", "000000", "999999"):
        assert tuple(bytes.fromhex(code)) in colours


@pytest.mark.parametrize("width", [20, 40, 80])
def test_figures_are_never_truncated(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = output("compare", "Phishing", "--limit", "50", "--models", "OAUCM", "PAI")
    table = text.partition("model")[2].partition("\n\nAUC in windows")[0].splitlines()
    assert max(map(len, table)) <= width
    for name in ("OAUCM", "PAI"):
        cells = " ".join(line for line in table if line.startswith(name)).split()
        figures = " ".join(cell for cell in cells if cell != name)
        assert re.fullmatch(r"([01]\.\d{4} ){4}\d+\.\d \d+\.\d+ KiB minmax", figures)


def test_blas_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def spy(*args: object, **kwargs: object) -> None:
        libraries = threadpool_info()
        threads.update(lib["num_threads"] for lib in libraries if lib["user_api"] == "blas")
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "race", spy)
    assert run("compare", "Phishing") == 130
    assert threads == {1}


def test_the_seed_decides() -> None:
    first, again, other = (
        table_aucs(output("compare", "Phishing", "--limit", "80", "--seed", seed)) for seed in "112"
    )
    assert first == again != other


@pytest.mark.parametrize(
    "name, share",
    [("ImageSegments", 1 / 7), ("Phishing", 0.4384), ("Bananas", 0.448), ("Shuttle", 0.0715)],
)
def test_bundled_sets(name: str, share: float) -> None:
    stream = named_stream(name, limit=1000)
    labels = [y for _, y in stream.examples]
    assert (stream.size, stream.positives) == (1000, sum(labels))
    assert {type(y) for y in labels} == {bool}
    # Shuffled, the first thousand represent the set.
    assert stream.positives / 1000 == pytest.approx(share, abs=0.05)


def test_shuffling_keeps_the_examples() -> None:
    own_order = list(datasets.Phishing())
    assert list(named_stream("Phishing", shuffle=False).examples) == own_order
    shuffled = list(named_stream("Phishing").examples)
    assert shuffled != own_order
    assert sorted(map(repr, shuffled)) == sorted(map(repr, own_order))


def test_benchmark_set_without_network(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> bytes:
        raise OSError("no network")

    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path))
    monkeypatch.setattr(download, "fetch", fail)
    assert "cannot be loaded: no network" in refusal("compare", "heart")


@pytest.mark.parametrize(
    "n_rows, n_positives, share, warning",
    [
        (800, 1, "0.12%", "Only 1 of the examples is positive: the standard error of an AUC may"),
        (800, 796, "99.50%", "Only 4 of the examples are negative: the standard error of an AUC"),
        (200, 100, "50.0%", None),
    ],
)
def test_a_rare_class(n_rows: int, n_positives: int, share: str, warning: str | None) -> None:
    labels = [int(i < n_positives) for i in range(n_rows)]
    random.Random(4).shuffle(labels)
    rows = "".join(f"{i % 7},{y}\n" for i, y in enumerate(labels))
    text = output(*on_csv("i,y\n" + rows, "--models", "PAI"))
    assert f"data.csv: {n_rows} examples, {share} positive\n" in text
    assert ("\nOnly " in text) == (warning is not None)
    assert (warning or "") in text


def test_wide_libsvm() -> None:
    rng = random.Random(8)
    examples = []
    for _ in range(300):
        spam = rng.random() < 0.3
        words = {rng.randrange(1, 200) + 150 * spam for _ in range(rng.randrange(8))}
        examples.append(({str(word): float(rng.randint(1, 3)) for word in words}, spam))
    lines = [f"{y:d} " + " ".join(f"{i}:{v!r}" for i, v in x.items()) for x, y in examples]
    name = write(gzip.compress("\n".join(lines).encode()), name="words.svm.gz")
    text = output("compare", "--libsvm", name)
    assert "many features, so without AutoOAUC, ARFClassifier; --models" in text
    assert "words.svm.gz: 300 examples" in text
    table = table_aucs(text)
    assert set(table) == {contender.name for contender in CONTENDERS if contender.for_wide}
    sparse = auc(*progressive(examples, SparseOAUCM()))
    assert table["SparseOAUCM"] == pytest.approx(sparse, abs=5.1e-5)
    logistic = linear_model.LogisticRegression
    aucs = {
        "none": auc(*progressive(examples, logistic())),
        "maxabs": auc(*progressive(examples, preprocessing.MaxAbsScaler() | logistic())),
    }
    assert table["LogisticRegression"] == pytest.approx(max(aucs.values()), abs=5.1e-5)
    assert {cells[-1] for cells in table_cells(text).values()} <= aucs.keys()


def test_is_wide_looks_at_the_first_thousand() -> None:
    wide = [({str(i): 1.0}, True) for i in range(301)]
    narrow = [({"0": 1.0}, True)] * 699
    assert is_wide(wide) and is_wide(narrow + wide)
    assert not is_wide(wide[:300]) and not is_wide([*narrow, *narrow[:1], *wide])


# --- progressive validation ----------------------------------------------------------------------


class Scripted(base.Classifier):
    """Return scripted predictions, and change the last one while learning."""

    def __init__(self, predictions: Sequence[dict[bool, float]]) -> None:
        self.predictions = iter(predictions)
        self.log: list[str] = []

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self.log.append("predict")
        self.last = next(self.predictions)
        return self.last

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.log.append("learn")
        self.last[True] = 1.0


def run_of(model: Any) -> Run:
    return Run(CONTENDERS[0], "none", model)


def test_scores_are_recorded_before_learning() -> None:
    model = Scripted([{True: 0.3}, {}, {False: 1.0}, {False: math.nan, True: math.nan}])
    result = run_of(model)
    result.follow([({}, False)] * 4)
    assert model.log == ["predict", "learn"] * 4
    # Without a prediction the score is 1/2; without a positive class it is 0.
    assert list(result.scores) == [0.3, 0.5, 0.0, 0.5]


def test_time_is_that_of_predicting_and_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock is read before and after predicting, and before and after learning.
    ticks = iter([0, 3_000, 500_000, 504_000] * 10)
    monkeypatch.setattr(race_module.time, "perf_counter_ns", lambda: next(ticks))
    result = run_of(Scripted([{True: 0.5}] * 10))
    result.follow([({}, i % 2 == 0) for i in range(10)])
    assert result.microseconds_per_example == 7.0


def test_all_learners_see_the_same_order() -> None:
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
    assert [(each.contender.name, each.scaler) for each in runs] == list(models)
    for each, model in zip(runs, models.values(), strict=True):
        assert list(each.scores) == progressive(examples, model)[0].tolist()


def numbers_csv(numbers: Sequence[str]) -> str:
    return "a,y\n" + "".join(f"{number},{i % 2}\n" for i, number in enumerate(numbers))


# Behind `MinMaxScaler`, these numbers have a variance of 0 and are not equal.
UNDERFLOW = ["0", "0", "1e-160", "5e-324", "1"]
FAR_APART = ["0", "1e-20", "1e40", "1"]


def test_a_scaler_that_fails_is_dropped() -> None:
    text = output(*on_csv(numbers_csv(UNDERFLOW), "--models", "HoeffdingTreeClassifier"))
    assert table_cells(text)["HoeffdingTreeClassifier"][-1] != "minmax"


@pytest.mark.parametrize(
    "scaler, numbers, model, message",
    [
        ("MinMax", FAR_APART, "OAUCM", "refuses example 3: feature 'a' is 1e+60: "),
        ("Standard", FAR_APART, "OAUCM", "refuses example 3: feature 'a' is 2e+60: "),
        ("MinMax", UNDERFLOW, "HoeffdingTreeClassifier", "refuses example 5: (34, 'Numerical"),
        ("MinMax", ["1", "2", "Infinity", "3"], "OAUCM", "refuses example 3: feature"),
    ],
)
def test_numbers_that_a_learner_refuses(
    scaler: str, numbers: list[str], model: str, message: str
) -> None:
    options = ["--scaler", scaler.lower(), "--models", model]
    said = call(*on_csv(numbers_csv(numbers), *options))
    assert said.code == 2
    assert said.error.startswith(f"river-oauc: {model} behind {scaler}Scaler {message}")
    assert said.error.endswith("; --models picks others\n") and said.error.count("\n") == 1


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


# --- requests that cannot be met -----------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("--target y", "--target goes with --csv FILE, --positive with that or --libsvm FILE"),
        ("--positive 1", "--target goes with --csv FILE, --positive with that or --libsvm FILE"),
        ("--csv f.csv --libsvm f", "either --csv f.csv or --libsvm f, not both"),
        ("Phishing --libsvm f", "either the set 'Phishing' or --libsvm f, not both"),
        ("Phishing --csv f.csv", "either the set 'Phishing' or --csv f.csv, not both"),
        ("--libsvm f --target y", "--target goes with --csv FILE; a LIBSVM file begins with the"),
        ("--csv f.csv", "--csv FILE needs --target COLUMN and --positive VALUE"),
        ("--csv f.csv --target y", "--csv FILE needs --target COLUMN and --positive VALUE"),
        ("Phishing --include row", "--include goes with --csv FILE"),
        ("--libsvm f.csv --include row", "--include goes with --csv FILE"),
        ("./f.csv --target y", "./f.csv is a file: write --csv ./f.csv --target COLUMN --positive"),
        ("--plot no/directory/a.png", "no/directory/a.png: the figure cannot be written there"),
        ("--plot directory.png", "directory.png: the figure cannot be written there"),
        ("--plot a.pdf", "a.pdf: the figure is a PNG, its name must end in .png"),
        ("phising", "unknown set 'phising' (did you mean 'Phishing'?); the known ones are Image"),
        # It could be river's or the paper's.
        ("SHUTTLE", "unknown set 'SHUTTLE' (did you mean 'shuttle'?)"),
        ("--models SVM", "unknown model 'SVM'; the known ones are "),
        ("Phishing --exclude http", "Phishing: no column 'http' to exclude (did you mean 'https'?"),
        ("--limit 1", "ImageSegments (cement against the rest): none of the 1 examples is positiv"),
    ],
)
def test_refused_requests(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    write("a,b,y\n1,2,0\n3,4,1\n5,6,0\n", name="f.csv")
    (tmp_path / "directory.png").mkdir()
    if "--plot" in arguments:
        fail: Callable[..., Any] = lambda self: pytest.fail("refused too late")  # noqa: E731
        monkeypatch.setattr(datasets.ImageSegments, "__iter__", fail)
    assert refusal("compare", *arguments.split()).startswith(message)


def test_a_refused_run_keeps_an_old_figure(tmp_path: pathlib.Path) -> None:
    (tmp_path / "old.png").write_bytes(b"old")
    for plot in ("new.png", "old.png"):
        refusal("compare", "nonsense", "--plot", plot)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_bytes() == b"old"
