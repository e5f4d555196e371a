"""Objects whose state is known by the names of its attributes, compiled or not."""

from __future__ import annotations

import typing

__all__ = ["Record"]


class Record:
    """Pickles its attributes by name.

    A compiled object has fields where others have a dict. Its pickle is the same all the same, and
    is read by either.
    """

    # The names, in the order in which they are pickled.
    __fields__: typing.ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, typing.Any]:
        state = {name: getattr(self, name) for name in self.__fields__}
        # What a subclass has added.
        state.update(getattr(self, "__dict__", {}))
        return state

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        for name, value in state.items():
            # It interns the names, as Python's own loading does: equal objects have equal pickles.
            setattr(self, name, value)
