"""`river-oauc compare`: what it runs, prints, writes and draws, and what it refuses."""

from __future__ import annotations

import csv
import math
import pathlib
import random
import re
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from commands import call, output, refusal, results, run, table_aucs
from matplotlib import image
from river import base, compose, datasets, forest, linear_model, preprocessing
from threadpoolctl import threadpool_info

from river_oauc import OAUCM, AutoOAUC, SparseOAUCM
from river_oauc.cli.compare import command as compare
from river_oauc.cli.compare.race import Group, Run, Step, make_groups, race
from river_oauc.cli.compare.streams import named_stream
from river_oauc.cli.models import CONTENDERS, Contender, find_contenders
from river_oauc.cli.preparations import PREPARATIONS, one_hot
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


def progressive(examples: Sequence[Example], model: Any, delay: int = 0) -> np.ndarray:
    """Return the scores of a plain loop that learns an example some time after its score."""
    scores = []
    for i, (x, _) in enumerate(examples):
        prediction = model.predict_proba_one(x)
        p = prediction.get(True, 0.0) if prediction else 0.5
        scores.append(0.5 if math.isnan(p) else p)
        if i >= delay:
            model.learn_one(*examples[i - delay])
    return np.array(scores)


def auc(scores: np.ndarray, examples: Sequence[Example]) -> float:
    labels = np.array([y for _, y in examples])
    return exact_auc(scores[labels], scores[~labels])


# --- the run -------------------------------------------------------------------------------------


def test_default_run(tmp_path: pathlib.Path) -> None:
    text = output("compare", "--limit", "250")
    title, evidence, description, *_ = text.splitlines()
    assert re.match(r"\w+ ranks best: AUC 0\.\d{3}$|No clear winner: ", title)
    assert description == "ImageSegments (brickface against the rest): 250 rows, 12.8% positive"
    aucs = table_aucs(text)
    assert set(aucs) == BY_DEFAULT
    assert list(aucs.values()) == sorted(aucs.values(), reverse=True)
    assert "Only 32 of the rows are positive: the standard error of an AUC may be 0.09" in text
    assert [path.name for path in tmp_path.iterdir()] == ["river-oauc-compare.png"]


def test_figure_has_every_curve(tmp_path: pathlib.Path) -> None:
    output("compare", "Phishing", "--limit", "200", "--plot", "a.png")
    pixels = image.imread(tmp_path / "a.png")
    assert pixels.shape == (750, 1350, 4)
    colours = {tuple(colour) for colour in np.round(pixels[..., :3].reshape(-1, 3) * 255)}
    # Two of ours, then five others.
    for code in ("D55E00", "0072B2", "009E73", "E69F00", "56B4E9", "000000", "999999"):
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
        assert re.fullmatch(rf"{figure} +[▁-█]+{figure * 3} +[\d,]+ +\d+ KiB", "".join(rows))
        assert len(rows) == {40: 3, 60: 2, 80: 1}[width]


def test_the_seed_decides() -> None:
    first, again, other = (
        results(
            "Phishing", "--limit", "80", "--seed", seed, "--models", "AutoOAUC", "ARFClassifier"
        )
        for seed in "112"
    )
    for each in (first, again, other):
        for model in each.values():
            # Which equal strings of a forest are the same object, and pickled once, varies.
            del model["microseconds_per_example"], model["pickle_bytes"]
    assert first == again != other


@pytest.mark.parametrize("top, k", [("1%", 2), ("12.5%", 25), ("30", 30), ("1000", 200)])
def test_the_top(top: str, k: int) -> None:
    found = results("Phishing", "--limit", "200", "--models", "SparseOAUCM", "--top", top)
    examples = named_stream("Phishing", limit=200).examples
    order = np.argsort(-progressive(examples, SparseOAUCM()))[:k]
    expected = sum(examples[i][1] for i in order) / k
    assert found["SparseOAUCM"][f"precision_top_{top}"] == pytest.approx(expected)


def test_results_as_csv() -> None:
    arguments = ["compare", "Phishing", "--limit", "100", "--models", "PAI", "SparseOAUCM"]
    assert "results written to a.csv\n" in output(*arguments, "--output", "a.csv")
    with open("a.csv", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    for name, figures in results(*arguments[1:]).items():
        assert "windows" not in rows[name]
        for key in ("model", "is_ranked", "preparation", "rows", "auc", "average_precision"):
            assert rows[name][key] == str(figures[key])


def test_blas_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def spy(*args: object, **kwargs: object) -> None:
        libraries = threadpool_info()
        threads.update(lib["num_threads"] for lib in libraries if lib["user_api"] == "blas")
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "race", spy)
    assert run("compare", "Phishing") == 130
    assert threads == {1}


