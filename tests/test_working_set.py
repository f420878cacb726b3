"""p = 1 on a few kernels, by two methods, and on whole families: against conic solvers."""

from dataclasses import replace

import numpy as np
import pytest

from checks import LOSSES, conic_minimum, make_bases, random_setting
from manykernels import MKLClassifier, MKLRegressorCV
from manykernels.bases import FeatureBlocks
from manykernels.certificate import exact, from_norm
from manykernels.dual import TallColumns, solve
from manykernels.families import ListFamily, Monomials, ProductFamily
from manykernels.losses import Hinge, Huber, Logistic, SmoothLoss, Squared, SquaredHinge
from manykernels.objective import Problem
from manykernels.solvers import run
from manykernels.solvers.working_set import WorkingSet
from manykernels.solvers.working_set.interior import (
    KernelList,
    direction,
    half_curvature,
    newton_solver,
    solve_interior,
    step_length,
)
from manykernels.solvers.working_set.restricted import (
    FeatureGroups,
    Model,
    as_solution,
    no_groups,
    restricted_gap,
    smooth_gap,
    solve_restricted,
    value,
)

REPRESENTATIONS = ["columns", "blocks", "sparse", "grams"]
STRENGTHS = [1e-6, 1e-3, 0.1, 10.0]
SMOOTH = [loss for loss in LOSSES if isinstance(loss, SmoothLoss)]
inaccurate = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def name(loss):
    return type(loss).__name__


def solved(problem, family, tol=1e-6, rounds=30, batch=20, start=None):
    """Run to a small gap; return the result and the states on the way."""
    states = []

    def remember(state, record):
        states.append(state)

    rng = np.random.default_rng(0)
    solver = WorkingSet(batch)
    return run(solver, problem, family, rng, rounds, tol, callback=remember, start=start), states


def grouped(rng, loss, strength=0.02, outputs=1, intercept=False, n=30, width=2):
    """Return a problem and eight groups of columns, of which it needs two."""
    columns = rng.normal(size=(n, 8 * width))
    owners = np.repeat(np.arange(8), width)
    y = columns[:, :1] - columns[:, -outputs:] + 0.5 * rng.normal(size=(n, outputs))
    if loss.classification:
        y = np.where(y > np.median(y, axis=0), 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=n)
    problem = Problem(y, weights / weights.sum(), loss, strength, 1.0, intercept)
    return problem, columns, owners


def tall(columns):
    return TallColumns(lambda rows: columns[rows], *columns.shape)


def groups_of(problem, columns, owners):
    """Return groups of columns with coefficients of zero."""
    return no_groups(problem).add(tall(columns), owners)


def plain_value(problem, columns, owners, coefficients, intercept):
    """Return the objective from its definition."""
    fitted = columns @ coefficients + intercept
    losses = problem.loss.value(problem.y, fitted).sum(axis=1)
    norms = [np.linalg.norm(coefficients[owners == i]) for i in range(owners.max() + 1)]
    return float(problem.weights @ losses + problem.strength / 2 * sum(norms) ** 2)


def accuracy(loss):
    """Return a relative gap that is reached whatever the data; kinks make the last digits hard."""
    return 1e-6 if isinstance(loss, SmoothLoss) else 1e-4


# Groups of columns: Newton's method with exact zeros


@inaccurate
@pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize(("outputs", "width"), [(1, 1), (1, 2), (3, 1), (2, 2)])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_restricted_optimum_is_that_of_a_conic_solver(loss, outputs, width, intercept, rng):
    strength = 10 ** rng.uniform(-5, 1)
    problem, columns, owners = grouped(rng, loss, strength, outputs, intercept, width=width)
    optimum, _, _ = conic_minimum(problem, columns, owners)
    groups, slopes = solve_restricted(problem, groups_of(problem, columns, owners), 1e-6)
    found = plain_value(problem, columns, owners, groups.coefficients, groups.intercept)
    slack = 3 * accuracy(loss) * optimum + 1e-8
    assert found == pytest.approx(optimum, abs=slack)
    assert value(problem, loss, groups) == pytest.approx(found, rel=1e-12)
    gap = restricted_gap(problem, groups, slopes)
    assert gap <= accuracy(loss)
    assert gap * found >= found - optimum - slack


