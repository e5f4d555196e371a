"""The figures and the verdict of `river-oauc compare`."""

from __future__ import annotations

import csv
import datetime
import io
import math
import pathlib
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import fraud
import numpy as np
import pytest
from commands import output, results, table_aucs
from matplotlib import image
from river import compose, forest, imblearn, linear_model, optim, preprocessing
from sklearn.metrics import average_precision_score, roc_auc_score

from river_oauc import AutoOAUC, SparseOAUCM
from river_oauc.cli.compare.curves import draw_curves
from river_oauc.cli.compare.report import Comparison, verdicts
from river_oauc.cli.compare.runs import Run
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
from river_oauc.preprocessing import RecordEncoder

Example = tuple[dict[str, Any], bool]


@pytest.fixture(autouse=True)
def _in_empty_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def run_of(contender: Contender, scores: np.ndarray, preparation: str = "raw") -> Run:
    return Run(contender, preparation, None, scores=array("d", scores))


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
    runs = [run_of(contender, each) for contender, each in zip(CONTENDERS, scores, strict=False)]
    return standings(labels, runs)[0]


def verdict(*found: Standing, unranked: Sequence[Standing] = ()) -> tuple[str | None, str]:
    return Comparison("labels at once", found, unranked, []).verdict()


def test_a_winner() -> None:
    labels = np.arange(5_000) % 20 == 0
    found = ranked(labels, noisy(labels, 2.0, 1), noisy(labels, 1.0, 2), noisy(labels, 0.5, 3))
    assert not_worse_than_the_best(found) == found[:1]
    low, high = lead(found[0], found[1])
    assert 0.0 < low < found[0].auc - found[1].auc < high
    assert verdict(*found) == (
        "AutoOAUC",
        f"AutoOAUC ranks best: AUC {found[0].auc:.3f}, above SparseOAUCM by {low:.3f} to "
        f"{high:.3f} (99% interval)",
    )
    # A slow one that leads as far as it got leaves it open; another one does not.
    for distance, winner in ((4.0, None), (1.0, "AutoOAUC")):
        slow = Standing([run_of(CONTENDERS[5], noisy(labels[:500], distance, 4))], labels[:500])
        found_winner, evidence = verdict(*found, unranked=[slow])
        assert found_winner == winner
        assert (" is ahead on the first 500 rows, 0.99" in evidence) == (winner is None)


def test_a_lead_by_chance_on_the_first_rows_is_none() -> None:
    labels = np.arange(5_000) % 20 == 0
    scores = noisy(labels, 3.0, 1)
    scores[:500] = noisy(labels[:500], 0.2, 2)
    found = ranked(labels, scores, noisy(labels, 1.0, 3))
    slow = Standing([run_of(CONTENDERS[5], noisy(labels[:500], 0.4, 4))], labels[:500])
    assert slow.auc > Standing([found[0].run], labels[:500]).auc
    assert verdict(*found, unranked=[slow])[0] == "AutoOAUC"


def test_no_winner() -> None:
    labels = np.arange(5_000) % 50 == 0
    scores = [noisy(labels, 1.0, seed) for seed in (1, 2, 3)]
    for n in (3, 2):
        found = ranked(labels, *scores[:n])
        assert not_worse_than_the_best(found) == found
        names = ", ".join(f"{each.name} {each.auc:.3f}" for each in found)
        assert verdict(*found) == (None, f"no clear winner: {names} do not differ significantly")


def test_few_positives_decide_nothing() -> None:
    labels = np.arange(5_000) % 300 == 0
    found = ranked(labels, noisy(labels, 9.0, 1), noisy(labels, 0.0, 2))
    assert labels.sum() < 20 and found[0].auc == 1.0
    assert verdict(*found)[0] is None


def test_no_winner_if_another_learner_leads_in_windows() -> None:
    labels = np.arange(5_000) % 20 == 0
    # Its scores drift, but it ranks best at any time.
    moving = noisy(labels, 2.0, 1) + np.linspace(0.0, 20.0, 5_000)
    found = ranked(labels, noisy(labels, 1.5, 2), moving)
    assert found[0].name == "AutoOAUC" and len(not_worse_than_the_best(found)) == 1
    winner, evidence = verdict(*found)
    assert winner is None and "is ahead over all rows, SparseOAUCM within windows" in evidence


def test_a_single_learner() -> None:
    labels = np.arange(100) % 4 == 0
    assert verdict(*ranked(labels, labels.astype(float)))[1] == "AutoOAUC: AUC 1.000"


def test_a_ranking_that_does_not_survive_the_delay() -> None:
    labels = np.arange(5_000) % 20 == 0
    good, fair, bad = (noisy(labels, distance, 1 + i) for i, distance in enumerate((3.0, 1.5, 0.5)))
    for late, survives in (((good, fair), True), ((bad, fair), False)):
        comparisons = [
            Comparison(when, ranked(labels, *scores), [], [])
            for when, scores in (("labels at once", (good, fair)), ("labels 9 rows late", late))
        ]
        lines = verdicts(comparisons)
        assert lines[0].startswith("Labels at once: AutoOAUC ranks best: AUC 0.9")
        best = "AutoOAUC" if survives else "SparseOAUCM"
        assert lines[1].startswith(f"Labels 9 rows late: {best} ranks best: AUC ")
        assert len(lines) == 3 - survives
    assert re.fullmatch(
        r"The ranking at once does not survive the delay: AutoOAUC falls from 0\.98\d to 0\.6\d\d, "
        r"SparseOAUCM has 0\.8\d\d",
        lines[2],
    )


