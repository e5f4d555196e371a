"""The printed report of `river-oauc compare`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river_oauc.cli.compare.runs import Run
from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.compare.verdict import (
    CONFIDENCE,
    Standing,
    ahead_of,
    lead,
    not_worse_than_the_best,
)
from river_oauc.cli.preparations import PREPARATIONS

_BARS = "▁▂▃▄▅▆▇█"

# With this many examples of the smaller class, the standard error of an AUC is at most 0.05 and
# needs no warning.
ENOUGH = 100


@dataclass(frozen=True)
class Comparison:
    """How learners stand with labels that come at one time.

    Parameters
    ----------
    when
        When labels come, such as `"labels at once"`.
    ranked
        The learners that have seen all rows, the best first.
    unranked
        The others.
    runs
        All runs.

    """

    when: str
    ranked: Sequence[Standing]
    unranked: Sequence[Standing]
    runs: Sequence[Run]

    def verdict(self) -> tuple[str | None, str]:
        """Return the winner, if there is one, and the evidence.

        It takes a significant lead, in windows as well, and nobody ahead on fewer rows.
        """
        best, *others = self.ranked
        if ahead := ahead_of(best, self.unranked):
            each = ahead[0]
            return None, (
                f"no clear winner: {best.name} {best.auc:.3f}, but {each.name} is ahead on the "
                f"first {len(each.labels):,} rows, {each.auc:.3f}; it is too slow for more"
            )
        if not others:
            return best.name, f"{best.name}: AUC {best.auc:.3f}"
        leaders = not_worse_than_the_best(self.ranked)
        if len(leaders) > 1:
            names = ", ".join(f"{each.name} {each.auc:.3f}" for each in leaders[:3])
            more = f" and {len(leaders) - 3} more" if len(leaders) > 3 else ""
            return None, f"no clear winner: {names}{more} do not differ significantly"
        in_windows = max(self.ranked, key=lambda each: each.mean_in_windows)
        if in_windows is not best:
            return None, (
                f"no clear winner: {best.name} {best.auc:.3f} is ahead over all rows, "
                f"{in_windows.name} within windows"
            )
        low, high = lead(best, others[0])
        return best.name, (
            f"{best.name} ranks best: AUC {best.auc:.3f}, above {others[0].name} by {low:.3f} to "
            f"{high:.3f} ({CONFIDENCE:.0%} interval)"
        )

    def find(self, name: str) -> Standing | None:
        """Return how a learner stands."""
        every = (*self.ranked, *self.unranked)
        return next((each for each in every if each.name == name), None)


def verdicts(comparisons: Sequence[Comparison]) -> list[str]:
    """Return what is found, and whether what is best at once still is if labels are late."""
    found = [comparison.verdict() for comparison in comparisons]
    lines = [
        f"{comparison.when.capitalize()}: {evidence}"
        for comparison, (_, evidence) in zip(comparisons, found, strict=True)
    ]
    at_once, late = comparisons
    fallen = late.find(found[0][0] or "")
    best = late.ranked[0]
    if fallen and fallen not in not_worse_than_the_best(late.ranked):
        lines.append(
            f"The ranking at once does not survive the delay: {fallen.name} falls from "
            f"{at_once.ranked[0].auc:.3f} to {fallen.auc:.3f}, {best.name} has {best.auc:.3f}"
        )
    return lines


def description(stream: Stream) -> str:
    """Describe the stream."""
    n, positives = len(stream.examples), stream.n_positives
    # With enough digits to tell it from 0 % and 100 %.
    digits = max(1, -1 - math.floor(math.log10(min(positives, n - positives) / n)))
    return f"{stream.title}: {n:,} rows, {positives / n:.{digits}%} positive"


def figures(comparison: Comparison) -> list[dict[str, Any]]:
    """Return all that is measured of each learner, by name."""
    return [
        {
            "model": each.name,
            "labels": comparison.when,
            "is_ranked": each in comparison.ranked,
            "preparation": each.run.preparation,
            "rows": len(each.labels),
            "auc": each.auc,
            "auc_in_windows": each.mean_in_windows,
            "average_precision": each.average_precision,
            "precision_in_top_1%": each.precision_at(max(1, len(each.labels) // 100)),
            "microseconds_per_example": 1e6 * each.run.seconds / max(len(each.run.scores), 1),
            "pickle_bytes": each.run.n_bytes,
            "windows": each.in_windows,
        }
        for each in (*comparison.ranked, *comparison.unranked)
    ]


def table(at_once: Sequence[dict[str, Any]], late: dict[str, float]) -> list[list[str]]:
    """Return a header and a row per learner.

    Parameters
    ----------
    at_once
        The `figures` of the learners with labels at once.
    late
        The AUC with late labels, by learner.

    """
    known = [auc for each in at_once for auc in each["windows"] if not math.isnan(auc)]
    # Bars begin at chance, lest a bad learner takes all the range.
    high = max(known, default=1.0)
    low = min(max(min(known, default=0.0), 0.5), high)
    bars = f"{_BARS[0]}{low:.2f} {_BARS[-1]}{high:.2f}"
    return [
        ["model", "AUC", "late", bars, "AP", "top 1%", "µs", "memory"],
        *(
            [
                each["model"] + ("" if each["is_ranked"] else "*"),
                f"{each['auc']:.3f}",
                f"{late[each['model']]:.3f}" if each["model"] in late else "-",
                sparkline(each["windows"], low, high),
                f"{each['average_precision']:.3f}",
                f"{each['precision_in_top_1%']:.3f}",
                f"{each['microseconds_per_example']:,.0f}",
                _size(each["pickle_bytes"]),
            ]
            for each in at_once
        ),
    ]


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Draw values as bars, between a lowest and a highest one. NaN is a gap.

    Examples
    --------
    >>> sparkline([0.4, 0.75, math.nan, 1.0], 0.5, 1.0)
    '▁▅ █'

    """
    step = (high - low) / (len(_BARS) - 1) or 1.0
    return "".join(
        " " if math.isnan(value) else _BARS[max(round((value - low) / step), 0)] for value in values
    )


