"""`python -m benchmarks merging`: AUC after learning shards separately and merging."""

from __future__ import annotations

import argparse
import functools
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from river import preprocessing

from benchmarks.examples import examples_of
from benchmarks.markdown import markdown_table
from river_oauc import OAUCM, OAUCS, AutoOAUC, SparseOAUCM
from river_oauc.cli.console import positive_int, print_table, progress_bar, say
from river_oauc.cli.messages import known_names
from river_oauc.cli.models import Example
from river_oauc.files import replace_file
from river_oauc.metrics import exact_auc

__all__ = ["add_arguments", "merged_model", "held_out_aucs", "run"]

_DENSE_SETS = ("german", "segment", "letter", "magic04", "satimage", "svmguide3")
_WIDE_SETS = ("w8a", "hate_speech")
_MODELS: dict[str, Callable[[], Any]] = {
    "OAUCM": OAUCM,
    "OAUCS": OAUCS,
    "AutoOAUC": functools.partial(AutoOAUC, seed=1),
    "SparseOAUCM": SparseOAUCM,
}
# These get features scaled to [0, 1].
_SCALED = ("OAUCM", "OAUCS")
_SHARDS = (1, 4, 16)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=[*_MODELS])
    parser.add_argument(
        "--runs",
        type=functools.partial(positive_int, at_most=1_000),
        default=5,
        help="shuffles of each set (%(default)s)",
    )
    parser.add_argument(
        "--limit", type=positive_int, default=25_000, help="examples per set (%(default)s)"
    )
    parser.add_argument("--markdown", type=pathlib.Path, help="file to write the table to")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table."""
    models = known_names("model", args.models, [*_MODELS])
    cells = [(model, name) for model in models for name in _sets_of(model)]
    aucs = {}
    with progress_bar("merging") as bar:
        task = bar.add_task("", total=len(cells) * args.runs)
        for model, name in cells:
            runs = []
            for seed in range(args.runs):
                examples = examples_of(name, args.limit, seed)
                runs.append(held_out_aucs(_MODELS[model], examples, scaled=model in _SCALED))
                bar.advance(task)
            aucs[model, name] = np.mean(runs, axis=0)
    rows = [
        ["", "set", "one pass", "4 shards", "16 shards", "goes on", "4, then on", "16, then on"]
    ]
    for model in models:
        own = [aucs[model, name] for name in _sets_of(model)]
        for name, figures in (*zip(_sets_of(model), own, strict=True), ("mean", np.mean(own, 0))):
            rows.append([model, name, *(f"{100.0 * auc:.1f}" for auc in figures)])
    console = Console()
    say(console, f"Held-out AUC in percent, mean of {args.runs} shuffles, a fifth held out")
    print_table(console, rows)
    if args.markdown is not None:
        replace_file(args.markdown, f"{markdown_table(rows)}\n".encode())
    return 0


def _sets_of(model: str) -> Sequence[str]:
    return _WIDE_SETS if model == "SparseOAUCM" else _DENSE_SETS


def held_out_aucs(
    make: Callable[[], Any], examples: Sequence[Example], scaled: bool
) -> list[float]:
    """Return AUCs on the first fifth of the examples after learning the rest in 1, 4, 16 shards.

    Three more AUCs follow, where the shards cover half of the training examples and the merged
    model learns the other half.
    """
    n_test = len(examples) // 5
    test, train = examples[:n_test], examples[n_test:]
    if scaled:
        test, train = _scaled(test, train)
    half = len(train) // 2
    aucs = [_auc(merged_model(make, train, n), test) for n in _SHARDS]
    for n in _SHARDS:
        model = merged_model(make, train[:half], n)
        _learn(model, train[half:])
        aucs.append(_auc(model, test))
    return aucs


def _scaled(test: Sequence[Example], train: Sequence[Example]) -> list[list[Example]]:
    """Scale both parts by the ranges of the training part."""
    scaler: Any = preprocessing.MinMaxScaler()
    for x, _ in train:
        scaler.learn_one(x)
    return [[(scaler.transform_one(x), y) for x, y in part] for part in (test, train)]


def merged_model(make: Callable[[], Any], examples: Sequence[Example], n_shards: int) -> Any:
    """Learn each shard with its own model and merge the models in pairs."""
    models = [make() for _ in range(n_shards)]
    for shard, model in enumerate(models):
        _learn(model, examples[shard::n_shards])
    while len(models) > 1:
        models = [one + other for one, other in zip(models[::2], models[1::2], strict=True)]
    return models[0]


def _learn(model: Any, examples: Iterable[Example]) -> None:
    for x, y in examples:
        model.learn_one(x, y)


def _auc(model: Any, examples: Sequence[Example]) -> float:
    scores = np.array([model.score_one(x) for x, _ in examples])
    labels = np.array([y for _, y in examples], dtype=bool)
    return exact_auc(scores[labels], scores[~labels])
