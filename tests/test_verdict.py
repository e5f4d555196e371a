"""The figures and the verdict of `river-oauc compare`."""

from __future__ import annotations

import csv
import datetime
import io
import math
import pathlib
import re
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import fraud
import numpy as np
import pytest
from commands import output, table_cells
from matplotlib import image
from river import compose, forest, imblearn, linear_model, optim, preprocessing
from sklearn.metrics import average_precision_score, roc_auc_score

from river_oauc import AutoOAUC, SparseOAUCM
from river_oauc.cli.compare.curves import draw_curves
from river_oauc.cli.compare.race import Run
from river_oauc.cli.compare.report import verdict
from river_oauc.cli.compare.verdict import (
    BLOCKS,
    CONFIDENCE,
    Standing,
    lead,
    not_worse_than_the_best,
    standings,
    windows,
)
from river_oauc.cli.models import ARF, CONTENDERS, Contender

Example = tuple[dict[str, Any], bool]


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def run_of(contender: Contender, scores: np.ndarray, scaler: str = "none") -> Run:
    return Run(contender, scaler, None, array("d", scores))


def standing(scores: np.ndarray, labels: np.ndarray, contender: int = 0) -> Standing:
    return Standing([run_of(CONTENDERS[contender], scores)], labels)


def noisy(labels: np.ndarray, distance: float, seed: int) -> np.ndarray:
    """Draw normal scores of unit deviation, with class means at this distance."""
    return np.random.default_rng(seed).standard_normal(len(labels)) + distance * labels


# --- the interval --------------------------------------------------------------------------------


@pytest.mark.parametrize("rare", [True, False])
def test_bootstrap_aucs_are_those_of_resampled_streams(rare: bool) -> None:
    n = 600
    labels = (np.random.default_rng(0).random(n) < 0.1) == rare
    scores = np.round(noisy(labels, 1.0, seed=1), 1)
    found = standing(scores, labels).bootstrap_aucs
    blocks = np.split(np.arange(n), BLOCKS)
    times = np.random.default_rng(0).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 2_000)
    for draw in (0, 7, 1_999):
        stream = np.concatenate([np.tile(blocks[b], k) for b, k in enumerate(times[draw])])
        expected = roc_auc_score(labels[stream], scores[stream])
        assert found[draw] == pytest.approx(expected, abs=1e-12)


def test_the_interval_covers_the_true_difference() -> None:
    # Correlated normal scores, for which the true AUCs are known.
    inside = 0
    for seed in range(40):
        labels = np.arange(2_000) % 40 == 0
        common = noisy(labels, 0.0, seed=3 * seed)
        better = common + noisy(labels, 2.0, seed=3 * seed + 1)
        worse = common + noisy(labels, 1.5, seed=3 * seed + 2)
        truth = _phi(2.0 / 2.0) - _phi(1.5 / 2.0)
        low, high = lead(standing(better, labels), standing(worse, labels))
        inside += low <= truth <= high
    assert CONFIDENCE == 0.99
    assert inside >= 38


def _phi(z: float) -> float:
    return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))


def test_neighbouring_examples_do_not_count_as_independent() -> None:
    # Fifty copies in a row add no information.
    labels = np.arange(200) % 10 == 0
    first, second = noisy(labels, 1.5, seed=1), noisy(labels, 1.0, seed=2)
    once = lead(standing(first, labels), standing(second, labels))
    repeated = [np.repeat(each, 50) for each in (first, second, labels)]
    often = lead(standing(repeated[0], repeated[2]), standing(repeated[1], repeated[2]))
    assert often == pytest.approx(once)


# --- the verdict ---------------------------------------------------------------------------------


def ranked(labels: np.ndarray, *scores: np.ndarray) -> list[Standing]:
    """Rank learners with these scores; the first is AutoOAUC."""
    return standings(
        labels,
        [run_of(contender, each) for contender, each in zip(CONTENDERS, scores, strict=False)],
    )


