"""The commands of `river-oauc`, and how a command can end."""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import sys
import typing
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

from river_oauc import __version__
from river_oauc.cli.messages import UserError, one_line

_REQUIRED_PACKAGES = ("matplotlib", "rich", "threadpoolctl")


# The name of a command, its module with `add_arguments(parser)` and `run(args)`, which returns the
# exit code, and a summary.
Command = tuple[str, ModuleType, str]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of `river-oauc` and return its exit code; see `run_program`."""
    return run_program(
        "river-oauc", "Online AUC maximisation for river, on your machine.", _commands, argv
    )


def _commands() -> Iterable[Command]:
    # Imported here because they need the extra.
    from river_oauc.cli import explain, learn, score
    from river_oauc.cli.compare import command as compare

    return (
        ("compare", compare, "our learners against river's, on your own file or a set"),
        ("learn", learn, "learn a model file from rows with labels, or let it learn on"),
        ("score", score, "score the rows of a file with a model file"),
        ("explain", explain, "what a model file has learned, and what moves its scores"),
    )


def run_program(
    name: str,
    description: str,
    commands: Callable[[], Iterable[Command]],
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
        Imports the commands.
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
        print(end="", flush=True)
    except UserError as error:
        return refuse(str(error))
    except OSError as error:
        try:
            print(end="", flush=True)
        except OSError:
            # It is full, or nobody reads it: discard what is still buffered.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # The reader, such as `head`, has read enough.
            return 0
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


def _parser(name: str, description: str, commands: Iterable[Command]) -> argparse.ArgumentParser:
    parser = _Parser(prog=name, description=description)
    parser.add_argument("--version", action="version", version=f"river-oauc {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command_name, command, summary in commands:
        subparser = subparsers.add_parser(command_name, help=summary, description=summary)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser
