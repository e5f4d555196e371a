"""What `streams` and `records` have in common: run what is missing, report, draw."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from benchmarks.journal import Journal
from benchmarks.progressive.board import Board
from benchmarks.progressive.models import Model
from benchmarks.progressive.report import RANKED, ranks_text, rows, to_csv, to_markdown
from benchmarks.progressive.summary import Group, means
from benchmarks.progressive.validation import Cell, Outcome, outcome_of
from benchmarks.workers import add_jobs_argument, run_cells
from river_oauc.cli.console import positive_int, print_table, say
from river_oauc.cli.messages import UserError, known_names
from river_oauc.cli.models import Example
from river_oauc.files import replace_file

__all__ = [
    "Benchmark",
    "Reader",
    "add_common_arguments",
    "chosen_models",
    "run_benchmark",
    "run_model",
]

# Returns the first examples of a set, by name, number and seed.
Reader = Callable[[str, int, int], Sequence[Example]]


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Parameters
    ----------
    name
        Its name, which its files have as well.
    heading
        Title of its page.
    notes
        Paragraphs below the title.
    n_examples
        Returns how many examples of a set to learn.
    run_cell
        Runs a cell within a limit of CPU seconds. It must be possible to pickle it.

    """

    name: str
    heading: str
    notes: Sequence[str]
    n_examples: Callable[[str], int]
    run_cell: Callable[[float, Cell], Outcome]


def add_common_arguments(
    parser: argparse.ArgumentParser, name: str, models: Mapping[str, Model], limit: str
) -> None:
    """Declare the arguments that both commands have.

    Parameters
    ----------
    parser
        Where to declare them.
    name
        Name of the command.
    models
        The models by name.
    limit
        The default number of examples, in words.

    """
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="MODEL",
        help=f"which models (default: all that are installed): {', '.join(models)}",
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--limit", type=positive_int, metavar="N", help=f"examples per set (default: {limit})"
    )
    sizes.add_argument("--full", action="store_true", help="all examples of every set")
    parser.add_argument(
        "--minutes",
        type=positive_int,
        default=10,
        metavar="N",
        help="CPU minutes of a model on a set; then it stops, and is not ranked (default: 10)",
    )
    parser.add_argument(
        "--seeds",
        type=functools.partial(positive_int, at_most=1_000),
        default=1,
        metavar="N",
        help="shuffles of sets without order, and seeds of the models (default: 1)",
    )
    add_jobs_argument(parser)
    out = pathlib.Path(f"river-oauc-{name}")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=out,
        metavar="DIR",
        help=f"where results, tables and figures go (default: {out})",
    )


def chosen_models(names: Sequence[str] | None, models: Mapping[str, Model]) -> dict[str, Model]:
    """Return the models of these names; by default those that are installed."""
    chosen = {name: models[name] for name in known_names("model", names, models)}
    return {name: model for name, model in chosen.items() if names or model.is_installed}


def run_model(models: Mapping[str, Model], read: Reader, max_seconds: float, cell: Cell) -> Outcome:
    """Run a model on a set, for at most `max_seconds` of CPU time."""
    examples = _read_once(read, cell.stream, cell.examples, cell.seed)
    # No variable for the model: it would stay in memory beside the next one.
    return outcome_of(models[cell.model].prepared(cell.scaler, cell.seed), examples, max_seconds)


@functools.lru_cache(maxsize=1)
def _read_once(read: Reader, name: str, n_examples: int, seed: int) -> Sequence[Example]:
    """Read a set once for all models: some take longer to read than to learn."""
    return read(name, n_examples, seed)


