import numpy as np
import pytest

from checks import LOSSES, conic_minimum, make_bases, random_problem
from manykernels.dual import FeatureSystem, GramSystem, solve
from manykernels.families import Monomials, ProductFamily, Tuples
from manykernels.objective import Problem, exponent
from manykernels.potentials import power_norm

ALL = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def value(problem, family, theta):
    columns, owners = family.features(family.indices())
    return solve(problem, FeatureSystem(columns * np.sqrt(theta[owners])), tol=1e-13)


@ALL
@pytest.mark.parametrize("intercept", [False, True])
def test_gradient_of_J(loss, intercept, rng):
    family = ProductFamily(make_bases("blocks", rng, n=20, r=3), 2, rho=[1.0, 1.2, 0.8])
    columns, _ = family.features(family.indices())
    problem = random_problem(loss, rng, columns, strength=0.05, intercept=intercept)
    theta = rng.uniform(0.1, 0.5, size=family.distinct)
    solution = value(problem, family, theta)
    gradient = -problem.strength / 2 * family.at(solution.alpha).all()
    for i in range(family.distinct):
        step = 1e-4 * np.eye(family.distinct)[i]
        numeric = (
            value(problem, family, theta + step).objective
            - value(problem, family, theta - step).objective
        ) / 2e-4
        assert gradient[i] == pytest.approx(numeric, rel=2e-3, abs=2e-6)


@ALL
@pytest.mark.parametrize("p", [1.0, 1.2, 4 / 3, 2.0])
def test_J_at_the_optimum_is_the_conic_minimum(loss, p, rng):
    family = ProductFamily(make_bases("columns", rng, n=25, r=3), 2, rho=[1.0, 1.2, 0.8])
    columns, owners = family.features(family.indices())
    problem = random_problem(loss, rng, columns, strength=0.05, p=p, intercept=p == 1.2)
    minimum, _, norms = conic_minimum(problem, columns, owners)
    if p == 2:
        theta = np.ones(family.distinct)
    else:
        nu = problem.nu
        theta = (norms / norms.max()) ** (2 / (nu + 1))
        theta = theta / power_norm(theta, nu)
    solution = value(problem, family, theta)
    assert solution.objective == pytest.approx(minimum, rel=2e-6)
    norm = power_norm(family.at(solution.alpha).all(), problem.dual_exponent)
    dual = problem.dual(solution.alpha, norm)
    assert dual <= minimum * (1 + 1e-7)
    assert dual == pytest.approx(minimum, rel=5e-3)


def test_ordered_tuples_equal_merged_monomials(rng):
    """Listing every tuple as a kernel of its own gives the same optimum as merging them."""
    bases = make_bases("columns", rng, n=20, r=2)
    merged = ProductFamily(bases, 2, Tuples(2.0))
    columns, owners = merged.features(merged.indices())
    problem = random_problem(LOSSES[0], rng, columns, strength=0.05, p=4 / 3)
    listed = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    copies, _ = ProductFamily(bases, 2, Monomials()).features([tuple(sorted(i)) for i in listed])
    separate = conic_minimum(problem, copies, np.arange(7))[0]
    assert conic_minimum(problem, columns, owners)[0] == pytest.approx(separate, rel=1e-6)


def test_exponents():
    for p, nu in [(1.0, 1.0), (4 / 3, 2.0), (1.6, 4.0), (2.0, np.inf)]:
        assert exponent(p) == pytest.approx(nu)
    problem = Problem(np.ones((2, 1)), np.full(2, 0.5), LOSSES[0], 1.0, 4 / 3)
    assert problem.dual_exponent == pytest.approx(2.0)


def test_strength_scales_like_a_sum_ridge(rng):
    """(K + n lambda I) alpha = y: lambda next to the mean is n lambda next to the sum."""
    K = np.cov(rng.normal(size=(8, 20)))
    y = rng.normal(size=(8, 1))
    problem = Problem(y, np.full(8, 1 / 8), LOSSES[0], 0.3)
    expected = np.linalg.solve(K + 8 * 0.3 * np.eye(8), y)
    solution = solve(problem, GramSystem(K))
    np.testing.assert_allclose(solution.alpha, expected)
    assert solution.objective == pytest.approx(0.3 / 2 * float((y * expected).sum()))
