"""`python -m benchmarks reviews`: what reviews find when most labels come late."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.markdown import markdown_table
from benchmarks.records.sets import read_set
from river_oauc import AutoOAUC
from river_oauc.cli.console import positive_int, print_table, progress_bar, say
from river_oauc.cli.messages import known_names
from river_oauc.cli.models import Example
from river_oauc.evaluate import iter_reviews
from river_oauc.feedback import AlertFeedback
from river_oauc.files import replace_file

__all__ = ["add_arguments", "n_found", "run"]

# Their order is time, or that of the source.
_SETS = ("fdh_simulated", "hotel_bookings", "nsl_kdd20", "nyc_flights", "weather_aus")

# The rule of AlertFeedback was chosen on these; the others were looked at once.
_TUNED = frozenset({"fdh_simulated", "hotel_bookings", "nsl_kdd20"})

# One record of each period is reviewed, 1 %.
_PERIOD, _REVIEWED = 100, 1

# A model, and which labels it learns from.
_POLICIES: dict[str, tuple[Callable[[], Any], str]] = {
    "reviewed only": (lambda: AutoOAUC(seed=1), "reviewed"),
    "delayed only": (lambda: AutoOAUC(seed=1), "delayed"),
    "all": (lambda: AutoOAUC(seed=1), "all"),
    "AlertFeedback": (lambda: AlertFeedback(AutoOAUC(seed=1)), "all"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"(default: all) {', '.join(_SETS)}")
    parser.add_argument("--delays", type=positive_int, nargs="+", default=[1_000])
    parser.add_argument(
        "--limit", type=positive_int, default=100_000, help="records per set (%(default)s)"
    )
    parser.add_argument("--markdown", type=pathlib.Path, help="file to write the table to")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table."""
    names = known_names("set", args.sets or [*_SETS], [*_SETS])
    rows = [["delay", "set", "no delay", *_POLICIES]]
    shares: dict[int, list[list[float]]] = {delay: [] for delay in args.delays}
    counts: dict[int, list[list[str]]] = {delay: [] for delay in args.delays}
    with progress_bar("reviews") as bar:
        task = bar.add_task("", total=len(names) * len(args.delays))
        for name in names:
            examples = read_set(name, args.limit)
            at_once = n_found(examples, AutoOAUC(seed=1), 0, "all")
            for delay in args.delays:
                found = [
                    n_found(examples, make(), delay, learn_from)
                    for make, learn_from in _POLICIES.values()
                ]
                star = "" if name in _TUNED else "*"
                counts[delay].append([str(delay), name + star, *map(str, (at_once, *found))])
                shares[delay].append([n / at_once if at_once else np.nan for n in found])
                bar.advance(task)
    for delay in args.delays:
        means = np.mean(shares[delay], axis=0).tolist()
        rows += counts[delay]
        rows.append([str(delay), "mean share", "100 %", *(f"{100 * mean:.0f} %" for mean in means)])
    console = Console()
    say(console, "Positives found by reviewing 1 % of the second half of each set")
    print_table(console, rows)
    if args.markdown is not None:
        replace_file(args.markdown, f"{markdown_table(rows)}\n".encode())
    return 0


def n_found(examples: Sequence[Example], model: Any, delay: int | None, learn_from: str) -> int:
    """Return the number of positives that reviews find in the second half of a stream."""
    periods = list(
        iter_reviews(examples, model, _PERIOD, delay, reviewed=_REVIEWED, learn_from=learn_from)
    )
    return sum(period.n_found for period in periods[len(periods) // 2 :])