def run_benchmark(
    benchmark: Benchmark,
    groups: Sequence[Group],
    args: argparse.Namespace,
    together: Sequence[Group] = (),
) -> int:
    """Run the missing runs, print the tables, and write tables and figures.

    Parameters
    ----------
    benchmark
        The benchmark.
    groups
        The groups to run and to show as tables, without outcomes yet.
    args
        The common arguments.
    together
        Further groups to rank, made of the same sets and models.

    """
    cells = [
        Cell(name, benchmark.n_examples(name), seed, model, scaler)
        for group in groups
        for name in group.sets
        for seed in range(args.seeds)
        for model in group.models
        for scaler in group.models[model].scalers
    ]
    if not cells:
        names = (name for group in groups for name in group.sets)
        raise UserError(f"none of these models runs on {', '.join(names)}")
    args.out.mkdir(parents=True, exist_ok=True)
    with Journal(args.out / f"{benchmark.name}.jsonl", Cell, Outcome) as results:
        _run_missing(benchmark, cells, results, 60.0 * args.minutes, args.jobs)
        outcomes = means(results.outcomes, cells)
    groups, together = (
        [dataclasses.replace(group, means=outcomes) for group in own if group.sets and group.models]
        for own in (groups, together)
    )
    ranked = [group for group in (*groups, *together) if group.is_ranked()]
    _report(benchmark, groups, ranked, args.out)
    return 0


def _run_missing(
    benchmark: Benchmark,
    cells: Sequence[Cell],
    results: Journal[Cell, Outcome],
    max_seconds: float,
    jobs: int,
) -> None:
    missing = [cell for cell in cells if not _is_done(results.outcomes.get(cell), max_seconds)]
    run = functools.partial(benchmark.run_cell, max_seconds)
    with Board(len(missing)) as board:
        for cell, outcome in run_cells(run, missing, jobs):
            results.add(cell, outcome)
            board.advance(cell.stream, results.outcomes)
    # Release the last set.
    _read_once.cache_clear()


def _is_done(outcome: Outcome | None, max_seconds: float) -> bool:
    """Return whether a run got to the end, or took all the time that it may take."""
    if outcome is None or outcome.stopped_at is None:
        return outcome is not None
    return 1e-6 * outcome.microseconds * outcome.stopped_at >= max_seconds


def _report(
    benchmark: Benchmark, groups: Sequence[Group], ranked: Sequence[Group], directory: pathlib.Path
) -> None:
    """Print the tables, and write them and the figures."""
    console = Console()
    for group in groups:
        ours = [name for name, model in group.models.items() if model.ours]
        for measure, title in group.titles.items():
            say(console, f"\n{group.title}. {title}")
            by_model = list(zip(*rows(group, measure), strict=True))
            print_table(console, by_model, bold=ours)
    for note in benchmark.notes:
        say(console, f"\n{note}")
    for group in ranked:
        for measure in RANKED:
            say(console, f"\n{ranks_text(group, measure)}")
    say(console, "")
    name = benchmark.name
    contents = {
        f"{name}.md": to_markdown(benchmark.heading, benchmark.notes, groups, ranked).encode(),
        f"{name}.csv": to_csv(groups).encode(),
        **_figures(name, [group for group in ranked if group in groups]),
    }
    for file, content in contents.items():
        replace_file(directory / file, content)
        say(console, f"{directory / file}")


def _figures(name: str, groups: Sequence[Group]) -> dict[str, bytes]:
    """Draw the figures, by file name, for light and for dark pages."""
    # Here because matplotlib is slow to import.
    from benchmarks.progressive.figures import draw_distances
    from benchmarks.rank_diagram import draw_ranks
    from benchmarks.themes import DARK, LIGHT

    figures = {}
    for suffix, theme in (("", LIGHT), ("-dark", DARK)) if groups else ():
        figures[f"{name}{suffix}.png"] = draw_distances(groups, theme)
        for number, group in enumerate(groups, start=1):
            title = f"{group.title}: average rank by AUC, 1 is best"
            ranking = group.ranking("auc")
            figures[f"ranks-{number}{suffix}.png"] = draw_ranks(ranking, title, theme)
    return figures
