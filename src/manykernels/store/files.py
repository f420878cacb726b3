"""The zip around a tree: manifest, arrays, checksums."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import as_path
from ..arrays import Array
from ..limits import MEMORY_SHARE
from ..memory import UNKNOWN_MACHINE, machine_bytes
from .sound import read_array
from .values import Decoder, Encoder, UnstorableError
from .whole import write_whole

FORMAT = 2
"""Version of the files that are written; files of later versions are refused."""

MANIFEST, SEAL = "manifest.json", "manifest.sha256"

MANIFEST_BYTES = 64 * 2**20
"""Most bytes of a manifest. One of a table of 20,000 columns has some three million; JSON may take
forty times as much memory. Set by judgement, not measured."""

SEAL_BYTES = 64
"""Bytes of a checksum in hexadecimal digits."""

REASON_LENGTH = 300
"""Most characters of the reason that a message gives. Set by judgement."""


class ModelFileError(ValueError):
    """A file that is no model file, is damaged or changed, or comes from a later version."""


def save(model: Any, path: str | os.PathLike[str], version: str) -> Path:
    """Write a fitted model to a file, at once: an interruption leaves the old file or none.

    By custom the file's name ends in ``.mk``. The version is the library's, for the reader.
    """
    try:
        content = packed(model, version)
    except UnstorableError as error:
        raise TypeError(
            f"a model file holds numbers and names, no functions or foreign objects; {error}. Use "
            "kernels, losses and solvers of manykernels by name, or pickle the model."
        ) from None
    write_whole(Path(path), content)
    return Path(path)


def packed(value: Any, version: str, smaller: bool = True) -> bytes:
    """Return the bytes of a file that holds an object: a zip, compressed to be ``smaller``."""
    encoder = Encoder()
    tree = encoder.encode(value)
    contents = {f"arrays/{i}.npy": _bytes(array) for i, array in enumerate(encoder.arrays)}
    manifest = {
        "format": FORMAT,
        "version": version,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {name: _hash(content) for name, content in contents.items()},
        "model": tree,
    }
    text = json.dumps(manifest, allow_nan=False).encode()
    whole = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if smaller else zipfile.ZIP_STORED
    with zipfile.ZipFile(whole, "w", method) as archive:
        for name, content in {MANIFEST: text, SEAL: _hash(text).encode(), **contents}.items():
            archive.writestr(name, content)
    return whole.getvalue()


def unpacked(path: str | os.PathLike[str]) -> Any:
    """Return the object that a file holds, whatever it is; an error if the file is not whole."""
    with Path(path).open("rb") as file, zipfile.ZipFile(file) as archive:
        manifest, arrays = _contents(archive, path)
    return Decoder(arrays).decode(manifest["model"])


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :meth:`save` has written; no code from the file is run.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator or TableModel
        The model. It predicts bit for bit as the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged or changed, or was written by a later version.
    """
    place = as_path(path)
    if place.exists() and not place.is_file():
        raise ModelFileError(f"{path} is no file: a folder, a device or a pipe. Name a model file.")
    try:
        model = unpacked(place)
        _refuse_unsound(model)
    except (ModelFileError, FileNotFoundError, PermissionError):
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError) as error:
        raise ModelFileError(
            f"{path} is no model file, or was cut short or changed ({_cut(str(error))}). Copy it "
            "again, or save the model anew."
        ) from None
    except Exception as error:  # whatever wrong contents lead to
        raise ModelFileError(
            f"{path} is a zip, but no model that this version can read "
            f"({type(error).__name__}: {_cut(str(error))}). Save the model anew."
        ) from None
    return model


def _contents(archive: zipfile.ZipFile, path: Any) -> tuple[Any, list[Array]]:
    """Return the manifest and the arrays of a file whose checksums are right."""
    text = _member(archive, MANIFEST, MANIFEST_BYTES)
    manifest = json.loads(text)
    if manifest["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has format {manifest['format']}, of manykernels {manifest['version']}; this "
            f"version reads formats up to {FORMAT}. Upgrade manykernels."
        )
    if _member(archive, SEAL, SEAL_BYTES).decode() != _hash(text):
        raise ModelFileError(_CHANGED.format(path=path, what=MANIFEST))
    room = int(MEMORY_SHARE * (machine_bytes() or UNKNOWN_MACHINE))
    arrays = []
    for number in range(len(manifest["files"])):
        name = f"arrays/{number}.npy"
        content = _member(archive, name, room)
        room -= len(content)
        if _hash(content) != manifest["files"][name]:
            raise ModelFileError(_CHANGED.format(path=path, what=name))
        arrays.append(read_array(content))
    return manifest, arrays


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return a part of a zip, of ``most`` bytes at the most: a small zip may hold a huge one."""
    size, method = archive.getinfo(name).file_size, archive.getinfo(name).compress_type
    if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may ask for gigabytes
        raise ValueError(f"{name} in it is compressed by method {method}")
    if size > most:
        raise ValueError(f"{name} in it has {size:,} bytes; at most {most:,} are read")
    with archive.open(name) as part:
        return part.read(size)  # a part that is longer has the wrong checksum


def _refuse_unsound(model: Any) -> None:
    """Raise unless an object from a file is a model that can predict."""
    check = getattr(model, "check_loaded", None)
    if check is None:
        raise TypeError(f"it holds a {type(model).__name__}, no model")
    check()


def _cut(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= REASON_LENGTH else line[: REASON_LENGTH - 3] + "..."


_CHANGED = (
    "{path} was changed or damaged after it was written: the checksum of {what} in it is wrong. "
    "Copy it again, or save the model anew."
)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _bytes(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
