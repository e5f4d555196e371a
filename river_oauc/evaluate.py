"""Evaluation with labels that come late."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import numbers
import random
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator

from river import base

from river_oauc.feedback import AlertFeedback
from river_oauc.metrics import exact_auc
from river_oauc.parameters import check_choice, check_count, check_share, new_random
from river_oauc.records.labels import parse_label
from river_oauc.scores import Features, last_step, score_of, sortable
from river_oauc.wrapper import ClassifierWrapper

__all__ = ["Period", "iter_progressive", "iter_reviews"]

_LEARN_FROM = ("all", "reviewed", "delayed")


def iter_progressive(
    dataset: Iterable[tuple[Features, base.typing.ClfTarget]],
    model: typing.Any,
    delay: typing.Any = 0,
    moment: Callable[[Features], typing.Any] | None = None,
) -> Iterator[tuple[float, bool]]:
    """Score each record when it comes, and learn it when its label comes; yield score and label.

    A model that has `encode_one` learns what it served. With labels at once, this is progressive
    validation.

    Parameters
    ----------
    dataset
        Records and labels, in order of time.
    model
        A binary classifier, or a pipeline that ends in one.
    delay
        How many records later labels come; with `moment`, how long after the record.
    moment
        Returns the time of a record: a number, or a datetime if `delay` is a timedelta.

    Examples
    --------
    >>> from river import datasets
    >>> from river_oauc import AutoOAUC
    >>> from river_oauc.evaluate import iter_progressive
    >>> from river_oauc.metrics import ExactROCAUC

    >>> for delay in (0, 300):
    ...     metric = ExactROCAUC()
    ...     for score, y in iter_progressive(datasets.Phishing(), AutoOAUC(seed=42), delay):
    ...         metric.update(y, score)
    ...     print(delay, metric)
    0 ExactROCAUC: 97.45%
    300 ExactROCAUC: 92.23%

    """
    encode = getattr(model, "encode_one", lambda x: x)
    pending: collections.deque[tuple[typing.Any, base.typing.ClfTarget, typing.Any]]
    pending = collections.deque()
    for i, (x, y) in enumerate(dataset):
        now = i if moment is None else moment(x)
        while pending and pending[0][2] + delay < now:
            model.learn_one(*pending.popleft()[:2])
        record = encode(x)
        pending.append((record, y, now))
        yield score_of(model, record), parse_label(y)


class Period(typing.NamedTuple):
    """What was reviewed in a period, and how well the records were ranked.

    All figures use the true labels of the data set, including those that the model has not got yet
    or never gets.

    Parameters
    ----------
    key
        Number of the period, from 0 on, or the value that its records have in common.
    n_records
        Number of records.
    n_reviewed
        Number of records reviewed, for their rank or at random.
    n_found
        Number of positives among the reviewed records.
    precision
        Share of positives among the reviewed records.
    recall
        Share of the positives found, of all positives from the beginning of the stream to the end
        of this period. None until there is a positive.
    auc
        AUC of the scores that the records had when they arrived. None if the period has records of
        one class only.

    """

    key: Hashable
    n_records: int
    n_reviewed: int
    n_found: int
    precision: float
    recall: float | None
    auc: float | None


@dataclasses.dataclass(slots=True)
class _Record:
    x: Features
    y: base.typing.ClfTarget
    positive: bool
    score: float
    is_learned: bool = False


def iter_reviews(
    dataset: Iterable[tuple[Features, base.typing.ClfTarget]],
    model: base.Classifier,
    period: int | Callable[[Features], Hashable],
    delay: int | None,
    reviewed: float = 0.01,
    explored: float = 0.0,
    learn_from: str = "all",
    seed: int | None = None,
) -> Iterator[Period]:
    """Evaluate a model on a stream in which somebody reviews the records that rank highest.

    Use it to find out how many frauds, failures or intrusions a desk would have found. Progressive
    validation cannot tell: there, the model gets each label at once. Here, as in [^1], each record
    is scored when it arrives. At the end of a period, such as a day, the highest scores are
    reviewed, and the model gets the labels of these records. The labels of all others arrive
    `delay` records later, or never. No label is used for learning before it has arrived.

    With `delay=0` this is progressive validation: the model learns every record right after it is
    scored. The difference is what late labels cost. `feedback.AlertFeedback` makes it small; it is
    told which labels come from reviews.

    It keeps the records of the period and those whose labels are under way, and takes the time of
    one score and at most one step of learning per record.

    Parameters
    ----------
    dataset
        Pairs of a record and a label, in the order of arrival.
    model
        A binary classifier. It ranks by `score_one`, or by the probability of True if it has none.
    period
        Number of records in a period, or a function of the record, such as its day. In the latter
        case, a period ends when the value changes.
    delay
        Number of records that arrive between a record and its label, unless it is reviewed
        earlier. None means that labels come from reviews only.
    reviewed
        Number of records to review at the end of each period if it is an integer, otherwise their
        share of the period, rounded, and at least one record. The highest scores are reviewed, and
        the earlier one of two equal scores.
    explored
        Probability with which each of the other records is reviewed, too, at random.
    learn_from
        Which labels the model gets. `"all"`: each record is learned once, as soon as its label is
        there. The others are for comparison. `"reviewed"`: only reviewed records are learned.
        `"delayed"`: reviewed records, too, are learned when `delay` is over.
    seed
        Seed of the random choice of records to explore.

    Yields
    ------
    A `Period` for each period, after the model has learned what was reviewed.

    Examples
    --------
    >>> from river import datasets
    >>> from river_oauc import AutoOAUC
    >>> from river_oauc.evaluate import iter_reviews
    >>> from river_oauc.feedback import AlertFeedback

    >>> model = AlertFeedback(AutoOAUC(seed=42))
    >>> for period in iter_reviews(datasets.Phishing(), model, 250, delay=500, reviewed=25):
    ...     print(f"{period.n_found} of {period.n_reviewed}, AUC {period.auc:.3f}")
    13 of 25, AUC 0.500
    24 of 25, AUC 0.942
    25 of 25, AUC 0.976
    25 of 25, AUC 0.976
    25 of 25, AUC 0.982

    Days, and labels from reviews only; one in a hundred of the other records is explored:

    >>> import datetime
    >>> start = datetime.datetime(2026, 1, 1)
    >>> payments = [
    ...     ({"at": start + datetime.timedelta(hours=i), "amount": 37 * i % 100}, i % 24 == 0)
    ...     for i in range(50)
    ... ]
    >>> periods = iter_reviews(
    ...     payments, AutoOAUC(seed=42), lambda x: x["at"].date(), delay=None, reviewed=2,
    ...     explored=0.01, seed=42,
    ... )
    >>> [(str(period.key), period.n_records) for period in periods]
    [('2026-01-01', 24), ('2026-01-02', 24), ('2026-01-03', 2)]

    References
    ----------
    [^1]: Dal Pozzolo, A., Boracchi, G., Caelen, O., Alippi, C. and Bontempi, G., 2018. Credit card
        fraud detection: a realistic modeling and a novel learning strategy. IEEE Transactions on
        Neural Networks and Learning Systems, 29(8), pp.3784-3797.

    """
    if not callable(period):
        check_count("period", period)
    if delay is not None and delay != 0:
        check_count("delay", delay)
    if isinstance(reviewed, numbers.Integral):
        check_count("reviewed", reviewed)
    else:
        check_share("reviewed", reviewed)
    if explored != 0:
        check_share("explored", explored)
    check_choice("learn_from", learn_from, _LEARN_FROM)
    rng = new_random(seed)
    return _periods(dataset, model, period, delay, reviewed, explored, learn_from, rng)


def _periods(
    dataset: Iterable[tuple[Features, base.typing.ClfTarget]],
    model: base.Classifier,
    period: int | Callable[[Features], Hashable],
    delay: int | None,
    reviewed: float,
    explored: float,
    learn_from: str,
    rng: random.Random,
) -> Iterator[Period]:
    review = {"reviewed": True} if _takes_reviews(model) else {}
    waiting: collections.deque[_Record] = collections.deque()
    n_positives = n_found = 0

    def learn(record: _Record, **kwargs: bool) -> None:
        if not record.is_learned:
            model.learn_one(record.x, record.y, **kwargs)
            record.is_learned = True

    def key_of(numbered: tuple[int, tuple[Features, base.typing.ClfTarget]]) -> Hashable:
        number, (x, _) = numbered
        return period(x) if callable(period) else number // period

    for key, examples in itertools.groupby(enumerate(dataset), key_of):
        records = []
        for _, (x, y) in examples:
            record = _Record(x, y, parse_label(y), sortable(score_of(model, x)))
            records.append(record)
            if delay is not None and learn_from != "reviewed":
                waiting.append(record)
                if len(waiting) > delay:
                    learn(waiting.popleft())

        to_review = _to_review(records, reviewed, explored, rng)
        if learn_from != "delayed":
            for record in to_review:
                learn(record, **review)
        found = sum(record.positive for record in to_review)
        n_found += found
        n_positives += sum(record.positive for record in records)
        yield Period(
            key,
            len(records),
            len(to_review),
            found,
            found / len(to_review),
            n_found / n_positives if n_positives else None,
            _auc(records),
        )


def _takes_reviews(model: base.Estimator) -> bool:
    """Return whether `learn_one` has the argument `reviewed`; wrappers pass it on."""
    model = last_step(model)
    return isinstance(model, AlertFeedback) or (
        isinstance(model, ClassifierWrapper) and _takes_reviews(model.model)
    )


def _to_review(
    records: list[_Record], reviewed: float, explored: float, rng: random.Random
) -> list[_Record]:
    """Return the records to review, in the order of arrival."""
    n = int(reviewed) if reviewed >= 1 else max(1, round(reviewed * len(records)))
    ranks = sorted(range(len(records)), key=lambda i: -records[i].score)
    chosen = set(ranks[:n])
    chosen.update(i for i in ranks[n:] if rng.random() < explored)
    return [records[i] for i in sorted(chosen)]


def _auc(records: list[_Record]) -> float | None:
    positives = [record.score for record in records if record.positive]
    negatives = [record.score for record in records if not record.positive]
    return exact_auc(positives, negatives) if positives and negatives else None
