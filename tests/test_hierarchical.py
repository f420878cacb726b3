"""Hierarchical kernel learning against enumeration, explicit matrices and a conic solver."""

import warnings
from itertools import islice, product
from math import comb

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from checks import base_grams, interaction, make_bases, paper_data, product_gram, regression
from manykernels.baselines import (
    HierarchicalKernelLearning,
    HierarchicalKernelLearningClassifier,
    active_set,
)
from manykernels.baselines.active_set import ActiveSet, Reduced
from manykernels.baselines.hierarchy import Grid, ListedSums, ProductSums, ancestry, parents
from manykernels.losses import Logistic, Squared
from manykernels.objective import Problem
from manykernels.solvers import run

# ---------------------------------------------------------------- plain versions


def powers(node, r):
    """Return a node as its vector of powers."""
    return np.array([node.count(j) for j in range(r)])


def all_nodes(r, q, degree):
    """List the grid by its definition, as sorted tuples."""
    vectors = product(range(q + 1), repeat=r)
    return [
        tuple(j for j in range(r) for _ in range(v[j]))
        for v in vectors
        if degree is None or sum(v) <= degree
    ]


def is_ancestor(v, w, r):
    """Tell whether v <= w in every coordinate."""
    return bool(np.all(powers(v, r) <= powers(w, r)))


def random_hull(nodes, r, rng):
    """Return the ancestors of some random nodes."""
    seeds = [nodes[i] for i in rng.integers(len(nodes), size=rng.integers(1, 4))]
    return {v for v in nodes if any(is_ancestor(v, w, r) for w in seeds)}


def price(node, root_weight, growth):
    return root_weight if not node else growth ** len(node)


def node_gram(grams, node, q):
    """Return the kernel of a node: product of binomials and powers of base kernels."""
    factor = np.prod([comb(q, node.count(j)) for j in range(len(grams))])
    return factor * product_gram(grams, node)


def factorised(gram):
    """Return features of a kernel matrix."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-13 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def conic_optimum(problem, bases, grid):
    """Minimise risk + strength/2 * (sum_v d_v |beta_D(v)|)^2 over the whole grid."""
    r, grams = bases.count, base_grams(bases)
    nodes = all_nodes(r, grid.power, grid.degree)
    parts = [factorised(node_gram(grams, v, grid.power)) for v in nodes]
    betas = [cp.Variable(part.shape[1]) for part in parts]
    f = sum(part @ beta for part, beta in zip(parts, betas, strict=True))
    f = f + (cp.Variable() if problem.intercept else 0.0)
    y, s = problem.y[:, 0], problem.weights
    if isinstance(problem.loss, Squared):
        risk = cp.sum(cp.multiply(s, cp.square(f - y))) / 2
    else:
        risk = cp.sum(cp.multiply(s, cp.logistic(-cp.multiply(y, f))))
    omega = 0
    for v in nodes:
        below = [b for w, b in zip(nodes, betas, strict=True) if is_ancestor(v, w, r)]
        omega = omega + price(v, grid.root_weight, grid.growth) * cp.norm(cp.hstack(below), 2)
    program = cp.Problem(cp.Minimize(risk + problem.strength / 2 * cp.square(omega)))
    program.solve(solver=cp.CLARABEL)
    assert program.status == cp.OPTIMAL
    return program.value


def make_problem(bases, loss, strength, intercept, rng):
    """Return a target that depends on a product, with weighted rows."""
    grams, n = base_grams(bases), bases.rows
    y = grams[0] @ rng.normal(size=(n, 1)) + (grams[0] * grams[-1]) @ rng.normal(size=(n, 1))
    y = y / y.std() + 0.5 + 0.3 * rng.normal(size=(n, 1))
    if loss.classification:
        y = np.where(y > np.median(y), 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=n)
    return Problem(y, weights / weights.sum(), loss, strength, 1.0, intercept)


def family_of(grid, bases):
    return grid.family(bases, [f"x{j}" for j in range(bases.count)])


def rounds(grid, problem, bases, tol, limit=100):
    """Yield the solver's states until the gap is small."""
    solver = ActiveSet(grid, tol)
    states = solver.iterate(problem, family_of(grid, bases), np.random.default_rng(0))
    for state in islice(states, limit):
        yield state
        if state.certificate.relative <= tol:
            return
    pytest.fail(f"no gap of {tol} in {limit} rounds")


