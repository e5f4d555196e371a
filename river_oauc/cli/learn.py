"""The command `learn`: update a model file with the rows of other files."""

from __future__ import annotations

import argparse
import collections
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

from river_oauc import OTAUC, AutoOAUC, SparseOAUCM
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.interrupts import Interrupts, interrupts_held
from river_oauc.cli.console.names import check_column
from river_oauc.cli.console.paths import check_writable
from river_oauc.cli.console.terminal import positive_int, say, status_line
from river_oauc.cli.readers.rows import LIBSVM_TARGET, Row, read_rows
from river_oauc.cli.readers.source import STDIN, Source, open_source
from river_oauc.cli.saved import SavedModel, describe
from river_oauc.cli.target import Target
from river_oauc.metrics.roc import exact_auc

_LEARNERS: dict[str, Callable[[int], OnlineAUCClassifier]] = {
    "AutoOAUC": lambda seed: AutoOAUC(seed=seed),
    "OTAUC": lambda seed: OTAUC(seed=seed),
    "SparseOAUCM": lambda seed: SparseOAUCM(),
}

# The AUC is that of the latest examples, and is shown anew after this many.
_WINDOW, _REFRESH = 10_000, 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="CSV, JSON Lines, Parquet or LIBSVM, plain or compressed with gz, bz2 or xz; - is "
        "standard input",
    )
    parser.add_argument(
        "--model",
        type=pathlib.Path,
        required=True,
        metavar="FILE",
        help="the model file; if it exists, it learns on, and files that it has learned before go "
        "on where they ended",
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column with the label")
    parser.add_argument(
        "--positive",
        metavar="VALUE",
        help="the positive label; all others are negative (default: labels are 1 and 0, 1 and -1, "
        "or true and false)",
    )
    parser.add_argument(
        "--exclude", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument(
        "--learner",
        choices=_LEARNERS,
        help="the learner of a new model (default: AutoOAUC)",
    )
    parser.add_argument(
        "--seed", type=int, default=42, metavar="N", help="of a new model (default: 42)"
    )
    parser.add_argument(
        "--every",
        type=positive_int,
        default=50_000,
        metavar="N",
        help="write the model after every N rows, and at the end (default: 50000)",
    )


def run(args: argparse.Namespace) -> int:
    """Learn all files and write the model."""
    check_writable(args.model, "model")
    saved, target = _model(args)
    console = Console()
    with interrupts_held() as interrupts:
        for path in args.files:
            run = FileRun(saved, target, path, args.model, args.every, interrupts)
            run.learn()
            for line in run.report():
                say(console, line)
    return 0


def _model(args: argparse.Namespace) -> tuple[SavedModel, Target]:
    """Return the model to go on with, or a new one, and the label that it learns."""
    if args.model.exists():
        saved = SavedModel.read(args.model)
    else:
        saved = SavedModel(_LEARNERS[args.learner or "AutoOAUC"](args.seed))
    if saved.target is None:
        saved.target = Target(args.target or LIBSVM_TARGET, args.positive)
        saved.exclude = tuple(args.exclude)
    for name, asked, value in (
        ("learner", args.learner, type(saved.model).__name__),
        ("target", args.target, saved.target.column),
        ("positive", args.positive, saved.target.positive),
        ("exclude", " ".join(sorted(args.exclude)), " ".join(sorted(saved.exclude))),
    ):
        if asked and asked != value:
            raise UserError(
                f"{args.model}: it was made with --{name} {value}, not {asked}; "
                "write to another --model"
            )
    return saved, saved.target


class FileRun:
    """Learn the rows of one file that have not been learned yet.

    Parameters
    ----------
    saved
        The model and what is noted beside it.
    target
        The label.
    path
        The file of rows, or `-`.
    model_path
        The model file.
    every
        Number of rows after which the model is written.
    interrupts
        Holds Ctrl-C back while model and position do not agree.

    """

    def __init__(
        self,
        saved: SavedModel,
        target: Target,
        path: str,
        model_path: pathlib.Path,
        every: int,
        interrupts: Interrupts,
    ) -> None:
        self._saved = saved
        self._target = target
        self._path = path
        self._model_path = model_path
        self._every = every
        self._interrupts = interrupts
        self._name = path
        self._n_before = self._n_read = 0
        self._n_learned = self._n_positives = self._n_refused = 0
        self._first_refusal = ""
        self._recent: collections.deque[tuple[float, bool]] = collections.deque(maxlen=_WINDOW)
        self._seconds = 0.0

    def learn(self) -> None:
        """Learn row after row, and write the model now and then and at the end.

        It is written after Ctrl-C and after a row that cannot be read as well.
        """
        start = time.perf_counter()
        with open_source(self._path) as source, status_line() as show:
            self._name = source.name
            self._n_before = self._position(source)
            try:
                for row in read_rows(source, skip=self._n_before):
                    if not self._n_read and source.has_columns:
                        self._check_columns(row.record)
                    with self._interrupts:
                        self._learn_row(row)
                        self._n_read += 1
                        if self._n_read % self._every == 0:
                            self._save(source)
                    if self._n_read % _REFRESH == 0:
                        show(f"{self._name}: {self._pace(time.perf_counter() - start)}")
            except (UserError, OSError, KeyboardInterrupt):
                with self._interrupts:
                    self._save(source)
                raise
            with self._interrupts:
                self._save(source)
        self._seconds = time.perf_counter() - start

    def _position(self, source: Source) -> int:
        if self._path == STDIN:
            return 0
        return self._saved.positions.get(pathlib.Path(self._path), source.can_grow)

    def _check_columns(self, record: dict[str, Any]) -> None:
        for column in (self._target.column, *self._saved.exclude):
            check_column(self._name, column, record)

    def _learn_row(self, row: Row) -> None:
        try:
            positive = self._target.label(row.record)
            if positive is None:
                return
            x = self._saved.features(row.record)
            score = self._saved.model.score_one(x)
            self._saved.model.learn_one(x, positive)
        except ValueError as error:
            self._n_refused += 1
            self._first_refusal = self._first_refusal or f"line {row.line:,}: {error}"
            return
        except UserError as error:
            raise UserError(f"{self._name}: line {row.line:,}: {error}") from None
        self._recent.append((score, positive))
        self._n_learned += 1
        self._n_positives += positive
        self._saved.n_rows += 1
        self._saved.n_positives += positive

    def _save(self, source: Source) -> None:
        if not self._n_learned:
            return
        if self._path != STDIN:
            n_rows = self._n_before + self._n_read
            n_bytes = source.n_bytes_read if source.can_grow else None
            self._saved.positions.set(pathlib.Path(self._path), n_rows, n_bytes)
        self._saved.write(self._model_path)

    def _pace(self, seconds: float) -> str:
        auc = exact_auc(
            [score for score, positive in self._recent if positive],
            [score for score, positive in self._recent if not positive],
        )
        return (
            f"{self._n_learned:,} rows, {self._n_learned / seconds:,.0f} per second, "
            f"AUC {auc:.4f} over the last {len(self._recent):,}"
        )

    def report(self) -> Iterator[str]:
        """Yield what there is to say at the end."""
        if self._n_before:
            yield f"{self._name}: {self._n_before:,} rows had been learned before"
        if self._n_learned:
            yield f"{self._name}: learned {self._pace(self._seconds)}"
        else:
            yield f"{self._name}: nothing to learn"
        n_unlabelled = self._n_read - self._n_learned - self._n_refused
        if n_unlabelled:
            yield f"{self._name}: {n_unlabelled:,} rows have no label, and were not learned"
        if self._n_refused:
            yield f"{self._name}: {self._n_refused:,} rows were refused; {self._first_refusal}"
        if self._n_learned and self._n_positives in (0, self._n_learned):
            which = "no" if self._n_positives == 0 else "every"
            yield f"{self._name}: {which} row is positive; is --positive right?"
        if self._n_learned:
            yield f"{self._model_path}: {describe(self._saved)}"
