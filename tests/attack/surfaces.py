"""All cases, and which of them the tests take."""

import numpy as np

from . import api, commands, forged, hostile, interruptions, numerical, partitions
from .case import Case

SURFACES = {
    "api": (api, 220),
    "commands": (commands, 16),
    "files": (hostile, 70),
    "arrays": (forged, 0),  # some changes of each kind: test_forged.py
    "signals": (interruptions, 2),
    "numbers": (numerical, 14),
    "partitions": (partitions, 24),
}
"""The module of each surface, and how many of its cases the tests take: seconds in all."""


def all_cases() -> list[Case]:
    """Return every case of every surface."""
    return [case for module, _few in SURFACES.values() for case in module.cases()]


def some_cases(seed: int) -> list[Case]:
    """Return the cases that the tests take, others with another seed."""
    found = []
    for module, few in SURFACES.values():
        cases = module.cases()
        chosen = np.random.default_rng(seed).choice(len(cases), size=few, replace=False)
        found += [cases[i] for i in sorted(chosen.tolist())]
    return found
