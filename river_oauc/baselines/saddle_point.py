"""The baselines whose steps look at one example and the class means: SOLAM and SPAUC."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river_oauc.baselines.base import LinearBaseline
from river_oauc.parameters import check_number
from river_oauc.rankers.saddle_point import SOLAMRanker, SPAUCRanker


class SOLAM(LinearBaseline):
    """Stochastic online AUC maximisation (SOLAM).

    The squared loss of all pairs is a saddle point over the weights w, two numbers a and b, and a
    third one α: in the saddle point, a and b are the mean scores of positives and negatives, and α
    is their difference [^1]. An example makes a gradient step on all four, downwards in w, a and b
    and upwards in α. The score has the average of all w so far, each weighted by the step that
    followed it.

    Here for comparison. One pass is not enough for it: the results of its authors are those of 15.
    `SPAUC` knows the class means instead of learning them, and is ahead on most sets.

    The original starts from w with norm `R`, a = b = `R` and α = 2 `R`, which needs the number of
    features; here all start from 0. The share of positives is updated before the step. The bounds
    of a and b are `R` times the largest norm of an example so far; the original has examples of
    norm 1.

    The defaults were chosen on nine of the 18 benchmark sets (every second by name, from australian
    on), behind `MinMaxScaler`: mean progressive AUC in percent over three shuffles of at most 5,000
    examples. The smallest `R` is a little better at its best, and a larger one restricts nothing
    there. On the other nine, looked at once, SOLAM has 73.9 and `OAUCM`, whose default was
    chosen on all 18, 76.8.

    | xi        | 2⁻⁶  | 2⁻⁴  | 2⁻³  | 2⁻²  | 2⁻¹  | 1    | 4    |
    |-----------|------|------|------|------|------|------|------|
    | `R` = 2⁻³ | 71.5 | 73.8 | 74.1 | 73.4 | 71.8 | 68.5 | 63.4 |
    | `R` = 2   | 71.4 | 73.1 | 73.7 | 73.9 | 73.7 | 72.6 | 67.0 |
    | `R` = 2⁵  | 71.4 | 73.1 | 73.7 | 73.9 | 71.8 | 67.6 | 57.4 |

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    xi
        The step on the t-th example is ξ / √t.
    R
        Largest norm of w.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import SOLAM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | SOLAM()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 94.34%

    References
    ----------
    [^1]: Ying, Y., Wen, L. and Lyu, S., 2016. Stochastic online AUC maximization. NIPS 2016,
        pp.451-459.

    """

    def __init__(self, xi: float = 2**-2, R: float = 2**5, prior: str = "balanced") -> None:
        check_number("xi", xi)
        check_number("R", R)
        self.xi = xi
        self.R = R
        super().__init__(prior)

    def _new_ranker(self) -> SOLAMRanker:
        return SOLAMRanker(self.xi, self.R)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"xi", "R"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"xi": 0.5, "R": 0.7}


class SPAUC(LinearBaseline):
    """Stochastic proximal AUC maximisation (SPAUC).

    The gradient of the squared loss of all pairs, with the class means and the share of positives
    as they have been so far, example included [^1]. It needs no covariances: the deviation of an
    example from the mean of its own class stands for them. The regulariser shrinks the weights
    after each step, so no step is too large for it.

    Use it where you would use `OAUCS` but have many features: its cost is linear in their number.
    A step that is too large for the features diverges, and an example that would drive the weights
    beyond 1e50 is refused with a `ValueError`.

    The gradient is that of (1 - margin)², not of half of it. Of the regularisers of the original
    this has the squared norm, and of its steps c / √t.

    The defaults were chosen on nine of the 18 benchmark sets (every second by name, from australian
    on), behind `MinMaxScaler`: mean progressive AUC in percent over three shuffles of at most 5,000
    examples. On the other nine, looked at once, it has 75.0, where `OAUCM`, whose default was
    chosen on all 18, has 76.8.

    | c           | 2⁻⁴  | 2⁻²  | 2⁻¹  | 1    | 2    | 4    | 16   |
    |-------------|------|------|------|------|------|------|------|
    | `l2` = 2⁻¹⁰ | 73.4 | 75.4 | 76.5 | 76.3 | 73.7 | 69.2 | 59.2 |
    | `l2` = 2²   | 75.1 | 75.4 | 75.5 | 75.5 | 75.4 | 75.4 | 75.2 |

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    c
        The step on the t-th example is c / √t.
    l2
        Strength λ of the regulariser λ/2 · |weights|².
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import SPAUC
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | SPAUC()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 95.75%

    References
    ----------
    [^1]: Lei, Y. and Ying, Y., 2021. Stochastic proximal AUC maximization. Journal of Machine
        Learning Research, 22, pp.1-45.

    """

    def __init__(self, c: float = 2**-1, l2: float = 2**-10, prior: str = "balanced") -> None:
        check_number("c", c)
        check_number("l2", l2, zero_allowed=True)
        self.c = c
        self.l2 = l2
        super().__init__(prior)

    def _new_ranker(self) -> SPAUCRanker:
        return SPAUCRanker(self.c, self.l2)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"c", "l2"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"c": 0.2, "l2": 0.0}
