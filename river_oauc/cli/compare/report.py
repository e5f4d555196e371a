"""The printed report of `river-oauc compare`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.compare.verdict import (
    CONFIDENCE,
    Standing,
    lead,
    not_worse_than_the_best,
    windows,
)

LEGEND = """\
Every example is predicted, then learned. AUC: exact, over the whole stream; in windows: the
mean over the windows below, which compares only scores of about the same time. avg. prec.:
average precision; a random ranking has the share of positives. top: precision among the
highest scores. µs/example: mean wall-clock time of predict_proba_one + learn_one of the
pipeline. memory: as river counts it, numpy arrays twice. scaler: the one with the highest
AUC of those tried for the learner."""

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
        first, second = (f"{each.name} ({each.auc:.3f})" for each in leaders[:2])
        n_more = len(leaders) - 2
        names = f"{first}, {second} and {n_more} more" if n_more else f"{first} and {second}"
        return "No clear winner", f"{names}: the difference in AUC is not significant"
    in_windows = max(standings, key=lambda standing: standing.mean_in_windows)
    if in_windows is not best:
        evidence = f"{best.name} is ahead over the whole stream, {in_windows.name} within windows"
        return "No clear winner", evidence
    low, high = lead(best, others[0])
    return (
        f"{best.name} ranks best: AUC {best.auc:.3f}",
        f"above {others[0].name} by {low:.3f} to {high:.3f} ({CONFIDENCE:.0%} interval)",
    )


def description(stream: Stream) -> str:
    """Describe the stream."""
    share = _share(stream.positives, stream.size)
    return f"{stream.title}: {stream.size:,} examples, {share} positive"


def _share(part: int, whole: int) -> str:
    """Format a share in percent with enough digits to tell it from 0 % and 100 %.

    Examples
    --------
    >>> _share(1, 3), _share(1, 3_000), _share(2_999, 3_000)
    ('33.3%', '0.033%', '99.967%')

    """
    rarer = min(part, whole - part) / whole
    return f"{part / whole:.{max(1, -1 - math.floor(math.log10(rarer)))}%}"


def warning(stream: Stream) -> str | None:
    """Warn if one class is so small that an AUC is imprecise.

    The variance of an AUC is at most 1 / (4 n) for n examples of the smaller class.
    """
    fewer = min(stream.positives, stream.size - stream.positives)
    if fewer >= ENOUGH:
        return None
    kind = "positive" if fewer == stream.positives else "negative"
    are = "is" if fewer == 1 else "are"
    return (
        f"Only {fewer} of the examples {are} {kind}: the standard error of an AUC may be "
        f"{0.5 / math.sqrt(fewer):.2f}"
    )


def rows(standings: Sequence[Standing], top: str, k: int) -> list[list[str]]:
    """Return a header and a row per learner, the best first.

    Parameters
    ----------
    standings
        The learners.
    top
        The user's value of `--top`.
    k
        The number of scores that it means.

    """
    return [
        ["model", "AUC", "in windows", "avg. prec.", f"top {top}", "µs/example", "memory"]
        + ["scaler"],
        *(
            [
                each.name,
                f"{each.auc:.4f}",
                f"{each.mean_in_windows:.4f}",
                f"{each.average_precision:.4f}",
                f"{each.precision_at(k):.4f}",
                f"{each.run.microseconds_per_example:.1f}",
                each.run.model._memory_usage,
                each.run.scaler,
            ]
            for each in standings
        ),
    ]


def window_rows(standings: Sequence[Standing]) -> list[list[str]]:
    """Return a header with the last example of each window, and a row of AUCs per learner."""
    return [
        ["AUC in windows, to", *(f"{window.stop:,}" for window in windows(standings[0].labels))],
        *(
            [each.name, *("-" if math.isnan(auc) else f"{auc:.3f}" for auc in each.in_windows)]
            for each in standings
        ),
    ]
