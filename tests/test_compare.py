"""`river-oauc compare`: what it runs, prints, writes and draws, and what it refuses."""

from __future__ import annotations

import csv
import datetime
import json
import math
import pathlib
import random
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from commands import call, output, refusal, results, run, table_aucs
from matplotlib import image
from river import base, compose, forest, linear_model, preprocessing
from threadpoolctl import threadpool_info

from river_oauc import OAUCM, AutoOAUC, SparseOAUCM
from river_oauc.cli.compare import command as compare
from river_oauc.cli.compare import runs as runs_module
from river_oauc.cli.compare.leaks import auc_alone, possible_leaks
from river_oauc.cli.compare.runs import Run, affordable_rows, make_runs
from river_oauc.cli.compare.streams import set_stream
from river_oauc.cli.models import CONTENDERS, find_contenders
from river_oauc.cli.preparations import PREPARATIONS, one_hot
from river_oauc.cli.retrained import Retrained, is_installed
from river_oauc.metrics import exact_auc
from river_oauc.preprocessing import RecordEncoder

BY_DEFAULT = {contender.name for contender in CONTENDERS if contender.by_default}
Example = tuple[dict[str, Any], bool]


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def write_csv(rows: Sequence[Sequence[Any]], *header: str) -> str:
    with open("data.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return "data.csv"


def phishing(n: int) -> list[Example]:
    return set_stream("Phishing", lambda width: n, seed=42).examples


def progressive(
    examples: Sequence[Example], model: Any, arrivals: Sequence[int] | None = None
) -> np.ndarray:
    """Return the scores of a plain loop that learns an example once its label has come.

    As it was served, if the model can keep it.
    """
    scores, served, n_learned = [], [], 0
    due = range(len(examples)) if arrivals is None else arrivals
    encode = getattr(model, "encode_one", lambda x: x)
    for i, (x, _) in enumerate(examples):
        served.append(encode(x))
        prediction = model.predict_proba_one(served[i])
        p = prediction.get(True, 0.0) if prediction else 0.5
        scores.append(0.5 if math.isnan(p) else p)
        while n_learned < len(examples) and due[n_learned] <= i:
            model.learn_one(served[n_learned], examples[n_learned][1])
            n_learned += 1
    return np.array(scores)


def auc(scores: np.ndarray, examples: Sequence[Example]) -> float:
    labels = np.array([y for _, y in examples])
    return exact_auc(scores[labels], scores[~labels])


# --- the run -------------------------------------------------------------------------------------


def test_default_run(tmp_path: pathlib.Path) -> None:
    text = output("compare", "--limit", "250", "--output", "a.json")
    at_once, late, description, *_ = text.splitlines()
    verdict = r"(\w+ ranks best: AUC 0\.\d{3}, above|no clear winner: )"
    assert re.match(f"Labels at once: {verdict}", at_once)
    assert re.match(f"Labels 25 rows late: {verdict}", late)
    assert description == "ImageSegments (brickface against the rest): 250 rows, 12.8% positive"
    aucs = table_aucs(text)
    assert set(aucs) == BY_DEFAULT
    assert list(aucs.values()) == sorted(aucs.values(), reverse=True)
    assert "Only 32 of the rows are positive: the standard error of an AUC may be 0.09" in text
    models = json.loads(pathlib.Path("a.json").read_text())["models"]
    for name in ("labels at once", "labels 25 rows late"):
        assert {each["model"] for each in models if each["labels"] == name} == BY_DEFAULT
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "river-oauc-compare.png"}


def test_figure_has_every_curve(tmp_path: pathlib.Path) -> None:
    names = ["AutoOAUC", "SparseOAUCM", "LogisticRegression", "PAClassifier"]
    output("compare", "Phishing", "--limit", "200", "--plot", "a.png", "--models", *names)
    pixels = image.imread(tmp_path / "a.png")
    assert pixels.shape == (750, 1650, 4)
    # In the panel at the left, in that at the right, and in the legend.
    for part in np.array_split(np.round(pixels[..., :3] * 255), [620, 1240], axis=1):
        colours = {tuple(colour) for colour in part.reshape(-1, 3)}
        for code in ("D55E00", "0072B2", "009E73", "E69F00"):
            assert tuple(bytes.fromhex(code)) in colours


