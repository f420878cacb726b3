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

from ..arrays import Array
from .values import Decoder, Encoder, UnstorableError
from .whole import write_whole

FORMAT = 2
"""Version of the files that are written; files of later versions are refused."""

MANIFEST, SEAL = "manifest.json", "manifest.sha256"


class ModelFileError(ValueError):
    """A file that is no model file, is damaged or changed, or comes from a later version."""


def save(model: Any, path: str | os.PathLike[str], version: str) -> Path:
    """Write a fitted model to a file, at once: an interruption leaves the old file or none.

    By custom the file's name ends in ``.mk``. The version is the library's, for the reader.
    """
    encoder = Encoder()
    try:
        tree = encoder.encode(model)
    except UnstorableError as error:
        raise TypeError(
            f"a model file holds numbers and names, no functions or foreign objects; {error}. Use "
            "kernels, losses and solvers of manykernels by name, or pickle the model."
        ) from None
    contents = {f"arrays/{i}.npy": _bytes(array) for i, array in enumerate(encoder.arrays)}
    manifest = {
        "format": FORMAT,
        "version": version,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {name: _hash(content) for name, content in contents.items()},
        "model": tree,
    }
    text = json.dumps(manifest, allow_nan=False).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {MANIFEST: text, SEAL: _hash(text).encode(), **contents}.items():
            archive.writestr(name, content)
    write_whole(Path(path), packed.getvalue())
    return Path(path)


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
    whole = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            text = archive.read(MANIFEST)
            manifest = json.loads(text)
            if manifest["format"] > FORMAT:
                raise ModelFileError(
                    f"{path} has format {manifest['format']}, of manykernels "
                    f"{manifest['version']}; this version reads formats up to {FORMAT}. "
                    "Upgrade manykernels."
                )
            if archive.read(SEAL).decode() != _hash(text):
                raise ModelFileError(_CHANGED.format(path=path, what=MANIFEST))
            arrays = []
            for number in range(len(manifest["files"])):
                name = f"arrays/{number}.npy"
                content = archive.read(name)
                if _hash(content) != manifest["files"][name]:
                    raise ModelFileError(_CHANGED.format(path=path, what=name))
                arrays.append(np.load(io.BytesIO(content), allow_pickle=False))
        return Decoder(arrays).decode(manifest["model"])
    except ModelFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError) as error:
        raise ModelFileError(
            f"{path} is no model file, or was cut short or changed ({error}). Copy it again, or "
            "save the model anew."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError) as error:
        raise ModelFileError(
            f"{path} is a zip, but no model that this version can read "
            f"({type(error).__name__}: {error}). Save the model anew."
        ) from None


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
