"""The ranker of AutoOAUC: unlike experts, and a stack over their scores.

The whole rule, from the examples to the score:

- Linear and kernel experts see an example as standardised numbers; `mixture` mixes them by how well
  they rank, and starts a younger generation of them when the ranking breaks.
- Trees, boosted over the latest 10,000 examples of each class, see the numbers as they are. They
  sharpen the top of the list, and go on improving when the stream is long; see `boosting`.
- The sparse expert has a weight for every category, word and number; see `sparse`.
- The score is a weighted sum of these three. The weights are those of a logistic regression that
  forgets; see `stack`. At first they trust the mixture, which ranks well from the start.

Every constant of the mixture and of the stack is in `mixture.constants`, those of the trees and of
the sparse expert are in their own modules.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.rankers.base import Ranker
from river_oauc.rankers.boosting import TreeRanker
from river_oauc.rankers.mixture.constants import PRIOR_WEIGHTS, TREE_BUFFER
from river_oauc.rankers.mixture.judge import Judge
from river_oauc.rankers.mixture.ranker import Expert, MixtureRanker
from river_oauc.rankers.sparse import SparseExample, SparseRanker
from river_oauc.rankers.stack import Stack
from river_oauc.state import FloatArray, IntArray, State, Stateful, damage

# The kinds of experts to choose from.
EXPERTS = ("linear", "kernel", "trees", "sparse")

# A dense array for the mixture and the trees, and a sparse example; None if nobody needs it.
Example = tuple[FloatArray | None, SparseExample | None]


class AutoRanker(Ranker):
    """A mixture of linear and kernel experts, boosted trees and a sparse expert.

    Parameters
    ----------
    experts
        The kinds of experts.
    seed
        Seed of the trees.

    Attributes
    ----------
    members
        The rankers whose scores are stacked, by name.
    stack, judge
        The weights of the members, and their progressive AUC.
    totals
        The weight of the negatives and of the positives so far.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "stack": Stateful, "judge": Stateful, "totals": (float, 2),
    }  # fmt: skip

    def __init__(self, experts: Sequence[str], seed: int | None) -> None:
        self.members: dict[str, typing.Any] = {}
        if "linear" in experts or "kernel" in experts:
            self.members["mixture"] = MixtureRanker("kernel" in experts)
        if "trees" in experts:
            self.members["trees"] = TreeRanker("logistic", TREE_BUFFER, seed)
        if "sparse" in experts:
            self.members["sparse"] = SparseRanker()
        self.stack = Stack([PRIOR_WEIGHTS[name] for name in self.members])
        self.judge = Judge(len(self.members))
        self.totals = np.zeros(2)

    @property
    def mixture(self) -> MixtureRanker | None:
        """The linear and kernel experts, if there are some."""
        return self.members.get("mixture")

    @property
    def n_features(self) -> tuple[int, int]:
        """The number of columns and of sparse features that there is room for."""
        dense = [member.n_features for name, member in self.members.items() if name != "sparse"]
        sparse = self.members["sparse"].n_features if "sparse" in self.members else 0
        return max(dense, default=0), sparse

    def score(self, example: Example) -> float:
        return self.stack.score(
            [member.score(example[name == "sparse"]) for name, member in self.members.items()]
        )

    def learn(self, example: Example, positive: bool, weight: float) -> float:
        scores = [
            member.learn(example[name == "sparse"], positive, weight)
            for name, member in self.members.items()
        ]
        score = self.stack.score(scores)
        all_scores = np.array([*scores, score])
        # First, so that the judge never has scores of a class without weight.
        self.totals[int(positive)] += weight
        # A mixture alone has a judge of its own.
        if len(self.members) > 1 or self.mixture is None:
            self.judge.compare(all_scores, positive, weight, float(self.totals[int(not positive)]))
        self.stack.learn(all_scores[:-1], positive, weight)
        return score

    def logit(self, score: float, empirical: bool) -> float:
        """Return the log odds of a positive: those of the stack, in which both classes are alike.

        Without its bias, which would only move the scores of different times against each other,
        unless the probabilities are to be frequencies.
        """
        if not empirical:
            return score
        negative, positive = (self.stack.class_weights + 0.5).tolist()
        return score + float(self.stack.weights[-1]) + math.log(positive / negative)

    @property
    def experts(self) -> list[Expert]:
        """The progressive AUC of each expert, and its share in what keeps the classes apart."""
        aucs, shares = self.judge.aucs.tolist(), self._shares().tolist()
        experts: list[Expert] = []
        for name, auc, share in zip(self.members, aucs, shares, strict=False):
            if name == "mixture":
                mixed = self.members[name].experts
                for each in mixed:
                    each["share"] *= share
                experts += mixed
            else:
                experts.append({"expert": name, "auc": auc, "share": share})
        return experts

    def _shares(self) -> FloatArray:
        gaps = self.stack.weights[:-1] * self.judge.recent_gaps()[:-1]
        gaps = np.maximum(gaps, 0.0)
        total = gaps.sum()
        shares: FloatArray = gaps / total if total else np.full(len(gaps), 1.0 / len(gaps))
        return shares

    def contributions(self, example: Example) -> tuple[FloatArray, FloatArray | None]:
        """Return by how much each column, and each sparse feature of the example, moves the score.

        The sum of both is the score less a constant. The latter is None without a sparse expert.
        """
        dense, sparse = np.zeros(self.n_features[0]), None
        for (name, member), weight in zip(
            self.members.items(), self.stack.weights.tolist(), strict=False
        ):
            changes = weight * member.contributions(example[name == "sparse"])
            if name == "sparse":
                sparse = changes
            else:
                dense[: len(changes)] += changes
        return dense, sparse

    def merge(self, other: AutoRanker) -> None:
        for name, member in self.members.items():
            member.merge(other.members[name])
        self.stack.merge(other.stack)
        self.judge.merge(other.judge)
        self.totals += other.totals

    def reindex(self, positions: tuple[IntArray, IntArray], n_features: tuple[int, int]) -> None:
        for name, member in self.members.items():
            side = name == "sparse"
            member.reindex(positions[side], n_features[side])

    def get_state(self) -> State:
        members = {name: member.get_state() for name, member in self.members.items()}
        return super().get_state() | {"members": members}

    def set_state(self, state: typing.Any) -> None:
        members = state.get("members") if type(state) is dict else None
        if type(members) is not dict or members.keys() != self.members.keys():
            raise damage(f"it has not the members {', '.join(self.members)}")
        super().set_state({name: state[name] for name in state.keys() - {"members"}})
        for name, member in self.members.items():
            member.set_state(members[name])

    def check_state(self) -> None:
        for total, n_stored in zip(self.totals.tolist(), self.judge.n_stored, strict=True):
            if n_stored and not total > 0.0:
                raise damage("there are scores of a class without examples")
