"""Rows for kernels with free widths: matrices against sums over pairs of rows, written out."""

import numpy as np
import pytest

from manykernels.bases import SHAPES, WidthRows


def by_hand(kernel, x, z, categories):
    """Return a kernel's value for two rows, from its definition."""
    shape, columns, widths = kernel
    apart = [float(x[j] != z[j]) if j in categories else abs(x[j] - z[j]) for j in columns]
    power = 1 if shape == "laplace" else 2
    total = sum(s * t**power for s, t in zip(widths, apart, strict=True))
    return np.exp(-np.sqrt(total) if shape == "radial" else -total)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("columns", [(), (1,), (0, 2), (0, 1, 2, 3)])
def test_kernels_are_as_defined(shape, columns, bits, rng):
    categories = {2: 3}
    left, right = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    left[:, 2], right[:, 2] = rng.integers(3, size=7), rng.integers(-1, 3, size=5)
    kernel = (shape, columns, tuple(rng.gamma(1.0, size=len(columns)).tolist()))
    rows, others = WidthRows(left, categories), WidthRows(right, categories)
    truth = [[by_hand(kernel, x, z, categories) for z in right] for x in left]
    tol = 1e-12 if bits == 64 else 1e-6
    np.testing.assert_allclose(rows.kernel(kernel, others, bits), truth, rtol=tol)
    own = [[by_hand(kernel, x, z, categories) for z in left] for x in left]
    np.testing.assert_allclose(rows.kernel(kernel, bits=bits), own, rtol=tol, atol=1e-7)
    assert rows.kernel(kernel, bits=bits).dtype == f"float{bits}"


def test_a_wide_table_is_made_some_rows_at_a_time(rng, monkeypatch):
    rows = WidthRows(rng.normal(size=(50, 3)))
    kernel = ("gaussian", (0, 2), (0.5, 2.0))
    whole = rows.kernel(kernel)
    monkeypatch.setattr("manykernels.bases.width_rows.HOST_BLOCK_BYTES", 8 * 50 * 7)
    np.testing.assert_allclose(rows.kernel(kernel), whole, rtol=1e-13)