def test_a_winner() -> None:
    labels = np.arange(5_000) % 20 == 0
    found = ranked(labels, noisy(labels, 2.0, 1), noisy(labels, 1.0, 2), noisy(labels, 0.5, 3))
    assert not_worse_than_the_best(found) == found[:1]
    title, evidence = verdict(found)
    assert title == f"AutoOAUC ranks best: AUC {found[0].auc:.3f}"
    low, high = lead(found[0], found[1])
    assert evidence == f"above SparseOAUCM by {low:.3f} to {high:.3f} (99% interval)"
    assert 0.0 < low < found[0].auc - found[1].auc < high


def test_no_winner() -> None:
    labels = np.arange(5_000) % 50 == 0
    scores = [noisy(labels, 1.0, seed) for seed in (1, 2, 3)]
    found = ranked(labels, *scores)
    assert not_worse_than_the_best(found) == found
    title, evidence = verdict(found)
    assert title == "No clear winner"
    first, second = (f"{each.name} ({each.auc:.3f})" for each in found[:2])
    reason = ": the difference in AUC is not significant"
    assert evidence == f"{first}, {second} and 1 more{reason}"
    found = ranked(labels, *scores[:2])
    first, second = (f"{each.name} ({each.auc:.3f})" for each in found)
    assert verdict(found) == ("No clear winner", f"{first} and {second}{reason}")


def test_few_positives_decide_nothing() -> None:
    labels = np.arange(5_000) % 300 == 0
    found = ranked(labels, noisy(labels, 9.0, 1), noisy(labels, 0.0, 2))
    assert labels.sum() < 20 and found[0].auc == 1.0
    assert verdict(found)[0] == "No clear winner"


def test_no_winner_if_another_learner_leads_in_windows() -> None:
    labels = np.arange(5_000) % 20 == 0
    # Its scores drift, but it ranks best at any time.
    moving = noisy(labels, 2.0, 1) + np.linspace(0.0, 20.0, 5_000)
    found = ranked(labels, noisy(labels, 1.5, 2), moving)
    assert found[0].name == "AutoOAUC" and len(not_worse_than_the_best(found)) == 1
    title, evidence = verdict(found)
    assert title == "No clear winner"
    assert evidence == "AutoOAUC is ahead over the whole stream, SparseOAUCM within windows"


def test_a_single_learner() -> None:
    labels = np.arange(100) % 4 == 0
    assert verdict(ranked(labels, labels.astype(float))) == ("AutoOAUC: AUC 1.000", "")


def test_the_best_scaler_counts() -> None:
    labels = np.arange(100) % 4 == 0
    runs = [
        run_of(CONTENDERS[0], -labels.astype(float), "none"),
        run_of(CONTENDERS[0], labels.astype(float), "standard"),
        run_of(CONTENDERS[0], np.zeros(100), "minmax"),
    ]
    (found,) = standings(labels, runs)
    assert (found.run.scaler, found.auc) == ("standard", 1.0)


def test_a_window_without_a_class_has_no_auc() -> None:
    labels = np.arange(100) < 33
    found = standing(labels.astype(float), labels)
    assert len(windows(labels)) == 3
    assert np.isnan([*found.in_windows, found.mean_in_windows]).all()
    mixed = labels.copy()
    mixed[50] = True
    assert standing(mixed.astype(float), mixed).mean_in_windows == 1.0


def test_figure_of_one_point_and_of_none() -> None:
    for labels in (np.arange(4) % 2 == 0, np.arange(100) < 33):
        found = [standing(labels.astype(float), labels)]
        png = draw_curves(found, title="title", subtitle="evidence\ndescription")
        assert image.imread(io.BytesIO(png)).std() > 0


# --- four files of payments ----------------------------------------------------------------------


