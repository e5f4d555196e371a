"""The baseline that compares with a sample of each class: OAM."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river_oauc.baselines.base import LinearBaseline
from river_oauc.parameters import check_choice, check_count, check_number
from river_oauc.rankers.oam import OAMRanker


class OAM(LinearBaseline):
    """Online AUC maximisation with buffers (OAM).

    Keeps a uniform sample of the examples of each class, and takes a step on the hinge losses of an
    example against all stored examples of the other class.

    Use it where you would use `OAUCM` but have many features: its cost is linear in their number.
    It needs a small `C`, smaller than the range over which it is usually tuned. As published, its
    steps grow with the stream, because a full buffer stands for ever more examples;
    `weighting="constant"` leaves that out, and ranks better on long streams.

    One pass over german, segment, letter and magic04, with `C` chosen inside the training folds,
    has given a held-out AUC of 78.8, 91.2, 82.2 and 84.1 percent with constant weighting and `C`
    from 2⁻²⁴ up, and 76.6, 90.4, 79.3 and 82.6 with the paper's weighting and `C` from 2⁻¹⁰ up,
    where `OAUCM` had 79.2, 88.9, 82.8 and 83.8.

    A step costs O(B p) time for buffers of B examples with p features, and memory is 2 B p doubles.

    Parameters
    ----------
    C
        Weight of the hinge loss of a pair.
    buffer_size
        Number of examples of each class to keep.
    update
        `"gradient"`: one step on all pairs at once. `"sequential"`: a passive-aggressive step on
        each pair in turn, which takes many times longer.
    weighting
        `"paper"`: a full buffer of B examples counts as all n that there have been, n/B times.
        `"constant"`: it counts once.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    seed
        Seed of the sampling.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import OAM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | OAM(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 95.81%

    References
    ----------
    [^1]: Zhao, P., Hoi, S.C.H., Jin, R. and Yang, T., 2011. Online AUC maximization. ICML 2011.

    """

    def __init__(
        self,
        C: float = 2**-10,
        buffer_size: int = 100,
        update: str = "gradient",
        weighting: str = "paper",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        check_number("C", C)
        check_count("buffer_size", buffer_size)
        check_choice("update", update, ("gradient", "sequential"))
        check_choice("weighting", weighting, ("paper", "constant"))
        self.C = C
        self.buffer_size = buffer_size
        self.update = update
        self.weighting = weighting
        self.seed = seed
        super().__init__(prior)

    def _new_ranker(self) -> OAMRanker:
        return OAMRanker(self.C, self.buffer_size, self.update, self.weighting, self.seed)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"seed": 1}
        yield {"buffer_size": 7, "update": "sequential", "weighting": "constant", "seed": 2}
