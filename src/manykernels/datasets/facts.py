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


def _codes(names: str, first: int = 1) -> dict[str, int]:
    """Return numbers for names with commas between them, from the first on."""
    return {name: number for number, name in enumerate(names.split(", "), first)}


GERMAN: dict[str, dict[str, int]] = {
    "checking_status": _codes("<0, 0<=X<200, >=200, no checking"),
    "duration": {},
    "credit_history": _codes("no credits/all paid, all paid, existing paid, delayed previously", 0)
    | {"critical/other existing credit": 4},
    "purpose": _codes("new car, used car, furniture/equipment, radio/tv, domestic appliance", 0)
    | _codes("repairs, education", 5)
    | _codes("retraining, business, other", 8),
    "credit_amount": {},
    "savings": _codes("<100, 100<=X<500, 500<=X<1000, >=1000, no known savings"),
    "employment": _codes("unemployed, <1, 1<=X<4, 4<=X<7, >=7"),
    "installment_rate": {},
    "personal_status": _codes("male div/sep, female div/dep/mar, male single, male mar/wid"),
    "other_parties": _codes("none, co applicant, guarantor"),
    "residence_since": {},
    "property": _codes("real estate, life insurance, car, no known property"),
    "age": {},
    "other_payment_plans": _codes("bank, stores, none"),
    "housing": _codes("rent, own, for free"),
    "existing_credits": {},
    "job": _codes(
        "unemp/unskilled non res, unskilled resident, skilled, high qualif/self emp/mgmt"
    ),
    "num_dependents": {},
    "own_telephone": _codes("none, yes"),
    "foreign_worker": _codes("yes, no"),
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
