"""SparseOAUCM: the loss of OAUC-M for wide streams, at a cost in proportion to an example."""

from __future__ import annotations

import dataclasses
import heapq
import typing
from collections.abc import Iterator, Sequence

import numpy as np
from river import base

from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.parameters import check_count
from river_oauc.rankers.sparse import (
    DEVIATION,
    LEVEL,
    UNIT,
    UNSEEN,
    WEIGHT,
    RowArrays,
    SparseRanker,
)
from river_oauc.records.encoder import MixedEncoder
from river_oauc.records.features import KEPT_SHARE
from river_oauc.records.parse import Record

__all__ = ["Deviation", "SparseOAUCM"]


@dataclasses.dataclass(frozen=True)
class Deviation:
    """The deviation of a feature from its mean, as a key of `SparseOAUCM.weights`.

    Examples
    --------
    >>> from river_oauc.sparse import Deviation
    >>> Deviation("amount")
    Deviation(name='amount')

    """

    name: base.typing.FeatureName


class SparseOAUCM(ExplainingClassifier):
    """Online AUC maximisation for wide and sparse streams, with nothing to tune or prepare.

    Clicks, ids, text, or any mix of words, categories and amounts: 10,000 or 1,000,000 features, of
    which an example has a few. It learns a linear score on a mean of two losses: that of `OAUCM`,
    with class means and variances of the *scores* instead of class moments of the features [^1],
    and the logistic loss. The first sees all of the list, and the second sharpens its top.

    - A value x counts as x / (u + |x|), where u is the usual size of the feature: between -1 and 1,
      and one half if the value is as large as usual. So words, ids and amounts need no scaler, and
      an outlier counts as 1 at most. The unit u follows the feature, more and more slowly.
    - A feature that varies from example to example, such as an age or an amount, has a second
      weight, for its deviation from its own mean. So a level of 5,000 does not drown a change.
    - An example is divided by the square root of its length, so that long texts do not dominate.
    - Its score is compared with mean and variance of the scores of the other class, each taken
      before its example was learned. The loss of `OAUCM` gives a pull of the example; there both
      classes count alike, however rare one of them is. The logistic loss, in which they are as
      frequent as they are, gives another, which counts three times as much.
    - A weight moves by pull · value / (1/2 + H^¾), where H is the sum of the second derivatives of
      the logistic loss. This is AdaGrad [^2] with another power.

    It takes raw records. `weights` shows the names that they are given here.

    - A string is a category, unless it reads as a number, a truth value or an ISO time:
      `{"country": "FR"}` is the feature `("country", "FR")` with the value 1.
    - If a feature has more than four categories, how much more often they came with positives than
      an average example did, among the examples before, is the feature
      `("country", "has", "log odds")`.
    - A whole number is a category as well, if its values recur and are more than two. A number with
      fractions is also a category by its size: 12.5 is `("amount", "from", 12.0)`.
    - None, NaN, NaT, NA, an empty string and an absent key all mean unknown, in learning and in
      prediction: the feature is left out.
    - A text of several words, which hardly ever recurs, is its words. A date or a time is its hour
      and its weekday. Booleans are 0 or 1. Containers are refused.

    `AutoOAUC` has this learner as one of its experts, and ranks better, in ten times the time.

    Learning and predicting take time in proportion to the features of an example that are not 0,
    however many are known. Memory is about 430 bytes per word or number and 350 per category, names
    included. It grows with the vocabulary unless `max_categories` is set.
    Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream, whatever the order of
    the parts. Second derivatives add up, and so do class means and variances of the scores,
    exactly. Weights of frequent features are averaged, and those of rare features are added, so a
    merged model ranks nearly as well as one that has seen both parts.

    The rule was developed on the streams a9a, sms_spam, hate_speech, reuters21578 and nsl_kdd20,
    and that for records on nine sets that the page of the benchmarks names.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    max_categories
        The largest number of features to remember; `None` is no limit. When there would be more,
        the fifth with the smallest second derivatives is forgotten. Half or a quarter of the
        vocabulary has cost no AUC, a tenth at most 0.1 points (hate_speech, reuters21578).

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import SparseOAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = SparseOAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 96.27%
    ExactROCAUC: 97.32%

    >>> model = SparseOAUCM()
    >>> clicks = [("FR", 12.5, True), ("US", 3.0, False), ("FR", 20.0, True), ("IT", 14.0, False)]
    >>> for country, amount, y in clicks:
    ...     model.learn_one({"country": country, "amount": amount}, y)
    >>> model.largest_weights(2)
    {('country', 'US'): -0.610, ('country', 'IT'): -0.556}

    An amount varies, so it has two weights: one for its level, and one for its deviation.

    >>> from river_oauc.sparse import Deviation
    >>> model.weights["amount"], model.weights[Deviation("amount")]
    (-0.390, 0.127)

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive subgradient methods for online
        learning and stochastic optimization. Journal of Machine Learning Research, 12,
        pp.2121-2159.

    """

    def __init__(self, prior: str = "balanced", max_categories: int | None = None) -> None:
        if max_categories is not None:
            check_count("max_categories", max_categories)
        self.max_categories = max_categories
        super().__init__(prior)

    def _new_encoder(self) -> MixedEncoder:
        return MixedEncoder(dense=False, is_pair=False, max_categories=self.max_categories)

    def _new_ranker(self) -> SparseRanker:
        return SparseRanker()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"prior": "empirical", "max_categories": 100}

    def _forget(self) -> None:
        forget_rows(self._encoder, [self._ranker])

    def _explain(self, x: Record) -> Explanation:
        example, _ = self._encoder.encode(x)
        moves: Explanation = self._encoder.sum_by_feature(
            (None, example), (None, self._ranker.contributions(example))
        )
        return moves

    @property
    def weights(self) -> dict[base.typing.FeatureName | Deviation, float]:
        """The weights of the score.

        The weight of the level of a feature, or of a category, has the name of the feature as its
        key. If the feature varies, the weight of its deviation has the key `Deviation(name)`.
        """
        with self._lock:
            names, terms = self._encoder.row_names, self._ranker.get_state()["terms"]
        weights = dict(zip(names, terms[:, LEVEL, WEIGHT].tolist(), strict=False))
        for name, term in zip(names, terms[:, DEVIATION], strict=False):
            if term[UNIT] != UNSEEN:
                weights[Deviation(name)] = float(term[WEIGHT])
        return weights

    def largest_weights(self, k: int = 10) -> dict[base.typing.FeatureName | Deviation, float]:
        """Return the `k` weights that are furthest from 0, with the keys of `weights`.

        Parameters
        ----------
        k
            Number of weights.

        """
        check_count("k", k)
        items = self.weights.items()
        return dict(heapq.nlargest(k, items, key=lambda item: abs(item[1])))


def forget_rows(encoder: MixedEncoder, parts: Sequence[RowArrays]) -> None:
    """Forget the rows with the smallest second derivatives, and features that were rarely known.

    The first part is the ranker that knows these.
    """
    rows = np.zeros(0, dtype=np.int64)
    if parts:
        limit, n_rows = encoder.max_categories, parts[0].n_features
        if limit is not None and n_rows > limit:
            n_rows = max(1, int(KEPT_SHARE * limit))
        rows = typing.cast(SparseRanker, parts[0]).best_rows(n_rows)
    rows = encoder.keep(rows)
    for part in parts:
        part.keep(rows)
