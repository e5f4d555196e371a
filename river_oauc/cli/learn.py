"""The command `learn`: update a model file with the rows of other files."""

from __future__ import annotations

import argparse
import collections
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from river_oauc.cli.console import positive_int, say, status_line
from river_oauc.cli.hints import text_hint
from river_oauc.cli.messages import UserError, check_column, shorten
from river_oauc.cli.models import new_learner
from river_oauc.cli.progress import END, PART
from river_oauc.cli.readers.rows import (
    LIBSVM_TARGET,
    Record,
    Refusals,
    Row,
    first_records,
    read_rows,
)
from river_oauc.cli.readers.source import FORMATS, STDIN, Source, open_source
from river_oauc.cli.saved import SavedModel
from river_oauc.cli.target import MAX_LABELS, Target
from river_oauc.cli.writing import Interrupts, interrupts_held, locked
from river_oauc.metrics.roc import exact_auc

_LEARNERS = ("AutoOAUC", "OTAUC", "SparseOAUCM")

# The AUC is that of the latest examples, and is shown anew after this many.
_WINDOW, _REFRESH = 10_000, 1_000

# The features of so many rows are compared with those that the model knows.
_N_CHECKED = 100

# Text in so many rows is looked at for a hint, and so many characters of it.
_N_HINTED, _HINTED_WIDTH = 1_000, 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help=f"{FORMATS}; - is standard input")
    add("--model", type=Path, required=True, metavar="FILE", help="the model file, new or not")
    add("--target", metavar="COLUMN", help="the column with the label")
    add("--positive", metavar="VALUE", help="the positive label (default: 1 or true; not 0 or -1)")
    add("--exclude", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    add("--learner", choices=_LEARNERS, help="the learner of a new model (default: AutoOAUC)")
    add("--seed", type=int, default=42, metavar="N", help="of a new model (default: 42)")
    add("--every", type=positive_int, default=50_000, metavar="N", help="save after N rows (50000)")
    add("--complete", action="store_true", help="learn a last row without a line end, too")
    add(
        "--labels",
        metavar="FILE",
        help="labels that came later: learn its rows, each with the record of FILE that has its id",
    )
    add("--id", metavar="COLUMN", help="the column that says which record a label belongs to")
    add(
        "--allow-new-features",
        action="store_true",
        help="learn files whose features are others than those of the model",
    )


def run(args: argparse.Namespace) -> int:
    """Learn all files and write the model."""
    if (args.labels is None) != (args.id is None) or args.labels == STDIN:
        raise UserError("--labels FILE and --id COLUMN go together, and FILE is a file")
    console = Console()
    lines: list[str] = []
    with locked(args.model, "model"), interrupts_held() as interrupts:
        run = _Run(_model(args), args, interrupts)
        try:
            for path in args.files if args.labels is None else [args.labels]:
                lines += run.learn(path)
        finally:
            with interrupts:
                run.write()
            for line in lines:
                say(console, line)
        say(console, f"{args.model}: {run.saved}")
    return 0


def _model(args: argparse.Namespace) -> SavedModel:
    """Return the model that learns on, or a new one."""
    if args.model.exists():
        saved = SavedModel.read(args.model)
    else:
        saved = SavedModel(new_learner(args.learner or _LEARNERS[0], args.seed))
    if not saved.target.column:
        saved.target = Target(args.target or LIBSVM_TARGET, args.positive, tuple(args.exclude))
    for name, asked, value in (
        ("learner", args.learner, type(saved.model).__name__),
        ("target", args.target, saved.target.column),
        ("positive", args.positive, saved.target.positive),
        ("exclude", " ".join(sorted(args.exclude)), " ".join(sorted(saved.target.exclude))),
    ):
        if asked and asked != value:
            raise UserError(
                f"{args.model}: it was made with --{name} {value}, not {asked}; "
                "write to another --model"
            )
    return saved


class _Run:
    """What a command learns.

    Parameters
    ----------
    saved
        The model and what is noted beside it.
    args
        The arguments of the command.
    interrupts
        Holds Ctrl-C back while model and progress do not agree.

    """

    def __init__(self, saved: SavedModel, args: argparse.Namespace, interrupts: Interrupts) -> None:
        self.saved = saved
        self._args = args
        self._interrupts = interrupts
        self._n_unsaved = 0
        self._is_changed = False
        self._hinted: set[str] = set()

    def write(self) -> None:
        """Write the model if it has learned anything."""
        if self._is_changed:
            self.saved.write(self._args.model)
            self._n_unsaved, self._is_changed = 0, False

    def learn(self, path: str) -> Iterator[str]:
        """Learn the new rows of a file, and yield what there is to say at the end."""
        with open_source(path, not self._args.complete) as source, status_line() as show:
            n_before = self.saved.progress.find(source) if source.is_file else 0
            file, kind = _File(source, self.saved, n_before), PART
            try:
                for row in self._rows(source, n_before):
                    with self._interrupts:
                        file.learn(row)
                        self._n_unsaved += 1
                        if self._n_unsaved >= self._args.every:
                            self._note(file, kind)
                            self.write()
                    if file.n_read % _REFRESH == 0:
                        show(f"{source.name}: {file.pace()}")
                kind = END
            finally:
                with self._interrupts:
                    self._note(file, kind)
        for line in file.report(self._hinted):
            yield f"{source.name}: {line}"

    def _note(self, file: _File, kind: str) -> None:
        """Note how far a file was learned; its end, even if all was learned before."""
        progress = self.saved.progress
        if file.n_learned or (kind == END and progress.kind == PART):
            self._is_changed = True
            if file.source.is_file:
                progress.note(file.source, file.n_before + file.n_read, kind)

    def _rows(self, source: Source, skip: int) -> Iterator[Row]:
        """Yield the new rows of a file; of labels, with the records that they belong to."""
        args, saved = self._args, self.saved
        rows = read_rows(source, skip)
        for first in itertools.islice(rows, 1):
            known = self._scored(source.name, skip) if args.labels else None
            if known is not None:
                for column in (saved.target.column, args.id):
                    check_column(source.name, column, first.record)
            elif source.has_columns:
                saved.target.check(source.name, first.record)
            if known is not None or not skip:
                n = _N_CHECKED
                records = first_records(source, n) if known is None else known.values()
                sample = list(itertools.islice(records, n)) or [first.record]
                share = 0.5 if source.has_columns else 0.0
                saved.check_features(source.name, sample, share, args.allow_new_features)
            for row in itertools.chain([first], rows):
                if known is not None:
                    label = {saved.target.column: row.record.get(saved.target.column)}
                    record = known.get(str(row.record.get(args.id)))
                    row = row._replace(record={} if record is None else record | label)
                yield row

    def _scored(self, labels: str, skip: int) -> dict[str, Record]:
        """Return the records of the new labels, by id."""
        name = self._args.id
        with open_source(labels) as source:
            ids = {str(row.record.get(name)) for row in read_rows(source, skip, Refusals())}
        found: dict[str, Record] = {}
        for path in self._args.files:
            with open_source(path) as source:
                for row in read_rows(source):
                    if not found:
                        check_column(path, name, row.record)
                    if (key := str(row.record.get(name))) in ids:
                        found[key] = row.record
        if not found:
            raise UserError(f"{labels}: no record has the {name!r} of a label")
        return found


class _File:
    """What is learned of a file, and counted.

    Parameters
    ----------
    source
        The open file.
    saved
        The model.
    n_before
        Number of its rows that have been learned before.

    """

    def __init__(self, source: Source, saved: SavedModel, n_before: int) -> None:
        self.source, self.n_before = source, n_before
        self.n_read = self.n_learned = self._n_positives = 0
        self._saved = saved
        self._refusals = Refusals()
        self._labels: set[str] = set()
        self._texts: dict[str, list[str]] = collections.defaultdict(list)
        self._recent: collections.deque[tuple[float, bool]] = collections.deque(maxlen=_WINDOW)
        self._start = time.perf_counter()

    def learn(self, row: Row) -> None:
        """Score a row and learn it, if it has a label."""
        saved = self._saved
        try:
            positive = saved.target.label(row.record)
            x = saved.target.features(row.record)
            if positive is not None:
                score = saved.model.score_one(x)
                saved.model.learn_one(x, positive)
        except ValueError as error:
            self._refusals.add(self.source, row.line, error)
            positive = None
        except UserError as error:
            raise UserError(f"{self.source.name}: line {row.line:,}: {error}") from None
        self.n_read += 1
        if positive is None:
            return
        if len(self._labels) < MAX_LABELS:
            self._labels.add(str(row.record[saved.target.column]))
        if self.n_learned < _N_HINTED and len(x) <= _N_HINTED:
            for name, value in x.items():
                if isinstance(value, str):
                    self._texts[name].append(value[:_HINTED_WIDTH])
        self._recent.append((score, positive))
        self.n_learned += 1
        self._n_positives += positive
        saved.n_rows += 1
        saved.n_positives += positive

    def pace(self) -> str:
        """Return how many rows have been learned, how fast and how well."""
        scores: dict[bool, list[float]] = {True: [], False: []}
        for score, positive in self._recent:
            scores[positive].append(score)
        return (
            f"{self.n_learned:,} rows, "
            f"{self.n_learned / (time.perf_counter() - self._start):,.0f} per second, "
            f"AUC {exact_auc(scores[True], scores[False]):.4f} over the last {len(self._recent):,}"
        )

    def report(self, hinted: set[str]) -> Iterator[str]:
        """Yield what there is to say at the end, with no hint at a feature twice."""
        n = self.n_learned
        if self.n_before:
            yield f"{self.n_before:,} rows had been learned before"
        yield f"learned {self.pace()}" if n else "nothing to learn"
        if n_unlabelled := self.n_read - n - self._refusals.n:
            yield f"{n_unlabelled:,} rows have no label or no record, and were not learned"
        if self._refusals.n:
            yield str(self._refusals)
        if self.source.is_cut_off:
            yield (
                "the last row has no end yet, and was not learned; if the file does not grow any "
                "more, --complete learns it"
            )
        for feature, texts in self._texts.items():
            if feature not in hinted and (hint := text_hint(texts)):
                hinted.add(feature)
                yield f"{shorten(feature)!r} is {hint}"
        if n and self._n_positives in (0, n):
            which = "every" if self._n_positives else "no"
            yield f"{which} row is positive: {self._saved.target.one_class(self._labels)}"
