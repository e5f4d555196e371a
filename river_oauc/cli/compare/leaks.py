"""Features that rank nearly as well as all together, and may not be known before the label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from river_oauc.cli.models import Example
from river_oauc.metrics import exact_auc

# A feature is named if its own AUC is at least this, and this share of the best one above chance.
MIN_AUC, MIN_SHARE = 0.87, 0.8
# Where more features are that good, the task is easy.
MAX_LEAKS = 3

# Numbers are looked at in so many groups of equal size.
_GROUPS = 20


def possible_leaks(examples: Sequence[Example], best_auc: float) -> dict[Any, float]:
    """Return the AUC of each feature that may be a leak.

    Parameters
    ----------
    examples
        The stream.
    best_auc
        The AUC of the best learner.

    Examples
    --------
    >>> examples = [({"n": i * i % 7, "paid_back": i % 5 > 0}, i % 5 == 0) for i in range(500)]
    >>> possible_leaks(examples, best_auc=0.99)
    {'paid_back': 0.99...}

    """
    names = list(dict.fromkeys(name for x, _ in examples[:1_000] for name in x))
    if len(names) == 1:
        return {}
    enough = max(MIN_AUC, 0.5 + MIN_SHARE * (best_auc - 0.5))
    labels = [y for _, y in examples]
    aucs = {name: auc_alone([x.get(name) for x, _ in examples], labels) for name in names}
    found = {name: auc for name, auc in aucs.items() if auc >= enough}
    return found if len(found) <= MAX_LEAKS else {}


def auc_alone(values: Sequence[Any], labels: Sequence[bool]) -> float:
    """Return the AUC of a feature: each value scores the share of positives it has had so far."""
    n: Counter[Any] = Counter()
    n_positive: Counter[Any] = Counter()
    positives, scores = 0, []
    for i, (value, y) in enumerate(zip(_grouped(values), labels, strict=True)):
        prior = (positives + 1.0) / (i + 2.0)
        scores.append((n_positive[value] + prior) / (n[value] + 1.0))
        n[value] += 1
        n_positive[value] += y
        positives += y
    is_positive, score = np.array(labels), np.array(scores)
    return exact_auc(score[is_positive], score[~is_positive])


def _grouped(values: Sequence[Any]) -> Sequence[Any]:
    """Replace numbers by the group that they belong to, if there are many of them."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(set(numbers)) <= _GROUPS:
        return values
    edges = np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, _GROUPS + 1)[1:-1]))
    groups = iter(np.searchsorted(edges, numbers, side="right").tolist())
    return [next(groups) if isinstance(value, int | float) else value for value in values]
