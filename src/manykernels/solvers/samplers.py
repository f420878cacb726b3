"""Distributions that the gradient estimate is drawn from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..families import Draw, GradientField, KernelFamily


class Sampler(Protocol):
    r"""A distribution s over a family, positive wherever the gradient is.

    The draws carry the importance ratios :math:`g_i/s_i`, which make the estimate unbiased.
    """

    def draw(
        self, family: KernelFamily, field: GradientField, count: int, rng: np.random.Generator
    ) -> Draw:
        """Draw kernels given the gradient at the present dual point."""


@dataclass(frozen=True)
class GradientSampler:
    """Draw in proportion to the gradient: the estimate of least second moment."""

    def draw(
        self, family: KernelFamily, field: GradientField, count: int, rng: np.random.Generator
    ) -> Draw:
        """Draw from q."""
        return field.draw(count, rng)


@dataclass(frozen=True)
class UniformSampler:
    """Draw uniformly (uniform coordinate descent, UCD)."""

    def draw(
        self, family: KernelFamily, field: GradientField, count: int, rng: np.random.Generator
    ) -> Draw:
        """Draw uniformly from the index set."""
        indices, probabilities = family.uniform(count, rng)
        counts = Counter(indices)
        distinct = list(counts)
        probability = dict(zip(indices, probabilities, strict=True))
        gradients = field.gradients(distinct)
        ratios = gradients / np.array([probability[index] for index in distinct])
        repeats = np.fromiter(counts.values(), dtype=np.int64, count=len(distinct))
        return Draw(distinct, repeats, gradients, ratios, float("inf"))
