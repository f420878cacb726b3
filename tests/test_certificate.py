import numpy as np
import pytest

from checks import full_gradient_optimum, make_bases, random_problem
from manykernels.certificate import affordable, exact, from_draws
from manykernels.dual import FeatureSystem, solve
from manykernels.families import Monomials, ProductFamily, Tuples, WeightedFamily
from manykernels.losses import Logistic, Squared


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