# ---------------------------------------------------------------- the grid

GRIDS = [
    (1, 3, None),
    (3, 1, None),
    (3, 2, None),
    (3, 2, 2),
    (4, 1, 2),
    (3, 3, 2),
    (2, 3, 4),
    (2, 2, 9),
    (3, 4, 3),
    (5, 1, 3),
    (3, 2, 0),
]
every_grid = pytest.mark.parametrize(("r", "q", "degree"), GRIDS)


@every_grid
def test_size_depth_prices_and_weights(r, q, degree):
    grid = Grid(r, q, degree, 0.3, 1.7)
    nodes = all_nodes(r, q, degree)
    assert grid.size == len(nodes)
    assert grid.depth == max(map(len, nodes))
    np.testing.assert_allclose(grid.prices(nodes), [price(v, 0.3, 1.7) for v in nodes])
    expected = [np.prod([comb(q, k) for k in powers(v, r)]) for v in nodes]
    np.testing.assert_allclose([grid.weight(v) for v in nodes], expected)


def test_size_of_a_large_grid():
    assert Grid(40, 3, None, 0.1, 4.0).size == 4**40
    assert Grid(100, 3, 3, 0.1, 4.0).size == comb(103, 3)
    assert Grid(100, 1, 3, 0.1, 4.0).size == 1 + 100 + comb(100, 2) + comb(100, 3)


@every_grid
def test_parents_are_the_ancestors_one_step_above(r, q, degree):
    nodes = all_nodes(r, q, degree)
    for v in nodes:
        expected = {u for u in nodes if len(u) == len(v) - 1 and is_ancestor(u, v, r)}
        assert sorted(parents(v)) == sorted(expected)


@every_grid
def test_sources_are_the_minimal_nodes_outside(r, q, degree, rng):
    grid, nodes = Grid(r, q, degree, 0.1, 4.0), all_nodes(r, q, degree)
    assert grid.sources(set(nodes)) == []
    for _ in range(10):
        hull = random_hull(nodes, r, rng)
        outside = [v for v in nodes if v not in hull]
        minimal = [v for v in outside if not any(u != v and is_ancestor(u, v, r) for u in outside)]
        assert grid.sources(hull) == sorted(minimal)


@every_grid
def test_ancestry_is_the_order_of_powers(r, q, degree, rng):
    nodes = all_nodes(r, q, degree)
    nodes = [nodes[i] for i in rng.permutation(len(nodes))]
    expected = [[float(is_ancestor(v, w, r)) for w in nodes] for v in nodes]
    np.testing.assert_array_equal(ancestry(nodes, r), expected)


# ---------------------------------------------------------------- sums over descendants


def brute_sum(t, nodes, grams, q, growth, alpha):
    """Return sum over w >= t of a_w / (sum of d_v over t <= v <= w)^2, for t not the root."""
    r, total = len(grams), 0.0
    for w in nodes:
        if is_ancestor(t, w, r):
            between = [v for v in nodes if is_ancestor(t, v, r) and is_ancestor(v, w, r)]
            a = np.sum(alpha @ alpha.T * node_gram(grams, w, q))
            total += a / sum(growth ** len(v) for v in between) ** 2
    return total


@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse", "gram"])
@pytest.mark.parametrize("growth", [0.7, 1.0, 4.0])
@pytest.mark.parametrize(
    ("r", "q", "degree"), [(3, 2, None), (3, 2, 2), (3, 1, 2), (2, 2, 3), (3, 3, 3), (3, 1, None)]
)
def test_sums_over_descendants(representation, growth, r, q, degree, rng):
    bases = make_bases(representation, rng, n=7, r=r)
    grid = Grid(r, q, degree, 0.1, growth)
    nodes, grams = all_nodes(r, q, degree), base_grams(bases)
    some = [v for v in nodes if v]
    some = [some[i] for i in rng.permutation(len(some))]
    alpha = rng.normal(size=(7, 2))
    expected = np.array([brute_sum(t, nodes, grams, q, growth, alpha) for t in some])
    listed = ListedSums(grid, family_of(grid, bases).family)
    np.testing.assert_allclose(listed(alpha, some), expected, rtol=1e-9)
    if degree is None:
        np.testing.assert_allclose(ProductSums(grid, bases)(alpha, some), expected, rtol=1e-9)


