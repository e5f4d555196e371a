"""The command line: which commands there are, and how each of them can end."""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import sys
import typing
from collections.abc import Sequence

from river_oauc import __version__
from river_oauc.datasets import DatasetError
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.text import one_line

__all__ = ["main"]

_NEEDED = ("matplotlib", "rich", "threadpoolctl")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code.

    It is 2 if the request can't be met, and 130 if it was interrupted, with one line on the error
    stream either way.

    Parameters
    ----------
    argv
        The arguments, those of the process if left out.

    """
    if any(importlib.util.find_spec(package) is None for package in _NEEDED):
        return _refuse('install the extra with `pip install "river-oauc[experiments]"`')
    try:
        args = _parser().parse_args(argv)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A table with a question mark in it is better than none.
            sys.stdout.reconfigure(errors="replace")
        code: int = args.run(args)
        _flush()
    except (UserError, DatasetError) as error:
        return _refuse(str(error))
    except OSError as error:
        try:
            _flush()
        except OSError:
            # The output is full or closed; what is left of it must go somewhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _refuse("there is not enough memory for this; ask for less")
    except KeyboardInterrupt:
        print("river-oauc: interrupted", file=sys.stderr)
        return 130
    return code


class _Parser(argparse.ArgumentParser):
    """A parser that refuses in one line, like everything else here."""

    def error(self, message: str) -> typing.NoReturn:
        self.exit(2, f"{self.prog}: {one_line(message)}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    # Imported here because they need the extra.
    from river_oauc.experiments import datasets_command, distributed_command, merging, speed
    from river_oauc.experiments.compare import command as compare
    from river_oauc.experiments.paper import command as tables
    from river_oauc.experiments.streams import command as streams

    parser = _Parser(
        prog="river-oauc", description="Online AUC maximisation for river, on your machine."
    )
    parser.add_argument("--version", action="version", version=f"river-oauc {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, summary in (
        ("compare", compare, "our learners against river's on a set or on your own CSV file"),
        ("streams", streams, "learners on real streams, and on the benchmark sets as streams"),
        ("merging", merging, "what is lost if parts are learned apart and added up"),
        ("speed", speed, "what a step of each learner costs"),
        ("distributed", distributed_command, "learning a table on two processes, and on one"),
        ("datasets", datasets_command, "the paper's benchmark sets, and which of them are here"),
        ("tables", tables, "the paper's tables, computed here and set beside the paper's"),
    ):
        subparser = commands.add_parser(name, help=summary, description=summary)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _flush() -> None:
    # A process may have been started without an output.
    if sys.stdout is not None:
        sys.stdout.flush()


def _refuse(reason: str) -> int:
    print(f"river-oauc: {one_line(reason)}", file=sys.stderr)
    return 2
