"""The command `learn`: update a model file with the rows of other files."""

from __future__ import annotations

import argparse
import collections
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.interrupts import Interrupts, interrupts_held
from river_oauc.cli.console.names import check_column
from river_oauc.cli.console.paths import locked
from river_oauc.cli.console.terminal import positive_int, say, status_line
from river_oauc.cli.console.text import shorten
from river_oauc.cli.hints import text_hint
from river_oauc.cli.models import new_learner
from river_oauc.cli.progress import END, PART
from river_oauc.cli.readers.rows import LIBSVM_TARGET, Row, read_rows
from river_oauc.cli.readers.source import FORMATS, Source, open_source
from river_oauc.cli.saved import SavedModel
from river_oauc.cli.target import Target
from river_oauc.metrics.roc import exact_auc

_LEARNERS = ("AutoOAUC", "OTAUC", "SparseOAUCM")

# The AUC is that of the latest examples, and is shown anew after this many.
_WINDOW, _REFRESH = 10_000, 1_000

# Text in so many rows is looked at for a hint, and so many characters of it.
_N_HINTED, _HINTED_WIDTH = 1_000, 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"{FORMATS}; - is standard input")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="the model file, new or not"
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column with the label")
    parser.add_argument(
        "--positive", metavar="VALUE", help="the positive label (default: 1 or true; not 0 or -1)"
    )
    parser.add_argument(
        "--exclude", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument(
        "--learner", choices=_LEARNERS, help="the learner of a new model (default: AutoOAUC)"
    )
    parser.add_argument(
        "--seed", type=int, default=42, metavar="N", help="of a new model (default: 42)"
    )
    parser.add_argument(
        "--every", type=positive_int, default=50_000, metavar="N", help="save after N rows (50000)"
    )
    parser.add_argument(
        "--complete", action="store_true", help="learn a last row without a line end, too"
    )


def run(args: argparse.Namespace) -> int:
    """Learn all files and write the model."""
    console = Console()
    hinted: set[str] = set()
    with locked(args.model, "model"), interrupts_held() as interrupts:
        saved = _model(args)
        for path in args.files:
            with open_source(path, not args.complete) as source, status_line() as show:
                run = FileRun(source, saved, args, interrupts)
                run.learn(show)
            for line in run.report(hinted):
                say(console, line)
    return 0


def _model(args: argparse.Namespace) -> SavedModel:
    """Return the model that learns on, or a new one."""
    if args.model.exists():
        saved = SavedModel.read(args.model)
    else:
        saved = SavedModel(new_learner(args.learner or _LEARNERS[0], args.seed))
    if not saved.target.column:
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
    return saved


@dataclass
class FileRun:
    """Learn the rows of one file that have not been learned yet.

    Parameters
    ----------
    source
        The open file.
    saved
        The model and what is noted beside it.
    args
        The arguments of the command: the model file, and how often to write it.
    interrupts
        Holds Ctrl-C back while model and progress do not agree.

    """

    source: Source
    saved: SavedModel
    args: argparse.Namespace
    interrupts: Interrupts

    def __post_init__(self) -> None:
        self._n_before = self._n_read = self._n_learned = self._n_positives = self._n_refused = 0
        self._first_refusal = ""
        self._texts: dict[str, list[str]] = collections.defaultdict(list)
        self._recent: collections.deque[tuple[float, bool]] = collections.deque(maxlen=_WINDOW)
        self._start = time.perf_counter()

    def learn(self, show: Callable[[str], object]) -> None:
        """Learn row after row. Write the model now and then, and whatever ends the run."""
        source, target, exclude = self.source, self.saved.target, self.saved.exclude
        self._n_before = self.saved.progress.find(source) if source.is_file else 0
        kind = PART
        try:
            for row in read_rows(source, skip=self._n_before):
                if not self._n_read and source.has_columns:
                    for column in (target.column, *exclude):
                        check_column(source.name, column, row.record)
                    if not self.saved.features(row.record):
                        raise UserError(f"{source.name}: no column is left to learn from")
                with self.interrupts:
                    self._learn_row(row)
                    self._n_read += 1
                    if self._n_read % self.args.every == 0:
                        self._write()
                if self._n_read % _REFRESH == 0:
                    show(f"{source.name}: {self._pace()}")
            kind = END
        finally:
            with self.interrupts:
                self._write(kind)

    def _learn_row(self, row: Row) -> None:
        saved = self.saved
        try:
            positive = saved.target.label(row.record)
            if positive is None:
                return
            x = saved.features(row.record)
            score = saved.model.score_one(x)
            saved.model.learn_one(x, positive)
        except ValueError as error:
            self._n_refused += 1
            self._first_refusal = self._first_refusal or f"line {row.line:,}: {error}"
            return
        except UserError as error:
            raise UserError(f"{self.source.name}: line {row.line:,}: {error}") from None
        if self._n_learned < _N_HINTED and len(x) <= _N_HINTED:
            for name, value in x.items():
                if isinstance(value, str):
                    self._texts[name].append(value[:_HINTED_WIDTH])
        self._recent.append((score, positive))
        self._n_learned += 1
        self._n_positives += positive
        saved.n_rows += 1
        saved.n_positives += positive

    def _write(self, kind: str = PART) -> None:
        progress, n_rows = self.saved.progress, self._n_before + self._n_read
        # The end of a file that was learned to the end is noted as such, even by the next run.
        if self._n_learned or (kind == END and progress.kind == PART):
            if self.source.is_file:
                progress.note(self.source, n_rows, kind)
            self.saved.write(self.args.model)

    def _pace(self) -> str:
        scores: dict[bool, list[float]] = {True: [], False: []}
        for score, positive in self._recent:
            scores[positive].append(score)
        return (
            f"{self._n_learned:,} rows, "
            f"{self._n_learned / (time.perf_counter() - self._start):,.0f} per second, "
            f"AUC {exact_auc(scores[True], scores[False]):.4f} over the last {len(self._recent):,}"
        )

    def report(self, hinted: set[str]) -> Iterator[str]:
        """Yield what there is to say at the end, with no hint at a feature twice."""
        name, n = self.source.name, self._n_learned
        if self._n_before:
            yield f"{name}: {self._n_before:,} rows had been learned before"
        yield f"{name}: {f'learned {self._pace()}' if n else 'nothing to learn'}"
        if n_unlabelled := self._n_read - n - self._n_refused:
            yield f"{name}: {n_unlabelled:,} rows have no label, and were not learned"
        if self._n_refused:
            yield f"{name}: {self._n_refused:,} rows were refused; {self._first_refusal}"
        if self.source.is_cut_off:
            yield (
                f"{name}: the last row has no end yet, and was not learned; if the file does not "
                "grow any more, --complete learns it"
            )
        for feature, texts in self._texts.items():
            if feature not in hinted and (hint := text_hint(texts)):
                hinted.add(feature)
                yield f"{name}: {shorten(feature)!r} is {hint}"
        if n and self._n_positives in (0, n):
            which = "every" if self._n_positives else "no"
            yield f"{name}: {which} row is positive; is --positive right?"
        if n:
            yield f"{self.args.model}: {self.saved}"
