"""The six real data sets of the paper."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ..arrays import Array
from .facts import CHECKSUMS, PAPER, VARIABLE, feature_names, mismatch
from .generated import GENERATORS
from .openml import fetch


def load_paper(name: str, data_dir: str | os.PathLike[str] | None = None) -> Bunch:
    """Load one of the six two-class data sets of the paper.

    The first of these that applies is used:

    1. the file ``paper/NAME.csv.gz`` or ``NAME.csv.gz`` in ``data_dir``;
    2. such a file in the folder that the environment variable MANYKERNELS_DATA names;
    3. for ringnorm and waveform, a draw from the published definition, always the same. It has
       the size and the distribution of the original file, but not its rows;
    4. for the others, OpenML, recoded as in the files. scikit-learn keeps the download.

    What was read or fetched is compared with the known size, class counts and checksum.

    Parameters
    ----------
    name : {"german", "ionosphere", "ringnorm", "sonar", "splice", "waveform"}
        The data set.
    data_dir : path, default=None
        Folder with the file; it must be there.

    Returns
    -------
    Bunch
        With the entries

        - data, array of shape (n, r): the variables, categories as integer codes;
        - target, array of shape (n,): the classes, -1.0 or +1.0;
        - feature_names, list of r str;
        - name, str;
        - source, str: "file", "OpenML" or "generated";
        - split, (train, validation, test): how many rows the paper used for each.

        The rows of splice come in another order from OpenML than from the file.

    Notes
    -----
    In german, +1 is a bad credit risk; in ionosphere, a good radar return; in sonar, a mine; in
    splice, no boundary; in ringnorm, the class of smaller variance; in waveform, the class made
    of the waves that peak at 7 and 11.

    Examples
    --------
    >>> from manykernels.datasets import load_paper
    >>> waveform = load_paper("waveform")
    >>> waveform.data.shape, waveform.split.train
    ((5000, 21), 500)
    """
    if not isinstance(name, str) or name not in PAPER:
        raise ValueError(
            f"name must be one of {', '.join(PAPER)}; got {name!r}. "
            "For data of your own use pandas.read_csv."
        )
    source = source_of(name, data_dir)
    if source == "file":
        path = _find(name, data_dir)
        assert path is not None
        rows = _check(name, _read(path), str(path))
    elif source == "generated":
        rows = GENERATORS[name](*PAPER[name].shape)
    else:
        rows = _check(name, fetch(name), f"OpenML {PAPER[name].openml_id}")
    return Bunch(
        data=rows[:, :-1].copy(),
        target=rows[:, -1].copy(),
        feature_names=feature_names(name),
        name=name,
        source=source,
        split=PAPER[name].split,
    )


def source_of(name: str, data_dir: str | os.PathLike[str] | None = None) -> str:
    """Return where :func:`load_paper` takes a data set from: "file", "generated" or "OpenML"."""
    if _find(name, data_dir) is not None:
        return "file"
    return "generated" if name in GENERATORS else "OpenML"


def _find(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the path of the file of a data set, or None where none is to be used."""
    chosen = os.environ.get(VARIABLE) if data_dir is None else data_dir
    if data_dir is None and not chosen:
        return None
    folder = Path(chosen or "").expanduser()
    paths = [folder / "paper" / f"{name}.csv.gz", folder / f"{name}.csv.gz"]
    for path in paths:
        if path.is_file():
            return path
    if data_dir is not None:
        raise FileNotFoundError(
            f"data_dir must hold paper/{name}.csv.gz or {name}.csv.gz; got {folder}, with neither "
            f"{paths[0]} nor {paths[1]}. Put the file there, or leave data_dir out to have the "
            "data generated or fetched from OpenML."
        )
    # A folder with some of the files is in order; a folder that is not there is a slip, and
    # going on would quietly use other rows.
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{VARIABLE} must name a folder; got {folder}, which is none. "
            "Correct the environment variable or unset it."
        )
    return None


def _read(path: Path) -> Array:
    try:
        return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path} must be a gzip-compressed CSV file of numbers with a header; got {error}. "
            "Copy the file again."
        ) from error


def _check(name: str, rows: Array, origin: str) -> Array:
    """Return the rows if they are those of the data set."""
    facts = PAPER[name]
    n, r = facts.shape
    shape = (rows.shape[0], rows.shape[1] - 1)
    if shape != facts.shape:
        raise ValueError(mismatch(name, origin, "shape", facts.shape, shape))
    expected = (n - facts.positives, facts.positives)
    counts = (int(np.sum(rows[:, r] == -1)), int(np.sum(rows[:, r] == 1)))
    if counts != expected:
        raise ValueError(mismatch(name, origin, "counts of classes -1 and +1", expected, counts))
    # Only splice: its rows come in two orders. Elsewhere the order decides which rows a seeded
    # split takes, so it is checked too.
    checksum = _checksum(rows, ordered=name != "splice")
    if checksum != CHECKSUMS[name]:
        raise ValueError(mismatch(name, origin, "checksum of values", CHECKSUMS[name], checksum))
    return rows


def _checksum(rows: Array, ordered: bool) -> str:
    """Return the SHA-256 of the values in units of 1e-6, of sorted rows unless ``ordered``.

    Whole numbers, since they are free of -0.0 and of the last bit of parsing.
    """
    whole = np.rint(np.clip(np.nan_to_num(rows, nan=1e12), -1e12, 1e12) * 1e6).astype("<i8")
    if not ordered:
        whole = whole[np.lexsort(whole.T)]
    return hashlib.sha256(np.ascontiguousarray(whole).tobytes()).hexdigest()
