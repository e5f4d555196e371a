"""The kernel learners of the paper, OKAUC-M and OKAUC-S, and what all kernel learners share."""

from __future__ import annotations

import math
import random
import typing

import numpy as np
from scipy.spatial.distance import cdist

from river_oauc.acceleration import accelerated
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial, similarities, squared_norm
from river_oauc.limits import MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import LearningRate, new_random, step_size
from river_oauc.rankers.base import Ranker, learn_with_new_features, share_of_other
from river_oauc.rankers.losses import psi_m_gradient, psi_s_gradient
from river_oauc.rankers.samples import merge_newest, merge_reservoirs
from river_oauc.rankers.scores import RecentScores
from river_oauc.rankers.width import LARGEST_GAMMA, choose_kernel, is_time_to_choose
from river_oauc.state import FloatArray, IntArray, Stateful, damage

# Rounding of a score, relative to the lengths of the two vectors whose product it is.
ROUNDING = 1e-14

# Similarities that differ by less than this part are ties: one number, rounded in two ways.
TIE = 1e-9

# Nothing is projected on an example with a smaller squared norm: its share would be too large.
SMALLEST_SQUARED_NORM = 1e-50


class KernelRanker(Ranker):
    """A score that is a sum of similarities to stored examples of both classes.

    A subclass decides how an example changes the coefficients. If the budget of a class is spent,
    a new example takes the slot of an older one, which passes its coefficient on to another.

    Parameters
    ----------
    kernel
        The similarity; None is a Gaussian kernel whose width follows the stored examples.
    budgets
        Largest numbers of negatives and of positives to store.
    policy
        Which example to remove: the oldest (`"fifo"`), or a random one (`"reservoir"`).
    seed
        Seed of the reservoir.

    Attributes
    ----------
    t, n_stored
        How many examples have come so far, and how many of them have been stored.
    vectors, coefficients
        The stored examples and their coefficients, by slot. The first `n_slots` slots are in use.
    importance
        Their importance weights: a row for each class, with 0 in the slots of the other one.
    arrived
        What `n_stored` was when they came.
    gram
        The similarities of all pairs.
    recent
        The recent scores, each relative to the level of its time.
    scores, level
        The scores of the stored examples, and the mean of their means in both classes.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "t": int, "n_stored": int, "vectors": (float, "b", "p"), "coefficients": (float, "b"),
        "importance": (float, 2, "b"), "arrived": (float, "b"), "gram": (float, "b", "b"),
        "recent": Stateful,
    }  # fmt: skip
    USED: typing.ClassVar[dict[str, str]] = {"b": "n_slots"}

    # Whether a removed example is projected on another one; see `store_example`.
    projects: typing.ClassVar[bool]
    # Whether to store an example whose coefficient is 0.
    stores_all: typing.ClassVar[bool]

    def __init__(
        self, kernel: Kernel | None, budgets: tuple[int, int], policy: str, seed: int | None
    ) -> None:
        self.chooses_width, self.budgets, self.policy = kernel is None, budgets, policy
        self.max_slots, self.rng = sum(budgets), new_random(seed)
        fields = dict(self.FIELDS)
        if kernel is None:
            fields["gamma"] = float
        if policy == "reservoir":
            fields["rng"] = random.Random
        self.FIELDS = fields  # type: ignore[misc]
        self.t, self.recent = 0, RecentScores()
        self._use(RBF(LARGEST_GAMMA) if kernel is None else kernel)
        self._clear(n_features=1)

    def _use(self, kernel: Kernel) -> None:
        """Compare examples by this kernel from now on."""
        self.kernel = kernel
        # What `similarity_row` takes; None for a kernel that it does not know.
        self._formula: tuple[float, float, int] | None = None
        if type(kernel) is RBF:
            self._formula = float(kernel.gamma), 0.0, 0
        elif type(kernel) is Linear:
            self._formula = 1.0, 0.0, 1
        elif type(kernel) is Polynomial:
            self._formula = float(kernel.gamma), float(kernel.coef0), kernel.degree

    def _clear(self, n_features: int) -> None:
        """Store nothing."""
        self.n_stored = self.n_slots = 0
        self.vectors: FloatArray = np.zeros((0, n_features))
        self.gram: FloatArray = np.zeros((0, 0))
        self.importance: FloatArray = np.zeros((2, 0))
        self.coefficients, self.arrived, self.scores = np.zeros(0), np.zeros(0), np.zeros(0)
        self._make_room()

    def _make_room(self) -> None:
        """Make room for another example: a power of two, but no more than the budgets need."""
        room = min(max(32, 1 << self.n_slots.bit_length()), self.max_slots)
        padded = {"scores": np.zeros(room)}
        for name, field in self.FIELDS.items():
            if type(field) is tuple:
                array = getattr(self, name)
                lengths = zip(field[1:], array.shape, strict=True)
                more = [(0, room - n if axis == "b" else 0) for axis, n in lengths]
                padded[name] = np.pad(array, more)
        vars(self).update(padded)
        self._rescore()

    def _rescore(self) -> None:
        """Compute what depends on coefficients and similarities."""
        self.level = score_stored(self.gram, self.coefficients, self.importance, self.scores)
        self._last: tuple[bytes, FloatArray, float, float] | None = None

    @property
    def gamma(self) -> float:
        """The width of the default kernel."""
        return typing.cast(RBF, self.kernel).gamma

    @gamma.setter
    def gamma(self, gamma: float) -> None:
        self._use(RBF(gamma))

    @property
    def n_features(self) -> int:
        n_features: int = self.vectors.shape[1]
        return n_features

    def score(self, x: FloatArray) -> float:
        return self._compare(x)[2]

    def logit(self, score: float, empirical: bool) -> float:
        return self.recent.logit(score, self.level, empirical)

    def _compare(self, x: FloatArray) -> tuple[bytes, FloatArray, float, float]:
        """Return the similarities of an example, its score, and how far that may be rounded.

        An example is mostly learned right after it has been scored, so the last one is kept.
        """
        key, last = x.tobytes(), self._last
        if last is None or last[0] != key:
            row = self._row(x)
            self._last = last = key, row, *kernel_score(self.coefficients, row)
        return last

    def _row(self, x: FloatArray) -> FloatArray:
        """Return the similarities of an example to those in all slots."""
        row, n = None, self.n_slots
        if self._formula is not None:
            row = similarity_row(x, self.vectors, n, *self._formula)
        if row is None:
            # A kernel of the user's; or one of ours, which says that its values are too large.
            row = np.zeros(len(self.vectors))
            row[:n] = similarities(self.kernel, x[: self.n_features], self.vectors[:n])
        return row

    def learn(self, x: FloatArray, positive: bool, weight: float) -> None:
        if len(x) > self.vectors.shape[1]:
            learn_with_new_features(self, x, positive, weight)
            return
        if self.n_slots == len(self.vectors) < self.max_slots:
            self._make_room()
        _, row, score, rounding = self._compare(x)
        norm = 1.0 if type(self.kernel) is RBF else squared_norm(self.kernel, x)
        coefficients, coefficient = self._step(row, score, positive, weight)
        # All that can be refused is above this line.
        centred = score - self.level
        self.recent.update(centred if abs(centred) > rounding else 0.0, positive, weight)
        self.coefficients, self._last = coefficients, None
        self.t += 1
        if coefficient or self.stores_all:
            removed = self._choose_removed(positive)
            self._store(x, row, norm, positive, weight, coefficient, removed)
            if self.chooses_width and removed < self.budgets[positive]:
                if is_time_to_choose(self.n_stored):
                    self._choose_width()
        self._rescore()

    def _step(
        self, row: FloatArray, score: float, positive: bool, weight: float
    ) -> tuple[FloatArray, float]:
        """Return new coefficients of the stored examples, by slot, and that of a new one.

        Parameters
        ----------
        row
            Similarities of the new example to the stored ones, by slot.
        score
            Its score.
        positive
            Its class.
        weight
            Its importance weight.

        """
        raise NotImplementedError

    def _choose_removed(self, positive: bool) -> int:
        """Return which example of a class to remove for a new one, by age.

        It is -1 if there is room for all, and the budget for the new one itself.
        """
        budget, own = self.budgets[positive], int(positive)
        if self.n_slots < self.max_slots and np.count_nonzero(self.importance[own]) < budget:
            return -1
        if self.policy == "fifo":
            return 0
        # A uniform sample of the class: one draw decides both whether the new example is stored,
        # and in whose place.
        return min(budget, self.rng.randrange(int(self.recent.classes[own, 0])))

    def _store(
        self, x: FloatArray, row: FloatArray, norm: float, positive: bool, weight: float,
        coefficient: float, removed: int,
    ) -> None:  # fmt: skip
        """Store an example in place of a removed one, which passes its coefficient on."""
        if removed < 0:
            # First, so that no interrupt leaves a slot in use beyond them.
            self.n_slots = int(np.count_nonzero(self.importance)) + 1
        store_example(
            self.vectors, self.coefficients, self.importance, self.arrived, self.gram, x, row, norm,
            positive, weight, coefficient, self.n_stored, removed, self.projects,
        )  # fmt: skip
        self.n_stored += removed < self.budgets[positive]
        if self.n_slots == len(self.vectors) < self.max_slots:
            self._make_room()

    def _choose_width(self) -> None:
        """Choose the width of the default kernel for the stored examples."""
        kernel = choose_kernel(self.vectors[np.concatenate(self.by_age())])
        if kernel != self.kernel:
            self._use(kernel)
            for slot in range(self.n_slots):
                self.gram[slot] = self._row(self.vectors[slot])

    def by_age(self) -> list[IntArray]:
        """Return the slots of the negatives and of the positives, oldest first."""
        order = self.arrived.argsort()
        return [order[own[order] > 0.0] for own in self.importance]

    def merge(self, other: typing.Self) -> None:
        """Average both scores, weighted by what each ranker knows of the rarer class.

        Each class keeps the newest examples of both rankers, or a uniform sample. The others pass
        their coefficients on.
        """
        seen = [part.recent.classes[:, 0].astype(int).tolist() for part in (self, other)]
        share = share_of_other(*seen)
        vectors = np.concatenate((self.vectors, other.vectors))
        importance = np.concatenate((self.importance, other.importance), axis=1)
        coefficients = np.concatenate(
            ((1.0 - share) * self.coefficients, share * other.coefficients)
        )
        by_age = zip(self.by_age(), other.by_age(), strict=True)
        first = len(self.vectors)
        if self.chooses_width:
            # The wider one.
            self.gamma = min(self.gamma, other.gamma)
        self._clear(self.n_features)
        for own, (mine, theirs) in enumerate(by_age):
            n, budget = (len(mine), len(theirs)), self.budgets[own]
            if self.policy == "fifo":
                kept = merge_newest(*n, budget)
            else:
                kept = merge_reservoirs(n, (seen[0][own], seen[1][own]), budget, self.rng)
            both = np.concatenate((mine, first + theirs))
            for i, slot in enumerate([*both[kept], *np.delete(both, kept)]):
                x, removed = vectors[slot], -1 if i < len(kept) else budget
                self._store(
                    x, self._row(x), squared_norm(self.kernel, x), bool(own),
                    importance[own, slot], coefficients[slot], removed,
                )  # fmt: skip
        self.recent.merge(other.recent)
        self.t += other.t
        self._rescore()

    def reindex(self, positions: typing.Any, size: typing.Any) -> None:
        super().reindex(positions, size)
        self._last = None

    def check_state(self) -> None:
        n = np.count_nonzero(self.importance, axis=1)
        if (self.importance < 0.0).any() or self.importance.all(axis=0).any():
            raise damage("a stored example is of both classes, or has a weight below 0")
        if (n > np.minimum(self.budgets, self.recent.classes[:, 0])).any():
            raise damage("it has stored more examples than have come, or than the budget allows")
        if not (0 <= self.n_stored <= self.t < 2**62 and self.n_slots <= self.max_slots):
            raise damage(f"of {self.t} examples, {self.n_stored} cannot have been stored")
        if not np.vdot(self.coefficients, self.coefficients) <= MAX_SQUARED_NORM:
            raise damage("the coefficients are too large")
        if self.n_slots:
            self._make_room()


class OKAUCRanker(KernelRanker):
    """A functional gradient step per example on the second-order surrogate of the opposite class.

    This is the kernel algorithm of the paper: OKAUC-M with the loss ψ_M, OKAUC-S with ψ_S. Every
    example is stored. The coefficient of a removed one is projected on another of its class.

    Parameters
    ----------
    loss
        `"psi_m"` or `"psi_s"`.
    l2
        Strength λ of the regulariser.
    lr
        Step size η: None is 1 / (λ t).
    kernel, budgets, policy, seed
        As in `KernelRanker`.

    """

    projects = stores_all = True

    def __init__(
        self, loss: str, l2: float, lr: LearningRate, kernel: Kernel | None,
        budgets: tuple[int, int], policy: str, seed: int | None,
    ) -> None:  # fmt: skip
        super().__init__(kernel, budgets, policy, seed)
        self.loss, self.l2, self.lr = loss, l2, lr

    def _step(
        self, row: FloatArray, score: float, positive: bool, weight: float
    ) -> tuple[FloatArray, float]:
        eta = step_size(self.l2, self.lr, self.t + 1)
        return okauc_step(
            self.coefficients, self.scores, self.importance, score, positive, weight, eta, self.l2,
            self.loss == "psi_m",
        )  # fmt: skip


@accelerated
def similarity_row(
    x: FloatArray, vectors: FloatArray, n: int, gamma: float, coef0: float, degree: int
) -> FloatArray | None:
    """Return the similarities to the first n vectors, and 0 for the others.

    They are (gamma x·z + coef0)^degree, or exp(-gamma |x - z|²) if the degree is 0. The result is
    None if they are too large. The example may have features that the vectors have not.
    """
    x, used, row = x[: vectors.shape[1]], vectors[:n], np.zeros(len(vectors))
    with np.errstate(over="ignore", invalid="ignore"):
        if degree:
            row[:n] = (gamma * used.dot(x) + coef0) ** degree
        else:
            row[:n] = np.exp(-gamma * cdist(x[np.newaxis], used, "sqeuclidean")[0])
        return row if np.vdot(row, row) <= MAX_SQUARED_NORM else None


@accelerated
def kernel_score(coefficients: FloatArray, row: FloatArray) -> tuple[float, float]:
    """Return the score of an example with these similarities, and how far it may be rounded."""
    lengths = float(coefficients.dot(coefficients)) * float(row.dot(row))
    return float(coefficients.dot(row)), ROUNDING * math.sqrt(lengths)


@accelerated
def okauc_step(
    coefficients: FloatArray, scores: FloatArray, importance: FloatArray, score: float,
    positive: bool, weight: float, eta: float, l2: float, is_psi_m: bool,
) -> tuple[FloatArray, float]:  # fmt: skip
    """Return new coefficients of the stored examples, and that of a new one with this score.

    Its loss depends on the mean and the variance of its margins over the opposite class. So the
    functional gradient is a sum over the examples of this class and the new one.
    """
    opposite = importance[int(not positive)]
    total = float(opposite.sum())
    if not total:
        return coefficients.copy(), 0.0
    y, shares = 1.0 if positive else -1.0, opposite / total
    mean = float(shares.dot(scores))
    deviations = scores - mean
    variance = float((shares * deviations).dot(deviations))
    # Φ and 1 / (2r) for ψ_M.
    gradient = psi_m_gradient if is_psi_m else psi_s_gradient
    margin_coef, variance_coef = gradient(y * (score - mean), variance)
    coefficient = eta * weight * y * margin_coef
    with np.errstate(over="ignore", invalid="ignore"):
        new = (1.0 - eta * l2) * coefficients
        new -= shares * (coefficient + eta * weight * variance_coef * deviations)
        if not float(np.vdot(new, new)) + coefficient * coefficient <= MAX_SQUARED_NORM:
            raise divergence_error()
    return new, coefficient


@accelerated
def store_example(
    vectors: FloatArray, coefficients: FloatArray, importance: FloatArray, arrived: FloatArray,
    gram: FloatArray, x: FloatArray, row: FloatArray, norm: float, positive: bool, weight: float,
    coefficient: float, arrival: float, removed: int, projects: bool,
) -> None:  # fmt: skip
    """Store an example, in the first slot not in use or in place of another one of its class.

    The one to remove is given by its age: 0 is the oldest, -1 none, and as many as there are, or
    more, the new one itself. It passes its coefficient on to that one whose change alters the score
    least. With similarity s to a removed one, and the squared norm v, this takes s / v of the
    coefficient, and is best where s² / v is largest. If it is not projected like this, the most
    similar one gets all of it. Of tied ones, it is the oldest.
    """
    own = importance[int(positive)]
    slots, lost, to_lost = own.nonzero()[0], coefficient, row
    if removed < len(slots):
        if removed < 0:
            slot = importance.sum(axis=0).tolist().index(0.0)
        else:
            slot = int(slots[arrived[slots].argsort()[removed]])
        lost, to_lost = coefficients.item(slot), gram[slot].copy()
        to_lost[slot] = row[slot]
        vectors[slot], gram[slot], gram[:, slot], gram[slot, slot] = x, row, row, norm
        coefficients[slot], own[slot], arrived[slot] = coefficient, weight, arrival
    if removed >= 0 and len(slots):
        shares, suitability = np.ones(len(slots)), to_lost[slots]
        if projects:
            norms = gram[slots, slots]
            shares = suitability / np.where(norms > SMALLEST_SQUARED_NORM, norms, np.inf)
            suitability = shares * suitability
        best = suitability.max()
        tied = (suitability >= best - TIE * abs(best)).nonzero()[0]
        heir = tied[arrived[slots[tied]].argmin()]
        before = coefficients[slots[heir]]
        coefficients[slots[heir]] += shares[heir] * lost
        # If the coefficients became too large, no later example could be learned.
        if not coefficients.dot(coefficients) <= MAX_SQUARED_NORM:
            coefficients[slots[heir]] = before


@accelerated
def score_stored(
    gram: FloatArray, coefficients: FloatArray, importance: FloatArray, scores: FloatArray
) -> float:
    """Compute the scores of the stored examples, and return the mean of their class means."""
    scores[:] = gram.dot(coefficients)
    sums, totals = importance.dot(scores).tolist(), importance.sum(axis=1).tolist()
    means = [sum_ / total for sum_, total in zip(sums, totals, strict=True) if total]
    return float(sum(means)) / max(len(means), 1)
