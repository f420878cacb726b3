import numpy as np
import pytest

from checks import (
    LOSSES,
    PathCheck,
    full_gradient_optimum,
    make_bases,
    paper_data,
    random_problem,
)
from manykernels.bases import FeatureBlocks
from manykernels.dual import FeatureSystem, solve
from manykernels.families import (
    Interactions,
    ListFamily,
    Monomials,
    ProductFamily,
    Tuples,
    WeightedFamily,
)
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.potentials import Entropy, PowerNorm, power_norm
from manykernels.solvers import (
    DecreasingStep,
    HarmonicStep,
    MirrorDescent,
    TheoremStep,
    UniformSampler,
    run,
)
from manykernels.solvers.iterate import Iterate

SETS = [Tuples(2.0), Monomials(), Interactions()]


def setting(rng, p=4 / 3, loss=None, kind=None, strength=0.02, below=0.0, n=40, r=4, degree=2):
    bases = make_bases("columns", rng, n=n, r=r)
    family = ProductFamily(bases, degree, kind, enumerate_below=below)
    columns, _ = family.features(family.indices())
    return random_problem(loss or Squared(), rng, columns, strength=strength, p=p), family


def compare(problem, family, solver, rng, steps, **options):
    """Run a solver with the path inequality asserted; return its excess over the optimum."""
    optimum, theta, gap = full_gradient_optimum(problem, family)
    potential = solver.mirror_map(family, problem.nu)
    check = PathCheck(family, potential, theta) if potential.strong_convexity() else None
    result = run(solver, problem, family, rng, steps, 1e-9, callback=check, **options)
    if check:
        assert check.steps >= steps
    assert power_norm(result.theta, problem.nu) <= 1 + 1e-9
    assert np.all(result.theta > 0)
    assert result.solution.objective >= optimum - gap - 1e-9 * optimum
    return result.solution.objective / optimum - 1, result


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("below", [0.0, np.inf], ids=["tree", "enumerated"])
def test_reaches_the_optimum(kind, below, rng):
    problem, family = setting(rng, kind=kind, below=below)
    excess, _ = compare(problem, family, MirrorDescent(), rng, 500)
    assert excess < 0.01


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_every_loss(loss, rng):
    problem, family = setting(rng, loss=loss)
    excess, _ = compare(problem, family, MirrorDescent(), rng, 200)
    assert excess < 0.02


@pytest.mark.parametrize("p", [1.05, 1.2, 1.5, 1.9])
def test_every_exponent(p, rng):
    problem, family = setting(rng, p=p)
    excess, _ = compare(problem, family, MirrorDescent(), rng, 400)
    assert excess < 0.02


@pytest.mark.parametrize("potential", [None, PowerNorm(2.0), Entropy()], ids=repr)
def test_p_1(potential, rng):
    problem, family = setting(rng, p=1.0)
    solver = MirrorDescent(potential=potential, draws=200)
    excess, _ = compare(problem, family, solver, rng, 1000)
    assert excess < 0.03


@pytest.mark.parametrize(
    "solver",
    [
        MirrorDescent(draws=1, step=DecreasingStep(0.3)),
        MirrorDescent(step=DecreasingStep(0.3)),
        MirrorDescent(step=DecreasingStep(0.3), average=True),
        MirrorDescent(sampler=UniformSampler(), draws=100),
        MirrorDescent(sampler=UniformSampler(), step=DecreasingStep(0.3), draws=100),
        MirrorDescent(potential=Entropy(), step=DecreasingStep(0.3)),
        MirrorDescent(potential=PowerNorm(1.5)),
    ],
    ids=str,
)
def test_variants(solver, rng):
    problem, family = setting(rng)
    excess, _ = compare(problem, family, solver, rng, 1500)
    assert excess < 0.06


def test_weighted_and_list_families(rng):
    problem, family = setting(rng)
    weighted = WeightedFamily(family, lambda index: 1.0 / (1 + len(index)))
    assert compare(problem, weighted, MirrorDescent(), rng, 500)[0] < 0.02
    listed = ListFamily(family.bases, rho=[1.0, 2.0, 1.0, 0.5])
    assert compare(problem, listed, MirrorDescent(), rng, 300)[0] < 0.01


