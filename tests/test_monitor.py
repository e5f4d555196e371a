"""The monitor: its figures against scikit-learn and numpy, its memory, its frame and its plot."""

from __future__ import annotations

import copy
import math
import pickle
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from river_oauc.monitor import Monitor, ReliabilityBin, Snapshot


def probabilities(p: float) -> dict[bool, float]:
    return {False: 1.0 - p, True: p}


def fill(monitor: Monitor, n: int = 300, seed: int = 0) -> list[tuple[float, float, bool]]:
    """Observe records whose labels come late, out of order or never; return those that came."""
    rng = np.random.default_rng(seed)
    pending: dict[int, tuple[float, float, bool]] = {}
    labelled = []
    for key in range(n):
        p = float(rng.integers(1, 10) / 10) ** 2  # with many ties
        alert = rng.choice([None, True, False])
        monitor.observe_one(key, probabilities(p), alert=alert)
        pending[key] = p, math.nan if alert is None else float(alert), bool(rng.random() < p)
        while rng.random() < 0.45 and pending:
            key = int(rng.choice(list(pending)))
            labelled.append(pending.pop(key))
            monitor.label_one(key, labelled[-1][2])
    return labelled


# The figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("window_size", [7, 50, 1_000])
@pytest.mark.parametrize("seed", range(3))
def test_figures_are_those_of_the_window(window_size: int, seed: int) -> None:
    monitor = Monitor(window_size)
    labelled = fill(monitor, seed=seed)
    scores, alerts, labels = np.array(labelled[-window_size:]).T
    now = monitor.snapshot()
    assert now.n_observed == 300
    assert (now.n_labelled, now.n_pending) == (len(labelled), 300 - len(labelled))
    assert 0 < now.n_pending < 300
    assert now.auc == pytest.approx(roc_auc_score(labels, scores))
    assert now.average_precision == pytest.approx(average_precision_score(labels, scores))
    assert now.alert_precision == pytest.approx(labels[alerts == 1].mean())
    assert now.alert_recall == pytest.approx(np.nanmean(alerts[labels == 1]))
    assert now.positive_rate == pytest.approx(labels.mean())
    assert now.mean_probability == pytest.approx(scores.mean())


def test_the_alert_rate_needs_no_labels_and_forgets() -> None:
    monitor = Monitor(window_size=4)
    rates = []
    for key, alert in enumerate([True, None, False, True, False, False, None, None, None, None]):
        monitor.observe_one(key, 0.5, alert=alert)
        rates.append(monitor.snapshot().alert_rate)
    assert rates[:9] == [1, 1, 1 / 2, 2 / 3, 1 / 3, 1 / 4, 1 / 3, 0, 0]
    assert math.isnan(rates[9])


def test_update_is_observing_and_labelling() -> None:
    at_once, in_two_steps = Monitor(window_size=50), Monitor(window_size=50)
    rng = np.random.default_rng(1)
    for key, p in enumerate(rng.random(200).tolist()):
        y, alert = rng.random() < p, bool(p > 0.8)
        at_once.update(y, probabilities(p), alert=alert)
        in_two_steps.observe_one(key, probabilities(p), alert=alert)
        in_two_steps.label_one(key, y)
    assert at_once.snapshot() == in_two_steps.snapshot()
    assert at_once.reliability() == in_two_steps.reliability()


def test_what_cannot_be_computed_is_nan() -> None:
    monitor = Monitor()
    assert all(math.isnan(figure) for figure in monitor.snapshot()[5:])
    monitor.update(True, 3.5)
    monitor.update(1, math.inf)
    now = monitor.snapshot()
    assert now.positive_rate == 1.0
    unknown = (now.auc, now.average_precision, now.alert_rate, now.alert_precision)
    assert np.isnan([*unknown, now.alert_recall, now.mean_probability]).all()
    monitor.update(-1, -math.inf)
    assert monitor.snapshot().auc == 1.0
    assert "auc: 100.00%" in repr(monitor) and "nan" not in repr(monitor)