@inaccurate
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_zeros_are_exact_and_those_of_the_optimum(loss, width, rng):
    problem, columns, owners = grouped(rng, loss, 0.5, width=width)
    _, _, norms = conic_minimum(problem, columns, owners)
    groups, _ = solve_restricted(problem, groups_of(problem, columns, owners), 1e-9)
    own = groups.norms(groups.coefficients)
    assert np.count_nonzero(own) < 8
    np.testing.assert_allclose(own, norms, atol=2e-3 * norms.max())
    assert np.all(norms[own == 0] <= 1e-3 * norms.max())


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_restricted_gap_bounds_the_distance_at_any_point(loss, rng):
    problem, columns, owners = grouped(rng, loss, 0.05, 2)
    groups = groups_of(problem, columns, owners)
    best, _ = solve_restricted(problem, groups, 1e-8)
    optimum = value(problem, loss, best)
    for size in (0.0, 0.1, 1.0):
        # A step towards the optimum and one in a random direction.
        for end in (best.coefficients, rng.normal(size=best.coefficients.shape)):
            there = replace(groups, coefficients=size * end)
            slopes = loss.gradient(problem.y, there.fitted)
            gap = restricted_gap(problem, there, slopes) * value(problem, loss, there)
            assert gap >= value(problem, loss, there) - optimum - 1e-7 * optimum
            if isinstance(loss, SmoothLoss):
                pull = columns.T @ (problem.weights[:, None] * slopes)
                other = smooth_gap(problem, there, slopes, pull)
                assert other == pytest.approx(gap, rel=1e-8, abs=1e-9 * optimum)


@pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_a_model_of_the_squared_loss_has_the_true_derivatives(width, outputs, intercept, rng):
    """Its minimum is where a Newton step with finite differences leads, if no group is zero."""
    problem, columns, owners = grouped(rng, Squared(), 0.01, outputs, intercept, width=width)
    shape = (columns.shape[1], outputs)
    true = rng.choice([-1, 1], shape) * (1 + rng.random(shape))
    problem = replace(problem, y=columns @ true)
    near = true + 0.1 * rng.normal(size=shape)
    groups = FeatureGroups(tall(columns), owners, near, np.zeros(outputs))
    slopes = problem.loss.gradient(problem.y, groups.fitted)
    curvature = problem.loss.curvature(problem.y, groups.fitted)
    pull = columns.T @ (problem.weights[:, None] * slopes)
    moved = Model(problem, groups, slopes, pull, curvature).trials()[0]()
    assert (groups.norms(moved.coefficients) > 0).all()

    def objective(point):
        coefficients = point[: columns.shape[1] * outputs].reshape(shape)
        constant = point[columns.shape[1] * outputs :] if intercept else 0.0
        return plain_value(problem, columns, owners, coefficients, constant)

    point = groups.coefficients.ravel()
    if intercept:
        point = np.append(point, groups.intercept)
    step = 1e-4
    offsets = step * np.eye(len(point))
    gradient = [(objective(point + e) - objective(point - e)) / (2 * step) for e in offsets]
    hessian = [
        [
            objective(point + e + f)
            - objective(point + e - f)
            - objective(point - e + f)
            + objective(point - e - f)
            for f in offsets
        ]
        for e in offsets
    ]
    target = point - np.linalg.solve(np.array(hessian) / (4 * step**2), gradient)
    found = moved.coefficients.ravel()
    if intercept:
        found = np.append(found, moved.intercept)
    np.testing.assert_allclose(found, target, atol=1e-3)


def test_groups_are_kept_and_added(rng):
    problem, columns, owners = grouped(rng, Squared(), outputs=2, width=3)
    groups = FeatureGroups(tall(columns), owners, rng.normal(size=(24, 2)), rng.normal(size=2))
    some = rng.random(8) < 0.5
    some[:2] = True, False
    part = groups.keep(some)
    assert part.count == some.sum()
    np.testing.assert_array_equal(
        part.norms(part.coefficients), groups.norms(groups.coefficients)[some]
    )
    more = part.add(tall(columns[:, :4]), np.array([0, 0, 0, 1]))
    assert more.count == part.count + 2
    np.testing.assert_allclose(more.fitted, part.fitted, atol=1e-12)
    assert no_groups(problem).count == 0


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_solution_in_weights_is_the_same_predictor(loss, rng):
    problem, columns, owners = grouped(rng, loss, outputs=2, intercept=True)
    groups, slopes = solve_restricted(problem, groups_of(problem, columns, owners), 1e-7)
    groups = groups.keep(groups.norms(groups.coefficients) > 0)
    theta, solution = as_solution(problem, groups, slopes)
    assert theta.sum() == pytest.approx(1.0)
    roots = np.sqrt(theta)[groups.owners, None]
    fitted = groups.columns.dot(roots * solution.coefficients) + solution.intercept
    np.testing.assert_allclose(fitted, groups.fitted, atol=1e-10)
    quadratic = problem.strength / 2 * np.sum(solution.coefficients**2)
    assert solution.objective == pytest.approx(problem.risk(fitted) + quadratic, rel=1e-10)


