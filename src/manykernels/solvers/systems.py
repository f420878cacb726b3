"""The kernel of given weights as a system of equations, in features or in rows: the smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..arrays import Array, Index
from ..backend import beside, filled
from ..bases import FeatureBlocks
from ..dual import FeatureSystem, GramSystem, System, TallColumns, TallSystem
from ..dual.tall import TALL_BYTES
from ..families import KernelFamily

WIDE_KERNEL_BYTES = 2**30
"""Bytes up to which the features of kernels of several features are held whole.

More than for kernels of one feature, because making them again takes long. Set by judgement, not
measured."""

GRAM_COLUMNS = 1024
"""Least number of columns that enter a kernel matrix at a time, so that a block of them stays in
the cache. Set by judgement, not measured."""


def system_of(family: KernelFamily, indices: Sequence[Index], theta: Array) -> System:
    """Return the kernel of given weights, made from scratch, in the smaller form."""
    if family.explicit and len(indices) < family.rows:
        columns, owners = family.features(indices)
        if columns.shape[1] < family.rows:
            return smaller_system(columns, np.sqrt(theta[owners]))
    return GramSystem(family.gram(indices, theta))


def smaller_system(columns: Array | TallColumns, factors: Array) -> System:
    """Return the kernel of features times factors, in the smaller form; O(n^2 m) if in rows."""
    if isinstance(columns, TallColumns):
        return TallSystem(columns, factors)
    rows, features = columns.shape
    if features < rows:
        return FeatureSystem(columns * beside(factors, columns))
    # By blocks of columns: one read of the features, nothing written.
    gram = filled(0.0, (rows, rows), columns)
    width = max(GRAM_COLUMNS, 4 * rows)
    for start in range(0, features, width):
        part = slice(start, min(start + width, features))
        scaled = columns[:, part] * beside(factors[part], columns)
        gram += scaled @ scaled.T
    return GramSystem(gram)


def tall_columns(family: KernelFamily, indices: Sequence[Index]) -> tuple[TallColumns, Array]:
    """Return the features of kernels, made a block of rows at a time, and whose they are."""
    bases = family.bases
    assert isinstance(bases, FeatureBlocks)
    owners = family.owners(indices)
    most = TALL_BYTES if bases.single else WIDE_KERNEL_BYTES
    return TallColumns(maker(family, indices), family.rows, len(owners), most), owners


def maker(family: KernelFamily, indices: Sequence[Index]) -> Callable[[slice], Array]:
    """Return what makes the features of kernels on some rows."""
    bases = family.bases
    assert isinstance(bases, FeatureBlocks)
    return lambda rows: family.on(bases.take(rows)).features(indices)[0]