# Calibration -------------------------------------------------------------------------------------


def test_reliability_bins_expect_equally_many_positives() -> None:
    rng = np.random.default_rng(2)
    p = rng.beta(0.2, 4.0, size=4_000)
    y = rng.random(p.size) < p
    monitor = Monitor()
    for probability, label in zip(p.tolist(), y.tolist(), strict=True):
        monitor.update(label, probabilities(probability))
    bins = monitor.reliability()
    assert len(bins) == 10
    order, start = np.argsort(p), 0
    for n, mean_probability, positive_rate in bins:
        members = order[start : start + n]
        assert mean_probability == pytest.approx(p[members].mean())
        assert positive_rate == pytest.approx(y[members].mean())
        # An example is not divided among bins.
        assert abs(n * mean_probability - p.sum() / 10) <= p[members].max()
        start += n
    assert start == p.size


@pytest.mark.parametrize(
    ("p", "sizes"),
    [
        ([0.5] * 40, [40]),  # equal probabilities stay together
        ([0.125] * 40 + [0.5] * 10, [40, 10]),  # each bin expects five positives
        ([0.125] * 39 + [0.5] * 10, [49]),  # fewer than ten are expected
        ([0.0] * 30, [30]),
        ([0.0] * 5 + [1.0] * 10, [5, 10]),
        ([], []),
    ],
)
def test_reliability_of_few_examples(p: list[float], sizes: list[int]) -> None:
    monitor = Monitor()
    for i, probability in enumerate(p):
        monitor.update(i % 2, probabilities(probability))
    assert [each.n for each in monitor.reliability()] == sizes


def test_scores_have_no_calibration() -> None:
    monitor = Monitor()
    monitor.update(True, 0.5)
    assert monitor.reliability() == []


# Labels that come late, or never -----------------------------------------------------------------


def test_labels_without_a_pending_record_are_counted() -> None:
    monitor = Monitor(max_pending=2)
    for key in "abc":
        monitor.observe_one(key, 0.5)
    monitor.label_one("a", True)  # dropped
    monitor.label_one("z", True)  # never observed
    monitor.label_one("b", True)
    monitor.label_one("b", True)  # labelled before
    now = monitor.snapshot()
    assert (now.n_observed, now.n_labelled, now.n_pending, now.n_unmatched) == (3, 1, 1, 3)


def test_a_pending_key_is_replaced_and_becomes_the_latest() -> None:
    monitor = Monitor(max_pending=2)
    for key, p in (("a", 0.1), ("b", 0.2), ("a", 0.3), ("c", 0.4)):
        monitor.observe_one(key, probabilities(p))
    monitor.label_one("b", True)
    monitor.label_one("a", True)
    now = monitor.snapshot()
    assert (now.n_observed, now.n_unmatched, now.mean_probability) == (4, 1, 0.3)


def test_memory_is_bounded_as_documented() -> None:
    given = probabilities(0.5)
    used = []
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        monitor = Monitor(window_size=1_000, max_pending=3_000)
        for n in range(1, 12_001):
            key = 10**9 + n
            monitor.observe_one(key, given, alert=True)  # its label never comes
            monitor.update(n % 2, given)
            monitor.mark_drift()
            if n in (4_000, 12_000):
                used.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    early, late = used
    assert monitor.n_pending == 3_000 and len(monitor.drifts) == 1_000
    assert max(used) < 32 * 1_000 + (300 + sys.getsizeof(key)) * 3_000 + 1_000_000
    assert late < early + 300_000  # there are up to 200 more points


# The history -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 999, 1_000, 1_001, 5_000])
def test_the_history_covers_the_stream_in_even_steps(n: int) -> None:
    monitor = Monitor(window_size=10)
    for i in range(n):
        monitor.update(i % 3 == 0, float(i % 7))
    *points, now = monitor.history
    seen = [point.n_observed for point in points]
    assert len(points) < 1_000 and (n < 1_000 or len(points) >= 499)
    step = 1 if n < 1_000 else 2 ** math.ceil(math.log2((n + 1) / 1_000))
    assert seen == list(range(step, n, step))
    assert now == monitor.snapshot()