# Interior points in the weights


def kernel_list(rng, representation, n=12):
    family = ListFamily(make_bases(representation, rng, n=n), rho=rng.uniform(0.5, 2.0, size=4))
    return KernelList(family, family.indices())


@pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber(50.0)], ids=name)
def test_half_curvature_is_the_second_derivative(loss, representation, outputs, intercept, rng):
    """Of J, by differences of its gradient; Huber's loss is quadratic here."""
    kernels = kernel_list(rng, representation)
    y = rng.normal(size=(12, outputs))
    if loss.classification:
        y = np.where(y > np.median(y, axis=0), 1.0, -1.0)
    problem = Problem(y, rng.dirichlet(np.full(12, 5.0)), loss, 0.05, 1.0, intercept)
    theta = rng.dirichlet(np.full(4, 5.0))

    def state(theta):
        system = kernels.system(theta)
        solution = solve(problem, system, tol=1e-14)
        return system, solution, kernels.responses(solution.alpha)

    def gradient(theta):
        _, solution, _ = state(theta)
        return -problem.strength / 2 * kernels.family.at(solution.alpha).all()

    system, solution, responses = state(theta)
    masses = np.einsum("mnc,nc->m", responses, solution.alpha)
    np.testing.assert_allclose(masses, kernels.family.at(solution.alpha).all(), rtol=1e-9)
    half = half_curvature(problem, system.matrix(), solution.fitted, responses)
    step = 1e-4 * np.eye(4)
    expected = [(gradient(theta + e) - gradient(theta - e)) / 2e-4 for e in step]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(half.T @ half, expected, atol=1e-3 * scale)


@pytest.mark.parametrize("rows", [3, 20])
def test_newton_solver_solves_both_forms(rows, rng):
    half, theta, z = rng.normal(size=(rows, 8)), rng.random(8) + 0.1, rng.random(8) + 0.1
    right = rng.normal(size=8)
    expected = np.linalg.solve(half.T @ half + np.diag(z / theta), right)
    np.testing.assert_allclose(newton_solver(theta, z, half)(right), expected, atol=1e-9)


def test_directions_keep_the_sum_of_weights(rng):
    half = rng.normal(size=(5, 8))
    theta, z, gradients = rng.dirichlet(np.ones(8)), rng.random(8) + 0.1, rng.random(8)
    move, change = direction(theta, z, gradients, newton_solver(theta, z, half))
    assert move.sum() == pytest.approx(0.0, abs=1e-10)
    # Multipliers follow the gradients of the model up to the common multiplier.
    level = z + change - half.T @ (half @ move) + gradients
    np.testing.assert_allclose(level, level[0], atol=1e-9)
    assert np.all(theta + step_length(theta, move) * move > 0)
    assert np.all(z + step_length(z, change) * change > 0)


@pytest.mark.parametrize(("move", "length"), [(2.0, 1.0), (-0.5, 1.0), (-2.0, 0.49)])
def test_steps_end_before_the_boundary(move, length):
    assert step_length(np.ones(2), np.array([move, 0.0])) == pytest.approx(length)