@pytest.mark.parametrize("width", [40, 60, 80])
def test_tables_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = output("compare", "Phishing", "--limit", "90", "--models", "RandomUnderSampler", "PAI")
    _, *lines, last = text.splitlines()
    assert max(map(len, lines)) <= width
    assert last == "curves written to river-oauc-compare.png"
    for name in ("RandomUnderSampler", "PAI"):
        rows = [line.removeprefix(name) for line in lines if line.startswith(f"{name} ")]
        figure = r" +[01]\.\d{3}"
        assert re.fullmatch(rf"{figure * 2} +[▁-█]+{figure * 2} +[\d,]+ +\d+ KiB", "".join(rows))
        assert len(rows) == {40: 3, 60: 2, 80: 1}[width]


def test_the_seed_decides() -> None:
    models = ["AutoOAUC", "ARFClassifier", "LightGBM"][: 2 + is_installed("LightGBM")]
    first, again, other = (
        results("Phishing", "--limit", "400", "--seed", seed, "--models", *models) for seed in "112"
    )
    for each in (first, again, other):
        for model in each.values():
            # Which equal strings of a forest are the same object, and pickled once, varies.
            del model["microseconds_per_example"], model["pickle_bytes"]
    assert first == again != other


def test_blas_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def spy(*args: object, **kwargs: object) -> None:
        libraries = threadpool_info()
        threads.update(lib["num_threads"] for lib in libraries if lib["user_api"] == "blas")
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "make_runs", spy)
    assert run("compare", "Phishing") == 130
    assert threads == {1}


@pytest.mark.parametrize(
    "name, share",
    [("ImageSegments", 1 / 7), ("Phishing", 0.4384), ("Bananas", 0.448), ("Shuttle", 0.0715)],
)
def test_bundled_sets(name: str, share: float) -> None:
    stream = set_stream(name, lambda width: 1_000, seed=42)
    assert len(stream.examples) == 1000 and {type(y) for _, y in stream.examples} == {bool}
    # Shuffled, the first thousand represent the set.
    assert stream.n_positives / 1000 == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize(
    "n_rows, n_positives, share, warning",
    [
        (800, 1, "0.12%", "Only 1 of the rows is positive: the standard error of an AUC may"),
        (800, 796, "99.50%", "Only 4 of the rows are negative: the standard error of an AUC"),
        (200, 100, "50.0%", None),
    ],
)
def test_a_rare_class(n_rows: int, n_positives: int, share: str, warning: str | None) -> None:
    labels = [int(i < n_positives) for i in range(n_rows)]
    random.Random(4).shuffle(labels)
    name = write_csv([(i % 7, y) for i, y in enumerate(labels)], "i", "y")
    text = output("compare", name, "--target", "y", "--models", "PAI")
    assert f"data.csv: {n_rows} rows, {share} positive\n" in text
    assert ("\nOnly " in text) == (warning is not None)
    assert (warning or "") in text


# --- leaks ---------------------------------------------------------------------------------------


def test_a_feature_that_tells_the_label_is_named() -> None:
    rng = random.Random(1)
    rows = []
    for _ in range(1_500):
        y = int(rng.random() < 0.1)
        paid_back = y ^ (rng.random() < 0.02)
        rows.append((round(rng.gauss(y), 2), rng.choice("abc"), rng.randrange(10**6), paid_back, y))
    command = ["compare", write_csv(rows, "x", "c", "id", "paid back", "y"), "--target", "y"]
    text = output(*command, "--models", "SparseOAUCM")
    line = r"Possible leak: paid back alone has an AUC of 0\.9\d\d\. Is it known before the label\?"
    assert re.search(line, text) and text.count("Possible leak") == 1
    assert "Possible leak" not in output(*command, "--exclude", "paid back", "--models", "PAI")


def test_a_feature_alone_is_scored_by_what_came_before() -> None:
    rng = random.Random(2)
    labels = [rng.random() < 0.3 for _ in range(4_000)]
    # An id says nothing, a number in any direction does.
    assert auc_alone([str(i) for i in range(4_000)], labels) == pytest.approx(0.5, abs=0.05)
    for sign in (-1, 1):
        numbers = [sign * rng.gauss(2.0 * y) for y in labels]
        labelled = np.array(labels)
        expected = exact_auc(
            sign * np.array(numbers)[labelled], sign * np.array(numbers)[~labelled]
        )
        assert auc_alone(numbers, labels) == pytest.approx(expected, abs=0.02)
    many = [({name: y for name in "abcd"} | {"e": 1}, y) for y in labels]
    assert not possible_leaks(many, 1.0)


# --- preparations and late labels ----------------------------------------------------------------


