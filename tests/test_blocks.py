"""Descent over groups of coefficients against a conic solver, and what is built on it."""

import itertools
import warnings
from dataclasses import replace

import cvxpy
import numpy as np
import pytest
from scipy.optimize import brentq

from manykernels import MKLClassifier, MKLRegressor
from manykernels.dual import tall_columns
from manykernels.families import Interactions, ProductFamily
from manykernels.kernels import resolve
from manykernels.losses import Huber, Logistic, Squared, SquaredHinge
from manykernels.objective import Problem
from manykernels.solvers import WorkingSet, run
from manykernels.solvers.working_set import blocks as majorise
from manykernels.solvers.working_set.blocks import (
    ColumnForm,
    GroupQuadratic,
    ProductForm,
    descend,
    secular,
)
from manykernels.solvers.working_set.restricted import FeatureGroups, restricted_gap, value


def groups_of(sizes):
    return np.concatenate([[0], np.cumsum(sizes)])


def solved(program):
    """Return the minimum; Clarabel's own doubts are about digits that are not asked for here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        return program.solve(solver="CLARABEL")


def penalty(w, starts):
    parts = [np.linalg.norm(w[a:b]) for a, b in itertools.pairwise(starts)]
    return sum(parts) ** 2 / 2


@pytest.mark.parametrize("form", ["products", "factor"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("strength", [3.0, 0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("rows", [8, 40])
def test_quadratic_against_a_conic_solver(form, outputs, strength, rows, rng):
    starts = groups_of([3, 1, 5, 2, 4, 1])
    F, u = rng.normal(size=(rows, starts[-1])), rng.normal(size=(rows, outputs))
    if form == "products":
        quadratic, begin = GroupQuadratic(ProductForm(F.T @ F), starts), F.T @ u
    else:
        quadratic, begin = GroupQuadratic(ColumnForm(F), starts), u
    tol = 1e-10
    w = quadratic.solve(begin, strength, np.zeros((starts[-1], outputs)), tol)
    variable = cvxpy.Variable(w.shape)
    norms = [cvxpy.norm(variable[a:b], "fro") for a, b in itertools.pairwise(starts)]
    risk = cvxpy.sum_squares(F @ variable - u) / 2
    best = cvxpy.Problem(cvxpy.Minimize(risk + strength / 2 * cvxpy.square(cvxpy.sum(norms))))
    best_value = solved(best)
    reached = np.sum((F @ w - u) ** 2) / 2 + strength * penalty(w, starts)
    if rows > starts[-1] or strength >= 0.3:  # descent is slow near interpolation
        assert reached <= best_value + tol + 1e-5 * best_value
    # The gap bounds what is left.
    pull = F.T @ (u - F @ w)
    lengths = np.sqrt(np.add.reduceat(np.sum(w**2, axis=1), starts[:-1]))
    assert quadratic.gap(w, pull, lengths) >= reached - best_value - 1e-5 * best_value


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("others", [1e-6, 0.5, 0.999999])
@pytest.mark.parametrize("start", [0.0, 1e-3, 1.0, 1e9])
def test_secular_equation(spread, others, start, rng):
    """From any start, for curvatures near and far apart, the root that bisection finds."""
    for size in (1, 2, 7):
        values = np.sort(rng.random(size)) * np.geomspace(1 / spread, 1, size)
        energy = rng.random(size) + 1e-12
        norm, strength = energy.sum() ** 0.5, 0.1
        share = others * norm / strength  # of the largest sum of other norms that lets it enter

        def left(mu, share=share, values=values, energy=energy, strength=strength):
            return (mu - strength) * np.sqrt(np.sum(energy / (values + mu) ** 2)) - strength * share

        expected = brentq(left, strength, 1e9, xtol=1e-14, rtol=1e-14)
        shift, length = secular(values, energy, norm, strength, share, start)
        assert shift == pytest.approx(expected, rel=1e-7)
        assert length == pytest.approx(np.sqrt(np.sum(energy / (values + shift) ** 2)), rel=1e-7)


def spline_problem(rng, loss, intercept=True, rows=60, strength=1e-2):
    X = rng.normal(size=(rows, 3))
    X[:, 2] = np.arange(rows) % 4
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 0] + 0.3 * rng.normal(size=rows)
    y = f if isinstance(loss, Squared | Huber) else np.where(f > 0, 1.0, -1.0)
    weights = rng.random(rows) + 0.1
    bases = resolve("auto", ["a", "b", "c"], 2).fit(X, X, weights / weights.sum())
    family = ProductFamily(bases, 2, Interactions())
    problem = Problem(y[:, None], weights / weights.sum(), loss, strength, 1.0, intercept)
    return problem, family


LOSSES = [Squared(), Logistic(), SquaredHinge(), Huber(0.5)]


@pytest.mark.parametrize("many", [0, 10**6], ids=["columns", "products"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_descent_against_a_conic_solver(loss, strength, intercept, many, rng, monkeypatch):
    monkeypatch.setattr(majorise, "PRODUCT_COLUMNS", many)
    problem, family = spline_problem(rng, loss, intercept, strength=strength)
    indices = [index for index in family.indices() if index]
    columns, owners = tall_columns(family, indices)
    nothing = FeatureGroups(columns, owners, np.zeros((len(owners), 1)), np.zeros(1))
    tol = 1e-5
    found, slopes = descend(problem, nothing, tol)
    F = family.features(indices)[0]
    w, b = cvxpy.Variable(F.shape[1]), cvxpy.Variable()
    f = F @ w + (b if intercept else 0)
    y, s = problem.y[:, 0], problem.weights
    risks = {
        Squared: lambda: s @ cvxpy.square(f - y) / 2,
        Logistic: lambda: s @ cvxpy.logistic(cvxpy.multiply(-y, f)),
        SquaredHinge: lambda: s @ cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, f))) / 2,
        Huber: lambda: s @ cvxpy.huber(f - y, 0.5) / 2,
    }
    norms = sum(cvxpy.norm(w[owners == i]) for i in range(len(indices)))
    best = cvxpy.Problem(cvxpy.Minimize(risks[type(loss)]() + strength / 2 * cvxpy.square(norms)))
    best_value = solved(best)
    reached, gap = value(problem, loss, found), restricted_gap(problem, found, slopes)
    assert reached >= best_value * (1 - 1e-5) - 1e-8
    assert reached - best_value <= gap * reached + 1e-5 * best_value + 1e-8
    if strength >= 1e-2:  # descent is slow near interpolation
        assert gap <= 1.01 * tol + 1e-9


@pytest.mark.parametrize("strengths", [(1e-2, 1e-3), (1e-3, 1e-1), (1e-1, 1e-2)])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_descent_from_the_optimum_of_another_strength(loss, strengths, rng, monkeypatch):
    """Rows that were flat there may be curved here, and the other way round."""
    monkeypatch.setattr(majorise, "PRODUCT_COLUMNS", 0)
    problem, family = spline_problem(rng, loss)
    columns, owners = tall_columns(family, [index for index in family.indices() if index])
    groups = FeatureGroups(columns, owners, np.zeros((len(owners), 1)), np.zeros(1))
    for strength in strengths:
        problem = replace(problem, strength=strength)
        groups, slopes = descend(problem, groups, 1e-4)
        assert restricted_gap(problem, groups, slopes) <= 1.01e-4


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_working_set_of_blocks_is_certified(loss, rng):
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
    np.testing.assert_allclose(warm.solution.fitted, plain.solution.fitted, atol=1e-9)
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
    assert list(table["share"]) == sorted(table["share"], reverse=True)
    assert set(table.loc[table["degree"] == 2, "term"]) <= {"x0 * x1", "x0 * x2", "x1 * x2"}
    assert {"x0", "x1 * x2"} <= set(table["term"][:2])
    assert len(model.explain(1)) == 1