@inaccurate
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_interior_optimum_is_that_of_a_conic_solver(loss, representation, strength, rng):
    problem, family, columns, owners = random_setting(rng, loss, representation, strength, 1.0)
    optimum, _, _ = conic_minimum(problem, columns, owners)
    kernels = KernelList(family, family.indices())
    theta, solution = solve_interior(problem, kernels, 1e-6)
    assert np.all(theta > 0)
    assert theta.sum() == pytest.approx(1.0)
    slack = 3e-6 * optimum + 1e-8
    assert solution.objective == pytest.approx(optimum, abs=slack)
    certificate = exact(problem, solution, family.at(solution.alpha))
    assert certificate.relative <= 1e-6
    assert certificate.gap >= solution.objective - optimum - slack


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse"])
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_both_methods_agree(loss, representation, strength, rng):
    problem, family, columns, owners = random_setting(rng, loss, representation, strength, 1.0)
    groups, slopes = solve_restricted(problem, groups_of(problem, columns, owners), 1e-7)
    theta, inside = solve_interior(problem, KernelList(family, family.indices()), 1e-7)
    own, newton = as_solution(problem, groups, slopes)
    # Tiny strengths make losses with jumps of curvature hard: there the gaps say how far off.
    masses = family.at(inside.alpha).all()
    left = restricted_gap(problem, groups, slopes) * newton.objective
    right = from_norm(problem, inside, float(masses.max()), "exact").gap
    assert newton.objective - inside.objective <= left * (1 + 1e-6) + 1e-12
    assert inside.objective - newton.objective <= right * (1 + 1e-6) + 1e-12
    if strength >= 1e-3:  # else it may be that several predictors are nearly optimal
        assert newton.objective == pytest.approx(inside.objective, rel=3e-7, abs=1e-12)
        span = 0.02 * np.ptp(problem.y)
        np.testing.assert_allclose(newton.fitted, inside.fitted, atol=span)
        assert np.all(theta[own == 0] < 0.1)


# Whole families


@inaccurate
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_optimum_is_that_of_a_conic_solver(loss, representation, strength, rng):
    """The gap bounds the distance to the optimum at every round."""
    problem, family, columns, owners = random_setting(rng, loss, representation, strength, 1.0)
    optimum, _, _ = conic_minimum(problem, columns, owners)
    kinked = not isinstance(loss, SmoothLoss)
    tol = accuracy(loss)
    result, states = solved(problem, family, tol, batch=int(rng.choice([1, 3, 20])))
    slack = 3e-6 * optimum + 1e-8
    assert result.certificate.kind == "exact"
    if strength >= 1e-3 or not kinked:
        assert result.converged
        assert result.solution.objective == pytest.approx(optimum, abs=tol * optimum + slack)
    for state in states:
        distance = state.solution.objective - optimum
        assert distance >= -slack
        assert state.certificate.gap >= distance - slack


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredHinge(), Hinge()], ids=name)
def test_states_are_consistent(loss, representation, rng):
    """Weights add up to one, coefficients give the predictions, these give the objective."""
    problem, family, _, _ = random_setting(rng, loss, representation, 0.02, 1.0)
    _, states = solved(problem, family, 1e-3, rounds=10)
    for state in states[1:]:
        indices, theta = state.weights
        assert np.all(theta > 0)
        assert theta.sum() == pytest.approx(1.0)
        assert state.active == len(set(indices)) == len(theta)
        solution = state.solution
        if solution.in_features:
            columns, owners = family.features(indices)
            columns = columns * np.sqrt(theta)[owners]
            values = columns @ solution.coefficients
            norm = np.sum(solution.coefficients**2)
        else:
            values = family.gram(indices, theta) @ solution.coefficients
            norm = np.sum(solution.coefficients * values)
        fitted = values + solution.intercept
        np.testing.assert_allclose(fitted, solution.fitted, atol=1e-7)
        objective = problem.risk(fitted) + problem.strength / 2 * norm
        assert solution.objective == pytest.approx(objective, rel=1e-6)
        certificate = exact(problem, solution, family.at(solution.alpha))
        assert state.certificate.gap == pytest.approx(certificate.gap, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("representation", ["columns", "blocks"])
def test_batches_change_the_way_and_not_the_answer(representation, loss, rng):
    problem, family, _, _ = random_setting(rng, loss, representation, 0.01, 1.0)
    tol = accuracy(loss)
    whole, _ = solved(problem, family, tol, batch=1000)
    for batch in (1, 4):
        part, _ = solved(problem, family, tol, batch=batch)
        assert part.converged
        assert part.solution.objective == pytest.approx(whole.solution.objective, rel=2 * tol)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=name)
