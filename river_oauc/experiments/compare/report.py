"""What `river-oauc compare` says about a race."""

from __future__ import annotations

import math
from collections.abc import Sequence

from river_oauc.experiments.compare.race import BARE, SCALERS, Contest
from river_oauc.experiments.compare.streams import Stream

__all__ = ["LEGEND", "description", "headline", "rows", "warning"]

LEGEND = """\
Predict, score, then learn. ROCAUC(): the same by river.metrics.ROCAUC().
µs/example: mean wall-clock time of predict_proba_one + learn_one of the whole
pipeline, scaler included, nothing subtracted.
memory: of the whole pipeline as river counts it, which is numpy arrays twice."""

# From this many examples of the smaller class on, an AUC is off by 0.05 or less (one standard
# error), and nobody needs to be told.
ENOUGH = 100


def _ranking(contests: Sequence[Contest]) -> list[Contest]:
    return sorted(contests, key=lambda contest: contest.exact.get(), reverse=True)


def headline(contests: Sequence[Contest]) -> str:
    """Which learner is best, in a few words."""
    best, *others = _ranking(contests)
    verdict = " ranks best" if others else ""
    return f"{best.name}{verdict}: exact AUC {best.exact.get():.3f}"


def description(stream: Stream, contests: Sequence[Contest]) -> str:
    """What was learned, behind which scaler."""
    scalers = {contest.scaler for contest in contests}
    fronts = [f"behind {SCALERS[scaler].__name__}" for scaler in scalers - {BARE}]
    fronts += ["bare"] if BARE in scalers else []
    return (
        f"{stream.title}: {stream.size:,} examples, {_share(stream.positives, stream.size)} "
        f"positive, {' or '.join(fronts)}"
    )


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


def rows(contests: Sequence[Contest]) -> list[list[str]]:
    """A header and a row per model, the best one first."""
    return [
        ["model", "exact AUC", "ROCAUC()", "µs/example", "memory", "scaler"],
        *(
            [
                contest.name,
                f"{contest.exact.get():.4f}",
                f"{contest.rocauc.get():.4f}",
                f"{contest.microseconds_per_example:.1f}",
                contest.memory,
                contest.scaler,
            ]
            for contest in _ranking(contests)
        ),
    ]
