"""What a classifier asks of an encoder."""

from __future__ import annotations

import typing
from collections.abc import Iterable

from river import base

from river_oauc.encoding.frames import Frame
from river_oauc.encoding.values import Record
from river_oauc.state import State, StateReader

Example = typing.TypeVar("Example", covariant=True)


class Rows(typing.Protocol[Example]):
    """The rows of a data frame, all of them checked."""

    def encode(self, encoder: typing.Any, row: int) -> Example | None:
        """Return the example of a row, or None if it has a name that is not known yet."""

    def encode_known(self, encoder: typing.Any) -> Iterable[Example]:
        """Return the examples of all rows, for predictions."""

    def names_in(self, encoder: typing.Any, row: int) -> Iterable[base.typing.FeatureName]:
        """Return the names that the encoder needs to know for a row."""

    def learn(self, encoder: typing.Any, row: int, positive: bool, weight: float) -> None:
        """Update the statistics of the encoder with a row; see `Encoder.learn`."""


class Encoder(typing.Protocol[Example]):
    """Make examples of records: arrays, or whatever else the ranker of a classifier learns from.

    Only `extend`, `truncate`, `learn` and `set_state` change an encoder. Names, sizes and positions
    are plain lists, numbers and arrays, or pairs of these if an example is a pair.
    """

    @property
    def size(self) -> typing.Any:
        """The number of features for which a ranker may need room."""

    def has_room_for(self, n_features: typing.Any) -> bool:
        """Return whether a ranker with this number of features can belong to the encoder."""

    @property
    def names(self) -> typing.Any:
        """The known names, by position."""

    def encode(self, record: Record) -> Example | None:
        """Return the example of a record, or None if it has a name that is not known yet.

        A ValueError is raised if a value is refused.
        """

    def encode_known(self, record: Record) -> Example:
        """Return the example of a record for a prediction, without the names that are unknown."""

    def read(self, record: Record) -> Rows[Example]:
        """Return a record that is to be learned, as the only row of a data frame."""

    def read_frame(self, frame: Frame, learning: bool) -> Rows[Example]:
        """Return the rows of a data frame, or raise a ValueError if a value is refused."""

    def extend(self, names: Iterable[base.typing.FeatureName]) -> None:
        """Learn the names that are not known yet, or raise a ValueError if they are too many."""

    def checkpoint(self) -> typing.Any:
        """Return what `truncate` needs to undo the next `extend`."""

    def truncate(self, checkpoint: typing.Any, n_features: typing.Any) -> None:
        """Forget the names since a checkpoint, but keep room for the features of the ranker."""

    def learn(self, record: Record, positive: bool, weight: float) -> None:
        """Update statistics with an example that the ranker has learned.

        The record has been encoded before, so that nothing is refused here.
        """

    def positions(self, names: typing.Any) -> typing.Any:
        """Return the positions of names that another encoder has had in `names`."""

    def merged(self, other: typing.Self) -> typing.Self:
        """Return an encoder that knows the names of both, those of the other one last."""

    def get_state(self) -> State:
        """Return a copy of the state."""

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
