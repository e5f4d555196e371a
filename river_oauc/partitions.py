"""One model from the partitions of a large table, whatever computes it.

Each partition is learned by itself, and the results are merged in pairs, in the order of the
partitions. Between processes, models are the bytes of model files. Nothing depends on who learned
or merged what. The module knows no engine: Dask is in `distributed`.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Callable, Iterator, Sequence

from river import base, compose

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.model_file import from_bytes, to_bytes
from river_oauc.scaling import Scaler, learn_scaler, merge_scalers, scaled

if typing.TYPE_CHECKING:
    import pandas as pd

Model = typing.TypeVar("Model", bound=OnlineAUCClassifier | compose.Pipeline)
Name = base.typing.FeatureName
Term = typing.TypeVar("Term")


class PartitionError(ValueError):
    """A partition is refused."""


class Columns(typing.NamedTuple):
    """What the columns of a table are.

    Parameters
    ----------
    features
        The names of the features.
    target
        The name of the labels.
    weights
        The name of the importance weights; None if there are none.

    """

    features: list[Name]
    target: Name
    weights: Name | None


def columns_of(names: Sequence[Name], target: Name, weights: Name | None) -> Columns:
    """Return what the columns of a table are, or raise a ValueError."""
    for role, name in (("target", target), ("weights", weights)):
        if name is not None and name not in names:
            raise ValueError(f"{role} is {name!r}, and the frame has no such column: {[*names]}")
    if target == weights:
        raise ValueError(f"target and weights are both {target!r}")
    return Columns([name for name in names if name not in (target, weights)], target, weights)


def steps_of(model: typing.Any) -> dict[str, typing.Any]:
    """Return the steps of a model, scalers and a classifier, or raise a ValueError."""
    is_pipeline = isinstance(model, compose.Pipeline)
    steps = dict(model.steps) if is_pipeline else {type(model).__name__: model}
    *front, last = steps.values()
    if not isinstance(last, OnlineAUCClassifier):
        raise ValueError(
            f"{type(last).__name__} does not work on partitions: take a classifier of river_oauc, "
            "or a pipeline that ends in one"
        )
    for step in front:
        if not isinstance(step, Scaler) or step.window_size is not None:
            raise ValueError(
                f"{type(step).__name__} does not work on partitions: before the classifier there "
                "may be StandardScaler, MinMaxScaler and MaxAbsScaler without a window_size; do "
                "all else to the frame"
            )
    return steps


def learn_steps(model: Model, learn: Callable[[bytes], bytes]) -> Model:
    """Return a new model that has also learned a table, each step behind the finished ones.

    Parameters
    ----------
    model
        The model so far, which stays as it is.
    learn
        A function that learns the last step of a pipeline from all partitions; see
        `learn_partition`. It takes and returns model files.

    """
    steps = steps_of(model)
    *_, classifier = steps.values()
    if not hasattr(classifier._ranker, "merge"):
        raise ValueError(
            f"{type(classifier).__name__} does not merge, so it cannot be learned from partitions"
        )
    finished: list[tuple[str, typing.Any]] = []
    for name, step in steps.items():
        # Without what it has learned, which would count once for each partition.
        learned = learn(to_bytes(compose.Pipeline(*finished, (name, step.clone()))))
        finished.append((name, from_bytes(merge(to_bytes(step), learned)).model))
    result = compose.Pipeline(*finished) if isinstance(model, compose.Pipeline) else finished[0][1]
    return typing.cast(Model, result)


def learn_partition(partition: pd.DataFrame, number: int, columns: Columns, sent: bytes) -> bytes:
    """Learn the last step of a pipeline from a partition, behind the other steps."""
    *front, last = from_bytes(sent).model.steps.values()
    features, target, weights = columns
    with _errors_name(f"partition {number}"):
        needed = [*features, target] if weights is None else [*features, target, weights]
        missing = [repr(name) for name in needed if name not in partition.columns]
        if missing:
            raise ValueError(f"it has no column {', '.join(missing)}")
        X = scaled(partition[features], front)
        if isinstance(last, Scaler):
            learn_scaler(last, X)
        else:
            last.learn_many(X, partition[target], 1.0 if weights is None else partition[weights])
            _check_two_labels(partition[target])
    return to_bytes(last)


def _check_two_labels(labels: pd.Series[typing.Any]) -> None:
    """Raise a ValueError if labels, each valid by itself, are -1, 0 and 1."""
    different = labels.reset_index(drop=True).drop_duplicates()
    if len(different) > 2:
        raise ValueError(
            f"the labels are {different.tolist()}: there must be two of them "
            f"(row {different.index[2]} of the data frame)"
        )


def score_partition(partition: pd.DataFrame, number: int, sent: bytes) -> pd.Series[typing.Any]:
    """Return the scores of a partition."""
    *front, last = steps_of(from_bytes(sent).model).values()
    with _errors_name(f"partition {number}"):
        return last.score_many(scaled(partition, front))


def merge(one: bytes, other: bytes) -> bytes:
    """Return the model file of two merged classifiers, or of two merged scalers."""
    merged, added = from_bytes(one).model, from_bytes(other).model
    if isinstance(merged, Scaler):
        merge_scalers(merged, added)
    else:
        with _errors_name("merging partitions"):
            merged += added
    return to_bytes(merged)


def in_pairs(merge: Callable[[Term, Term], Term], terms: Sequence[Term]) -> Term:
    """Merge neighbours, then neighbouring results, and so on.

    Examples
    --------
    >>> from river_oauc.partitions import in_pairs
    >>> in_pairs("({}{})".format, "abcde")
    '(((ab)(cd))e)'

    """
    while len(terms) > 1:
        odd = terms[len(terms) // 2 * 2 :]
        terms = [*map(merge, terms[::2], terms[1::2]), *odd]
    return terms[0]


@contextlib.contextmanager
def _errors_name(place: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise PartitionError(f"{place}: {error}") from error
