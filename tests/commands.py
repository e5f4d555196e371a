"""Run the commands in this process and read what they print."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import warnings
from typing import Any, NamedTuple

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


def table_aucs(text: str) -> dict[str, float]:
    """Return the AUCs in the table of `compare`, by model, in the printed order."""
    names = {contender.name for contender in CONTENDERS}
    cells = [line.split() for line in text.split("\n\n")[1].splitlines()]
    return {row[0]: float(row[1]) for row in cells if row[0] in names}


def results(*arguments: str) -> dict[str, dict[str, Any]]:
    """Run `compare` and return the figures with labels at once, by model."""
    output("compare", *arguments, "--output", "results.json")
    models = json.loads(pathlib.Path("results.json").read_text())["models"]
    return {each["model"]: each for each in models if each["labels"] == "labels at once"}