@pytest.mark.parametrize(
    "name, share",
    [("ImageSegments", 1 / 7), ("Phishing", 0.4384), ("Bananas", 0.448), ("Shuttle", 0.0715)],
)
def test_bundled_sets(name: str, share: float) -> None:
    stream = named_stream(name, limit=1000)
    assert stream.size == 1000 and {type(y) for _, y in stream.examples} == {bool}
    # Shuffled, the first thousand represent the set.
    assert stream.positives / 1000 == pytest.approx(share, abs=0.05)


def test_shuffling_keeps_the_examples() -> None:
    own_order = list(datasets.Phishing())
    assert named_stream("Phishing", shuffle=False).examples == own_order
    shuffled = named_stream("Phishing").examples
    assert shuffled != own_order
    assert sorted(map(repr, shuffled)) == sorted(map(repr, own_order))


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


# --- preparations --------------------------------------------------------------------------------


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


@pytest.mark.parametrize("delay", [0, 7])
def test_groups_are_pipelines_of_river(delay: int) -> None:
    examples = named_stream("Phishing", limit=250).examples
    names = ["OAUCM", "LogisticRegression", "PAClassifier", "AutoOAUC"]
    groups = make_groups(find_contenders(names), examples, delay, seed=3)
    race(groups, seconds=600)
    runs = {(run.contender.name, run.preparation): run for group in groups for run in group.runs}
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
        assert list(runs[key].scores) == progressive(examples, model, delay).tolist(), key


def test_delayed_labels() -> None:
    examples = named_stream("Phishing", limit=200).examples
    options = ["--limit", "200", "--models", "SparseOAUCM"]
    found = results("Phishing", *options, "--delay", "50")["SparseOAUCM"]["auc"]
    assert "then learned 50 rows later." in output("compare", "Phishing", *options, "--delay", "50")
    late = auc(progressive(examples, SparseOAUCM(), delay=50), examples)
    at_once = auc(progressive(examples, SparseOAUCM()), examples)
    assert found == pytest.approx(late) and late < at_once


# --- time ----------------------------------------------------------------------------------------


class FakeGroup:
    """A group whose turns take a fixed time."""

    def __init__(self, name: str, n_turns: int, cost: float) -> None:
        self.name, self.cost, self.left = name, cost, n_turns
        self.n_rows = 0
        self.seconds = 0.0

    @property
    def is_finished(self) -> bool:
        return self.left == 0

    def advance(self) -> None:
        self.n_rows += 100
        self.left -= 1
        self.seconds += self.cost


def test_time_is_shared_equally() -> None:
    cheap, middle, slow = groups = [
        FakeGroup("cheap", 10, 0.1), FakeGroup("middle", 10, 1.0), FakeGroup("slow", 10, 10.0)
    ]  # fmt: skip
    turns: list[FakeGroup] = []
    race(groups, 45.0, turns.append)  # type: ignore[arg-type, list-item]
    # What the first two do not need goes to the third, which may overrun it by a turn.
    assert cheap.is_finished and middle.is_finished and slow.seconds == 40.0
    # All are at the same row until one has had its share.
    assert [each.name for each in turns[:6]] == ["cheap", "middle", "slow"] * 2
    race([FakeGroup("a", 5, 1.0)], 1e9)


