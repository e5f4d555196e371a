"""The state of a model as plain data: declared once, copied and checked by name.

A class lists the fields of its state. Copies, pickles, model files, checks and room for new
features come from that list:

    FIELDS = {"t": int, "weights": (float, "p"), "mean": (float, 2, "p"), "rng": random.Random}

A tuple is an array: its type, and the length of each axis. A length may have a name, and then it is
the same wherever the name occurs in the class. `"p"` is the number of features. A state is a dict
of such fields.
"""

from __future__ import annotations

import copy
import math
import random
import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.limits import short_repr

State = dict[str, typing.Any]

FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

# The integers of a state are counts and positions: from 0 to what a float can count.
MAX_INTEGER = 2**53


class Stateful:
    """A part of a model, with a state that its class declares.

    Attributes
    ----------
    FIELDS
        The fields of the state and their types: `int`, `float`, `bool`, `list` (of hashables),
        `random.Random`, `Stateful` (a part that the object has already), `[Stateful]` and
        `{str: Stateful}` (a list and a dict of such parts), or a tuple for an array. Whatever else
        an object has comes from its parameters.
    FILL
        What arrays hold for a feature that has not been seen, where that is not 0.
    USED
        Axes along which arrays have room to grow, and the attributes that tell how far it is used.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.state import Stateful

    >>> class Mean(Stateful):
    ...     FIELDS = {"n": int, "mean": (float, "p")}
    ...     n, mean = 0, np.zeros(2)

    >>> state = Mean().get_state()
    >>> state
    {'n': 0, 'mean': array([0., 0.])}
    >>> Mean().set_state(state | {"mean": np.array([1.0, np.nan])})
    Traceback (most recent call last):
    ValueError: the state is damaged: mean has numbers that are not finite

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {}
    FILL: typing.ClassVar[dict[str, float]] = {}
    USED: typing.ClassVar[dict[str, str]] = {}

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {name: self._copied(name, field) for name, field in self.FIELDS.items()}

    def _copied(self, name: str, field: typing.Any) -> typing.Any:
        value = getattr(self, name)
        if type(field) is tuple:
            used = (getattr(self, self.USED[n]) if n in self.USED else None for n in field[1:])
            return value[tuple(map(slice, used))].copy()
        if field is random.Random:
            return value.getstate()
        if field is Stateful:
            return value.get_state()
        if type(field) is list:
            return [part.get_state() for part in value]
        if type(field) is dict:
            return {key: part.get_state() for key, part in value.items()}
        return list(value) if field is list else value

    def set_state(self, state: typing.Any) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        own = {name: getattr(self, name, None) for name in self.FIELDS}
        lengths: dict[str, int] = {}
        for name, value in read_fields(state, self.FIELDS, own, lengths).items():
            setattr(self, name, value)
        for axis, attribute in self.USED.items():
            setattr(self, attribute, lengths[axis])
        self.check_state()

    def check_state(self) -> None:
        """Raise a ValueError if the fields, each valid alone, do not fit together."""

    def moved(self, positions: IntArray | None, size: int) -> dict[str, NDArray[typing.Any]]:
        """Return the arrays of features with feature i at `positions[i]`, and room for `size`.

        If there are no positions, all features stay where they are.
        """
        moved = {}
        for name, field in self.FIELDS.items():
            if type(field) is tuple and "p" in field:
                old, axes = getattr(self, name), field[1:]
                lengths = zip(axes, old.shape, strict=True)
                shape = [size if axis == "p" else length for axis, length in lengths]
                new = np.full(shape, self.FILL.get(name, 0.0), old.dtype)
                n = old.shape[axes.index("p")] if positions is None else len(positions)
                source = tuple(slice(n if axis == "p" else None) for axis in axes)
                if positions is None:
                    new[source] = old
                else:
                    # No feature stands beyond the positions.
                    old = old[source]
                    kept = positions[: old.shape[axes.index("p")]]
                    places = [
                        kept if a == "p" else range(k) for a, k in zip(axes, shape, strict=True)
                    ]
                    new[np.ix_(*places)] = old
                moved[name] = new
        return moved

    def reindex(self, positions: typing.Any, size: typing.Any) -> None:
        """Move feature i to `positions[i]`, in arrays for `size` features.

        Parts are replaced by copies, so that whoever has kept the old attributes can go back.
        """

        def copied(part: Stateful) -> Stateful:
            twin = copy.copy(part)
            twin.reindex(positions, size)
            return twin

        moved: dict[str, typing.Any] = dict(self.moved(positions, size))
        for name, field in self.FIELDS.items():
            if field is Stateful:
                moved[name] = copied(getattr(self, name))
            elif type(field) is list:
                moved[name] = [copied(part) for part in getattr(self, name)]
        vars(self).update(moved)


def damage(message: str) -> ValueError:
    """Return the error to raise for a damaged state."""
    return ValueError(f"the state is damaged: {message}")


def n_bytes(value: typing.Any) -> int:
    """Return the size of plain data."""
    if isinstance(value, dict):
        return sum(map(n_bytes, (*value.keys(), *value.values())))
    if isinstance(value, list | tuple):
        return value.__sizeof__() + sum(map(n_bytes, value))
    return int(value.__sizeof__())


def read_fields(
    state: typing.Any,
    fields: dict[str, typing.Any],
    own: dict[str, typing.Any] | None = None,
    lengths: dict[str, int] | None = None,
) -> State:
    """Return a copy of a state with these fields, or raise a ValueError if it is damaged.

    Parameters
    ----------
    state
        The state.
    fields
        Its fields and their types; see `Stateful`.
    own
        The parts that take over fields of the type `Stateful`.
    lengths
        The lengths of axes by name, which are added here.

    """
    if type(state) is not dict or state.keys() != fields.keys():
        raise damage(f"it is not a dict of {', '.join(fields)}")
    own, lengths = own or {}, {} if lengths is None else lengths
    return {
        name: _read(name, own.get(name), state[name], field, lengths)
        for name, field in fields.items()
    }


def _read(
    name: str, own: typing.Any, value: typing.Any, field: typing.Any, lengths: dict[str, int]
) -> typing.Any:
    """Return a field of a state, checked and copied; `own` is what the object has there."""
    if field is typing.Any:
        return value
    if type(field) is tuple:
        return _read_array(name, value, field, lengths)
    if field is Stateful:
        own.set_state(value)
        return own
    if type(field) is list:
        if type(value) is not list or len(value) != len(own):
            raise damage(f"{name} is not a list of {len(own)} states")
        for part, state in zip(own, value, strict=True):
            part.set_state(state)
        return own
    if type(field) is dict:
        if type(value) is not dict or value.keys() != own.keys():
            raise damage(f"{name} is not a dict of {', '.join(own)}")
        for key, part in own.items():
            part.set_state(value[key])
        return own
    if field is random.Random:
        rng = random.Random()
        try:
            rng.setstate(value)
            # From a state of zeros comes nothing else, and `sample` would wait for ever.
            if not any(value[1][:-1]):
                raise ValueError
        except (TypeError, ValueError, LookupError, OverflowError):
            raise damage(f"{name} is not the state of a random generator") from None
        return rng
    # A parameter may have been a number of numpy, and so what was computed with it.
    if isinstance(value, np.generic):
        value = value.item()
    if (
        type(value) is not field
        or (field is float and not math.isfinite(value))
        or (field is int and not 0 <= value <= MAX_INTEGER)
    ):
        raise damage(f"{name} is {short_repr(value)}, and must be a {field.__name__}")
    if field is list:
        try:
            hash(tuple(value))
        except TypeError:
            raise damage(f"{name} has something that is not hashable") from None
        return list(value)
    return value


def _read_array(
    name: str, value: typing.Any, field: tuple[typing.Any, ...], lengths: dict[str, int]
) -> NDArray[typing.Any]:
    """Return an array of a state, checked against its field and the named lengths so far."""
    dtype, *axes = field
    if not isinstance(value, np.ndarray) or value.dtype.newbyteorder("=") != dtype:
        raise damage(f"{name} is not an array of {np.dtype(dtype).name}")
    if value.ndim != len(axes) or any(
        length != (lengths.setdefault(axis, length) if isinstance(axis, str) else axis)
        for axis, length in zip(axes, value.shape, strict=True)
    ):
        raise damage(f"{name} has the shape {value.shape}, and must have {tuple(axes)}")
    # Arrays in single precision hold examples, in which NaN stands for unknown.
    is_valid = np.isfinite(value) | (np.isnan(value) & (value.dtype.itemsize == 4))
    if not is_valid.all():
        raise damage(f"{name} has numbers that are not finite")
    if value.dtype.kind == "i" and not ((value >= 0) & (value <= MAX_INTEGER)).all():
        raise damage(f"{name} has numbers that are no counts and no positions")
    # Ours alone: no memory map, view or subclass, and in the byte order of this machine.
    return np.array(value, dtype=dtype, order="C", subok=False)
