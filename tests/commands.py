"""Run the commands in this process and read what they print."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import NamedTuple

from benchmarks.__main__ import main as benchmarks_main
from river_oauc.cli.main import main as cli_main
from river_oauc.cli.models import CONTENDERS

BENCHMARKS = (
    "decisions",
    "distributed",
    "merging",
    "records",
    "reviews",
    "speed",
    "streams",
    "tables",
)


class Said(NamedTuple):
    """The exit code and the output of a command."""

    code: object
    out: str
    error: str


def run(*arguments: str) -> object:
    """Run a command of `river-oauc` or of the benchmarks and return its exit code."""
    main = benchmarks_main if arguments[0] in BENCHMARKS else cli_main
    try:
        return main(arguments)
    except SystemExit as exit_:
        return exit_.code


def call(*arguments: str) -> Said:
    """Run a command with its output captured. Warnings are errors."""
    out, error = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        code = run(*arguments)
    return Said(code, out.getvalue(), error.getvalue())


def output(*arguments: str) -> str:
    """Run a command that must succeed and return what it prints."""
    said = call(*arguments)
    assert (said.code, said.error) == (0, ""), said
    return said.out


def refusal(*arguments: str) -> str:
    """Run a command that must fail and return its message, which takes one line."""
    said = call(*arguments)
    assert (said.code, said.out) == (2, ""), said
    (line,) = said.error.splitlines()
    program, _, message = line.partition(": ")
    assert program.startswith(("river-oauc", "python -m benchmarks")), said
    return message


def table_cells(text: str) -> dict[str, list[str]]:
    """Return the cells of the first table of `compare`, by model."""
    names = {contender.name for contender in CONTENDERS}
    rows = [line.split() for line in text.partition("AUC in windows, to")[0].splitlines()]
    return {row[0]: row[1:] for row in rows if row and row[0] in names}


def table_aucs(text: str) -> dict[str, float]:
    """Return the AUCs of the first table of `compare`, by model, in the printed order."""
    return {name: float(cells[0]) for name, cells in table_cells(text).items()}