def test_the_best_preparation_counts() -> None:
    labels = np.arange(100) % 4 == 0
    runs = [
        run_of(CONTENDERS[0], -labels.astype(float), "one-hot"),
        run_of(CONTENDERS[0], labels.astype(float), "RecordEncoder"),
        run_of(CONTENDERS[0], np.zeros(100), "raw"),
    ]
    ((found,), _) = standings(labels, runs)
    assert (found.run.preparation, found.auc) == ("RecordEncoder", 1.0)
    # One that failed does not.
    runs[1].error = "fails"
    ((found,), _) = standings(labels, runs)
    assert (found.run.preparation, found.auc) == ("raw", 0.5)


def test_learners_that_did_not_see_all_rows_are_apart() -> None:
    labels = np.arange(100) % 4 == 0
    scores = noisy(labels, 1.0, seed=1)
    runs = [
        run_of(CONTENDERS[0], scores),
        run_of(CONTENDERS[1], scores[:24]),
        # Of two preparations, only that counts which came farther.
        run_of(CONTENDERS[2], scores[:70], "one-hot"),
        run_of(CONTENDERS[2], labels[:30].astype(float), "RecordEncoder"),
    ]
    (best,), late = standings(labels, runs)
    assert best.name == "AutoOAUC" and best.auc == pytest.approx(roc_auc_score(labels, scores))
    assert [(each.name, len(each.labels)) for each in late] == [("SparseOAUCM", 24), ("OTAUC", 70)]
    for each in late:
        n = len(each.labels)
        assert each.auc == pytest.approx(roc_auc_score(labels[:n], scores[:n]))


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
        comparisons = [Comparison(when, found, [], []) for when in ("at once", "$late$")]
        png = draw_curves(comparisons, lines=["a verdict"], subtitle="a stream")
        assert image.imread(io.BytesIO(png)).std() > 0


# --- four files of payments ----------------------------------------------------------------------


def payments(path: pathlib.Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], bool]]:
    """Read the rows by hand, raw and with what one-hot encoding is to make features of."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            y = row.pop("fraud") == "yes"
            time = datetime.datetime.fromisoformat(row.pop("time"))
            x: dict[str, Any] = {}
            for name, cell in row.items():
                x[name] = (float(cell) if cell else None) if name[0] == "v" else cell
            known = {name: value for name, value in x.items() if value is not None}
            hour = {"time, hour": str(time.hour), "time, weekday": str(time.weekday())}
            yield {"payment": x.pop("payment"), "time": time} | x, known | hour, y


def one_hot(scaler: Callable[[], Any] | None) -> Any:
    numbers: Any = compose.SelectType(float)
    if scaler is not None:
        numbers |= scaler()
    return numbers + (compose.SelectType(str) | preprocessing.OneHotEncoder(drop_zeros=True))


@pytest.mark.parametrize("kind", fraud.KINDS)
def test_figures_are_those_of_a_plain_loop(tmp_path: pathlib.Path, kind: str) -> None:
    n = 300
    path = fraud.write(tmp_path / "payments.csv", kind, seed=1, n=8_000)
    arguments = [str(path), "--target", "fraud", "--positive", "yes", "--limit", str(n)]
    found = results(*arguments)

    rows = [row for row, _ in zip(payments(path), range(n), strict=False)]
    raw, known = ([(row[i], row[2]) for row in rows] for i in (0, 1))
    even = {False: 0.5, True: 0.5}
    logistic, scaler = linear_model.LogisticRegression, preprocessing.StandardScaler
    arf = RecordEncoder() | forest.ARFClassifier(n_models=10, seed=42)
    candidates: dict[str, list[tuple[Any, list[Example]]]] = {
        "AutoOAUC": [(AutoOAUC(seed=42), raw)],
        "SparseOAUCM": [(SparseOAUCM(), raw)],
        ARF: [(arf, raw)],
    }
    for name, make in {
        "LogisticRegression": logistic,
        "LR(AdaGrad)": lambda: logistic(optim.AdaGrad()),
        "RandomUnderSampler": lambda: imblearn.RandomUnderSampler(logistic(), even, seed=42),
    }.items():
        candidates[name] = [
            (one_hot(None) | make(), known),
            (one_hot(scaler) | make(), known),
            (RecordEncoder() | make(), raw),
            (RecordEncoder() | scaler() | make(), raw),
        ]
    assert candidates.keys() == found.keys() - {"LightGBM", "CatBoost"}
    labels = np.array([y for *_, y in rows])
    for name, models in candidates.items():
        aucs = []
        for model, shown in models:
            scores = []
            for x, y in shown:
                answer = model.predict_proba_one(x)
                p = answer.get(True, 0.0) if answer else 0.5
                scores.append(0.5 if math.isnan(p) else p)
                model.learn_one(x, y)
            aucs.append(roc_auc_score(labels, scores))
            if found[name]["auc"] == pytest.approx(aucs[-1], abs=1e-9):
                precision = average_precision_score(labels, scores)
        assert found[name]["auc"] == pytest.approx(max(aucs), abs=1e-9), name
        assert found[name]["average_precision"] == pytest.approx(precision, abs=1e-9), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", fraud.KINDS)
def test_a_winner_is_reported_only_where_ten_seeds_agree(tmp_path: pathlib.Path, kind: str) -> None:
    # Without the forest, which takes most of the time and is far from the best.
    models = [each.name for each in CONTENDERS if each.by_default and each.name != ARF]
    named, best = set(), set()
    for seed in range(10):
        path = fraud.write(tmp_path / "payments.csv", kind, seed)
        arguments = [str(path), "--target", "fraud", "--positive", "yes"]
        text = output("compare", *arguments, "--models", *models)
        named.update(re.findall(r"^Labels at once: (\S+) ranks best", text))
        best.add(next(iter(table_aucs(text))))
        print(kind, seed, *text.splitlines()[:2])
    assert not named or named == best, (named, best)