def test_gram_kernels_with_an_intercept(rng):
    bases = make_bases("gram", rng, n=25, r=4)
    family = ProductFamily(bases, 2, Interactions(), enumerate_below=0.0)
    y = np.sin(np.arange(25.0))[:, None] + 3.0
    problem = Problem(y, np.full(25, 0.04), Squared(), 0.01, 4 / 3, True)
    result = run(MirrorDescent(), problem, family, rng, 2000, 5e-3)
    assert result.converged
    assert result.certificate.kind == "exact"
    assert abs(result.solution.alpha.sum()) < 1e-8


def test_estimate_is_unbiased(rng):
    """E of the gradient estimate, over independent draws of one state, is the gradient."""
    problem, family = setting(rng)
    solution = solve(problem, FeatureSystem(np.zeros((40, 0))))
    field = family.at(solution.alpha)
    truth = dict(zip(family.indices(), field.all(), strict=True))
    for sampler, count in ((MirrorDescent().sampler, 50_000), (UniformSampler(), 200_000)):
        draw = sampler.draw(family, field, count, rng)
        estimate = dict(zip(draw.indices, draw.estimate(), strict=True))
        scale = sum(truth.values())
        for index, value in truth.items():
            assert estimate.get(index, 0.0) == pytest.approx(value, abs=0.02 * scale)


@pytest.mark.parametrize("draws", [1, 5])
def test_theorem_bounds_hold_over_seeds(draws, rng):
    problem, family = setting(rng, strength=0.1, n=20, r=3)
    optimum, theta, _ = full_gradient_optimum(problem, family)
    steps, excesses, bounds, likely = 60, [], [], []
    for seed in range(40):
        source = np.random.default_rng([seed, int(rng.integers(10**6))])
        solver = MirrorDescent(draws=draws, step=TheoremStep(steps), average=True)
        check = PathCheck(family, PowerNorm(2.0), theta)
        result = run(solver, problem, family, source, steps, 1e-12, callback=check)
        excesses.append(result.solution.objective - optimum)
        bounds.append(result.constants.expectation_bound())
        likely.append(result.constants.high_probability_bound(0.05))
        assert result.constants.iterations == steps
    assert np.mean(excesses) <= np.mean(bounds)
    assert np.mean(np.array(excesses) > np.array(likely)) <= 0.05


def test_harmonic_step_beats_the_tuned_decreasing_step(rng):
    problem, family = setting(rng, r=6, degree=3, n=60)
    optimum, _, _ = full_gradient_optimum(problem, family)

    def excess(step):
        result = run(MirrorDescent(step=step), problem, family, np.random.default_rng(0), 400, 1e-9)
        return result.solution.objective / optimum - 1

    tuned = min(excess(DecreasingStep(scale)) for scale in (0.03, 0.1, 0.3, 1.0))
    assert excess(HarmonicStep()) < 1.2 * tuned


def test_long_run_never_falls_below_a_dual_bound(rng):
    """Long steps shrink the common factor past the smallest float; all must stay feasible."""
    problem, family = setting(rng, n=12, r=3)
    optimum, _, gap = full_gradient_optimum(problem, family, tol=1e-10)

    class Long:
        def __call__(self, k, moments):
            return 3 / moments.now

    lowest, shrunk, last = np.inf, 0.0, 1.0

    def watch(state, record):
        nonlocal lowest, shrunk, last
        factor = state.iterate.factor
        shrunk += min(0.0, np.log(factor / last))  # folding makes it grow: not counted
        last = factor
        lowest = min(lowest, state.solution.objective)
        assert power_norm(state.iterate.theta, 2.0) <= 1 + 1e-9

    run(MirrorDescent(draws=1, step=Long()), problem, family, rng, 3000, 1e-12, callback=watch)
    assert shrunk < np.log(np.finfo(float).tiny)
    assert lowest >= optimum - gap - 1e-10