@pytest.mark.parametrize("representation", ["columns", "gram"])
def test_both_sums_agree_where_nothing_is_cut_off(representation, rng, monkeypatch):
    bases = make_bases(representation, rng, n=9, r=4)
    whole, bounded = Grid(4, 2, None, 0.1, 2.5), Grid(4, 2, 8, 0.1, 2.5)
    some = [v for v in all_nodes(4, 2, None) if v][:30]
    alpha = rng.normal(size=(9, 1))
    listed = ListedSums(bounded, family_of(bounded, bases).family)(alpha, some)
    np.testing.assert_allclose(ProductSums(whole, bases)(alpha, some), listed, rtol=1e-9)
    monkeypatch.setattr("manykernels.baselines.hierarchy.MATRIX_BATCH_BYTES", 30 * 8 * 9 * 2)
    np.testing.assert_allclose(ProductSums(whole, bases)(alpha, some), listed, rtol=1e-9)


# ---------------------------------------------------------------- the optimum

SMALL = {
    "full grid": ("columns", 3, 2, None),
    "degree 2": ("columns", 3, 2, 2),
    "degree 2, high powers": ("blocks", 2, 3, 2),
    "anova": ("gram", 3, 1, None),
    "anova of degree 2": ("gram", 3, 1, 2),
    "no products": ("columns", 5, 1, 1),
}
small = pytest.mark.parametrize("name", SMALL)
both_losses = pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])


def small_case(name, loss, strength, intercept, rng, n=14, root_weight=0.1, growth=4.0):
    representation, r, q, degree = SMALL[name]
    bases = make_bases(representation, rng, n=n, r=r)
    problem = make_problem(bases, loss, strength, intercept, rng)
    return Grid(r, q, degree, root_weight, growth), bases, problem


@small
@both_losses
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
def test_objective_is_that_of_a_conic_solver(name, loss, intercept, rng):
    for strength in (1e-4, 1e-2, 1.0):
        grid, bases, problem = small_case(name, loss, strength, intercept, rng)
        family = family_of(grid, bases)
        result = run(ActiveSet(grid, 1e-5), problem, family, rng, 200, 1e-5)
        optimum = conic_optimum(problem, bases, grid)
        assert result.converged
        assert result.certificate.relative <= 1e-5
        distance = result.solution.objective - optimum
        assert -1e-6 <= distance <= result.certificate.gap + 1e-6 * optimum


@pytest.mark.parametrize(("root_weight", "growth"), [(1.0, 1.0), (2.0, 0.5), (0.01, 10.0)])
def test_objective_with_other_prices(root_weight, growth, rng):
    for name in ("degree 2", "anova"):
        grid, bases, problem = small_case(
            name, Squared(), 1e-2, True, rng, root_weight=root_weight, growth=growth
        )
        family = family_of(grid, bases)
        result = run(ActiveSet(grid, 1e-5), problem, family, rng, 200, 1e-5)
        optimum = conic_optimum(problem, bases, grid)
        distance = result.solution.objective - optimum
        assert -1e-6 <= distance <= result.certificate.gap + 1e-6 * optimum


@small
@both_losses
def test_gap_is_valid_in_every_round(name, loss, rng, monkeypatch):
    monkeypatch.setattr(active_set, "ENTRANTS", 2)  # more rounds
    grid, bases, problem = small_case(name, loss, 3e-3, bool(rng.integers(2)), rng)
    optimum = conic_optimum(problem, bases, grid)
    tol, last, seen = 1e-4, np.inf, 0
    for state in rounds(grid, problem, bases, tol):
        objective = state.solution.objective
        assert objective - state.certificate.gap <= optimum + 1e-6 * abs(optimum)
        assert optimum <= objective * (1 + 1e-6)
        # What newcomers were given is won back, up to the gap of the problem on the set.
        assert objective <= last * (1 + 1e-9) + tol / 3 * objective
        assert state.certificate.relative == pytest.approx(state.certificate.gap / objective)
        assert_hull(state, grid)
        last, seen = objective, seen + 1
    assert seen > 1