def _size(n_bytes: int | None) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> _size(2_345), _size(23_456_789), _size(None)
    ('2 KiB', '22.4 MiB', '-')

    """
    if n_bytes is None:
        return "-"
    return f"{n_bytes / 2**10:,.0f} KiB" if n_bytes < 2**20 else f"{n_bytes / 2**20:,.1f} MiB"


def legend(late: str) -> str:
    """Explain the columns of the table."""
    return (
        f"Every row is scored, then learned; in the column late, with {late}. The bars: AUC in "
        "windows of equal length. AP: average precision; a random ranking has the share of "
        f"positives. top 1%: precision among the highest scores. µs: CPU time per row, "
        "preparation included. memory: size of the pickle."
    )


def notes(stream: Stream, comparison: Comparison, leaks: dict[Any, float]) -> Iterator[str]:
    """Yield what the user should know besides the figures."""
    for name, auc in leaks.items():
        yield (
            f"Possible leak: {name} alone has an AUC of {auc:.3f}. Is it known before the label? "
            f"If not, --exclude {name}"
        )
    for each in comparison.unranked:
        yield f"* {each.name} is too slow: it is shown after {len(each.labels):,} rows, not ranked"
    for name, error in failures(comparison.runs).items():
        yield f"{name} {error}"
    yield from stream.notes
    n, positives = len(stream.examples), stream.n_positives
    fewer = min(positives, n - positives)
    if fewer < ENOUGH:
        kind = "positive" if fewer == positives else "negative"
        # The variance of an AUC is at most 1 / (4 n) for n examples of the smaller class.
        yield (
            f"Only {fewer} of the rows {'is' if fewer == 1 else 'are'} {kind}: the standard error "
            f"of an AUC may be {0.5 / math.sqrt(fewer):.2f}"
        )
    by_preparation: dict[str, list[str]] = {}
    for each in comparison.ranked:
        if each.run.preparation in PREPARATIONS:
            by_preparation.setdefault(each.run.preparation, []).append(each.name)
    if by_preparation:
        prepared = (f"{name} for {', '.join(of)}" for name, of in by_preparation.items())
        yield f"Preparation, the best one chosen afterwards: {'; '.join(prepared)}"


def failures(runs: Sequence[Run]) -> dict[str, str]:
    """Return the learners that failed behind all their preparations, and why."""
    going = {run.contender.name for run in runs if run.error is None}
    return {
        run.contender.name: run.error
        for run in runs
        if run.error is not None and run.contender.name not in going
    }


def to_json(measured: Sequence[dict[str, Any]], **about: Any) -> str:
    """Return the figures as JSON, with facts about the comparison beside them."""
    models = [{name: _without_nan(value) for name, value in each.items()} for each in measured]
    return json.dumps({**about, "models": models}, indent=2, ensure_ascii=False) + "\n"


def _without_nan(value: Any) -> Any:
    """Return a value with None for NaN, which JSON does not have."""
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