@pytest.mark.parametrize("name", ["ionosphere", "sonar"])
@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.name)
def test_paper_data_within_two_percent(name, kind, rng):
    """Algorithms 2 and 3, D = 2, ridge 1 in the sum scale, no intercept."""
    X, y = paper_data(name)
    n = len(X)
    family = ProductFamily(FeatureBlocks(X), 2, kind, enumerate_below=0.0)
    problem = Problem(y, np.full(n, 1 / n), Squared(), 1 / n)
    excess, result = compare(problem, family, MirrorDescent(), rng, 400)
    assert excess < 0.02
    assert result.certificate.relative >= excess / (1 + excess) - 1e-9


@pytest.mark.parametrize("name", ["ionosphere", "sonar"])
def test_paper_data_with_the_step_of_the_paper_s_kind(name, rng):
    """The decreasing normalised step, with nothing but its default scale."""
    X, y = paper_data(name)
    n = len(X)
    family = ProductFamily(FeatureBlocks(X), 2, Tuples(2.0), enumerate_below=0.0)
    problem = Problem(y, np.full(n, 1 / n), Squared(), 1 / n)
    excess, _ = compare(problem, family, MirrorDescent(step=DecreasingStep()), rng, 800)
    assert excess < 0.02


def test_estimate_is_the_derivative_of_J(rng):
    """One kernel, so that a draw is certain: the estimate is -dJ/dtheta, the 1/2 included."""
    x = rng.normal(size=(20, 1))
    family = ListFamily(FeatureBlocks(x))
    problem = random_problem(Squared(), rng, np.hstack([x, x]), strength=0.3)
    state = next(MirrorDescent().iterate(problem, family, rng))

    def J(theta):
        return solve(problem, FeatureSystem(np.sqrt(theta) * x)).objective

    assert state.estimate[0] == pytest.approx((J(0.0) - J(1e-6)) / 1e-6, rel=1e-4)


def test_constants_are_those_of_the_run(rng):
    problem, family = setting(rng)
    masses = []

    def watch(state, record):
        masses.append(problem.strength / 2 * family.at(state.solution.alpha).mass)

    result = run(MirrorDescent(), problem, family, rng, 10, 1e-12, callback=watch)
    assert result.constants.second_moment == pytest.approx(max(masses[:-1]) ** 2)
    assert result.constants.largest == pytest.approx(max(masses[:-1]) ** 2)
    assert result.constants.radius == 0.5


def test_average_is_the_answer_when_asked_for(rng):
    problem, family = setting(rng)
    order = {index: i for i, index in enumerate(family.indices())}
    total, weights = 0.0, np.zeros(family.distinct)

    def watch(state, record):
        nonlocal total, weights
        if state.k <= 25:
            at = [order[i] for i in state.iterate.indices]
            weights[at] += state.eta * state.iterate.theta
            total += state.eta

    solver = MirrorDescent(average=True)
    result = run(solver, problem, family, rng, 25, 1e-12, callback=watch)
    got = np.zeros(family.distinct)
    got[[order[i] for i in result.indices]] = result.theta
    np.testing.assert_allclose(got, weights / total, atol=1e-9)


def test_known_gradients_leave_the_estimate_unbiased(rng):
    """Exact at the heaviest kernels, right on average at all others."""
    family = ProductFamily(FeatureBlocks(rng.normal(size=(12, 3))), 2)
    indices = family.indices()
    iterate = Iterate(family, PowerNorm(2.0), 2.0)
    iterate.step(indices[:4], np.array([0.1, 0.4, 0.3, 0.2]), 1.0)
    field = family.at(rng.normal(size=(12, 1)))
    truth = dict(zip(indices, field.all().tolist(), strict=True))
    solver = MirrorDescent(draws=20, known=2)
    total = dict.fromkeys(indices, 0.0)
    rounds = 2000
    for _ in range(rounds):
        drawn, values = solver._estimate(iterate, field, field.draw(20, rng))
        assert len(set(drawn)) == len(drawn)
        for index, value in zip(drawn, values.tolist(), strict=True):
            total[index] += value / rounds
    mass = sum(truth.values())
    for index in indices:
        # A mean of independent counts, each of variance g (C - g) / draws.
        error = np.sqrt(truth[index] * mass / (20 * rounds))
        exact = index in (indices[1], indices[2])
        assert total[index] == pytest.approx(truth[index], abs=1e-9 if exact else 5 * error)
