"""Learning from the labels of alerts, which come at once, and from all others, which come late."""

from __future__ import annotations

import typing

import numpy as np
from river import base

from river_oauc.rankers.losses import sigmoid
from river_oauc.rankers.stack import Stack
from river_oauc.records.labels import parse_label
from river_oauc.scores import Features, unbounded_score
from river_oauc.wrapper import ClassifierWrapper, importance_weight

__all__ = ["AlertFeedback"]

# The weights of the two scores before the first review: that of the model that learns every label,
# and that of the one that learns reviews only, and knows less at first.
_PRIOR_WEIGHTS = (1.0, 0.5)


class AlertFeedback(ClassifierWrapper):
    """Learn from the alerts that have been reviewed, and from the labels that come late.

    Take it if somebody reviews the records that rank highest, and the labels of all others come
    much later or never, as with card fraud. A single model has two problems then. Reviewed records
    are few, and drown in the old ones that are learned between them. And if reviewed records are
    all that it learns, it hardly sees what ranks low. So there are two models [^1], and each
    record is learned once, as soon as its label is there: `model` learns all of them, and a clone
    of it learns the reviewed ones. The score is a weighted sum of the two scores. The weights are
    those of a logistic regression on the reviewed records, with the scores that they had before
    they were learned. They follow change. If nothing is ever reviewed, records rank as with `model`
    alone.

    A score takes the time of two, and so does learning a reviewed record. Probabilities are those
    of two balanced classes.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one. It may have learned before. Its
        attributes are reached through `model`.

    Examples
    --------
    A desk that reviews one record in ten, and gets the other labels 200 records later:

    >>> from river import datasets
    >>> from river_oauc import AutoOAUC
    >>> from river_oauc.decisions import AlertBudget
    >>> from river_oauc.feedback import AlertFeedback

    >>> model = AlertBudget(AlertFeedback(AutoOAUC(seed=42)), rate=0.1, seed=42)
    >>> reviewed, late = [], []
    >>> for x, y in datasets.Phishing():
    ...     is_alert = model.predict_one(x)
    ...     model.observe_one(x)
    ...     if is_alert:
    ...         reviewed.append(y)
    ...         model.learn_one(x, y, observed=True, reviewed=True)
    ...     else:
    ...         late.append((x, y))
    ...     if len(late) > 200:
    ...         model.learn_one(*late.pop(0), observed=True)
    >>> f"{len(reviewed)} reviewed, {sum(reviewed)} of them phishing"
    '173 reviewed, 160 of them phishing'

    `evaluate.iter_reviews` measures what this finds on records of the past.

    References
    ----------
    [^1]: Dal Pozzolo, A., Boracchi, G., Caelen, O., Alippi, C. and Bontempi, G., 2018. Credit card
        fraud detection: a realistic modeling and a novel learning strategy. IEEE Transactions on
        Neural Networks and Learning Systems, 29(8), pp.3784-3797.

    """

    def __init__(self, model: base.Classifier) -> None:
        super().__init__(model)
        self._review_model = model.clone()
        self._stack = Stack(_PRIOR_WEIGHTS, precision=3.0)

    def score_one(self, x: Features, **kwargs: typing.Any) -> float:
        """Return the score, which ranks.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return self._stack.score(self._scores(x, **kwargs))

    def predict_proba_one(
        self, x: Features, **kwargs: typing.Any
    ) -> dict[base.typing.ClfTarget, float]:
        """Return the probabilities of two balanced classes.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        p = sigmoid(self.score_one(x, **kwargs))
        return {False: 1.0 - p, True: p}

    def learn_one(
        self,
        x: Features,
        y: base.typing.ClfTarget,
        reviewed: bool = False,
        **kwargs: typing.Any,
    ) -> None:
        """Update the model with one example. Call this once per record, when its label is there.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        reviewed
            Whether the label comes from a review, rather than late.
        kwargs
            Further arguments of the model, such as the weight `w`.

        """
        if not reviewed:
            self.model.learn_one(x, y, **kwargs)
            return
        positive, weight = parse_label(y), importance_weight(kwargs)
        scores = np.array(self._scores(x))
        # If the model refuses the record, nothing has changed. If only its clone does, as it may
        # where steps can diverge, the model has learned it.
        self.model.learn_one(x, y, **kwargs)
        self._review_model.learn_one(x, y, **kwargs)
        if weight:
            self._stack.learn(scores, positive, weight)

    def _scores(self, x: Features, **kwargs: typing.Any) -> tuple[float, float]:
        a = unbounded_score(self.model, x, **kwargs)
        b = unbounded_score(self._review_model, x, **kwargs)
        # One NaN would stay in the regression for good.
        return a if a == a else 0.0, b if b == b else 0.0
