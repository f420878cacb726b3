"""Some changes of each array of model files; ``python dev.py fuzz`` takes all of them."""

import pytest

pytest.importorskip("resource")  # of POSIX, as forks are
from attack.forged import run
from conftest import SEED

FEW = 2
"""Changes for each attribute of a kind of model that holds arrays: seconds in all."""

KINDS = ("linear", "auto", "spline", "widths", "both", "greedy", "table", "classes")


def test_changed_arrays_are_refused_or_harmless(tmp_path):
    count, wrong = run(SEED, FEW, tmp_path, KINDS)
    assert not wrong, "\n".join(wrong)
    assert count > 20 * FEW * len(KINDS)
