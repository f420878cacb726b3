"""Data sets drawn from their published definitions."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ..arrays import Array

# The two generators use RandomState, whose stream numpy has frozen: a data set must not change
# with the version of numpy, as that of a Generator may.


def ringnorm(n: int, r: int) -> Array:
    """Draw ringnorm (Breiman, Tech. Report 460, 1996), with class 0 as -1 and class 1 as +1.

    Class 0 is N(0, 4 I) and class 1 is N((a, .., a), I) with a = 2 / sqrt(r), equally likely.
    """
    rng = np.random.RandomState(460)
    positive = rng.randint(2, size=n) == 1
    noise = rng.normal(size=(n, r))
    data = np.where(positive[:, None], 2 / sqrt(r) + noise, 2 * noise)
    return np.column_stack([data, np.where(positive, 1.0, -1.0)])


def waveform(n: int, r: int) -> Array:
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


GENERATORS = {"ringnorm": ringnorm, "waveform": waveform}
