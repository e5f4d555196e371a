"""Command line of the benchmarks: `python -m benchmarks COMMAND`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from river_oauc.cli.main import Command, run_program

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a benchmark and return its exit code; see `run_program`."""
    return run_program(
        "python -m benchmarks", "How the figures of the README were made.", _commands, argv
    )


def _commands() -> Iterable[Command]:
    # Imported here because they need the extra.
    from benchmarks import decisions, distributed, late, merging, reviews, speed
    from benchmarks.paper import command as tables
    from benchmarks.records import command as records
    from benchmarks.streams import command as streams

    return (
        ("tables", tables, "the paper's tables, computed here, beside the paper's figures"),
        ("streams", streams, "learners on real streams and on the benchmark sets as streams"),
        ("records", records, "learners on raw records, and LightGBM retrained on the past"),
        ("decisions", decisions, "whether alerts keep their budget, their rate and their cost"),
        ("reviews", reviews, "what reviews find when most labels come late"),
        ("late", late, "ranking when labels come late, beside LightGBM under the same delay"),
        ("merging", merging, "AUC after learning shards separately and merging the models"),
        ("speed", speed, "time per example of each learner"),
        ("distributed", distributed, "learning a table with two processes and with one"),
    )


if __name__ == "__main__":
    sys.exit(main())
