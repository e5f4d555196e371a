"""The command `river-oauc`."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence

from river_oauc.experiments.errors import UserError

__all__ = ["main"]

_NEEDED = ("matplotlib", "rich", "threadpoolctl")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; 2 means that the request can't be met.

    Parameters
    ----------
    argv
        The arguments, those of the process if left out.

    """
    if any(importlib.util.find_spec(package) is None for package in _NEEDED):
        return _refuse('install the extra with `pip install "river-oauc[experiments]"`')
    args = _parser().parse_args(argv)
    try:
        code: int = args.run(args)
    except UserError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        print("river-oauc: interrupted", file=sys.stderr)
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    # Imported here because they need the extra.
    from river_oauc.experiments import compare, datasets_command, speed, tables

    parser = argparse.ArgumentParser(
        prog="river-oauc", description="Online AUC maximisation for river, on your machine."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, summary in (
        ("compare", compare, "our learners against river's on a set or on your own CSV file"),
        ("speed", speed, "what a step of each learner costs"),
        ("datasets", datasets_command, "the paper's benchmark sets"),
        ("tables", tables, "the paper's tables, computed here and set beside the paper's"),
    ):
        subparser = commands.add_parser(name, help=summary, description=summary)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _refuse(reason: str) -> int:
    # One line, whatever a file name or a cell may hold.
    print(f"river-oauc: {' '.join(reason.splitlines())}", file=sys.stderr)
    return 2