def payments(path: pathlib.Path) -> Iterator[Example]:
    """Read the rows by hand."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            y = row.pop("fraud") == "yes"
            del row["payment"]
            time = datetime.datetime.fromisoformat(row.pop("time"))
            # In the order of the file, on which the random features of a forest depend.
            x: dict[str, Any] = {
                "time, hour": time.hour + time.minute / 60 + time.second / 3600,
                "time, weekday": time.weekday(),
            }
            for name, cell in row.items():
                x[name] = (float(cell) if cell else None) if name[0] == "v" else cell
            yield x, y


def without(examples: list[Example], is_left_out: Callable[[str, Any], bool]) -> list[Example]:
    return [({k: v for k, v in x.items() if not is_left_out(k, v)}, y) for x, y in examples]


def prepared(model: Any, scaler: Callable[[], Any] | None, takes_text: bool = False) -> Any:
    # Without a scaler, None passes through.
    numbers: Any = compose.Discard(*fraud.FEW, *fraud.MANY)
    if scaler is not None:
        numbers |= scaler()
    text: Any = compose.SelectType(str)
    if not takes_text:
        text |= preprocessing.OneHotEncoder()
    return (numbers + text) | model


@pytest.mark.parametrize("kind", fraud.KINDS)
def test_figures_are_those_of_a_plain_loop(tmp_path: pathlib.Path, kind: str) -> None:
    n = 300
    path = fraud.write(tmp_path / "payments.csv", kind, seed=1, n=8_000)
    arguments = ["--csv", str(path), "--target", "fraud", "--positive", "yes"]
    text = output("compare", *arguments, "--limit", str(n))
    assert "look like ids (--include keeps them): 'payment'\n" in text
    assert "times, read as hour and weekday: 'time'\n" in text

    examples = [example for example, _ in zip(payments(path), range(n), strict=False)]
    known = without(examples, lambda name, value: value is None)
    even = {False: 0.5, True: 0.5}
    logistic = linear_model.LogisticRegression
    candidates: dict[str, list[tuple[Any, list[Example]]]] = {
        "AutoOAUC": [(AutoOAUC(seed=42), examples)],
        "SparseOAUCM": [(SparseOAUCM(), examples)],
    }
    for name, make in {
        "LogisticRegression": logistic,
        "LogisticRegression(AdaGrad)": lambda: logistic(optim.AdaGrad()),
        "RandomUnderSampler": lambda: imblearn.RandomUnderSampler(logistic(), even, seed=42),
        "PAClassifier": linear_model.PAClassifier,
        ARF: lambda: forest.ARFClassifier(n_models=10, seed=42),
    }.items():
        candidates[name] = [
            (prepared(make(), scaler, takes_text=name == ARF), known)
            for scaler in (None, preprocessing.StandardScaler, preprocessing.MinMaxScaler)
        ]

    rows = table_cells(text)
    assert candidates.keys() == rows.keys()
    labels = np.array([y for _, y in examples])
    for name, models in candidates.items():
        found = []
        for model, shown in models:
            scores = []
            for x, y in shown:
                answer = model.predict_proba_one(x)
                p = answer.get(True, 0.0) if answer else 0.5
                scores.append(0.5 if math.isnan(p) else p)
                model.learn_one(x, y)
            found.append((roc_auc_score(labels, scores), average_precision_score(labels, scores)))
        # The first of equally good scalers.
        auc, precision = max(found, key=lambda figures: round(figures[0], 12))
        assert float(rows[name][0]) == pytest.approx(auc, abs=5.1e-5), name
        assert float(rows[name][2]) == pytest.approx(precision, abs=5.1e-5), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", fraud.KINDS)
def test_a_winner_is_reported_only_where_ten_seeds_agree(tmp_path: pathlib.Path, kind: str) -> None:
    # Without the forest, which takes most of the time and is far from the best.
    models = [each.name for each in CONTENDERS if each.by_default and each.name != ARF]
    named, best = set(), set()
    for seed in range(10):
        path = fraud.write(tmp_path / "payments.csv", kind, seed)
        arguments = ["--csv", str(path), "--target", "fraud", "--positive", "yes"]
        text = output("compare", *arguments, "--models", *models)
        named.update(re.findall(r"^(\S+) ranks best", text, re.MULTILINE))
        best.add(next(iter(table_cells(text))))
        print(kind, seed, *text.splitlines()[-3:-1])
    assert not named or named == best, (named, best)
