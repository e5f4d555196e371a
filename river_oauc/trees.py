"""Boosted trees that maximise the AUC: OTAUC."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.parameters import check_choice, check_count
from river_oauc.rankers.boosting import TreeRanker
from river_oauc.rankers.boosting_losses import LOSSES
from river_oauc.records.encoder import MixedEncoder
from river_oauc.records.parse import Record


class OTAUC(ExplainingClassifier):
    """Online AUC maximisation with boosted trees (OTAUC).

    Learns a score that ranks positives above negatives, as a sum of trees: gradient boosting that
    never restarts. It keeps the latest examples of each class. Every few examples it grows one tree
    on what the score still gets wrong on them, and lets the older trees fade.

    Take it for streams of tens of thousands of examples or more, whatever separates the classes,
    and where the top of the list counts. It takes raw records, as `preprocessing.RecordEncoder`
    does, and needs no scaler: only the order of a feature's values matters. An unknown value goes
    to the side of a split that fits better. It follows gradual change; after an abrupt one it needs
    some thousand examples.

    A tree of depth 4 is grown after every hundredth part of the stream so far, and in the end after
    28 examples. It sees about 1,500 of up to 8,000 stored examples, most of those that the score
    gets wrong, and 70 % of the features, in 64 bins. It moves the scores by 15 % of its Newton
    step. Older trees then lose an eightieth of their weight, and of 150 trees the oldest goes. When
    the examples of a class are more than are kept, easy ones are left out at random. Features are
    in single precision.

    A step costs O(p) time on average for p features, at 30 features about ten times one of river's
    `LogisticRegression` and a tenth of one of `ARFClassifier` with ten trees. A step that grows a
    tree takes 1 to 2 ms. Memory is at most 7 bytes per feature and stored example and 1 MB: 9 MB at
    30 features.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Scores are averaged
    by what each model knows of the rarer class. The newest trees of both stay, and so do the newest
    examples of each class, on which 60 more trees are grown.

    Parameters
    ----------
    loss
        What a tree lowers. `"logistic"`: the logistic loss, the classes being as frequent as they
        have been. `"psi_m"` and `"psi_s"`: the losses of `OAUCM` and `OAUCS`, in which an example
        is compared with all stored ones of the other class through the mean and the variance of
        their scores. Progressive AUC / average precision in percent, first 10,000 examples:

        |              | `"logistic"` | `"psi_m"`   | `"psi_s"`   |
        |--------------|--------------|-------------|-------------|
        | mammography  | 94.5 / 67.2  | 92.6 / 57.3 | 93.0 / 59.1 |
        | noaa_weather | 85.3 / 71.2  | 84.8 / 70.1 | 84.9 / 70.6 |
        | letter_z     | 99.4 / 95.2  | 99.2 / 92.6 | 99.2 / 93.7 |
        | ai4i2020     | 96.1 / 66.7  | 94.1 / 57.5 | 94.6 / 59.9 |
        | nsl_kdd20    | 99.6 / 96.2  | 99.2 / 89.9 | 99.3 / 93.7 |
        | elec2        | 88.8 / 85.3  | 87.8 / 83.5 | 87.9 / 83.9 |

        The losses of the paper give both classes the same weight, and the logistic one as much as
        they have in the stream.
    buffer_size
        The largest number of examples of each class to store.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take up to 1.4 GB.
    max_categories
        The largest number of categories to remember; `None` is no limit. When there would be more,
        the fifth that has come least often is forgotten.
    seed
        Seed of the random choice of features and stored examples that a tree sees.

    Examples
    --------
    >>> from river import datasets, evaluate
    >>> from river_oauc import OTAUC
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = OTAUC(seed=42)
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, ExactROCAUC())
    ExactROCAUC: 95.61%

    What moved a score?

    >>> model.explain_one({"1": 1.5, "2": 0.3})
    {'1': -2.1, '2': -1.2}

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Friedman, J. H., 2001. Greedy function approximation: a gradient boosting machine. Annals
        of Statistics 29(5).

    """

    def __init__(
        self,
        loss: str = "logistic",
        buffer_size: int = 20_000,
        prior: str = "balanced",
        max_features: int = 5_000,
        max_categories: int | None = None,
        seed: int | None = None,
    ) -> None:
        check_choice("loss", loss, tuple(LOSSES))
        check_count("buffer_size", buffer_size)
        check_count("max_features", max_features)
        if max_categories is not None:
            check_count("max_categories", max_categories)
        self.loss = loss
        self.buffer_size = buffer_size
        self.max_features = max_features
        self.max_categories = max_categories
        self.seed = seed
        super().__init__(prior)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"loss": "psi_m", "buffer_size": 20}
        yield {"loss": "psi_s", "prior": "empirical"}

    def _new_encoder(self) -> MixedEncoder:
        return MixedEncoder(
            sparse=False,
            is_pair=False,
            is_prompt=True,
            max_features=self.max_features,
            max_categories=self.max_categories,
        )

    def _new_ranker(self) -> TreeRanker:
        return TreeRanker(self.loss, self.buffer_size, self.seed)

    def _explain(self, x: Record) -> Explanation:
        example, _ = self._encoder.encode(x)
        contributions = self._ranker.contributions(example), None
        moves: Explanation = self._encoder.sum_by_feature((example, None), contributions)
        return moves
