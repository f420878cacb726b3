from dataclasses import replace

import numpy as np
import pytest

from checks import full_gradient_optimum, make_bases, random_problem
from manykernels.certificate import affordable, bound, estimate, exact, from_draws, from_norm
from manykernels.dual import FeatureSystem, solve
from manykernels.families import Draw, Monomials, ProductFamily, Tuples, WeightedFamily
from manykernels.losses import Logistic, Squared
from manykernels.solvers import UniformSampler


def setting(rng, p, loss=None, kind=None):
    family = ProductFamily(make_bases("columns", rng, n=30, r=5), 2, kind)
    columns, owners = family.features(family.indices())
    problem = random_problem(loss or Squared(), rng, columns, strength=0.02, p=p)
    theta = rng.uniform(size=family.distinct)
    theta /= np.sum(theta**problem.nu) ** (1 / problem.nu)
    solution = solve(problem, FeatureSystem(columns * np.sqrt(theta[owners])))
    return problem, family, solution


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("p", [1.1, 4 / 3, 1.6])
def test_exact_gap_bounds_the_distance_to_the_optimum(p, loss, rng):
    problem, family, solution = setting(rng, p, loss)
    optimum, _, _ = full_gradient_optimum(problem, family)
    certificate = exact(problem, solution, family.at(solution.alpha))
    assert certificate.kind == "exact"
    assert certificate.gap >= solution.objective - optimum - 1e-9
    assert certificate.relative == pytest.approx(certificate.gap / solution.objective)


@pytest.mark.parametrize("kind", [Tuples(2.0), Monomials()], ids=lambda kind: kind.name)
def test_estimate_is_an_upper_limit_that_tightens(kind, rng):
    problem, family, solution = setting(rng, 4 / 3, kind=kind)
    field = family.at(solution.alpha)
    truth = exact(problem, solution, field).gap
    below = 0
    for _ in range(200):
        certificate = from_draws(problem, solution, field.draw(200, rng))
        assert certificate.kind == "estimate"
        below += certificate.gap < truth
    assert below <= 12  # 1 % expected; the normal theory is approximate
    many = from_draws(problem, solution, field.draw(200_000, rng))
    assert many.gap == pytest.approx(truth, rel=0.02)


def test_bound_for_p_1(rng):
    problem, family, solution = setting(rng, 1.0)
    field = family.at(solution.alpha)
    truth = exact(problem, solution, field).gap
    for count in (20, 200, 20_000):
        certificate = from_draws(problem, solution, field.draw(count, rng))
        assert certificate.kind == "bound"
        assert certificate.gap >= truth - 1e-12
    assert certificate.gap == pytest.approx(truth)


def test_draws_say_nothing_about_the_maximum_of_unbounded_weights(rng):
    problem, family, solution = setting(rng, 1.0)
    field = WeightedFamily(family, lambda index: 2.0).at(solution.alpha)
    certificate = from_draws(problem, solution, field.draw(100, rng))
    assert certificate.gap == np.inf


@pytest.mark.parametrize("p", [1.0, 4 / 3])
def test_nothing_drawn_is_a_norm_of_zero(p, rng):
    problem, family, solution = setting(rng, p)
    draw = family.at(np.zeros_like(solution.alpha)).draw(10, rng)
    certificate = from_draws(problem, solution, draw)
    difference = solution.objective - problem.dual(solution.alpha, 0.0)
    assert certificate.gap == pytest.approx(abs(difference))


def test_affordable(rng):
    small = ProductFamily(make_bases("columns", rng), 2)
    large = ProductFamily(make_bases("columns", rng, r=4), 60)
    assert affordable(small, 1)
    assert not affordable(large, 10_000)


def test_bound_at_known_values(rng):
    """B = 100 draws of two kernels, mass 10: nothing unseen exceeds ln(100 / 0.01) / 100 of it."""
    problem, _family, solution = setting(rng, 1.0)
    gradients = np.array([0.5, 0.2])
    draw = Draw([(0,), (1,)], np.array([70, 30]), gradients, np.full(2, 10.0), 10.0)
    unseen = 10 * np.log(100 / 0.01) / 100
    expected = from_norm(problem, solution, unseen, "bound")
    assert bound(problem, solution, draw).gap == pytest.approx(expected.gap)
    problem = replace(problem, p=1.2)  # nu = 1.5, nu* = 3
    norm = (0.5**3 + 0.2**3 + 10 * unseen**2) ** (1 / 3)
    assert bound(problem, solution, draw).gap == pytest.approx(
        from_norm(problem, solution, norm, "bound").gap
    )


@pytest.mark.parametrize("p", [1.1, 1.2])
def test_bound_holds_where_one_rare_kernel_carries_the_norm(p, rng):
    problem, family, solution = setting(rng, p)
    field = family.at(solution.alpha)
    truth = exact(problem, solution, field).gap
    for _ in range(100):
        assert from_draws(problem, solution, field.draw(30, rng)).gap >= truth - 1e-12


def test_one_draw_estimates_nothing(rng):
    problem, family, solution = setting(rng, 4 / 3)
    assert estimate(problem, solution, family.at(solution.alpha).draw(1, rng)).gap == np.inf


def test_uniform_draws_bound_nothing_for_p_1(rng):
    problem, family, solution = setting(rng, 1.0)
    draw = UniformSampler().draw(family, family.at(solution.alpha), 50, rng)
    assert from_draws(problem, solution, draw).gap == np.inf


def test_dual_points_that_do_not_add_up_cost(rng):
    problem, _family, solution = setting(rng, 4 / 3)
    with_intercept = replace(problem, intercept=True)
    off = replace(solution, intercept=np.array([3.0]))
    reach = 3.0 + np.abs(problem.y).max()
    extra = problem.strength * reach * abs(solution.alpha.sum())
    assert from_norm(with_intercept, off, 0.0, "exact").gap == pytest.approx(
        from_norm(problem, off, 0.0, "exact").gap + extra
    )
