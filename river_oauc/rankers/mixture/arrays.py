"""The latest vectors of a stream, which several parts of the mixture keep."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.rankers.ring_buffer import RingBuffer
from river_oauc.state import FloatArray, State, damage


class RecentRows(RingBuffer):
    """The latest vectors of a stream, and a few numbers that came with each.

    NaN stands for an unknown number.

    Parameters
    ----------
    capacity
        The number of vectors to keep.
    size
        Length of the vectors.
    n_extras
        The number of further numbers per vector: none, its importance, or importance and label.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = RingBuffer.FIELDS | {
        "rows": (float, "n", "p"), "extras": (float, "n", "extras"),
    }  # fmt: skip
    rows: FloatArray
    extras: FloatArray

    def __init__(self, capacity: int, size: int, n_extras: int = 0) -> None:
        super().__init__(capacity, p=size, extras=n_extras)
        self._n_extras = n_extras

    @property
    def size(self) -> int:
        return int(self.rows.shape[1])

    @property
    def latest(self) -> FloatArray:
        """The vectors, in no particular order; not a copy."""
        return self.rows[: self.n]

    def in_order(self) -> tuple[FloatArray, FloatArray]:
        """Return the vectors and their further numbers, the newest last."""
        order = self.oldest_first()
        return self.rows[order], self.extras[order]

    def clear(self) -> None:
        """Forget all vectors."""
        self.n = self.next = 0

    def get_state(self) -> State:
        # A state has no NaN in double precision.
        state = super().get_state()
        is_known = ~np.isnan(state["rows"])
        return state | {"rows": np.where(is_known, state["rows"], 0.0), "is_known": is_known}

    def set_state(self, state: typing.Any) -> None:
        if type(state) is not dict or "is_known" not in state:
            raise damage("it has not the fields of RecentRows")
        state = state.copy()
        is_known = state.pop("is_known")
        super().set_state(state)
        if not isinstance(is_known, np.ndarray) or is_known.shape != self.rows.shape:
            raise damage("is_known has not the shape of rows")
        self.rows[is_known == 0] = np.nan

    def check_state(self) -> None:
        super().check_state()
        if self.extras.shape[1] != self._n_extras:
            raise damage(f"extras has not {self._n_extras} columns")
