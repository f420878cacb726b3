"""What is known about the paper's data sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

VARIABLE = "MANYKERNELS_DATA"
"""Environment variable with the folder of the data files."""


class PaperSplit(NamedTuple):
    """The paper's numbers of training, validation and test rows."""

    train: int
    validation: int
    test: int


@dataclass(frozen=True)
class Facts:
    """What is known about one data set, and how to get it without a file."""

    shape: tuple[int, int]
    positives: int
    split: PaperSplit
    openml_id: int | None = None
    signs: dict[str, int] = field(default_factory=dict)


PAPER: dict[str, Facts] = {
    "german": Facts((1000, 20), 300, PaperSplit(350, 150, 500), 31, {"good": -1, "bad": 1}),
    "ionosphere": Facts((351, 34), 225, PaperSplit(140, 36, 175), 59, {"b": -1, "g": 1}),
    "ringnorm": Facts((7400, 20), 3736, PaperSplit(500, 1000, 2000)),
    "sonar": Facts((208, 60), 111, PaperSplit(83, 21, 104), 40, {"Rock": -1, "Mine": 1}),
    "splice": Facts(
        (2991, 60), 1647, PaperSplit(500, 1000, 1491), 46, {"EI": -1, "IE": -1, "N": 1}
    ),
    "waveform": Facts((5000, 21), 1647, PaperSplit(500, 1000, 2000)),
}
"""The six data sets, by name."""

CHECKSUMS = {
    "german": "afaca1fcbd6e2dacbd44e78fc23a0c42757ea2822acd9d2a9aaff09287ed7484",
    "ionosphere": "e7a33cd94f75f51e8797cc772f19d0a0131ce49b73c11e008c0e59684f9769a6",
    "ringnorm": "82dde6de638ef36ca7f611d927b8c0d955c540d13d0cb9f3aa2ea46d2de356ee",
    "sonar": "5c0a13f9aca0138672c5bc4053495ebe1c8d6a95aa250abc13adde6062a120bf",
    "splice": "075dc313b7f89f3cdfae161adfa549fa02078e2697e3d7273cbb1526e2aed203",
    "waveform": "c4e7253f3186a88da98a06db33ad94fd0519ff740cc2c2c9068b89bbd3ba6294",
}
"""SHA-256 of the values of each data set."""

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
"""Codes of splice's letters."""


def feature_names(name: str) -> list[str]:
    """Return the names of the variables of a data set."""
    if name == "german":
        return list(GERMAN)
    letter = "p" if name == "splice" else "x"
    return [f"{letter}{j:02d}" for j in range(1, PAPER[name].shape[1] + 1)]


def mismatch(name: str, origin: str, what: str, expected: object, found: object) -> str:
    """Return the message for data that are not those expected."""
    return (
        f"{name} from {origin} must have the {what} {expected}; got {found}. "
        "It is damaged or another version of the data: replace it or use another source."
    )