def test_a_point_is_the_snapshot_of_its_time() -> None:
    monitor, expected = Monitor(window_size=20), []
    for i in range(1_500):
        monitor.update(i % 3 == 0, float(i * i % 11), alert=i % 4 == 0)
        expected.append(monitor.snapshot())
    assert monitor.history == expected[1::2]


def test_drifts_are_remembered_with_their_place() -> None:
    monitor = Monitor(window_size=10)
    for i in range(10):
        monitor.update(i % 2, 0.5)
        if i in (3, 6):
            monitor.mark_drift()
    assert monitor.drifts == [4, 7]
    assert [point.n_drifts for point in monitor.history] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_have_the_history(backend: Any) -> None:
    library = pytest.importorskip(backend)
    monitor = Monitor(window_size=100)
    fill(monitor)
    frame = monitor.to_frame(backend)
    assert isinstance(frame, library.Table if backend == "pyarrow" else library.DataFrame)
    rows = [monitor.to_frame("pyarrow").slice(i, 1).to_pylist()[0] for i in (0, 150, 299)]
    assert tuple(frame.columns if backend != "pyarrow" else frame.column_names) == Snapshot._fields
    assert len(frame) == 300
    np.testing.assert_equal(np.array(frame["auc"]), [point.auc for point in monitor.history])
    assert [row["n_observed"] for row in rows] == [1, 151, 300]


# The contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.observe_one("k", probabilities(math.nan)), "the probability is nan"),
        (lambda m: m.observe_one("k", {True: 1.5}), "the probability is 1.5"),
        (lambda m: m.observe_one("k", {True: 10**400}), "the probability is 1000"),
        (lambda m: m.observe_one("k", 10**400), "earlier ones were of another kind"),
        (lambda m: m.observe_one("k", {True: "0.5"}), "the probability is '0.5'"),
        (lambda m: m.observe_one("k", {"fraud": 0.5}), "the label is 'fraud'"),
        (lambda m: m.observe_one("k", 0.5), "earlier ones were of another kind"),
        (lambda m: m.observe_one("k", probabilities(0.5), alert=0.5), "alert is 0.5"),
        (lambda m: m.update("fraud", probabilities(0.5)), "the label is 'fraud'"),
        (lambda m: m.update(True, {True: -0.1}), "the probability is -0.1"),
        (lambda m: m.label_one(299, None), "the label is None"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call: Any, message: str) -> None:
    monitor = Monitor(window_size=100)
    fill(monitor)
    before = pickle.dumps(monitor)
    with pytest.raises(ValueError, match=message):
        call(monitor)
    assert pickle.dumps(monitor) == before


@pytest.mark.parametrize("score", [math.nan, "0.5", None])
def test_a_bad_first_score_does_not_decide_the_kind(score: Any) -> None:
    monitor = Monitor()
    with pytest.raises(ValueError, match="the prediction is"):
        monitor.update(True, score)
    monitor.update(True, probabilities(0.5))
    with pytest.raises(TypeError, match="unhashable"):
        monitor.observe_one([], probabilities(0.5))  # type: ignore[arg-type]
    assert monitor.n_observed == 1


@pytest.mark.parametrize("parameters", [{"window_size": 0}, {"max_pending": 1.5}])
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="whole number"):
        Monitor(**parameters)


def test_a_river_model_that_knows_no_positive_yet_predicts_zero() -> None:
    monitor = Monitor()
    for y_pred in ({}, {False: 1.0}, {np.True_: np.float64(0.6)}):
        monitor.update(False, y_pred)
    assert monitor.snapshot().mean_probability == pytest.approx(0.2)


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_go_on_by_themselves(twin_of: Any) -> None:
    monitor = Monitor(window_size=100)
    fill(monitor)
    before = pickle.dumps(monitor)
    twin = twin_of(monitor)
    fill(twin, seed=1)
    assert pickle.dumps(monitor) == before
    fill(monitor, seed=1)
    np.testing.assert_equal(monitor.history, twin.history)
    assert monitor.reliability() == twin.reliability()


