"""The printed report of `river-oauc compare`."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from river_oauc.cli.compare.race import Run
from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.compare.top import Top
from river_oauc.cli.compare.verdict import (
    CONFIDENCE,
    Standing,
    lead,
    not_worse_than_the_best,
)
from river_oauc.cli.preparations import RAW

_BARS = "▁▂▃▄▅▆▇█"

# With this many examples of the smaller class, the standard error of an AUC is at most 0.05 and
# needs no warning.
ENOUGH = 100


def verdict(standings: Sequence[Standing]) -> tuple[str, str]:
    """Return a headline and the evidence: a winner only if its lead is significant."""
    best, *others = standings
    if not others:
        return f"{best.name}: AUC {best.auc:.3f}", ""
    leaders = not_worse_than_the_best(standings)
    if len(leaders) > 1:
        first, second = (f"{each.name} {each.auc:.3f}" for each in leaders[:2])
        n_more = len(leaders) - 2
        which = f"neither this difference in AUC nor that to {n_more} more is significant"
        return (
            f"No clear winner: {first}, {second}",
            which if n_more else "the difference in AUC is not significant",
        )
    in_windows = max(standings, key=lambda standing: standing.mean_in_windows)
    if in_windows is not best:
        evidence = f"{best.name} is ahead over the whole stream, {in_windows.name} within windows"
        return f"No clear winner: {best.name} {best.auc:.3f}", evidence
    low, high = lead(best, others[0])
    return (
        f"{best.name} ranks best: AUC {best.auc:.3f}",
        f"above {others[0].name} by {low:.3f} to {high:.3f} ({CONFIDENCE:.0%} interval)",
    )


def description(stream: Stream, n_compared: int) -> str:
    """Describe the stream, and the beginning of it on which learners are compared."""
    text = f"{stream.title}: {stream.size:,} rows, {_share(stream.positives, stream.size)} positive"
    return text if n_compared == stream.size else f"{text}; compared on the first {n_compared:,}"


def _share(part: int, whole: int) -> str:
    """Format a share in percent with enough digits to tell it from 0 % and 100 %.

    Examples
    --------
    >>> _share(1, 3), _share(1, 3_000), _share(2_999, 3_000)
    ('33.3%', '0.033%', '99.967%')

    """
    rarer = min(part, whole - part) / whole
    return f"{part / whole:.{max(1, -1 - math.floor(math.log10(rarer)))}%}"


def figures(standing: Standing, is_ranked: bool, top: Top) -> dict[str, Any]:
    """Return all that is measured of a learner, by name."""
    n = len(standing.labels)
    return {
        "model": standing.name,
        "is_ranked": is_ranked,
        "preparation": standing.run.preparation,
        "rows": n,
        "auc": standing.auc,
        "auc_in_windows": standing.mean_in_windows,
        "average_precision": standing.average_precision,
        f"precision_top_{top}": standing.precision_at(top.of(n)),
        "microseconds_per_example": standing.run.microseconds_per_example,
        "pickle_bytes": standing.run.n_bytes,
        "windows": standing.in_windows,
    }


def table(measured: Sequence[dict[str, Any]], top: Top) -> list[list[str]]:
    """Return a header and a row per learner.

    Parameters
    ----------
    measured
        The `figures` of the learners.
    top
        The user's value of `--top`.

    """
    known = [auc for each in measured for auc in each["windows"] if not math.isnan(auc)]
    # Bars begin at chance, lest a bad learner takes all the range.
    high = max(known, default=1.0)
    low = min(max(min(known, default=0.0), 0.5), high)
    bars = f"{_BARS[0]}{low:.2f} {_BARS[-1]}{high:.2f}"
    return [
        ["model", "AUC", bars, "windows", "AP", f"top {top}", "µs", "memory"],
        *(
            [
                each["model"] + ("" if each["is_ranked"] else "*"),
                f"{each['auc']:.3f}",
                sparkline(each["windows"], low, high),
                f"{each['auc_in_windows']:.3f}",
                f"{each['average_precision']:.3f}",
                f"{each[f'precision_top_{top}']:.3f}",
                f"{each['microseconds_per_example']:,.0f}",
                _size(each["pickle_bytes"]),
            ]
            for each in measured
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


def legend(top: Top, delay: int) -> str:
    """Explain the columns of the table."""
    learned = f"learned {delay:,} rows later" if delay else "learned"
    return (
        f"Every row is scored, then {learned}. The bars: AUC in windows of equal length; windows: "
        "its mean. AP: average precision; a random ranking has the share of positives. "
        f"top {top}: precision among the highest scores. µs: CPU time per row, preparation "
        "included. memory: size of the pickle."
    )


def notes(
    stream: Stream,
    ranked: Sequence[Standing],
    unranked: Sequence[Standing],
    runs: Sequence[Run],
    is_interrupted: bool,
) -> Iterator[str]:
    """Yield what the user should know besides the figures."""
    shown = [*ranked, *unranked]
    n_compared = len(ranked[0].labels)
    late = [each for each in shown if len(each.run.scores) < stream.size]
    if late:
        how = "Interrupted" if is_interrupted else "Out of time (--seconds S gives more)"
        seen = (f"{each.name} after {len(each.run.scores):,} rows" for each in late)
        yield f"{how}: {', '.join(seen)}"
    if unranked:
        yield "* has seen less than a quarter of the rows that others have, and is not ranked"
    for name, error in failures(runs).items():
        yield f"{name} {error}"
    yield from stream.notes
    positives = int(ranked[0].labels.sum())
    fewer = min(positives, n_compared - positives)
    if fewer < ENOUGH:
        kind = "positive" if fewer == positives else "negative"
        # The variance of an AUC is at most 1 / (4 n) for n examples of the smaller class.
        yield (
            f"Only {fewer} of the rows {'is' if fewer == 1 else 'are'} {kind}: the standard error "
            f"of an AUC may be {0.5 / math.sqrt(fewer):.2f}"
        )
    by_preparation: dict[str, list[str]] = {}
    for each in shown:
        by_preparation.setdefault(each.run.preparation, []).append(each.name)
    by_preparation.pop(RAW, None)
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


def to_csv(measured: Sequence[dict[str, Any]]) -> str:
    """Return the figures as CSV, without the single windows."""
    names = [name for name in measured[0] if name != "windows"]
    file = io.StringIO()
    writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(measured)
    return file.getvalue()


def to_json(measured: Sequence[dict[str, Any]], **about: str) -> str:
    """Return the figures as JSON, with facts about the comparison beside them."""
    models = [{name: _without_nan(value) for name, value in each.items()} for each in measured]
    return json.dumps({**about, "models": models}, indent=2, ensure_ascii=False) + "\n"


def _without_nan(value: Any) -> Any:
    """Return a value with None for NaN, which JSON does not have."""
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
