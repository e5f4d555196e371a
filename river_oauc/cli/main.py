"""The commands of `river-oauc`, and how a command can end."""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import sys
import typing
from collections.abc import Callable, Iterable, Sequence

from river_oauc import __version__
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.text import one_line
from river_oauc.datasets import DatasetError

_REQUIRED_PACKAGES = ("matplotlib", "rich", "threadpoolctl")


class Command(typing.Protocol):
    """A module with a command."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Run the command and return its exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of `river-oauc` and return its exit code; see `run_program`."""
    return run_program(
        "river-oauc", "Online AUC maximisation for river, on your machine.", _commands, argv
    )


def _commands() -> Iterable[tuple[str, Command, str]]:
    # Imported here because they need the extra.
    from river_oauc.cli import datasets, explain, learn, score
    from river_oauc.cli.compare import command as compare

    return (
        ("compare", compare, "our learners against river's, on a set or on your own file"),
        ("learn", learn, "learn a model file from rows with labels, or go on with it"),
        ("score", score, "score the rows of a file with a model file"),
        ("explain", explain, "what a model file has learned, and what moves its scores"),
        ("datasets", datasets, "the paper's benchmark sets, and which of them are on this machine"),
    )


def run_program(
    name: str,
    description: str,
    commands: Callable[[], Iterable[tuple[str, Command, str]]],
    argv: Sequence[str] | None = None,
) -> int:
    """Parse the arguments, run the command that they name and return its exit code.

    The code is 2 if the request cannot be met and 130 after an interrupt. Either way the error
    stream gets one line.

    Parameters
    ----------
    name
        Name of the program in its messages.
    description
        One sentence for `--help`.
    commands
        Imports the commands and returns the name, the module and a summary of each.
    argv
        The arguments; by default those of the process.

    """

    def refuse(reason: str) -> int:
        print(f"{name}: {one_line(reason)}", file=sys.stderr)
        return 2

    if any(importlib.util.find_spec(package) is None for package in _REQUIRED_PACKAGES):
        return refuse('install the extra with `pip install "river-oauc[experiments]"`')
    try:
        args = _parser(name, description, commands()).parse_args(argv)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A table with a question mark in it is better than none.
            sys.stdout.reconfigure(errors="replace")
        # Imported here because it belongs to the extra.
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        # The matrices are too small to gain from threads.
        with threadpool_limits(limits=1, user_api="blas"):
            code: int = args.run(args)
        _flush()
    except (UserError, DatasetError) as error:
        return refuse(str(error))
    except BrokenPipeError:
        # The reader, such as `head`, has read enough.
        _discard_output()
        return 0
    except OSError as error:
        try:
            _flush()
        except OSError:
            # The output is full or closed.
            _discard_output()
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return refuse("there is not enough memory for this; ask for less")
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    return code


class _Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> typing.NoReturn:
        self.exit(2, f"{self.prog}: {one_line(message)}; see {self.prog} --help\n")


def _parser(
    name: str, description: str, commands: Iterable[tuple[str, Command, str]]
) -> argparse.ArgumentParser:
    parser = _Parser(prog=name, description=description)
    parser.add_argument("--version", action="version", version=f"river-oauc {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command_name, command, summary in commands:
        subparser = subparsers.add_parser(command_name, help=summary, description=summary)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _flush() -> None:
    # A process may have been started without an output.
    if sys.stdout is not None:
        sys.stdout.flush()


def _discard_output() -> None:
    """Discard what is still buffered, because it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