OWN_MODELS = """
    import time
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
            time.sleep(0.05)

    class Interrupted(Own):
        def happens(self, n):
            if n == 150:
                raise KeyboardInterrupt

    class InterruptedAtOnce(Own):
        def happens(self, n):
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


def test_a_slow_model_runs_out_of_time(own: str) -> None:
    start = time.monotonic()
    models = ["SparseOAUCM", f"{own}:Slow"]
    text = output("compare", "Phishing", "--limit", "600", "--seconds", "2", "--models", *models)
    assert time.monotonic() - start < 15.0
    assert set(table_aucs(text)) == {"SparseOAUCM"}
    n = re.search(r"Out of time \(--seconds S gives more\): own_models:Slow after (\d+) rows", text)
    assert n is not None and 0 < int(n[1]) <= 41
    assert "own_models:Slow*" in text
    assert "* has seen less than a quarter of the rows that others have, and is not ranked" in text


def test_models_are_compared_on_rows_that_all_have_seen(own: str) -> None:
    models = ["SparseOAUCM", f"{own}:Slow"]
    text = output("compare", "Phishing", "--limit", "60", "--seconds", "2", "--models", *models)
    n = re.search(r"60 rows, .* positive; compared on the first (\d+)\n", text)
    assert n is not None and 15 <= int(n[1]) < 60
    examples = named_stream("Phishing", limit=60).examples[: int(n[1])]
    expected = auc(progressive(examples, SparseOAUCM()), examples)
    assert table_aucs(text)["SparseOAUCM"] == pytest.approx(expected, abs=5.1e-4)


def test_ctrl_c_shows_what_is_done(own: str, tmp_path: pathlib.Path) -> None:
    models = ["SparseOAUCM", f"{own}:Interrupted"]
    said = call("compare", "Phishing", "--limit", "400", "--models", *models, "--output", "a.json")
    assert (said.code, said.error) == (130, "")
    interrupted = re.search(
        r"Interrupted: (?:SparseOAUCM after (\d+) rows, )?own_models:Interrupted", said.out
    )
    assert interrupted
    # On a busy machine the other one has seen fewer rows.
    n_rows = min(149, int(interrupted[1] or 149))
    assert f"; compared on the first {n_rows}\n" in said.out
    assert {"a.json", "river-oauc-compare.png"} <= {path.name for path in tmp_path.iterdir()}
    said = call("compare", "Phishing", "--models", f"{own}:InterruptedAtOnce")
    assert said == (130, "", "river-oauc: interrupted\n")


# --- models --------------------------------------------------------------------------------------


def test_models_of_the_user(own: str) -> None:
    found = results(
        "Phishing", "--limit", "80", "--models", "SparseOAUCM", f"{own}:make", f"{own}:instance"
    )
    assert found["own_models:make"]["auc"] == found["SparseOAUCM"]["auc"]
    examples = named_stream("Phishing", limit=80).examples
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
    result.follow([Step({}, ({}, False))] * 4)
    assert model.log == ["predict", "learn"] * 4
    # Without a prediction the score is 1/2; without a positive class it is 0.
    assert list(result.scores) == [0.3, 0.5, 0.0, 0.5]


def test_a_preparation_that_fails() -> None:
    """Where numbers overflow the scaler, the other preparations go on."""
    fails = Contender("LR", lambda seed: linear_model.LogisticRegression())
    examples = [({"a": number}, i % 2 == 0) for i, number in enumerate([1e200, -1e200, 1.0])]
    group = Group("one-hot | StandardScaler", [fails], examples)
    race([group], 60.0)
    assert group.is_finished
    (only,) = group.runs
    assert only.error is not None and only.error.startswith("fails in its preparation: ValueError")


def test_contenders() -> None:
    for contender in CONTENDERS:
        model = contender.make(1)
        assert contender.ours == type(model).__module__.startswith("river_oauc.")
        assert set(contender.preparations) <= {"raw", *PREPARATIONS}
    (arf,) = find_contenders(["arfclassifier"])
    model = arf.make(7)
    assert isinstance(model, forest.ARFClassifier)
    assert (model.n_models, model.seed) == (10, 7)


# --- requests that cannot be met -----------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("--target y", "--target and --positive go with a file, and 'ImageSegments' is none"),
        ("Phishing --positive 1", "--target and --positive go with a file, and 'Phishing' is"),
        ("--plot no/directory/a.png", "no/directory/a.png: the figure cannot be written there"),
        ("--plot directory.png", "directory.png: the figure cannot be written there"),
        ("--plot a.pdf", "a.pdf: the name of the figure must end in .png"),
        ("--output a.txt", "a.txt: the name of the output must end in .csv or .json"),
        ("--output no/a.csv", "no/a.csv: the output cannot be written there"),
        ("phising", "unknown set 'phising' (did you mean 'Phishing'?); the known ones are Image"),
        ("heart", "unknown set 'heart'; the known ones are ImageSegments, Phishing, Bananas, Sh"),
        ("--models SVM", "unknown model 'SVM'; the known ones are "),
        ("Phishing --exclude http", "Phishing: no column 'http' (did you mean 'https'?)"),
        ("--limit 1", "ImageSegments (brickface against the rest): none of the 1 examples is posi"),
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