def test_one_hot_is_that_of_river() -> None:
    rng = random.Random(2)
    examples = [
        ({"n": rng.gauss(), "colour": rng.choice("abc"), "k": rng.randrange(3)}, rng.random() < 0.3)
        for _ in range(200)
    ]
    numbers = compose.Select("n", "k")
    text = compose.Select("colour") | preprocessing.OneHotEncoder(drop_zeros=True)
    logistic = linear_model.LogisticRegression
    for name, theirs in {
        "one-hot": numbers + text,
        "one-hot | StandardScaler": (numbers | preprocessing.StandardScaler()) + text,
    }.items():
        ours = progressive(examples, PREPARATIONS[name]() | logistic())
        np.testing.assert_allclose(ours, progressive(examples, theirs | logistic()), rtol=1e-12)
    assert one_hot({"colour": "a", "colour_a": 3, "none": None}) == {
        ("colour", "a"): 1,
        "colour_a": 3,
    }


# At once, all seven rows late, and in bursts.
ARRIVALS = [np.arange(250), np.arange(250) + 7, np.arange(250) // 40 * 40 + 50]


@pytest.mark.parametrize("arrivals", ARRIVALS, ids=["at once", "late", "in bursts"])
def test_runs_are_pipelines_of_river(arrivals: Any) -> None:
    examples = phishing(250)
    names = ["OAUCM", "LogisticRegression", "PAClassifier", "AutoOAUC"]
    runs = {
        (run.contender.name, run.preparation): run for run in make_runs(find_contenders(names), 3)
    }
    for each in runs.values():
        each.follow(examples, arrivals)
    encoder, scaler = RecordEncoder, preprocessing.StandardScaler
    models = {
        ("AutoOAUC", "raw"): AutoOAUC(seed=3),
        ("OAUCM", "RecordEncoder | MinMaxScaler"): encoder()
        | preprocessing.MinMaxScaler()
        | OAUCM(),
    }
    for name in ("LogisticRegression", "PAClassifier"):
        model = getattr(linear_model, name)
        one_hots = PREPARATIONS["one-hot | StandardScaler"]
        models |= {
            (name, "one-hot"): compose.FuncTransformer(one_hot) | model(),
            (name, "one-hot | StandardScaler"): one_hots() | model(),
            (name, "RecordEncoder"): encoder() | model(),
            (name, "RecordEncoder | StandardScaler"): encoder() | scaler() | model(),
        }
    assert runs.keys() == models.keys()
    for key, model in models.items():
        assert list(runs[key].scores) == progressive(examples, model, arrivals).tolist(), key


@pytest.mark.skipif(not is_installed("LightGBM"), reason="LightGBM is not installed")
@pytest.mark.parametrize("arrivals", ARRIVALS, ids=["at once", "late", "in bursts"])
def test_retrained_models_know_no_label_before_it_comes(arrivals: Any) -> None:
    rng = random.Random(1)
    numbers = [rng.gauss(0.0) for _ in range(1_500)]
    examples = [({"x": x, "c": rng.choice("ab")}, x + rng.gauss(0.0) > 0.5) for x in numbers]
    arrivals = np.resize(arrivals, 1_500) + np.arange(1_500) // 250 * 250
    scores, labels, _ = Retrained("LightGBM").follow(examples, arrivals=arrivals)
    for i in (299, 400, 1_100):
        # Labels that come after a row do not change its score.
        changed = [(x, y if arrivals[j] < i else not y) for j, (x, y) in enumerate(examples)]
        other, _, _ = Retrained("LightGBM").follow(changed, arrivals=arrivals)
        assert other[i] == scores[i]
    assert exact_auc(scores[600:][labels[600:]], scores[600:][~labels[600:]]) > 0.7


def test_delays() -> None:
    rng = random.Random(5)
    start = datetime.datetime(2024, 2, 1)
    rows = []
    for i in range(400):
        x = rng.gauss(0.0)
        later = datetime.timedelta(hours=i // 3, minutes=i % 3)
        rows.append([start + later, f"{x:.3f}", int(x + rng.gauss(0.0) > 1.0)])
    shuffled = random.Random(1).sample(rows, len(rows))
    command = [write_csv(shuffled, "at", "x", "y"), "--target", "y", "--models", "SparseOAUCM"]
    found = {}
    for options in (["--label-delay", "24"], ["--label-delay", "8h"], []):
        output("compare", *command, "--time", "at", *options, "--output", "a.json")
        for each in json.loads(pathlib.Path("a.json").read_text())["models"]:
            found[each["labels"]] = each["auc"]
    examples = [({"at": at, "x": float(x)}, y == 1) for at, x, y in rows]
    n = np.arange(400)
    for when, arrivals in {
        "labels at once": n,
        "labels 24 rows late": n + 24,
        # Before the row that is eight hours later.
        "labels 8h late": n + 23,
        "labels 40 rows late": n + 40,
    }.items():
        expected = auc(progressive(examples, SparseOAUCM(), list(arrivals)), examples)
        assert found.pop(when) == pytest.approx(expected), when
    assert not found
    for option, message in (
        (["--label-delay", "8h"], "--label-delay 8h needs --time COLUMN"),
        (["--time", "x y"], "data.csv: no column 'x y'"),
    ):
        assert refusal("compare", *command, *option).startswith(message)


# --- time ----------------------------------------------------------------------------------------


def test_the_rows_follow_from_the_time_and_the_width_alone(monkeypatch: Any) -> None:
    auto = find_contenders(["AutoOAUC"])
    assert affordable_rows(auto, 80.0, 20) == 160_000
    assert affordable_rows(auto, 80.0, 200) == 32_000
    assert affordable_rows(find_contenders(None), 1.0, 1e6) == runs_module.MIN_ROWS
    # A clock that is three times as fast changes nothing.
    rows = [(i % 13, i % 7, int(i % 11 == 0)) for i in range(3_000)]
    command = ["compare", write_csv(rows, "a", "b", "y"), "--target", "y", "--seconds", "4"]
    command += ["--models", "PAI", "ARFClassifier", "HoeffdingTreeClassifier"]
    clock, texts = runs_module.time.process_time, []
    for factor in (1.0, 3.0):
        monkeypatch.setattr(runs_module.time, "process_time", lambda f=factor: f * clock())
        text = re.sub(r" +[\d,]+ +[\d.]+ [KM]iB", "", output(*command))
        texts.append(re.sub("[ ─]+", " ", text))
    assert texts[0] == texts[1] and "the first 2,400 rows, as many as --seconds and" in texts[0]


OWN_MODELS = """
    from river import linear_model, preprocessing
    from river_oauc import SparseOAUCM

    n = 0

    class Own(SparseOAUCM):
        def predict_proba_one(self, x):
            global n
            n += 1
            self.happens(n)
            return super().predict_proba_one(x)

    class Slow(Own):
        def happens(self, n):
            sum(range(300_000))

    class Interrupted(Own):
        def happens(self, n):
            if n == 150:
                raise KeyboardInterrupt

    class Failing(Own):
        def happens(self, n):
            if n == 7:
                raise RuntimeError("no\\n luck")

    class Greedy(Own):
        def predict_proba_one(self, x):
            x.clear()
            return {}

    def make():
        return SparseOAUCM()

    instance = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    instance.learn_one({"empty_server_form_handler": 1e9}, True)
    number = 5
"""


@pytest.fixture
def own() -> Iterator[str]:
    """A module with models of the user's own."""
    pathlib.Path("own_models.py").write_text(textwrap.dedent(OWN_MODELS))
    yield "own_models"
    sys.modules.pop("own_models", None)


def test_a_slow_model_is_shown_as_far_as_it_got(own: str) -> None:
    models = ["HoeffdingTreeClassifier", f"{own}:Slow"]
    text = output("compare", "Phishing", "--limit", "600", "--seconds", "1", "--models", *models)
    n = re.search(r"\* own_models:Slow is too slow: it is shown after (\d+) rows, not", text)
    assert n is not None and 100 <= int(n[1]) < 600 and "own_models:Slow*" in text
    # Where it leads by far, there is no winner.
    lead = rf"no clear winner: Hoeffding\w+ 0.\d+, but own_models:Slow is ahead on .* {n[1]}"
    assert re.search(lead, text)


def test_ctrl_c(own: str, tmp_path: pathlib.Path) -> None:
    said = call("compare", "Phishing", "--models", f"{own}:Interrupted")
    assert said == (130, "", "river-oauc: interrupted\n")
    assert not (tmp_path / "river-oauc-compare.png").exists()


# --- models --------------------------------------------------------------------------------------


def test_models_of_the_user(own: str) -> None:
    options = ["Phishing", "--limit", "80", "--models", "SparseOAUCM"]
    found = results(*options, f"{own}:make", f"{own}:instance")
    # Nothing of what it learned is left when labels are late.
    every = json.loads(pathlib.Path("results.json").read_text())["models"]
    aucs = {(each["model"], each["labels"]): each["auc"] for each in every}
    for when in ("labels at once", "labels 8 rows late"):
        assert aucs["own_models:make", when] == aucs["SparseOAUCM", when]
    examples = phishing(80)
    fresh = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    # A clone has learned nothing yet.
    expected = auc(progressive(examples, fresh), examples)
    assert found["own_models:instance"]["auc"] == pytest.approx(expected)
    assert found["own_models:instance"]["preparation"] == "raw"


def test_a_model_that_fails_or_changes_records_does_not_disturb_others(own: str) -> None:
    options = ["compare", "Phishing", "--limit", "80", "--models"]
    text = output(*options, f"{own}:Greedy", f"{own}:Failing", "SparseOAUCM")
    assert "own_models:Failing fails at row 7: RuntimeError: no  luck\n" in text
    alone = table_aucs(output(*options, "SparseOAUCM"))
    assert table_aucs(text) == alone


@pytest.mark.parametrize(
    "name, message",
    [
        ("nothing:make", "--models nothing:make: ModuleNotFoundError: No module named 'nothing'"),
        ("own_models:nothing", "--models own_models:nothing: AttributeError: "),
        (
            "own_models:number",
            "--models own_models:number: TypeError: 'int' object is not callable",
        ),
        ("builtins:dict", "--models builtins:dict: a dict has no predict_proba_one"),
        (
            "own_models:Failing",
            "own_models:Failing fails at row 7: RuntimeError: no  luck; --models",
        ),
    ],
)
def test_models_that_cannot_be_compared(own: str, name: str, message: str) -> None:
    assert refusal("compare", "Phishing", "--models", name).startswith(message)


def test_scores_are_recorded_before_learning() -> None:
    class Scripted(base.Classifier):
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

    model = Scripted([{True: 0.3}, {}, {False: 1.0}, {False: math.nan, True: math.nan}])
    result = Run(CONTENDERS[0], "raw", model)
    result.follow([({}, False)] * 4, np.arange(4))
    assert model.log == ["predict", "learn"] * 4
    # Without a prediction the score is 1/2; without a positive class it is 0.
    assert list(result.scores) == [0.3, 0.5, 0.0, 0.5]


def test_a_preparation_that_fails() -> None:
    """Where numbers overflow the scaler, the run ends."""
    examples = [({"a": number}, i % 2 == 0) for i, number in enumerate([1e200, -1e200, 1.0])]
    runs = make_runs(find_contenders(["LogisticRegression"]))
    for each in runs:
        each.follow(examples, np.arange(3))
    errors = {each.preparation: each.error for each in runs}
    assert str(errors["one-hot | StandardScaler"]).startswith("fails at row 1: ValueError")


def test_contenders() -> None:
    for contender in CONTENDERS:
        if isinstance(contender.make, type(find_contenders)) or contender.ours:
            model = contender.make(1)
            assert contender.ours == type(model).__module__.startswith("river_oauc.")
        assert set(contender.preparations) <= {"raw", "codes", *PREPARATIONS}
    (arf,) = find_contenders(["arfclassifier"])
    model = arf.make(7)
    assert isinstance(model, forest.ARFClassifier)
    assert (model.n_models, model.seed) == (10, 7)


# --- requests that cannot be met -----------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("--target y", "ImageSegments is a set: --target and the like go with a file"),
        ("none.csv --target y", "none.csv: no such file or set; the sets are ImageSegments, Phi"),
        ("--plot no/directory/a.png", "no/directory/a.png: the figure cannot be written there"),
        ("--plot directory.png", "directory.png: the figure cannot be written there"),
        ("--plot a.pdf", "a.pdf: the name of the figure must end in .png"),
        ("--output a.txt", "a.txt: the name of the output must end in .json"),
        ("phising", "phising: no such file or set (did you mean 'Phishing'?); the sets are Imag"),
        ("--models SVM", "unknown model 'SVM'; the known ones are "),
        ("--label-delay 3x", "argument --label-delay: '3x' is neither a number of rows nor a dur"),
        ("--limit 1", "ImageSegments (brickface against the rest): the 1 rows are of one class"),
    ],
)
def test_refused_requests(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    (tmp_path / "directory.png").mkdir()
    if "--plot" in arguments:
        monkeypatch.setattr(compare, "_stream", lambda args: pytest.fail("refused too late"))
    assert refusal("compare", *arguments.split()).startswith(message)


def test_a_refused_run_keeps_an_old_figure(tmp_path: pathlib.Path) -> None:
    (tmp_path / "old.png").write_bytes(b"old")
    for plot in ("new.png", "old.png"):
        refusal("compare", "nonsense", "--plot", plot)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_bytes() == b"old"
