"""The data of the paper's experiments: six real data sets and its synthetic polynomials."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass, field
from http.client import HTTPException
from math import comb, isfinite, sqrt
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch, check_random_state

from .arrays import Array, Index

__all__ = ["Split", "load_paper", "make_sparse_polynomial"]

VARIABLE = "MANYKERNELS_DATA"


class Split(NamedTuple):
    """The paper's numbers of training, validation and test rows."""

    train: int
    validation: int
    test: int


@dataclass(frozen=True)
class Facts:
    """What is known about one data set, and how to get it without a file."""

    shape: tuple[int, int]
    positives: int
    split: Split
    checksum: str
    openml_id: int | None = None
    signs: dict[str, int] = field(default_factory=dict)


PAPER = {
    "german": Facts(
        (1000, 20),
        300,
        Split(350, 150, 500),
        "afaca1fcbd6e2dacbd44e78fc23a0c42757ea2822acd9d2a9aaff09287ed7484",
        31,
        {"good": -1, "bad": 1},
    ),
    "ionosphere": Facts(
        (351, 34),
        225,
        Split(140, 36, 175),
        "e7a33cd94f75f51e8797cc772f19d0a0131ce49b73c11e008c0e59684f9769a6",
        59,
        {"b": -1, "g": 1},
    ),
    "ringnorm": Facts(
        (7400, 20),
        3736,
        Split(500, 1000, 2000),
        "82dde6de638ef36ca7f611d927b8c0d955c540d13d0cb9f3aa2ea46d2de356ee",
    ),
    "sonar": Facts(
        (208, 60),
        111,
        Split(83, 21, 104),
        "5c0a13f9aca0138672c5bc4053495ebe1c8d6a95aa250abc13adde6062a120bf",
        40,
        {"Rock": -1, "Mine": 1},
    ),
    "splice": Facts(
        (2991, 60),
        1647,
        Split(500, 1000, 1491),
        "075dc313b7f89f3cdfae161adfa549fa02078e2697e3d7273cbb1526e2aed203",
        46,
        {"EI": -1, "IE": -1, "N": 1},
    ),
    "waveform": Facts(
        (5000, 21),
        1647,
        Split(500, 1000, 2000),
        "c4e7253f3186a88da98a06db33ad94fd0519ff740cc2c2c9068b89bbd3ba6294",
    ),
}

GERMAN: dict[str, dict[str, int]] = {
    "checking_status": {"<0": 1, "0<=X<200": 2, ">=200": 3, "no checking": 4},
    "duration": {},
    "credit_history": {
        "no credits/all paid": 0,
        "all paid": 1,
        "existing paid": 2,
        "delayed previously": 3,
        "critical/other existing credit": 4,
    },
    "purpose": {
        "new car": 0,
        "used car": 1,
        "furniture/equipment": 2,
        "radio/tv": 3,
        "domestic appliance": 4,
        "repairs": 5,
        "education": 6,
        "retraining": 8,
        "business": 9,
        "other": 10,
    },
    "credit_amount": {},
    "savings": {
        "<100": 1,
        "100<=X<500": 2,
        "500<=X<1000": 3,
        ">=1000": 4,
        "no known savings": 5,
    },
    "employment": {"unemployed": 1, "<1": 2, "1<=X<4": 3, "4<=X<7": 4, ">=7": 5},
    "installment_rate": {},
    "personal_status": {
        "male div/sep": 1,
        "female div/dep/mar": 2,
        "male single": 3,
        "male mar/wid": 4,
    },
    "other_parties": {"none": 1, "co applicant": 2, "guarantor": 3},
    "residence_since": {},
    "property": {"real estate": 1, "life insurance": 2, "car": 3, "no known property": 4},
    "age": {},
    "other_payment_plans": {"bank": 1, "stores": 2, "none": 3},
    "housing": {"rent": 1, "own": 2, "for free": 3},
    "existing_credits": {},
    "job": {
        "unemp/unskilled non res": 1,
        "unskilled resident": 2,
        "skilled": 3,
        "high qualif/self emp/mgmt": 4,
    },
    "num_dependents": {},
    "own_telephone": {"none": 1, "yes": 2},
    "foreign_worker": {"yes": 1, "no": 2},
}
"""Names of german's variables in order, with the codes of the categorical ones."""

LETTERS = {"A": 1, "G": 2, "C": 3, "T": 4}


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
    path = _find(name, data_dir)
    if path is not None:
        source, rows = "file", _check(name, _read(path), str(path))
    elif name == "ringnorm":
        source, rows = "generated", _ringnorm(*PAPER[name].shape)
    elif name == "waveform":
        source, rows = "generated", _waveform(*PAPER[name].shape)
    else:
        source, rows = "OpenML", _check(name, _fetch(name), f"OpenML {PAPER[name].openml_id}")
    return Bunch(
        data=rows[:, :-1].copy(),
        target=rows[:, -1].copy(),
        feature_names=_feature_names(name),
        name=name,
        source=source,
        split=PAPER[name].split,
    )


