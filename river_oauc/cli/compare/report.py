"""What `river-oauc compare` says about a race."""

from __future__ import annotations

import math
from collections.abc import Sequence

from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.compare.verdict import (
    CONFIDENCE,
    Standing,
    lead,
    level_with_the_best,
    windows,
)

__all__ = ["LEGEND", "description", "rows", "verdict", "warning", "window_rows"]

LEGEND = """\
Predict, note the score, then learn. AUC: exact, over the whole stream; in windows: its mean
in the windows below, where scores of different times do not meet. avg. prec.: average
precision; chance has the share of positives. top: precision among the highest scores.
µs/example: mean wall-clock time of predict_proba_one + learn_one of the whole pipeline.
memory: as river counts it, numpy arrays twice. scaler: of those that were tried for each
rival, the one with the highest AUC."""

# From this many examples of the smaller class on, an AUC is off by 0.05 or less (one standard
# error), and nobody needs to be told.
ENOUGH = 100


def verdict(standings: Sequence[Standing]) -> tuple[str, str]:
    """Which learner is best, if one is by more than chance, in a few words; and how one can tell.

    With a single learner there is nothing to tell.
    """
    best, *others = standings
    if not others:
        return f"{best.name}: AUC {best.auc:.3f}", ""
    leaders = level_with_the_best(standings)
    if len(leaders) > 1:
        first, second = (f"{each.name} ({each.auc:.3f})" for each in leaders[:2])
        n_more = len(leaders) - 2
        names = f"{first}, {second} and {n_more} more" if n_more else f"{first} and {second}"
        return "No clear winner", f"{names} are level: chance may have made the difference in AUC"
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
    """What was learned."""
    share = _share(stream.positives, stream.size)
    return f"{stream.title}: {stream.size:,} examples, {share} positive"


def _share(part: int, whole: int) -> str:
    """A share in percent, with as many digits as it takes to tell it from none and from all.

    Examples
    --------
    >>> _share(1, 3), _share(1, 3_000), _share(2_999, 3_000)
    ('33.3%', '0.033%', '99.967%')

    """
    rarer = min(part, whole - part) / whole
    return f"{part / whole:.{max(1, -1 - math.floor(math.log10(rarer)))}%}"


def warning(stream: Stream) -> str | None:
    """What to keep in mind if one class is so small that chance decides.

    The variance of an AUC is at most a quarter of one over the size of the smaller class.
    """
    fewer = min(stream.positives, stream.size - stream.positives)
    if fewer >= ENOUGH:
        return None
    kind = "positive" if fewer == stream.positives else "negative"
    are = "is" if fewer == 1 else "are"
    return (
        f"Only {fewer} of the examples {are} {kind}: chance alone moves an AUC by "
        f"{0.5 / math.sqrt(fewer):.2f} (one standard error, at most)"
    )


def rows(standings: Sequence[Standing], top: str, k: int) -> list[list[str]]:
    """A header and a row per learner, the best one first.

    Parameters
    ----------
    standings
        The learners.
    top
        What the user calls the highest scores.
    k
        How many they are.

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
    """A header with the last example of each window, and a row per learner with its AUC there."""
    return [
        ["AUC in windows, to", *(f"{window.stop:,}" for window in windows(standings[0].labels))],
        *(
            [each.name, *("-" if math.isnan(auc) else f"{auc:.3f}" for auc in each.in_windows)]
            for each in standings
        ),
    ]
