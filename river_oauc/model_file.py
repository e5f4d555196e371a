"""Save a model to a file of plain data, and load it again without executing code.

A file has five parts: a first line that tells what it is, the length of the header, the header as
JSON, the arrays as bytes, and the SHA-256 of all that. The header has the format, the version of
river-oauc, the class, and the state of the model with its parameters and feature names. Arrays
stand in it as their positions. Nothing is compressed, so a file needs no more memory than its size.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import typing

import numpy as np
from numpy.typing import NDArray
from river import optim

import river_oauc
from river_oauc import kernels
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.encoding.columns import Column
from river_oauc.encoding.kinds import TimePart
from river_oauc.files import replace_file
from river_oauc.limits import short_repr

__all__ = ["load", "save"]

Path = str | os.PathLike[str]
Array = NDArray[typing.Any]

# It grows by one whenever older files can no longer be read.
FORMAT = 1

_MAGIC = b"river-oauc model\n"
_LENGTH_BYTES, _DIGEST_BYTES = 8, hashlib.sha256().digest_size

_CLASSES: dict[str, type[OnlineAUCClassifier]] = {
    name: getattr(river_oauc, name) for name in river_oauc.__all__
}

# Objects that parameters and names may be: each is its class and the values of its attributes.
_OBJECTS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Column, TimePart, kernels.RBF, kernels.Linear, kernels.Polynomial,
        optim.schedulers.Constant, optim.schedulers.InverseScaling,
    )
}  # fmt: skip

_DTYPES = {"float64": "<f8", "float32": "<f4", "int64": "<i8"}


# What reading a damaged header raises.
_DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError,
)  # fmt: skip


class ModelFile(typing.NamedTuple):
    """What a file holds.

    Parameters
    ----------
    model
        The model.
    notes
        What the program that wrote the file has noted beside it.
    version
        The version of river-oauc that wrote it.

    """

    model: OnlineAUCClassifier
    notes: dict[str, typing.Any]
    version: str


def save(
    model: OnlineAUCClassifier, path: Path, notes: dict[str, typing.Any] | None = None
) -> None:
    """Save a model to a file that can be loaded without executing code.

    The file replaces an older one in one step: after a crash there is the old one or the new one.
    It takes all that a classifier of this package has learned. Kernels and schedules of your own,
    and categories that are neither strings nor numbers nor bytes, need a pickle instead.

    Parameters
    ----------
    model
        A classifier of this package. What wraps it, such as a pipeline, needs a pickle.
    path
        The file to write.
    notes
        Plain data to keep beside the model: a dict that JSON can hold.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river_oauc import SparseOAUCM
    >>> from river_oauc.model_file import load, save

    >>> model = SparseOAUCM()
    >>> model.learn_one({"country": "FR", "amount": 12.5}, True)
    >>> model.learn_one({"country": "IT", "amount": 7.5}, False)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "model.oauc")
    ...     save(model, path)
    ...     twin = load(path)
    >>> twin.score_one({"country": "FR"}) == model.score_one({"country": "FR"})
    True

    """
    if type(model) not in _CLASSES.values():
        raise ValueError(
            f"a model file holds a classifier of river-oauc, not {type(model).__name__}: pickle it"
        )
    replace_file(pathlib.Path(path), to_bytes(model, notes))


def load(path: Path) -> OnlineAUCClassifier:
    """Load a model that was saved with `save`. No code of the file is executed.

    Parameters
    ----------
    path
        The file to read.

    """
    return read(path).model


def read(path: Path) -> ModelFile:
    """Read a model and what was noted beside it; a ValueError says what is wrong with the file."""
    content = pathlib.Path(path).read_bytes()
    try:
        return from_bytes(content)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def to_bytes(model: OnlineAUCClassifier, notes: dict[str, typing.Any] | None = None) -> bytes:
    """Return the content of a model file."""
    notes = notes or {}
    _check_notes(notes)
    arrays: list[Array] = []
    header = {
        "format": FORMAT,
        "version": river_oauc.__version__,
        "class": type(model).__name__,
        "notes": notes,
        "state": _to_json(model.__getstate__(), arrays),
        "arrays": [[array.dtype.name, list(array.shape)] for array in arrays],
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    content = b"".join(
        (
            _MAGIC,
            len(text).to_bytes(_LENGTH_BYTES, "little"),
            text,
            *(array.astype(_DTYPES[array.dtype.name]).tobytes() for array in arrays),
        )
    )
    return content + hashlib.sha256(content).digest()


def from_bytes(content: bytes) -> ModelFile:
    """Return what the content of a model file holds; a ValueError says what is wrong with it."""
    if not content.startswith(_MAGIC):
        raise ValueError("not a model file of river-oauc")
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("the model file is damaged or cut off")
    start = len(_MAGIC) + _LENGTH_BYTES
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    try:
        header = json.loads(body[start:end])
        file_format, version = header["format"], str(header["version"])
    except _DAMAGE as error:
        raise _damaged(error) from None
    if file_format != FORMAT:
        raise ValueError(
            f"the model file has format {short_repr(file_format)}, and this version of river-oauc "
            f"reads format {FORMAT}: it was written by version {short_repr(version)}"
        )
    try:
        cls, notes = _CLASSES[header["class"]], dict(header["notes"])
        state = _from_json(header["state"], _read_arrays(header["arrays"], body[end:]))
    except _DAMAGE as error:
        raise _damaged(error) from None
    model = cls.__new__(cls)
    model.__setstate__(state)
    return ModelFile(model, notes, version)


def _damaged(error: Exception) -> ValueError:
    return ValueError(f"the model file is damaged: {short_repr(error)}")


def _check_notes(notes: typing.Any) -> None:
    """Raise a ValueError unless the notes come back from JSON as they are."""
    try:
        is_plain = type(notes) is dict and json.loads(json.dumps(notes)) == notes
    except (TypeError, ValueError, RecursionError):
        is_plain = False
    if not is_plain:
        raise ValueError(f"notes are {short_repr(notes)}: they must be a dict that JSON can hold")


def _read_arrays(descriptions: typing.Any, content: bytes) -> list[Array]:
    arrays, start = [], 0
    for name, shape in descriptions:
        array: Array = np.ndarray(shape, np.dtype(_DTYPES[name]), content, start)
        arrays.append(array)
        start += array.nbytes
    return arrays


def _to_json(value: typing.Any, arrays: list[Array]) -> typing.Any:
    """Return plain data in the types of JSON, with the arrays put aside.

    A dict with one key stands for what JSON lacks: `{"tuple": [...]}`, `{"array": position}`,
    `{"bytes": "hexadecimal digits"}`, `{"object": [class, values]}`. Other dicts are their items in
    `{"dict": ...}`.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) is list:
        return [_to_json(item, arrays) for item in value]
    if type(value) is tuple:
        return {"tuple": [_to_json(item, arrays) for item in value]}
    if type(value) is dict:
        return {"dict": {name: _to_json(item, arrays) for name, item in value.items()}}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) is np.ndarray:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if _OBJECTS.get(type(value).__name__) is type(value):
        return {"object": [type(value).__name__, _to_json(_attributes(value), arrays)]}
    raise ValueError(
        f"{short_repr(value)}, a {type(value).__name__}, does not fit into a model file: pickle "
        "the model, or turn such values into strings before they are learned"
    )


def _from_json(value: typing.Any, arrays: list[Array]) -> typing.Any:
    """Return the plain data that `_to_json` has turned into types of JSON."""
    if isinstance(value, list):
        return [_from_json(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(_from_json(content, arrays))
    if kind == "dict":
        return {name: _from_json(item, arrays) for name, item in content.items()}
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "array":
        return arrays[content]
    if kind == "object":
        name, attributes = content
        return _OBJECTS[name](**_from_json(attributes, arrays))
    raise ValueError(f"the model file is damaged: it has a {short_repr(kind)}")


def _attributes(value: typing.Any) -> dict[str, typing.Any]:
    """Return the arguments that make an equal object."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(vars(value))