def test_a_start_changes_the_way_and_not_the_answer(loss, representation, rng):
    problem, family, _, _ = random_setting(rng, loss, representation, 0.02, 1.0)
    tol = 1e-3 if loss == Hinge() and representation == "grams" else accuracy(loss)
    other, _ = solved(replace(problem, strength=0.1), family, tol)
    cold, _ = solved(problem, family, tol)
    warm, _ = solved(problem, family, tol, start=other)
    assert warm.converged
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=2 * tol)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=name)
def test_a_start_without_kernels_is_none(loss, representation, rng):
    problem, family, _, _ = random_setting(rng, loss, representation, 0.02, 1.0)
    problem = replace(problem, intercept=True)
    tol = 1e-3 if loss == Hinge() else 1e-6
    empty, _ = solved(replace(problem, strength=1e6), family, 0.5)
    assert list(empty.indices) == []
    cold, _ = solved(problem, family, tol)
    warm, _ = solved(problem, family, tol, start=empty)
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=2 * tol)


def test_paths_of_kernels_without_features_start_empty(rng):
    X = rng.normal(size=(40, 3))
    model = MKLRegressorCV(kernels="rbf", p=1, cv=3).fit(X, np.sin(X[:, 0]))
    assert model.score(X, np.sin(X[:, 0])) > 0.5


def test_few_kernels_of_many_are_in_use(rng):
    """A sum of two products, out of 1,771, with a penalty above the noise."""
    bases = make_bases("columns", rng, n=200, r=20)
    family = ProductFamily(bases, 3, Monomials(), rho=[1, 1, 2, 4])
    x = bases.features
    y = x[:, 1] * x[:, 7] + x[:, 3] + 0.05 * rng.normal(size=200)
    problem = Problem(y[:, None], np.full(200, 1 / 200), Squared(), 0.05, 1.0, True)
    result, _ = solved(problem, family, 1e-6)
    assert result.converged
    theta = dict(zip(result.indices, result.theta, strict=True))
    assert theta[1, 7] + theta[3,] > 0.9
    assert len(theta) < 40


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_a_target_without_signal(representation, rng):
    family = ProductFamily(make_bases(representation, rng), 2)
    problem = Problem(np.full((12, 1), 3.0), np.full(12, 1 / 12), Squared(), 0.1, 1.0, True)
    result, _ = solved(problem, family)
    assert result.converged
    np.testing.assert_allclose(result.solution.fitted, 3.0)


@pytest.mark.parametrize("strength", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_a_strong_penalty_leaves_the_constant(loss, representation, strength, rng):
    """The constant is not penalised; alone it gives the median, the mean or the log odds."""
    family = ListFamily(make_bases(representation, rng, n=20))
    y = 3 + rng.normal(size=(20, 1))
    if loss.classification:
        y = np.where(np.arange(20) < 6, -1.0, 1.0)[:, None]
    problem = Problem(y, np.full(20, 1 / 20), loss, strength, 1.0, True)
    tol = accuracy(loss)
    result, states = solved(problem, family, tol)
    grid = np.linspace(-1, 7, 8001)
    constant = min(problem.risk(np.full((20, 1), b)) for b in grid)
    assert result.converged
    assert result.solution.objective <= constant * (1 + 2 * tol)
    assert result.solution.objective >= constant * (1 - 10 / strength) - tol
    for state in states:
        distance = state.solution.objective - result.solution.objective
        assert state.certificate.gap >= distance - 2 * tol * constant


def test_few_rounds_near_interpolation(rng):
    """With hardly any penalty exact optima of small sets would lead from kernel to kernel."""
    n = 80
    X = rng.normal(size=(n, 15))
    y = np.sign(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n))
    family = ProductFamily(FeatureBlocks(X), 3, Monomials())
    problem = Problem(y[:, None], np.full(n, 1 / n), Squared(), 1e-5 / n, 1.0, False)
    result = run(WorkingSet(), problem, family, rng, 25, 1e-3)
    assert result.converged


@pytest.mark.parametrize("alpha", [1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_tiny_strengths_of_classes(alpha, noise, rng):
    """All rows are saturated: Newton steps must not become steps downhill."""
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + noise * rng.normal(size=60) > 0
    model = MKLClassifier(p=1, alpha=alpha, max_iter=10).fit(X, y)
    assert model.gap_ < 1e-2
    assert model.gap_kind_ == "exact"