def make_sparse_polynomial(
    r: int,
    n: int,
    terms: int = 10,
    degree: int = 3,
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    r"""Draw the paper's synthetic regression problem: a sum of a few random monomials.

    The inputs are uniform on :math:`[-1, 1]^r` and the target is

    .. math:: y = \sum_{t=1}^{terms} m_t(x) + noise \cdot \varepsilon,
              \qquad \varepsilon \sim N(0, 1).

    The distinct monomials :math:`m_t` are drawn uniformly from all :math:`\binom{r+D}{D} - 1`
    monomials of degree 1 to D = ``degree``, powers such as :math:`x_0^2 x_3` included.

    The paper writes "the uniform combination of 10 monomial terms of degree 3 or less [...]
    chosen uniformly at random among all possible terms", without noise. Here, as where it calls
    a plain sum of kernels their uniform combination, all coefficients are 1. The constant term
    is left out, since it carries no variable.

    Parameters
    ----------
    r : int
        Number of variables.
    n : int
        Number of rows.
    terms : int, default=10
        Number of monomials.
    degree : int, default=3
        Largest degree of a monomial.
    noise : float, default=0.0
        Standard deviation of the noise.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness; an int gives the same problem each time. The monomials come first,
        so they do not depend on n and noise.

    Returns
    -------
    Bunch
        With the entries

        - data, array of shape (n, r);
        - target, array of shape (n,);
        - terms, list of sorted tuples of variable numbers: (0, 0, 3) is :math:`x_0^2 x_3`;
        - coefficients, array of shape (terms,): ones.

    Examples
    --------
    >>> from manykernels.datasets import make_sparse_polynomial
    >>> problem = make_sparse_polynomial(r=100, n=500, random_state=0)
    >>> problem.data.shape, len(problem.terms)
    ((500, 100), 10)
    """
    for label, value in (("r", r), ("n", n), ("terms", terms), ("degree", degree)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(
                f"{label} must be an integer >= 1; got {value!r}. "
                "The paper has r=5..100, n=500, terms=10, degree=3."
            )
    if not isinstance(noise, Real) or not isfinite(noise) or noise < 0:
        raise ValueError(
            f"noise must be a number >= 0; got {noise!r}. Use noise=0.0 for exact targets."
        )
    count = comb(r + degree, degree) - 1
    if terms > count:
        raise ValueError(
            f"terms must be at most {count}, the number of monomials of degree 1 to {degree} in "
            f"{r} variables; got {terms}. Use fewer terms, more variables or a higher degree."
        )
    rng = _generator(random_state)
    drawn: dict[Index, None] = {}
    while len(drawn) < terms:
        monomial = _monomial(r, degree, rng)
        if monomial:
            drawn[monomial] = None
    coefficients = np.ones(terms)
    data = rng.uniform(-1.0, 1.0, size=(n, r))
    target = np.zeros(n)
    for coefficient, monomial in zip(coefficients, drawn, strict=True):
        target += coefficient * data[:, monomial].prod(axis=1)
    target += noise * rng.normal(size=n)
    return Bunch(data=data, target=target, terms=list(drawn), coefficients=coefficients)


def _monomial(r: int, degree: int, rng: np.random.Generator) -> Index:
    """Draw from the monomials of degree 0 to ``degree``, all equally likely.

    They are the multisets of ``degree`` factors from 1, x_0, .., x_{r-1}. Such a multiset is a
    set of ``degree`` numbers below r + degree, sorted, less 0, 1, .., degree - 1. (Drawing the
    factors one by one would favour monomials with many orderings.)
    """
    chosen = np.sort(rng.choice(r + degree, size=degree, replace=False))
    factors = chosen - np.arange(degree)
    return tuple(int(factor) - 1 for factor in factors if factor > 0)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _feature_names(name: str) -> list[str]:
    if name == "german":
        return list(GERMAN)
    letter = "p" if name == "splice" else "x"
    return [f"{letter}{j:02d}" for j in range(1, PAPER[name].shape[1] + 1)]


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


def _fetch(name: str) -> Array:
    """Return variables and target from OpenML, coded as in the file."""
    facts = PAPER[name]
    try:
        fetched = fetch_openml(data_id=facts.openml_id, as_frame=True)
    except (OSError, HTTPException) as error:
        raise OSError(
            f"{name} must be downloaded once from OpenML (id {facts.openml_id}), which needs the "
            f"network; got {error!r}. Go online, or set data_dir or {VARIABLE} to a folder with "
            f"paper/{name}.csv.gz; ringnorm and waveform are generated and need neither."
        ) from error
    frame = fetched.data.drop(columns="Instance_name", errors="ignore")
    if frame.shape[1] != facts.shape[1]:
        origin = f"OpenML {facts.openml_id}"
        raise ValueError(_mismatch(name, origin, "shape", facts.shape, frame.shape))
    names = _feature_names(name)
    texts = [[str(value).strip(" '\"") for value in frame.iloc[:, j]] for j in range(len(names))]
    labels = [str(value).strip(" '\"") for value in fetched.target]
    if name == "splice":
        clear = [i for i, row in enumerate(zip(*texts, strict=True)) if LETTERS.keys() >= set(row)]
        texts = [[column[i] for i in clear] for column in texts]
        labels = [labels[i] for i in clear]
    codes = dict.fromkeys(names, LETTERS) if name == "splice" else GERMAN
    columns = [_code(name, j, t, codes.get(j, {})) for j, t in zip(names, texts, strict=True)]
    rows = np.column_stack([*columns, _code(name, "target", labels, facts.signs)])
    if name == "splice":
        rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    return rows


def _code(name: str, column: str, texts: list[str], codes: dict[str, int]) -> Array:
    try:
        return np.array([codes[text] if codes else float(text) for text in texts], dtype=float)
    except (KeyError, ValueError) as error:
        allowed = ", ".join(map(repr, codes)) or "numbers"
        raise ValueError(
            f"column {column} of {name} must hold {allowed} on OpenML; got {error.args[0]!r}. "
            f"The copy there has changed: use data_dir with the file {name}.csv.gz."
        ) from error


def _check(name: str, rows: Array, origin: str) -> Array:
    """Return the rows if they are those of the data set."""
    facts = PAPER[name]
    n, r = facts.shape
    shape = (rows.shape[0], rows.shape[1] - 1)
    if shape != facts.shape:
        raise ValueError(_mismatch(name, origin, "shape", facts.shape, shape))
    expected = (n - facts.positives, facts.positives)
    counts = (int(np.sum(rows[:, r] == -1)), int(np.sum(rows[:, r] == 1)))
    if counts != expected:
        raise ValueError(_mismatch(name, origin, "counts of classes -1 and +1", expected, counts))
    # Only splice: its rows come in two orders. Elsewhere the order decides which rows a seeded
    # split takes, so it is checked too.
    checksum = _checksum(rows, ordered=name != "splice")
    if checksum != facts.checksum:
        raise ValueError(_mismatch(name, origin, "checksum of values", facts.checksum, checksum))
    return rows


def _mismatch(name: str, origin: str, what: str, expected: object, found: object) -> str:
    return (
        f"{name} from {origin} must have the {what} {expected}; got {found}. "
        "It is damaged or another version of the data: replace it or use another source."
    )


def _checksum(rows: Array, ordered: bool) -> str:
    """Return the SHA-256 of the values in units of 1e-6, of sorted rows unless ``ordered``.

    Whole numbers, since they are free of -0.0 and of the last bit of parsing.
    """
    whole = np.rint(np.clip(np.nan_to_num(rows, nan=1e12), -1e12, 1e12) * 1e6).astype("<i8")
    if not ordered:
        whole = whole[np.lexsort(whole.T)]
    return hashlib.sha256(np.ascontiguousarray(whole).tobytes()).hexdigest()


# The two generators use RandomState, whose stream numpy has frozen: a data set must not change
# with the version of numpy, as that of a Generator may.


def _ringnorm(n: int, r: int) -> Array:
    """Draw ringnorm (Breiman, Tech. Report 460, 1996), with class 0 as -1 and class 1 as +1.

    Class 0 is N(0, 4 I) and class 1 is N((a, .., a), I) with a = 2 / sqrt(r), equally likely.
    """
    rng = np.random.RandomState(460)
    positive = rng.randint(2, size=n) == 1
    noise = rng.normal(size=(n, r))
    data = np.where(positive[:, None], 2 / sqrt(r) + noise, 2 * noise)
    return np.column_stack([data, np.where(positive, 1.0, -1.0)])


def _waveform(n: int, r: int) -> Array:
    """Draw waveform (Breiman et al., CART, 1984, p. 49), with class 1 as +1, 0 and 2 as -1.

    A row is u h_a + (1 - u) h_b plus N(0, I), with u uniform on [0, 1] and triangular waves
    h_c(m) = max(6 - abs(m - c), 0), m = 1..r; the peaks (a, b) of the three equally likely
    classes are (7, 15), (7, 11) and (15, 11).
    """
    rng = np.random.RandomState(1984)
    waves = np.maximum(6 - np.abs(np.arange(1, r + 1) - np.array([[7], [15], [11]])), 0)
    label = rng.randint(3, size=n)
    u = rng.uniform(size=(n, 1))
    first, second = waves[np.array([0, 0, 1])[label]], waves[np.array([1, 2, 2])[label]]
    data = u * first + (1 - u) * second + rng.normal(size=(n, r))
    return np.column_stack([data, np.where(label == 1, 1.0, -1.0)])
