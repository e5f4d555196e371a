"""Save a model to a file of plain data, and load it again without executing code.

A file has five parts: a first line that tells what it is, the length of the header, the header as
JSON, the arrays as bytes, and the SHA-256 of all that. The header has the format, the version of
river-oauc and the model: its class, and its state with parameters and feature names. Arrays stand
in it as their positions. Nothing is compressed, so a file needs no more memory than its size.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import importlib
import json
import os
import pathlib
import typing

import numpy as np
from numpy.typing import NDArray
from river import compose

import river_oauc
from river_oauc.files import replace_file
from river_oauc.limits import short_repr

__all__ = ["load", "save"]

Path = str | os.PathLike[str]
Array = NDArray[typing.Any]

# It grows by one whenever older files can no longer be read.
FORMAT = 2

_MAGIC = b"river-oauc model\n"
_LENGTH_BYTES, _DIGEST_BYTES = 8, hashlib.sha256().digest_size

# The classes of the objects that a file may hold, by module. They are imported when they are
# needed: river's scalers and metrics take longer than everything else together.
_MADE_FROM_ARGUMENTS = {
    "builtins": "tuple set dict",
    "collections": "deque defaultdict Counter OrderedDict",
    "river.compose": "Pipeline",
    "river.optim.schedulers": "Constant InverseScaling",
    "river_oauc.decisions": "Calibration",
    "river_oauc.kernels": "RBF Linear Polynomial",
    "river_oauc.monitor": "Snapshot",
    "river_oauc.auto": "Served",
    "river_oauc.records.parse": "ReadRecord TimePart",
}
_MADE_FROM_STATE = {
    "river.preprocessing": "StandardScaler MinMaxScaler MaxAbsScaler Normalizer",
    "river.stats": "Min Max AbsMax",
    "river_oauc": " ".join(river_oauc.__all__),
    "river_oauc.decisions": "AlertBudget FalsePositiveRate MinimumCost ScoreWindow",
    "river_oauc.feedback": "AlertFeedback",
    "river_oauc.histories": "Histories",
    "river_oauc.monitor": "Monitor",
    "river_oauc.preprocessing": "RecordEncoder",
    "river_oauc.rankers.stack": "Stack",
}
_TYPES = {"builtins": "float"}
_MODULES = {
    name: module
    for table in (_MADE_FROM_ARGUMENTS, _MADE_FROM_STATE, _TYPES)
    for module, names in table.items()
    for name in names.split()
}
_HAVE_ARGUMENTS = set(" ".join(_MADE_FROM_ARGUMENTS.values()).split())

_DTYPES = {"float64": "<f8", "float32": "<f4", "int64": "<i8", "uint8": "|u1", "bool": "|b1"}

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

    model: typing.Any
    notes: dict[str, typing.Any]
    version: str


def save(model: typing.Any, path: Path, notes: dict[str, typing.Any] | None = None) -> None:
    """Save a model to a file that can be loaded without executing code.

    The file replaces an older one in one step: after a crash there is the old one or the new one.
    Objects of your own, such as a kernel, need a pickle instead.

    Parameters
    ----------
    model
        A classifier of this package, also within its wrappers for decisions and feedback, a
        `RecordEncoder`, `Histories`, a `Monitor`, or a pipeline of river with these and with
        `preprocessing.StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `Normalizer`.
    path
        The file to write.
    notes
        Plain data to keep beside the model: a dict that JSON can hold.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river import preprocessing
    >>> from river_oauc import OAUCM
    >>> from river_oauc.model_file import load, save

    >>> model = preprocessing.StandardScaler() | OAUCM()
    >>> model.learn_one({"amount": 12.5}, True)
    >>> model.learn_one({"amount": 7.5}, False)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "model.oauc")
    ...     save(model, path)
    ...     twin = load(path)
    >>> twin.score_one({"amount": 10.0}) == model.score_one({"amount": 10.0})
    True

    """
    replace_file(pathlib.Path(path), to_bytes(model, notes))


def load(path: Path) -> typing.Any:
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


def to_bytes(model: typing.Any, notes: dict[str, typing.Any] | None = None) -> bytes:
    """Return the content of a model file."""
    notes = notes or {}
    _check_notes(notes)
    arrays: list[Array] = []
    header = {
        "format": FORMAT,
        "version": river_oauc.__version__,
        "notes": notes,
        "model": _to_json(model, arrays),
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
        if file_format == FORMAT:
            model = _from_json(header["model"], _read_arrays(header["arrays"], body[end:]))
            return ModelFile(model, dict(header["notes"]), version)
    except _DAMAGE as error:
        raise ValueError(f"the model file is damaged: {short_repr(error)}") from None
    raise ValueError(
        f"the model file has format {short_repr(file_format)}, and this version of river-oauc "
        f"reads format {FORMAT}: it was written by version {short_repr(version)}"
    )


def _check_notes(notes: typing.Any) -> None:
    """Raise a ValueError unless the notes come back from JSON as they are."""
    try:
        is_plain = type(notes) is dict and json.loads(json.dumps(notes)) == notes
    except (TypeError, ValueError, RecursionError):
        is_plain = False
    if not is_plain:
        raise ValueError(f"notes are {short_repr(notes)}: they must be a dict that JSON can hold")


def _read_arrays(descriptions: typing.Any, content: bytes) -> dict[int, Array]:
    arrays, start = {}, 0
    for i, (name, shape) in enumerate(descriptions):
        # It raises an error unless the content is long enough. Nothing is copied.
        arrays[i] = np.ndarray(shape, np.dtype(_DTYPES[name]), content, start)
        start += arrays[i].nbytes
    return arrays


def _to_json(value: typing.Any, arrays: list[Array]) -> typing.Any:
    """Return a value in the types of JSON, with the arrays put aside.

    What JSON lacks is a dict with one key: the name of the type, or `array`, `bytes` or `type`.
    """
    if isinstance(value, np.generic):
        value = value.item()
    cls = type(value)
    if value is None or cls in (bool, int, float, str):
        return value
    if cls is list:
        return [_to_json(item, arrays) for item in value]
    if cls is bytes:
        return {"bytes": value.hex()}
    if cls is np.ndarray and value.dtype.name in _DTYPES:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, type) and _fits(value):
        return {"type": value.__name__}
    if not _fits(cls):
        raise ValueError(
            f"{short_repr(value)}, a {cls.__name__}, does not fit into a model file: pickle the "
            "model instead"
        )
    content = _arguments(value) if cls.__name__ in _HAVE_ARGUMENTS else value.__getstate__()
    return {cls.__name__: _to_json(content, arrays)}


def _fits(cls: type) -> bool:
    """Whether a file may hold the class and its objects."""
    return cls.__name__ in _MODULES and _class_of(cls.__name__) is cls


def _class_of(name: str) -> typing.Any:
    return getattr(importlib.import_module(_MODULES[name]), name)


def _arguments(value: typing.Any) -> list[typing.Any]:
    """Return the arguments that make an object."""
    if isinstance(value, collections.deque):
        return [list(value), value.maxlen]
    if isinstance(value, collections.Counter):
        return [dict(value)]
    if isinstance(value, collections.defaultdict):
        return [value.default_factory, *_arguments(dict(value))]
    if isinstance(value, dict):
        return [[list(item) for item in value.items()]]
    if isinstance(value, compose.Pipeline):
        return [*value.steps.items()]
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    if type(value) in (tuple, set):
        return [list(value)]
    return list(value if isinstance(value, tuple) else vars(value).values())


def _from_json(value: typing.Any, arrays: dict[int, Array]) -> typing.Any:
    """Return the value that `_to_json` has turned into types of JSON."""
    if isinstance(value, list):
        return [_from_json(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == "array":
        # Each belongs to one place, so that all of them need no more memory than the file.
        return arrays.pop(content).copy()
    if name == "bytes":
        return bytes.fromhex(content)
    if name == "type":
        return _class_of(content)
    cls, content = _class_of(name), _from_json(content, arrays)
    if name in _HAVE_ARGUMENTS:
        return cls(*content)
    restored: typing.Any = object.__new__(cls)
    if hasattr(cls, "__setstate__"):
        restored.__setstate__(content)
    else:
        vars(restored).update(content)
    return restored
