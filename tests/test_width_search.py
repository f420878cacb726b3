"""The search for widths, and its parts, against other ways to the same answers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from manykernels.bases import GramStack, WidthRows
from manykernels.bases.width_rows import SHAPES
from manykernels.dual import ConjugateSystem, GramSystem, solve
from manykernels.dual.conjugate import conjugate_gradients
from manykernels.families import ListFamily, WidthFamily
from manykernels.losses import Huber, Logistic, Squared
from manykernels.objective import Problem
from manykernels.solvers import run
from manykernels.solvers.nested import nested_rows, part_of
from manykernels.solvers.widths import WidthSearch
from manykernels.solvers.widths.evidence import Setting, WidthEvidence
from manykernels.solvers.widths.held import HeldKernels
from manykernels.solvers.widths.scores import WidthScores
from manykernels.solvers.widths.search import STAGES, Stage, at_noise, parameters, share_done
from manykernels.solvers.widths.slide import WIDTH_SPREAD, slide, uneven
from manykernels.solvers.widths.weighing import set_gap, weigh
from manykernels.solvers.widths.whole import WholeKernel
from manykernels.solvers.working_set.interior import KernelList, solve_interior
from width_truth import minus_log_evidence

SHORT = WidthSearch((Stage(120, 1, 5), Stage(300, 1, 5)), pricing_rows=100)
"""A search of some tenths of a second."""


def drawn_problem(rng, n=150, r=3, loss=None, strength=1e-3, outputs=1, intercept=True):
    """Return a family of widths on random rows, and a problem of a function of two columns."""
    X = rng.normal(size=(n, r))
    y = np.sin(2 * X[:, :1]) * X[:, 1:2] + 0.1 * rng.normal(size=(n, 1))
    y = np.hstack([y, X[:, :1] ** 2 - 0.5])[:, :outputs]
    loss = loss or Squared()
    y = np.where(y > 0, 1.0, -1.0) if loss.classification else y
    weights = rng.gamma(2.0, size=n)
    problem = Problem(y, weights / weights.sum(), loss, strength, 1.0, intercept)
    return WidthFamily(WidthRows(X)), problem


def drawn_kernels(rng, r=3, count=6):
    """Return kernels of all shapes with random columns and widths."""
    kernels = []
    for number in range(count):
        size = int(rng.integers(1, r + 1))
        columns = tuple(sorted(rng.choice(r, size, replace=False).tolist()))
        shape = ("gaussian", "laplace", "radial")[number % 3]
        kernels.append((shape, columns, tuple(rng.gamma(1.0, size=size).tolist())))
    return kernels


def search(problem, family, rng, solver=SHORT):
    *rounds, state = solver.iterate(problem, family, rng)
    assert [one.k for one in rounds] == list(range(1, state.k))
    return state


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
@pytest.mark.parametrize("outputs", [1, 2])
def test_weights_are_those_of_interior_points(loss, outputs, rng):
    family, problem = drawn_problem(rng, loss=loss, outputs=outputs)
    kernels = drawn_kernels(rng)
    held = HeldKernels(family, kernels)
    now = weigh(problem, held, np.full(len(kernels), 1 / len(kernels)), 1e-6, 50)
    grams = GramStack(np.array([family.bases.kernel(kernel) for kernel in kernels]))
    listed = ListFamily(grams)
    theta, solution = solve_interior(problem, KernelList(listed, listed.indices()), 1e-8)
    assert set_gap(problem, now) < 1e-4
    assert now.solution.objective == pytest.approx(solution.objective, rel=1e-4)
    np.testing.assert_allclose(now.theta, theta, atol=0.02)
    assert now.theta.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber()])
@pytest.mark.parametrize("intercept", [True, False])
def test_conjugate_gradients_solve_as_cholesky_does(loss, intercept, held, rng):
    family, problem = drawn_problem(rng, loss=loss, intercept=intercept, outputs=2)
    kernels = drawn_kernels(rng)
    theta = rng.dirichlet(np.ones(len(kernels)))
    exact = solve(problem, GramSystem(family.gram(kernels, theta)))
    whole = WholeKernel(family, kernels, theta, held)
    found = solve(problem, ConjugateSystem(whole, rng.choice(150, 40, replace=False)), tol=1e-8)
    assert not found.in_features
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)
    other = family.on(WidthRows(rng.normal(size=(50, 3))))
    new = other.gram(kernels, theta, family)
    there = new @ found.coefficients + found.intercept
    np.testing.assert_allclose(there, new @ exact.coefficients + exact.intercept, atol=1e-3)


def test_whole_kernels_are_those_of_all_blocks(rng, monkeypatch):
    monkeypatch.setattr("manykernels.solvers.widths.whole.KERNEL_ROWS", 7)
    monkeypatch.setattr("manykernels.solvers.widths.whole.BLOCK_COLUMNS", 40)
    family, _ = drawn_problem(rng)
    kernels, vectors = drawn_kernels(rng), rng.normal(size=(family.rows, 2))
    theta = rng.dirichlet(np.ones(len(kernels)))
    truth = family.gram(kernels, theta) @ vectors
    for held in (True, False):
        found = WholeKernel(family, kernels, theta, held).product(vectors)
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-5 * np.abs(truth).max())


def test_scores_and_slopes_are_those_of_the_kernel(rng):
    X = rng.normal(size=(40, 4))
    X[:, 2] = rng.integers(3, size=40)
    rows, alpha = WidthRows(X, {2: 3}), rng.normal(size=(40, 2))
    scores = WidthScores(rows, np.arange(4))
    scores.at(alpha)

    def truth(shape, widths):
        return np.sum(alpha * (rows.kernel((shape, (0, 1, 2, 3), tuple(widths))) @ alpha))

    for shape in ("gaussian", "laplace", "radial"):
        widths, step = rng.gamma(1.0, size=4), 1e-5
        score, slopes = scores(shape, widths)
        assert score == pytest.approx(truth(shape, widths), rel=1e-4)
        for j in range(4):
            factors = np.exp(step * np.eye(4)[j])
            rise = truth(shape, widths * factors) - truth(shape, widths / factors)
            assert slopes[j] == pytest.approx(rise / (2 * step), rel=1e-3, abs=1e-3 * score)


@pytest.mark.parametrize("shapes", [("gaussian",), ("laplace", "radial"), ("radial",)])
def test_scores_do_not_depend_on_what_is_held(shapes, rng):
    X = rng.normal(size=(400, 3))
    X[:, 2] = rng.integers(3, size=400)
    rows, alpha = WidthRows(X, {2: 3}), rng.normal(size=(400, 1))
    widths = rng.gamma(1.0, size=(len(shapes), 3))
    every, held, anew = (
        WidthScores(rows, np.arange(3), shapes=own, room=room)
        for own, room in ((SHAPES, np.inf), (shapes, np.inf), (shapes, 0))
    )
    assert all(block.far is not None for block in held.blocks)
    assert all(block.far is None for block in anew.blocks)
    every.at(alpha)
    truth = every.of(shapes, widths)
    for scores in (held, anew):
        scores.at(alpha)
        np.testing.assert_array_equal(scores.of(shapes, widths)[0], truth[0])
        np.testing.assert_array_equal(scores.of(shapes, widths)[1], truth[1])


def test_scores_of_a_sample_estimate_those_of_all_rows(rng):
    rows, alpha = WidthRows(rng.normal(size=(300, 2))), rng.normal(size=(300, 1)) + 0.3
    widths, means = np.array([0.5, 0.2]), []
    everything = WidthScores(rows, np.arange(2))
    everything.at(alpha)
    for _ in range(40):
        some = rng.choice(300, 60, replace=False)
        scores = WidthScores(rows.take(some), np.arange(2))
        scores.at(alpha[some], 299 / 59)
        means.append(300 / 60 * scores("laplace", widths)[0])
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - everything("laplace", widths)[0]) < 4 * error


@pytest.mark.parametrize("outputs", [1, 2])
def test_evidence_is_that_of_a_normal_law_and_slopes_those_of_differences(outputs, rng):
    family, problem = drawn_problem(rng, n=40, outputs=outputs)
    kernels, shares = drawn_kernels(rng), rng.dirichlet(np.ones(6))
    evidence = WidthEvidence(problem, family, kernels, np.float64)
    here = Setting(shares, evidence.start, 0.05)
    value, slopes = evidence(here)
    weights = problem.weights
    y, noise = problem.y - weights @ problem.y, 0.05 * weights.mean() / weights
    gram = family.gram(kernels, shares)
    assert value == pytest.approx(minus_log_evidence(y, gram, noise))

    def rise(*moves):
        up, down = (evidence(Setting(*move))[0] for move in moves)
        return (up - down) / 2e-4

    for i in range(6):
        step = 1e-4 * np.eye(6)[i]
        moves = [(shares + sign * step, evidence.start, 0.05) for sign in (1, -1)]
        assert slopes.shares[i] == pytest.approx(rise(*moves), rel=1e-5, abs=1e-7)
        for j in kernels[i][1]:
            factors = np.ones_like(evidence.start)
            factors[i, j] = np.exp(1e-4)
            moves = [(shares, evidence.start * factors**sign, 0.05) for sign in (1, -1)]
            assert slopes.widths[i, j] == pytest.approx(rise(*moves), rel=1e-5, abs=1e-7)
    moves = [(shares, evidence.start, 0.05 * np.exp(sign * 1e-4)) for sign in (1, -1)]
    assert slopes.noise == pytest.approx(rise(*moves), rel=1e-5, abs=1e-7)


def widths_and_owners(kernels):
    """Return the logarithms of all widths, and the number of the kernel of each."""
    owners = [number for number, kernel in enumerate(kernels) for _ in kernel[2]]
    return np.log([width for kernel in kernels for width in kernel[2]]), np.array(owners)


def test_uneven_widths_cost_what_a_normal_law_says(rng):
    from scipy.stats import norm

    logs, owners = widths_and_owners(drawn_kernels(rng))
    means = np.array([logs[owners == owner].mean() for owner in owners])
    law = norm(means, WIDTH_SPREAD)
    value, slopes = uneven(logs, owners, 50)
    assert value == pytest.approx(np.sum(law.logpdf(means) - law.logpdf(logs)) / 50)
    for i in range(len(logs)):
        step = 1e-5 * (np.arange(len(logs)) == i)
        ends = [uneven(logs + sign * step, owners, 50)[0] for sign in (1, -1)]
        assert slopes[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)


def test_strength_of_labels_is_that_of_squares_of_the_same_slope_and_curvature(rng):
    _, problem = drawn_problem(rng, loss=Logistic())
    squared = at_noise(replace(problem, loss=Squared()), 0.3)
    assert squared.strength == pytest.approx(0.3 / len(problem.y))
    logistic = at_noise(problem, 0.3)
    assert logistic.strength == pytest.approx(squared.strength / 4 + 1 / 4 / len(problem.y))


def test_kernels_that_bring_less_than_their_parameters_cost_are_taken_back(rng, monkeypatch):
    family, problem = drawn_problem(rng)
    solver = WidthSearch((Stage(150, 3, 5),))
    monkeypatch.setattr("manykernels.solvers.widths.search.ROUND_GAIN", -np.inf)
    monkeypatch.setattr("manykernels.solvers.widths.search.PARAMETER_COST", 1e6)
    *rounds, last = solver.iterate(problem, family, rng)
    counts = [parameters(one.found.kernels) for one in rounds]
    assert all(after < before for before, after in pairwise(counts))
    assert parameters(last.weights[0]) == counts[-1]


def test_a_slide_gains_evidence(rng):
    family, problem = drawn_problem(rng)
    kernels, theta = drawn_kernels(rng), np.full(6, 1 / 6)
    y, spread = problem.y - problem.weights @ problem.y, 1 / problem.weights
    spread *= problem.weights.mean()
    before = minus_log_evidence(y, family.gram(kernels, theta), 0.1 * spread)
    moved = slide(problem, family, kernels, theta, 0.1, 10)
    gram = family.gram(moved.kernels, moved.theta)
    after = minus_log_evidence(y, gram, moved.noise * spread)
    logs, owners = widths_and_owners(moved.kernels)
    # Flat columns are left out.
    assert after + uneven(logs, owners, len(y))[0] == pytest.approx(moved.value, abs=0.1)
    assert after < before - 0.1
    assert moved.theta.sum() == pytest.approx(1.0)
    assert {shape for shape, _, _ in moved.kernels} <= {"gaussian", "laplace", "radial"}


def test_a_slide_never_ends_without_kernels(rng):
    X = rng.normal(size=(60, 1))
    problem = Problem(X.copy(), np.full(60, 1 / 60), Squared(), 1e-3, 1.0, True)
    kernels = [("gaussian", (0,), (1.1e-4,))]  # flat from the start, and it takes no step
    moved = slide(problem, WidthFamily(WidthRows(X)), kernels, np.ones(1), 1e-4, 0)
    assert moved.kernels == kernels
    np.testing.assert_array_equal(moved.theta, [1.0])


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
def test_the_state_is_what_it_says(loss, rng):
    family, problem = drawn_problem(rng, n=400, loss=loss, outputs=2)
    state = search(problem, family, rng)
    indices, theta = state.weights
    gram = family.gram(indices, theta)
    alpha, b = state.solution.coefficients, state.solution.intercept
    values = gram @ alpha
    np.testing.assert_allclose(values + b, state.solution.fitted, atol=1e-4)
    objective = problem.primal(values + b, float(np.sum(alpha * values)))
    assert state.solution.objective == pytest.approx(objective, rel=1e-4)
    assert state.solution.alpha.shape == problem.y.shape
    assert theta.sum() == pytest.approx(1.0)
    assert state.certificate.kind == "estimate"
    assert state.certificate.relative >= 0


def test_the_columns_of_a_function_are_found(rng):
    X = rng.normal(size=(500, 10))
    y = np.sin(2 * X[:, [3]]) * X[:, [7]]
    problem = Problem(y, np.full(500, 1 / 500), Squared(), 1e-4, 1.0, True)
    for degree in (None, 2):
        family = WidthFamily(WidthRows(X), degree)
        (indices, theta) = search(problem, family, rng).weights
        assert all(len(columns) <= (degree or 10) for _, columns, _ in indices)
        share = np.zeros(10)
        for (_, columns, widths), weight in zip(indices, theta, strict=True):
            share[list(columns)] += weight * np.array(widths) / sum(widths)
        assert set(np.argsort(share)[-2:].tolist()) == {3, 7}
        assert share[[3, 7]].sum() > 0.8


def test_a_row_of_weight_two_is_a_row_twice(rng):
    family, problem = drawn_problem(rng, n=80)
    kernels = drawn_kernels(rng)
    theta = np.full(len(kernels), 1 / len(kernels))
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    weighted = replace(problem, weights=weights / weights.sum())
    rows = np.repeat(np.arange(80), weights.astype(int))
    repeated = replace(problem, y=problem.y[rows], weights=np.full(100, 0.01))
    twice = family.on(family.bases.take(rows))
    one = weigh(weighted, HeldKernels(family, kernels), theta, 1e-7, 50)
    two = weigh(repeated, HeldKernels(twice, kernels), theta, 1e-7, 50)
    assert one.solution.objective == pytest.approx(two.solution.objective, rel=1e-5)
    np.testing.assert_allclose(one.theta, two.theta, atol=0.01)


def test_matrices_made_anew_give_the_same_weights(rng):
    family, problem = drawn_problem(rng)
    kernels = drawn_kernels(rng)
    theta = np.full(len(kernels), 1 / len(kernels))
    held = weigh(problem, HeldKernels(family, kernels), theta, 1e-6, 50)
    family.room = 2 * 4 * family.rows**2
    tight = HeldKernels(family, kernels)
    assert len(tight.matrices) == 2
    made = weigh(problem, tight, theta, 1e-6, 50)
    np.testing.assert_allclose(made.theta, held.theta, atol=1e-6)


def test_a_search_with_little_room_ends_at_the_same_function(rng):
    family, problem = drawn_problem(rng, n=400)
    seed = int(rng.integers(2**31))
    whole = search(problem, family, np.random.default_rng(seed))
    family.room = 10.0
    tight = search(problem, family, np.random.default_rng(seed))
    np.testing.assert_allclose(tight.solution.fitted, whole.solution.fitted, atol=0.02)


def test_a_search_starts_from_the_kernels_of_another_strength(rng):
    family, problem = drawn_problem(rng, n=300)
    first = run(SHORT, problem, family, rng, 10, 1e-2)
    weaker = replace(problem, strength=problem.strength / 3)
    again = run(SHORT, weaker, family, rng, 10, 1e-2, start=first)
    assert again.solution.objective < first.solution.objective


def test_arrays_of_torch_give_the_same_function(rng):
    torch = pytest.importorskip("torch")
    family, problem = drawn_problem(rng, n=400)
    kernels, theta = drawn_kernels(rng), np.full(6, 1 / 6)
    there = WidthFamily(WidthRows(torch.asarray(family.bases.values)))
    landmarks = np.arange(50)
    one, two = (
        solve(problem, ConjugateSystem(WholeKernel(each, kernels, theta, True), landmarks))
        for each in (family, there)
    )
    np.testing.assert_allclose(one.fitted, two.fitted, atol=1e-4)
    assert search(problem, there, rng).solution.objective < problem.risk(0 * problem.y) / 2


def test_nested_rows_grow_and_keep_the_shares_of_classes(rng):
    y = np.where(np.arange(400) < 100, 1.0, -1.0)[:, None]
    problem = Problem(y, np.full(400, 1 / 400), Logistic(), 0.1, 1.0)
    subsets = nested_rows(problem, [40, 120, 500, 900], rng)
    assert [None if rows is None else len(rows) for rows in subsets] == [40, 120, None]
    assert set(subsets[0]) < set(subsets[1])
    for rows in subsets[:2]:
        assert abs(np.mean(y[rows] > 0) - 0.25) <= 1 / len(rows)
    part = part_of(problem, subsets[0])
    assert part.weights.sum() == pytest.approx(1.0)
    assert part.strength * len(part.y) == pytest.approx(problem.strength * len(problem.y))
    assert part_of(problem, None) is problem


def test_conjugate_gradients_end_where_rounding_leaves_no_solution(rng):
    points = rng.normal(size=(120, 2))
    gram = WidthRows(points).kernel(("gaussian", (0, 1), (0.01, 0.01)))
    noise = rng.normal(size=gram.shape)
    rough = gram + 1e-3 * (noise + noise.T)  # not positive definite any more
    target = rng.normal(size=(120, 2))
    found = conjugate_gradients(lambda v: rough @ v, lambda v: 1e6 * v, target, 1e-12)
    assert np.all(np.isfinite(found))
    left = np.linalg.norm(target - rough @ found, axis=0)
    assert left.max() <= np.linalg.norm(target, axis=0).max() * (1 + 1e-9)


@pytest.mark.parametrize("rows", [300, 1_000, 4_000, 40_000])
def test_shares_of_a_search_rise_and_leave_some_for_all_rows(rows):
    places = [0, *(i for i in (1, 2) if STAGES[i - 1].rows < rows)]
    done = [
        share_done(STAGES, place, rounds, rows)
        for place in places
        for rounds in range(1, STAGES[place].rounds + 1)
    ]
    assert all(0 < before <= after < 1 for before, after in pairwise(done))
    assert (done[-1] < 0.5) == (rows == 40_000)  # the solve on all rows grows like their square


def test_a_search_says_how_much_is_done(rng):
    family, problem = drawn_problem(rng)
    states = list(SHORT.iterate(problem, family, np.random.default_rng(0)))
    shares = [state.share for state in states[:-1]]
    assert 0 < shares[0] < shares[-1] < 1
