"""Seeded randomness; the suite must pass on any seed (``TEST_SEED=...``)."""

import os

import numpy as np
import pytest

SEED = int(os.environ.get("TEST_SEED", "20120"))


@pytest.fixture
def rng(request):
    name = sum(ord(letter) * (i + 1) for i, letter in enumerate(request.node.name))
    return np.random.default_rng([SEED, name])