def assert_hull(state, grid):
    """Assert that nodes are ancestor-closed and weights are those of a point of the simplex."""
    assert state.nodes[0] == ()
    assert len(set(state.nodes)) == len(state.nodes) == state.active
    assert all(u in state.nodes for v in state.nodes for u in parents(v))
    assert set(state.nodes) <= set(all_nodes(grid.count, grid.power, grid.degree))
    assert np.all(state.zeta > 0)
    order = [[is_ancestor(v, w, grid.count) for v in state.nodes] for w in state.nodes]
    inverse = np.linalg.solve(np.array(order, dtype=float), 1 / state.zeta)
    assert np.all(inverse > 0)
    assert np.sum(grid.prices(state.nodes) ** 2 / inverse) == pytest.approx(1.0, rel=1e-5)


def explicit_problem_on(reduced, problem, bases):
    """Return J(eta) of the squared loss with an intercept, and zeta, from n x n matrices."""
    r, grams = bases.count, base_grams(bases)
    zeta = []
    for w in reduced.nodes:
        above = [i for i, v in enumerate(reduced.nodes) if is_ancestor(v, w, r)]
        zeta.append(1 / np.sum(1 / reduced.eta[above]))
    parts = zip(zeta, reduced.nodes, strict=True)
    K = sum(z * node_gram(grams, v, reduced.grid.power) for z, v in parts)
    n, ridge = len(K), problem.strength / problem.weights
    system = np.block([[K + np.diag(ridge), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    alpha = np.linalg.solve(system, np.append(problem.y, 0.0))[:n]
    return problem.strength / 2 * problem.y[:, 0] @ alpha, np.array(zeta)


@pytest.mark.parametrize("name", ["degree 2", "anova"])
def test_updates_of_the_weights_never_raise_the_objective(name, rng, monkeypatch):
    grid, bases, problem = small_case(name, Squared(), 1e-2, True, rng)
    reduced = Reduced(grid, family_of(grid, bases))
    nodes = sorted(all_nodes(grid.count, grid.power, grid.degree), key=len)
    reduced.enter(nodes[1:])
    values, plain = [], active_set.solve

    def recorded(problem, system, start, tol):
        solution = plain(problem, system, start, tol)
        expected, zeta = explicit_problem_on(reduced, problem, bases)
        np.testing.assert_allclose(reduced.zeta, zeta, rtol=1e-9)
        assert solution.objective == pytest.approx(expected, rel=1e-7)
        assert np.sum(grid.prices(reduced.nodes) ** 2 * reduced.eta) == pytest.approx(1.0)
        values.append(solution.objective)
        return solution

    monkeypatch.setattr(active_set, "solve", recorded)
    solution, norm = reduced.improve(problem, 1e-6, None)
    values.append(solution.objective)
    assert len(values) > 5
    values = np.array(values)
    assert np.all(values[1:] <= values[:-1] * (1 + 1e-8))
    # The bound of the dual norm over the set: no weights of the simplex give more.
    grams = base_grams(bases)
    masses = np.array(
        [np.sum(solution.alpha @ solution.alpha.T * node_gram(grams, v, grid.power)) for v in nodes]
    )
    order = ancestry(nodes, grid.count)
    for x in rng.dirichlet(np.full(len(nodes), 0.3), size=200):
        eta = (x + 1e-9) / (1 + 1e-9 * len(x)) / grid.prices(nodes) ** 2
        assert masses @ (1 / (order.T @ (1 / eta))) <= norm * (1 + 1e-9)


@pytest.mark.parametrize("name", ["degree 2", "anova"])
def test_weights_belong_to_the_solution_when_updates_run_out(name, rng, monkeypatch):
    monkeypatch.setattr(active_set, "REDUCED_ITERATIONS", 3)
    grid, bases, problem = small_case(name, Squared(), 1e-3, True, rng)
    states = ActiveSet(grid, 1e-6).iterate(problem, family_of(grid, bases), rng)
    for state in islice(states, 4):
        K = family_of(grid, bases).gram(state.nodes, state.zeta)
        np.testing.assert_allclose(
            K @ state.solution.alpha + state.solution.intercept,
            state.solution.fitted,
            atol=1e-6,
        )


def test_root_alone(rng):
    bases = make_bases("columns", rng, n=12, r=3)
    y = rng.normal(size=(12, 1))
    problem = Problem(y, np.full(12, 1 / 12), Squared(), 0.2, 1.0, True)
    for degree in (0, 2):
        grid = Grid(3, 2, degree, 0.1, 4.0)
        solver = ActiveSet(grid, 1e-6)
        first = next(solver.iterate(problem, family_of(grid, bases), rng))
        assert first.nodes == [()]
        assert first.zeta == pytest.approx(100.0)
        np.testing.assert_allclose(first.solution.alpha, (y - y.mean()) / (12 * 0.2), atol=1e-12)
        np.testing.assert_allclose(first.solution.fitted, np.full((12, 1), y.mean()))
        assert first.solution.objective == pytest.approx(np.var(y) / 2)
    # Degree 0 is optimal at once; without an intercept the root is ridge on a column of ones.
    assert first.certificate.relative > 0.01
    X = np.ones((12, 2))
    model = HierarchicalKernelLearning(
        total_degree=0, alpha=0.2, root_weight=0.5, fit_intercept=False, standardize=False
    ).fit(X, y[:, 0])
    assert model.terms_ == [()]
    assert model.gap_ < 1e-9
    assert model.n_kernels_ == 1
    np.testing.assert_allclose(model.predict(X), y.sum() / (12 + 12 * 0.2 * 0.25))


@pytest.mark.parametrize("level", [0.0, 3.3, -1e6])
@pytest.mark.parametrize("total_degree", [2, None])
def test_constant_target(level, total_degree, rng):
    X = rng.normal(size=(20, 3))
    model = HierarchicalKernelLearning(total_degree=total_degree, per_variable_degree=2)
    model.fit(X, np.full(20, level))
    np.testing.assert_allclose(model.predict(X), level, rtol=1e-9)
    assert model.terms_ == [()]
    assert model.gap_ <= 1e-3


# ---------------------------------------------------------------- the estimators


def planted(rng, n=150):
    """Return rows, a target with one interaction, and the same as classes."""
    X, y = interaction(rng, n=n)
    return X, y, np.where(y > 0, "yes", "no")


def node_features(Z, terms, q):
    """Return a column for each term, with its binomials."""
    columns = [np.prod(Z[:, list(term)], axis=1) for term in terms]
    factors = [np.prod([comb(q, term.count(j)) for j in set(term)]) for term in terms]
    return np.column_stack(columns) * np.sqrt(factors)


def omega_of(coefficients, terms, r, root_weight=0.1, growth=4.0):
    """Return sum over v of d_v |beta_D(v)|, one coefficient a term."""
    total = 0.0
    for v in terms:
        below = [c for c, w in zip(coefficients, terms, strict=True) if is_ancestor(v, w, r)]
        total += price(v, root_weight, growth) * np.linalg.norm(below)
    return total


@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        ({"total_degree": 2}, comb(8, 2)),
        ({"total_degree": 3}, comb(9, 3)),
        ({"total_degree": 3, "per_variable_degree": 1}, 1 + 6 + 15 + 20),
        ({"total_degree": None, "per_variable_degree": 1}, 2**6),
        ({"total_degree": None, "per_variable_degree": 2}, 3**6),
        ({"total_degree": 2, "per_variable_degree": 3}, comb(8, 2)),
    ],
)
def test_regression_finds_the_interaction_and_its_hull(parameters, size, rng):
    X, y, _ = planted(rng)
    model = HierarchicalKernelLearning(alpha=1e-3, **parameters).fit(X, y)
    assert {(), (0,), (2,), (4,), (0, 2)} <= set(model.terms_)
    assert model.explain(2)["term"].tolist() == ["x0 * x2", "x4"]
    assert all(u in model.terms_ for v in model.terms_ for u in parents(v))
    assert np.all(model.theta_ > 0)
    assert model.n_kernels_ == size
    assert model.gap_ <= model.tol
    assert model.gap_kind_ == "exact"
    if parameters.get("per_variable_degree") == 1:
        assert all(len(set(term)) == len(term) for term in model.terms_)
    new = rng.normal(size=(200, 6))
    truth = new[:, 0] * new[:, 2] + 0.5 * new[:, 4]
    assert np.mean((model.predict(new) - truth) ** 2) < 0.2 * np.var(truth)

    q = parameters.get("per_variable_degree") or parameters["total_degree"]
    Z, W = ((rows - X.mean(axis=0)) / X.std(axis=0) for rows in (X, new))
    features, there = (node_features(rows, model.terms_, q) for rows in (Z, W))
    np.testing.assert_allclose(there @ model.term_coef_ + model.intercept_, model.predict(new))
    K = (there * model.theta_) @ features.T
    np.testing.assert_allclose(model.kernel(new, X), K, atol=1e-9 * np.abs(K).max())
    explicit = K @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(explicit, model.predict(new), atol=1e-6)
    risk = np.mean((y - model.predict(X)) ** 2) / 2
    penalty = model.alpha / 2 * omega_of(model.term_coef_, model.terms_, 6) ** 2
    assert model.objective_ == pytest.approx(risk + penalty, rel=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared"])
def test_classification_finds_the_interaction(loss, rng):
    X, y, classes = planted(rng, n=200)
    model = HierarchicalKernelLearningClassifier(total_degree=2, loss=loss, alpha=1e-3)
    model.fit(X, classes)
    assert {(), (0,), (2,), (0, 2)} <= set(model.terms_)
    assert all(u in model.terms_ for v in model.terms_ for u in parents(v))
    assert model.gap_ <= model.tol
    assert model.score(X, classes) > 0.7
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    f = node_features(Z, model.terms_, 2) @ model.term_coef_.ravel() + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-8)
    assert np.all(model.predict(X) == np.where(f > 0, "yes", "no"))
    margin = np.where(y > 0, 1.0, -1.0) * f
    risks = {
        "logistic": np.log1p(np.exp(-margin)),
        "hinge": np.maximum(1 - margin, 0),
        "squared_hinge": np.maximum(1 - margin, 0) ** 2 / 2,
        "squared": (1 - margin) ** 2 / 2,
    }
    penalty = model.alpha / 2 * omega_of(model.term_coef_.ravel(), model.terms_, 6) ** 2
    assert model.objective_ == pytest.approx(risks[loss].mean() + penalty, rel=1e-8)


def test_kernels_without_features(rng):
    X, y, _ = planted(rng, n=80)
    options = {"kernels": "rbf", "per_variable_degree": 1, "alpha": 1e-2}
    model = HierarchicalKernelLearning(total_degree=None, **options).fit(X, y)
    bounded = HierarchicalKernelLearning(total_degree=6, **options).fit(X, y)
    assert all(u in model.terms_ for v in model.terms_ for u in parents(v))
    assert max(model.gap_, bounded.gap_) <= 1e-3
    assert model.objective_ == pytest.approx(bounded.objective_, rel=1e-3)
    assert model.n_kernels_ == bounded.n_kernels_ == 2**6
    new = rng.normal(size=(7, 6))
    explicit = model.kernel(new, X) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(explicit, model.predict(new), atol=1e-8)


@both_losses
def test_sample_weights_are_repetitions(loss, rng):
    X, y, classes = planted(rng, n=60)
    counts = rng.integers(0, 4, size=60)
    target = classes if loss.classification else y
    kind = HierarchicalKernelLearningClassifier if loss.classification else None
    model = (kind or HierarchicalKernelLearning)(total_degree=2, alpha=1e-2, tol=1e-6)
    model.fit(X, target, sample_weight=3.0 * counts)
    objective, weighted, gap = model.objective_, model._decision(X), model.gap_
    model.fit(np.repeat(X, counts, axis=0), np.repeat(target, counts))
    assert max(gap, model.gap_) <= 1e-6
    assert model.objective_ == pytest.approx(objective, rel=2e-6)
    np.testing.assert_allclose(model._decision(X), weighted, atol=0.05)


def test_variables_can_be_permuted_and_targets_scaled(rng):
    X, y, _ = planted(rng, n=80)
    options = {"total_degree": 2, "alpha": 1e-2, "tol": 1e-6}
    model = HierarchicalKernelLearning(**options).fit(X, y)
    order = rng.permutation(6)
    other = HierarchicalKernelLearning(**options).fit(X[:, order], -7 * y)
    assert other.objective_ == pytest.approx(49 * model.objective_, rel=3e-6)
    np.testing.assert_allclose(other.predict(X[:, order]), -7 * model.predict(X), atol=0.05)


BAD = [
    ({"total_degree": -1}, "total_degree must be an integer >= 0; got -1"),
    ({"total_degree": 1.5}, r"total_degree must be an integer >= 0; got 1\.5"),
    ({"per_variable_degree": 0}, "per_variable_degree must be an integer >= 1; got 0"),
    ({"root_weight": 0.0}, r"root_weight must be a number from 1e-50 to 1e\+50; got 0\.0"),
    ({"growth": -4}, r"growth must be a number from 1e-50 to 1e\+50; got -4"),
    ({"growth": np.inf}, r"growth must be a number from 1e-50 to 1e\+50; got inf"),
    ({"alpha": 0}, "alpha must be a positive number; got 0"),
    ({"tol": 0}, "tol must be a positive number; got 0"),
    ({"max_iter": 0}, "max_iter must be an integer >= 1; got 0"),
    ({"max_time": -1}, "max_time must be a positive number; got -1"),
    ({"total_degree": None}, "total_degree and per_variable_degree must not both be None"),
    ({"loss": "absolute"}, "loss must be one of"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
@pytest.mark.parametrize(
    "estimator", [HierarchicalKernelLearning, HierarchicalKernelLearningClassifier]
)
def test_bad_parameters(estimator, parameters, message, rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, y > 0 if "Classifier" in estimator.__name__ else y)


def test_a_grid_too_large_to_list_is_refused_before_work(rng, monkeypatch):
    monkeypatch.setattr(ListedSums, "__init__", lambda *arguments: pytest.fail("listed"))
    X = rng.normal(size=(20, 3000))
    with pytest.raises(ValueError, match=r"4\.51e\+09 nodes: .* GiB.*Use a smaller total_degree"):
        HierarchicalKernelLearning(total_degree=3).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("r", "parameters", "size"),
    [(2, {"total_degree": 30}, 496), (12, {"total_degree": 12, "per_variable_degree": 1}, 2**12)],
    ids=["few variables", "subsets"],
)
def test_a_small_grid_of_high_degree_is_not_refused(r, parameters, size, rng):
    X = rng.uniform(-1, 1, size=(30, r))
    model = HierarchicalKernelLearning(standardize=False, alpha=0.1, **parameters)
    assert model.fit(X, X[:, 0] * X[:, 1]).n_kernels_ == size


def test_progress_counts_the_nodes_of_the_grid(rng, capsys):
    X, y = regression(rng)
    HierarchicalKernelLearning(total_degree=None, per_variable_degree=2, verbose=2).fit(X, y)
    assert "of 81 kernels" in capsys.readouterr().err


def test_limits_warn(rng):
    X, y, _ = planted(rng)
    with pytest.warns(ConvergenceWarning, match=r"gap of .* above tol=1e-06"):
        model = HierarchicalKernelLearning(tol=1e-6, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    assert model.gap_ > 1e-6
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or max_time"):
        model = HierarchicalKernelLearning(tol=1e-6, max_time=1e-6).fit(X, y)
    assert model.gap_ > 1e-6
    assert np.all(np.isfinite(model.predict(X)))


# ---------------------------------------------------------------- real data


@pytest.mark.parametrize("ridge", 10.0 ** np.arange(-4, 4))
@pytest.mark.parametrize(("name", "rows"), [("ionosphere", 140), ("sonar", 83)])
def test_certified_on_the_papers_data(name, rows, ridge, rng):
    X, y = paper_data(name)
    chosen = rng.permutation(len(X))[:rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = HierarchicalKernelLearning(total_degree=2, alpha=ridge / rows)
        model.fit(X[chosen], y[chosen, 0])
    assert model.gap_ < 1e-3
    assert model.n_kernels_ == comb(X.shape[1] + 2, 2)
    assert all(u in model.terms_ for v in model.terms_ for u in parents(v))
