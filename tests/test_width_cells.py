"""Widths in cells: finite families whose optima tend to that of the continuum."""

from itertools import product

import numpy as np
import pytest

import width_truth as truth
from manykernels.bases import GramStack, WidthRows
from manykernels.families import Gamma, ListFamily, LogUniform, WidthFamily, WidthGrid
from manykernels.families.widths import cell_family, cell_kernels
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.solvers import MirrorDescent, run
from manykernels.solvers.full_pass import FullPass
from manykernels.solvers.working_set import WorkingSet

LAWS = [LogUniform(0.05, 20.0), Gamma(1.5, 0.8)]
PRODUCTS = ("gaussian", "laplace")
every_law = pytest.mark.parametrize("law", LAWS, ids=["log-uniform", "gamma"])


def setting(rng, p, n=25, r=2, strength=0.01):
    """Return rows with a category, and a problem whose target has a narrow and a wide part."""
    values = rng.normal(size=(n, r))
    values[:, -1] = rng.integers(3, size=n)
    y = np.sin(4 * values[:, :1]) + 0.5 * values[:, -1:] + 0.2 * rng.normal(size=(n, 1))
    problem = Problem(y - y.mean(), np.full(n, 1 / n), Squared(), strength, p, False)
    return WidthRows(values, {r - 1: 3}), problem


def optimum(problem, family, solver=None, tol=1e-8):
    result = run(solver or FullPass(), problem, family, np.random.default_rng(0), 2000, tol)
    assert result.converged
    assert result.certificate.kind == "exact"
    return result.solution.objective


@every_law
def test_mean_kernels_of_cells_are_integrals(law, rng):
    rows, _ = setting(rng, 2, n=6)
    t = rows.distances(0, 2)
    stack = cell_kernels(rows, law, 3, PRODUCTS)
    assert stack.count == 12
    name = "gamma" if isinstance(law, Gamma) else "log-uniform"
    v = (np.arange(20_000) + 0.5) / 60_000
    for cell in range(3):
        widths = truth.LAWS[name][1].ppf(v + cell / 3)
        mean = np.mean(np.exp(-widths[:, None, None] * t), axis=0)
        np.testing.assert_allclose(stack.kernel(cell), mean, atol=1e-6)


@every_law
@pytest.mark.parametrize("cells", [1, 4])
def test_the_sum_of_cells_is_that_of_the_continuum(cells, law, rng):
    rows, _ = setting(rng, 2, n=7, r=3)
    rho = [1.3, 0.8, 1.1]
    finite = cell_family(rows, np.inf, cells, 2, law, rho=rho)
    whole = WidthFamily(rows, 2, PRODUCTS, law, rho)
    np.testing.assert_allclose(finite.closed(), whole.closed(), rtol=1e-10)
    assert finite.distinct == 1 + 2 * (3 * cells + 3 * cells**2)


@pytest.mark.parametrize("p", [1.0, 4 / 3])
def test_optimum_on_a_grid_is_that_of_its_list(p, rng):
    rows, problem = setting(rng, p)
    grid, rho = (0.1, 1.0, 8.0), [1.2, 0.9, 1.1]
    family = cell_family(rows, problem.nu, 3, 2, WidthGrid(grid), rho=rho)
    grams, scales = [np.ones((25, 25))], [rho[0]]
    for S in truth.subsets(2, 2)[1:]:
        for shape, widths in product(PRODUCTS, product(grid, repeat=len(S))):
            grams.append(truth.kernel(rows.values, rows.categories, shape, S, widths))
            measure = 3.0 ** -len(S) / 2
            scales.append(rho[len(S)] * measure ** (-(1 - 1 / problem.nu) / 2))
    listed = ListFamily(GramStack(np.stack(grams)), scales)
    solver = WorkingSet() if p == 1 else FullPass()
    truth_of = optimum(problem, listed, solver, 1e-7)
    assert optimum(problem, family, solver, 1e-7) == pytest.approx(truth_of, rel=2e-7)
    if p > 1:
        result = run(MirrorDescent(), problem, family, rng, 60, 1e-9)
        gap = result.certificate.gap
        assert truth_of * (1 - 1e-6) <= result.solution.objective <= truth_of + gap
        assert gap < 0.1 * truth_of


@every_law
def test_optimum_converges_as_cells_shrink(law, rng):
    rows, problem = setting(rng, 4 / 3)
    values = [
        optimum(problem, cell_family(rows, problem.nu, cells, 1, law)) for cells in (1, 2, 4, 8, 16)
    ]
    drops = -np.diff(values)
    assert np.all(drops > -1e-8 * values[0])  # cells of cells can only help
    assert drops[-1] < 0.02 * values[-1]
    assert np.all(drops[2:] < 0.6 * drops[1:-1] + 1e-7 * values[0])


@every_law
@pytest.mark.parametrize("nu", [1.5, 2.0, 4.0])
def test_the_constant_of_mirror_descent_grows_with_the_cells(nu, law, rng):
    """Its root is the mass: the number of cells to the power 1/nu, for each column."""
    rows, _ = setting(rng, 2, n=12, r=3)
    alpha = rng.normal(size=(12, 1))
    mass = {}
    for cells, order in product((1, 2, 8), (1, 2)):
        rho = [1e9, 1e9, 1e9]
        rho[order] = 1.0
        mass[cells, order] = cell_family(rows, nu, cells, 2, law, rho=rho).at(alpha).mass
    for cells, order in mass:
        expected = mass[1, order] * cells ** (order / nu)
        assert mass[cells, order] == pytest.approx(expected, rel=1e-9)


def test_cells_on_other_rows(rng):
    rows, _ = setting(rng, 2, n=9)
    left, right = rows.take(np.arange(4)), rows.take(np.arange(4, 9))
    family = cell_family(rows, 2.0, 2, 2, names=["age", "town"])
    new = family.on(cell_kernels(left, family.law, 2, other=right))
    indices, theta = family.indices(), rng.random(family.distinct)
    expected = family.gram(indices, theta)[:4, 4:]
    np.testing.assert_allclose(new.gram(indices, theta), expected, rtol=1e-12)
    np.testing.assert_array_equal(new.weights(indices), family.weights(indices))
    names = [new.name(index) for index in indices]
    assert len(set(names)) == len(names)
    assert (names[0], names[1], names[-1]) == (
        "1",
        "gaussian(age 1/2)",
        "laplace(age 2/2, town 2/2)",
    )


def test_shapes_of_cells_are_checked(rng):
    rows, _ = setting(rng, 2)
    with pytest.raises(ValueError, match=r"shapes must be some of \('gaussian', 'laplace'\)"):
        cell_family(rows, 2.0, 2, 1, shapes=("radial",))