def test_threads_may_share_it() -> None:
    monitor = Monitor(window_size=100, max_pending=10_000)

    def work(name: int) -> None:
        for i in range(500):
            monitor.observe_one((name, i), 0.5, alert=True)
            monitor.label_one((name, i), i % 2)
            if i % 50 == 0:
                pickle.dumps(monitor)
                monitor.mark_drift()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert monitor.snapshot()[:5] == (2_000, 2_000, 0, 0, 40)


# The plot ----------------------------------------------------------------------------------------


def titles(monitor: Monitor) -> list[str]:
    pytest.importorskip("matplotlib")
    figure = monitor.plot()
    figure.draw_without_rendering()
    return [title for axes in figure.axes if (title := axes.get_title(loc="left"))]


def test_the_plot_has_a_panel_for_whatever_there_is() -> None:
    empty, scores, everything = Monitor(), Monitor(), Monitor(window_size=100)
    for i in range(100):
        scores.update(i % 5 == 0, float(i % 7))
    fill(everything)
    everything.mark_drift()
    assert titles(empty) == titles(scores) == ["Ranking", "Shares"]
    assert sorted(titles(everything)) == ["Alerts", "Calibration", "Ranking", "Shares"]


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-5, 0.1, 1.0])
def test_the_plot_of_extreme_shares_has_ticks(p: float) -> None:
    pytest.importorskip("matplotlib")
    monitor = Monitor(window_size=10)
    for i in range(200):
        monitor.update(i == 60, probabilities(p), alert=i == 30)
    figure = monitor.plot()
    figure.draw_without_rendering()
    for axes in figure.axes:
        if axes.get_title(loc="left"):
            low, high = axes.get_ylim()
            ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
            assert 0.0 <= low < high <= 1.0 and 2 <= len(ticks) <= 11


def test_the_lines_of_the_plot_are_the_history() -> None:
    pytest.importorskip("matplotlib")
    monitor = Monitor(window_size=100)
    fill(monitor)
    monitor.mark_drift()
    axes = {axes.get_title(loc="left"): axes for axes in monitor.plot().axes}
    auc = axes["Ranking"].lines[0]
    np.testing.assert_array_equal(auc.get_xdata(), range(1, 301))
    np.testing.assert_array_equal(auc.get_ydata(), [point.auc for point in monitor.history])
    legend = [text.get_text() for text in axes["Ranking"].get_legend().get_texts()]
    now = monitor.snapshot()
    assert legend == [
        f"AUC {now.auc:.1%}",
        f"average precision {now.average_precision:.1%}",
        "drift",
    ]
    points = axes["Calibration"].containers[0].lines[0].get_xydata()
    expected = [each[1:] for each in monitor.reliability()]
    np.testing.assert_allclose(points, expected)
    assert isinstance(monitor.reliability()[0], ReliabilityBin)


def test_the_plot_follows_the_style_and_leaves_pyplot_alone() -> None:
    style = pytest.importorskip("matplotlib.style")
    import matplotlib.pyplot as plt

    monitor = Monitor(window_size=100)
    fill(monitor)
    light = monitor.plot()
    with style.context("dark_background"):
        dark = monitor.plot()
    assert light.get_facecolor() == (1, 1, 1, 1) and dark.get_facecolor() == (0, 0, 0, 1)
    assert light.axes[0].title.get_color() == "black" and dark.axes[0].title.get_color() == "white"
    assert plt.get_fignums() == []


def test_colours_stand_out_from_white_and_from_black() -> None:
    """By the contrast ratio of WCAG, which wants 3 for graphics."""
    colors = pytest.importorskip("matplotlib.colors")
    from river_oauc.monitor_figure import _GREY, _LINE_STYLES

    for color in [color for color, _ in _LINE_STYLES] + [_GREY]:
        rgb = np.array(colors.to_rgb(color))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        luminance = linear @ [0.2126, 0.7152, 0.0722]
        assert min(1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05) > 3
