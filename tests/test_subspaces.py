"""Kernels of several features in a few directions each, against a conic solver and enumeration."""

import tracemalloc
import warnings
from dataclasses import replace

import cvxpy
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from manykernels import MKLClassifier, MKLRegressor
from manykernels.bases import FeatureBlocks
from manykernels.dual import TallColumns
from manykernels.families import Interactions, Monomials, ProductFamily, Tuples
from manykernels.kernels import resolve
from manykernels.losses import Huber, Logistic, Squared, SquaredHinge
from manykernels.memory import budget
from manykernels.objective import Problem
from manykernels.solvers import WorkingSet, run
from manykernels.solvers.working_set.kernels import Subspaces, outside
from manykernels.solvers.working_set.lengths import minimum_in_lengths, nonnegative_minimum
from manykernels.solvers.working_set.prices import Prices


def solved(program):
    """Return the minimum; Clarabel's own doubts are about digits that are not asked for here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        return program.solve(solver="CLARABEL")


def spline_problem(rng, loss, intercept=True, rows=60, strength=1e-2, outputs=1):
    X = rng.normal(size=(rows, 3))
    X[:, 2] = np.arange(rows) % 4
    f = np.stack([np.sin((2 + c) * X[:, 0]) + X[:, 1] * X[:, 0] for c in range(outputs)], axis=1)
    f = f + 0.3 * rng.normal(size=f.shape)
    y = f if isinstance(loss, Squared | Huber) else np.where(f > 0, 1.0, -1.0)
    weights = rng.random(rows) + 0.1
    bases = resolve("auto", ["a", "b", "c"], 2).fit(X, X, weights / weights.sum())
    family = ProductFamily(bases, 2, Interactions())
    problem = Problem(y, weights / weights.sum(), loss, strength, 1.0, intercept)
    return problem, family


LOSSES = [Squared(), Logistic(), SquaredHinge(), Huber(0.5)]


def conic_optimum(problem, family):
    indices = family.indices()
    F, owners = family.features(indices)
    w, b = cvxpy.Variable((F.shape[1], problem.y.shape[1])), cvxpy.Variable((1, problem.y.shape[1]))
    f = F @ w + (np.ones((len(F), 1)) @ b if problem.intercept else 0)
    y, s = problem.y, problem.weights
    losses = {
        Squared: lambda: cvxpy.square(f - y) / 2,
        Logistic: lambda: cvxpy.logistic(cvxpy.multiply(-y, f)),
        SquaredHinge: lambda: cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, f))) / 2,
        Huber: lambda: cvxpy.huber(f - y, 0.5) / 2,
    }
    risk = cvxpy.sum(s @ losses[type(problem.loss)]())
    norms = sum(cvxpy.norm(w[owners == i], "fro") for i in range(len(indices)))
    penalty = problem.strength / 2 * cvxpy.square(norms)
    return solved(cvxpy.Problem(cvxpy.Minimize(risk + penalty)))


@pytest.mark.parametrize(("intercept", "outputs"), [(True, 3), (False, 1)])
@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_optimum_against_a_conic_solver(loss, strength, intercept, outputs, rng):
    problem, family = spline_problem(rng, loss, intercept, 40, strength, outputs)
    tol = 1e-6
    result = run(WorkingSet(), problem, family, rng, 200, tol)
    best = conic_optimum(problem, family)
    reached, gap = result.solution.objective, result.certificate.relative
    assert reached >= best * (1 - 1e-5) - 1e-8
    assert reached - best <= gap * reached + 1e-5 * best + 1e-8
    assert gap <= tol
    # The objective is that of the coefficients of all features, which predict.
    F, owners = family.features(result.indices)
    w = np.sqrt(result.theta)[owners, None] * result.solution.coefficients
    f = F @ w + result.solution.intercept
    norms = np.sqrt(np.bincount(owners, np.sum(w**2, axis=1)))
    again = problem.risk(f) + problem.strength / 2 * norms.sum() ** 2
    assert again == pytest.approx(reached, rel=1e-9)


@pytest.mark.parametrize("strength", [1e-2, 1e-4])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: type(loss).__name__)
def test_optimum_to_rounding(loss, strength, rng):
    problem, family = spline_problem(rng, loss, rows=150, strength=strength)
    result = run(WorkingSet(), problem, family, rng, 200, 1e-12)
    assert result.certificate.relative <= 1e-12
    # Where no digits are left to gain, a run ends by itself.
    result = run(WorkingSet(), problem, family, rng, 200, 0.0)
    assert result.n_iter < 100
    assert result.certificate.relative <= 1e-12


@pytest.mark.parametrize("strength", [1e-2, 1e-5])
def test_optimum_of_columns_that_are_there_twice(strength, rng):
    X = rng.normal(size=(100, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=100)
    twice = np.hstack([X, X[:, :2]])
    settings = {"kernels": "auto", "degree": 2, "p": 1, "alpha": strength, "tol": 1e-8}
    once, again = (MKLRegressor(**settings, max_iter=100).fit(Z, y) for Z in (X, twice))
    assert again.gap_ <= 1e-8
    # Two products of a column and its copy are kernels that the other table has not.
    assert again.objective_ <= once.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("strengths", [(1e-2, 1e-3), (1e-3, 1e-1), (1e-1, 1e-2)])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_from_the_optimum_of_another_strength(loss, strengths, rng):
    """Rows that were flat there may be curved here, and the other way round."""
    problem, family = spline_problem(rng, loss)
    result = None
    for strength in strengths:
        problem = replace(problem, strength=strength)
        result = run(WorkingSet(), problem, family, rng, 200, 1e-5, start=result)
        assert isinstance(result.memory, Subspaces)
    assert result.certificate.relative <= 1e-5
    cold = run(WorkingSet(), problem, family, rng, 200, 1e-5)
    assert result.solution.objective == pytest.approx(cold.solution.objective, rel=2e-5)


@pytest.mark.parametrize("tol", [3e-2, 3e-3])
def test_no_kernel_enters_twice(tol, rng):
    problem, family = spline_problem(rng, Squared(), rows=150)
    result = None
    for strength in np.geomspace(1, 1e-4, 25):
        problem = replace(problem, strength=float(strength))
        result = run(WorkingSet(), problem, family, rng, 100, tol, start=result)
        assert len(set(result.indices)) == len(result.indices)


def test_a_point_that_is_nearly_the_same_is_priced(rng):
    """Where gradients are tiny, a change of 1e-7 in the dual point changes them by any factor."""
    _, family = spline_problem(rng, Squared(), rows=200)
    F = family.features(family.indices())[0]
    axis = F[:, 5] / np.linalg.norm(F[:, 5])
    basis = np.linalg.qr(F)[0]
    alpha = rng.normal(size=200)
    alpha -= basis @ (basis.T @ alpha)
    alpha /= np.linalg.norm(alpha)
    prices = Prices(family)
    prices.top(alpha[:, None], 3)
    moved = (alpha + 1e-7 * axis)[:, None]
    bound = prices.top(moved, 3)[1]
    assert bound >= 0.99 * family.at(moved).all().max()


def test_few_directions_are_enough(rng):
    """The point of the method: far fewer columns than features."""
    problem, family = spline_problem(rng, Squared(), rows=300, strength=1e-4)
    result = run(WorkingSet(), problem, family, rng, 100, 1e-2)
    columns = len(result.memory.directions)
    assert columns < len(result.solution.coefficients) / 3
    for owner in range(len(result.indices)):
        own = [
            d
            for d, o in zip(result.memory.directions, result.memory.groups.owners, strict=True)
            if o == owner
        ]
        np.testing.assert_allclose(np.array(own) @ np.array(own).T, np.eye(len(own)), atol=1e-9)


def test_directions_outside_a_span(rng):
    basis = np.linalg.qr(rng.normal(size=(9, 3)))[0]
    gradient = basis @ rng.normal(size=(3, 2)) + 1e-5 * rng.normal(size=(9, 2))
    found = outside(gradient, basis, 0.0)
    assert found.shape == (9, 2)
    both = np.hstack([basis, found])
    np.testing.assert_allclose(both.T @ both, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(both @ (both.T @ gradient), gradient, atol=1e-12)
    assert outside(gradient, basis, 1.0).shape == (9, 0)
    assert outside(basis[:, :1], basis, 0.0).shape == (9, 0)


@pytest.mark.parametrize("rank", [3, 12, 40])
def test_lengths_that_are_not_negative(rank, rng):
    for _ in range(20):
        root = rng.normal(size=(rank, 12))
        root[:, 5] = root[:, 4]  # two that are the same
        target = rng.normal(size=rank)
        start = rng.random(root.shape[1]) * (rng.random(root.shape[1]) < 0.7)
        down = root.T @ (target - root @ start)
        found = start + nonnegative_minimum(root.T @ root, down, start)
        best = nnls(root, target)[1] ** 2
        assert found.min() >= 0
        assert np.sum((root @ found - target) ** 2) <= best + 1e-6 * (1 + best)


@pytest.mark.parametrize("outputs", [1, 2])
def test_step_in_lengths_against_a_conic_solver(outputs, rng):
    owners = np.repeat(np.arange(5), [3, 1, 4, 2, 2])
    roots = [rng.normal(size=(30, 12)) for _ in range(outputs)]
    matrices = [root.T @ root for root in roots]
    right = rng.normal(size=(12, outputs))
    directions = rng.normal(size=(12, outputs))
    directions /= np.sqrt(np.bincount(owners, np.sum(directions**2, axis=1)))[owners, None]
    weights, strength = rng.random(5) + 0.1, 0.7
    present = np.array([0.3, 0.0, 1.2, 0.5, 0.0])
    before = present[owners, None] * directions
    down = right - np.stack([m @ before[:, c] for c, m in enumerate(matrices)], axis=1)
    step, lengths = minimum_in_lengths(
        matrices, down, directions, owners, present, weights, strength
    )
    found = before + step
    w = cvxpy.Variable((12, outputs))
    along = [cvxpy.sum(cvxpy.multiply(directions[owners == i], w[owners == i])) for i in range(5)]
    across = [
        cvxpy.sum_squares(w[owners == i] - directions[owners == i] * along[i]) / weights[i]
        for i in range(5)
    ]
    value = sum(cvxpy.sum_squares(root @ w[:, c]) / 2 for c, root in enumerate(roots))
    value = value - cvxpy.sum(cvxpy.multiply(right, w))
    value = value + strength / 2 * (cvxpy.square(sum(along)) + sum(across))
    program = cvxpy.Problem(cvxpy.Minimize(value), [a >= 0 for a in along])
    solved(program)
    np.testing.assert_allclose(found, w.value, atol=1e-5)
    inner = np.bincount(owners, np.sum(directions * found, axis=1))
    np.testing.assert_allclose(inner, lengths, atol=1e-8)


def test_prices_bound_all_gradients(rng, monkeypatch):
    """In single precision the bound holds, and is close; in double it is the largest."""
    monkeypatch.setattr("manykernels.solvers.working_set.prices.ENUMERATION_WORK", 0.0)
    _, family = spline_problem(rng, Squared(), rows=400)
    prices = Prices(family)
    assert prices.rough
    assert prices.refines
    for _ in range(10):
        alpha = rng.normal(size=(400, 1)) * 10.0 ** rng.integers(-6, 6)
        gradients = family.at(alpha).all()
        listed, bound = prices.top(alpha, 5)
        assert gradients.max() * (1 - 1e-12) <= bound <= gradients.max() * (1 + 2e-4)
        exact, fine = prices.top(alpha, 5, fine=True)
        assert fine == pytest.approx(gradients.max(), rel=1e-12)
        expected = [family.indices()[i] for i in np.argsort(-gradients)[:5]]
        assert exact.indices == expected
        # A longer dual point of the same direction is not priced again.
        again, longer = prices.top(2 * alpha, 5)
        assert again.indices == listed.indices
        assert longer == pytest.approx(4 * bound, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_working_set_is_certified(loss, rng):
    """Certified by all gradients of the family, computed one by one."""
    problem, family = spline_problem(rng, loss, rows=90, strength=3e-3)
    result = run(WorkingSet(), problem, family, rng, 100, 1e-6)
    assert result.converged
    gradients = family.at(result.solution.alpha).all()
    dual = problem.dual(result.solution.alpha, float(gradients.max()))
    slack = problem.infeasibility(result.solution.alpha, result.solution.intercept)
    assert result.solution.objective - dual + slack <= 1.1e-6 * result.solution.objective
    assert 0 < len(result.indices) < family.size


def test_a_path_keeps_what_it_knows(rng):
    """A start with its memory and one without lead to the same model."""
    problem, family = spline_problem(rng, Squared(), rows=500)
    first = run(WorkingSet(), problem, family, rng, 100, 1e-5)
    assert first.memory is not None
    here = replace(problem, strength=3e-3)
    warm = run(WorkingSet(), here, family, rng, 100, 1e-5, start=first)
    plain = run(WorkingSet(), here, family, rng, 100, 1e-5, start=replace(first, memory=None))
    cold = run(WorkingSet(), here, family, rng, 100, 1e-5)
    np.testing.assert_allclose(warm.solution.fitted, plain.solution.fitted, atol=0.02)
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=2e-5)


@pytest.mark.parametrize("estimator", [MKLRegressor, MKLClassifier])
def test_terms_of_one_column_are_one_row(estimator, rng):
    X = rng.normal(size=(150, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    y = y if estimator is MKLRegressor else y > 0
    model = estimator(kernels="auto", degree=2, p=1, alpha=1e-3).fit(X, y)
    assert max(max(index) for index in model.terms_) >= 3  # more kernels than columns
    table = model.explain(None)
    assert table["term"].is_unique
    assert table["share"].sum() == pytest.approx(1)
    assert table["theta"].sum() == pytest.approx(1)
    assert list(table["spread"]) == sorted(table["spread"], reverse=True)
    assert set(table.loc[table["degree"] == 2, "term"]) <= {"x0 * x1", "x0 * x2", "x1 * x2"}
    assert {"x0", "x1 * x2"} <= set(table["term"][:2])
    assert len(model.explain(1)) == 1


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_a_small_budget_gives_the_same_model(kind, rng, monkeypatch):
    """What does not fit is made anew, some rows at a time; features that do not are refused."""
    made = []
    original = TallColumns.__init__

    def counted(self, *arguments, **options):
        original(self, *arguments, **options)
        made.append(self.small)

    monkeypatch.setattr(TallColumns, "__init__", counted)
    X = rng.normal(size=(5000, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=5000)
    regression = kind == "squared"
    estimator = MKLRegressor if regression else MKLClassifier
    setting = {"kernels": "auto", "degree": 2, "p": 1, "alpha": 1e-4, "tol": 1e-6}
    target = y if regression else y > 0
    large = estimator(**setting).fit(X, target)
    assert all(made)
    features = sum(large.function_.predictor.family.bases.sizes)
    base = int(1.5 * 8 * 5000 * features)
    small = estimator(**setting, max_memory=base + 2**17).fit(X, target)
    assert not all(made)
    values = "predict" if regression else "decision_function"
    near = getattr(large, values)(X), getattr(small, values)(X)
    np.testing.assert_allclose(*near, atol=2e-3 * np.abs(near[0]).max())
    assert small.objective_ == pytest.approx(large.objective_, rel=2e-6)
    assert small.terms_ == large.terms_
    with pytest.raises(ValueError, match="max_memory must be more than"):
        estimator(**setting, max_memory="100KB").fit(X, target)


@pytest.mark.parametrize("p", [4 / 3, 2])
def test_fits_to_all_kernels_hold_their_budget_or_are_refused(p, rng):
    X = rng.normal(size=(1_500, 80))
    y = X[:, 0] * X[:, 1] + rng.normal(size=1_500)
    setting = {"degree": 2, "p": p, "alpha": 1.0, "standardize": False}
    with pytest.raises(
        ValueError, match=r"max_memory must be more than the 12[01] MB .* all kernels"
    ):
        MKLRegressor(**setting, max_memory="60MB").fit(X, y)
    tracemalloc.start()
    MKLRegressor(**setting, max_memory="130MB").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 130 * 2**20


PLANS = {
    "full passes": {"p": 1.2, "solver": "full-pass"},
    "the closed form": {"p": 2},
    "draws": {"p": 1.2, "solver": "mirror-descent"},
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sums_of_many_products_hold_their_budget(name, rng):
    """Symmetric polynomials and the list of kernels count, and are made in parts in little room."""
    X = rng.normal(size=(1_400, 50))
    y = X[:, 0] * X[:, 1] + rng.normal(size=1_400)
    setting = {**PLANS[name], "degree": 3, "alpha": 1.0, "standardize": False, "max_iter": 2}
    if name != "draws":
        with pytest.raises(ValueError, match=r"max_memory must be more than .* all kernels"):
            MKLRegressor(**setting, max_memory="100MB").fit(X, y)
    tracemalloc.start()
    MKLRegressor(**setting, max_memory="120MB", random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * 2**20


def test_sums_in_parts_are_those_at_once(rng):
    bases = FeatureBlocks(rng.normal(size=(1_000, 6)), [1] * 6)
    for index_set in (Tuples(), Monomials(), Interactions()):
        whole, parts = (ProductFamily(bases, 5, index_set) for _ in range(2))
        parts.room = 0.0
        assert len(whole.row_blocks) == 1 < len(parts.row_blocks)
        np.testing.assert_allclose(parts.closed(), whole.closed(), rtol=1e-12)


@pytest.mark.parametrize("size", [0, -5, "2 bananas", True, [1]])
def test_bad_budgets(size, rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"max_memory must be .*; got .* Use None"):
        MKLRegressor(alpha=1e-3, max_memory=size).fit(X, X[:, 0])


@pytest.mark.parametrize(("size", "bytes_"), [("2GB", 2**31), ("1.5MiB", 3 * 2**19), (1e3, 1000)])
def test_budgets_as_written(size, bytes_):
    assert budget(size) == bytes_
    assert budget(None) > 2**20


def test_sparse_rows_are_planned_by_what_they_hold(rng):
    X = sparse.random(200, 100_000, density=1e-4, format="csr", random_state=0)
    y = np.asarray(X[:, :50].sum(axis=1)).ravel() + rng.normal(size=200)
    setting = {"degree": 1, "p": 1, "alpha": 1.0, "standardize": False}
    assert MKLRegressor(**setting, max_memory="50MB").fit(X, y).gap_ <= 0.01


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_that_leave_one_row_end_in_an_answer(rng):
    """Features of rows of no weight to speak of are so large that only rounding is left."""
    X = rng.normal(size=(60, 3))
    weights = np.zeros(60)
    weights[0], weights[1:3] = 1.0, 1e-12
    model = MKLRegressor(kernels="spline", degree=2, p=1, alpha=0.01, max_iter=20)
    model.fit(X, X[:, 0], sample_weight=weights)
    assert model.predict(X[:1]) == pytest.approx(X[:1, 0], rel=1e-3)


@pytest.mark.parametrize("seed", [0, 2])
def test_more_lengths_than_rows_can_tell_apart(seed):
    """No step leads up, and many lead to the least value, that of nonnegative least squares."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(20, 60)) * np.geomspace(1, 30, 60)
    target = features @ np.maximum(rng.normal(size=60), 0) + rng.normal(size=20)
    matrix = features.T @ features + 1e-3
    right = features.T @ target - 0.5
    root = np.vstack([features, np.full(60, np.sqrt(1e-3))])
    # minus 0.5 in each slope is a target of the last row
    best = nnls(root, np.append(target, -0.5 / np.sqrt(1e-3)))[0]

    def value(x):
        return x @ matrix @ x / 2 - right @ x

    x = np.abs(rng.normal(size=60))
    for _ in range(200):
        before = value(x)
        x = x + nonnegative_minimum(matrix, right - matrix @ x, x)
        assert x.min() >= 0
        assert value(x) <= before + 1e-9 * abs(before)
    assert value(x) <= value(best) + 1e-6 * abs(value(best))
