"""Greedy selection against plain orthogonal matching pursuit, lstsq and scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, OrthogonalMatchingPursuit

from checks import make_bases
from manykernels.bases import FeatureBlocks
from manykernels.families import Interactions, ListFamily, Monomials, ProductFamily, Tuples
from manykernels.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Squared,
    SquaredHinge,
)
from manykernels.objective import Problem
from manykernels.solvers import growing, run
from manykernels.solvers.greedy import Greedy, debiased
from manykernels.solvers.least_squares import APART_RIDGE, Projection, Refit, fit_of

KINDS = [Tuples(1.0), Monomials(), Interactions()]
SMOOTH = [Squared(), Huber(0.7), SquaredHinge(), Logistic()]
both = pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])


def name(value):
    return type(value).__name__


def selected(problem, family, **options):
    """Run to the end; return the result and the states on the way."""
    states = []

    def remember(state, record):
        states.append(state)

    rng = np.random.default_rng(0)
    result = run(Greedy(**options), problem, family, rng, 1000, 1e-6, callback=remember)
    return result, states


def problem_of(rng, y, loss=None, intercept=True):
    y = np.asarray(y).reshape(len(y), -1)
    weights = rng.uniform(0.5, 2.0, size=len(y))
    return Problem(y, weights / weights.sum(), loss or Squared(), 1e-3, 1.0, intercept)


def sums(rng, columns, outputs=1, terms=4, noise=0.3):
    """Return targets that depend on a few columns, each less than the one before."""
    chosen = rng.choice(columns.shape[1] - 1, size=terms, replace=False) + 1
    spread = columns[:, chosen] / columns[:, chosen].std(axis=0)
    slopes = 0.5 ** np.arange(terms)[:, None] * rng.choice([-1.0, 1.0], size=(terms, outputs))
    return spread @ slopes + noise * rng.normal(size=(len(columns), outputs))


def classes(rng, score):
    noisy = score + 0.5 * rng.normal(size=score.shape)
    return np.where(noisy > np.median(noisy, axis=0), 1.0, -1.0)


def least_squares(problem, columns):
    """Return coefficients, constants and the risk of weighted least squares by lstsq."""
    design = columns
    if problem.intercept:
        design = np.column_stack([columns, np.ones(len(columns))])
    root = np.sqrt(problem.weights)[:, None]
    found, *_ = np.linalg.lstsq(root * design, root * problem.y, rcond=None)
    fitted = design @ found
    constant = found[-1] if problem.intercept else np.zeros(problem.y.shape[1])
    return found[: columns.shape[1]], constant, problem.weights @ (problem.y - fitted) ** 2 / 2


def plain_pursuit(problem, columns, terms):
    """Return the columns that orthogonal matching pursuit takes, in order.

    Columns are divided by their standard deviation, around zero if there is no intercept.
    """
    s = problem.weights
    centred = columns - s @ columns if problem.intercept else columns
    spread = s @ centred**2
    scaled = centred[:, spread > 1e-12] / np.sqrt(spread[spread > 1e-12])
    where = np.flatnonzero(spread > 1e-12)
    chosen, residual = [], problem.y - (s @ problem.y if problem.intercept else 0.0)
    for _ in range(terms):
        scores = np.sum((scaled.T @ (s[:, None] * residual)) ** 2, axis=1)
        scores[np.isin(where, chosen)] = -1.0
        chosen.append(int(where[np.argmax(scores)]))
        coefficients, constant, _ = least_squares(problem, columns[:, chosen])
        residual = problem.y - columns[:, chosen] @ coefficients - constant
    return chosen


@both
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("representation", ["columns", "sparse"])
def test_pool_of_one_is_orthogonal_matching_pursuit(representation, kind, outputs, intercept, rng):
    bases = make_bases(representation, rng, n=40, r=5)
    family = ProductFamily(bases, 2, kind)
    indices = family.indices()
    columns, _ = family.features(indices)
    problem = problem_of(rng, sums(rng, columns, outputs), intercept=intercept)
    expected = [indices[i] for i in plain_pursuit(problem, columns, 6)]
    result, states = selected(problem, family, terms=6, pool=1)
    assert result.indices == expected
    assert result.converged
    assert [list(state.indices) for state in states] == [expected[:k] for k in range(7)]


def test_selection_is_that_of_scikit_learn(rng):
    x = rng.normal(size=(60, 30))
    family = ListFamily(FeatureBlocks(x))
    problem = problem_of(rng, sums(rng, x))
    root = np.sqrt(problem.weights)[:, None]
    centred = root * (x - problem.weights @ x)
    lengths = np.linalg.norm(centred, axis=0)
    target = (root * (problem.y - problem.weights @ problem.y))[:, 0]
    for terms in (1, 3, 6):
        pursuit = OrthogonalMatchingPursuit(n_nonzero_coefs=terms, fit_intercept=False)
        pursuit.fit(centred / lengths, target)
        result, _ = selected(problem, family, terms=terms, pool=1)
        order = [j for (j,) in result.indices]
        assert set(order) == set(np.flatnonzero(pursuit.coef_).tolist())
        own = np.sqrt(result.theta) * result.solution.coefficients[:, 0]
        np.testing.assert_allclose(own, (pursuit.coef_ / lengths)[order], atol=1e-9)


@both
@pytest.mark.parametrize("pool", [1, 5, 100])
@pytest.mark.parametrize("representation", ["columns", "blocks", "sparse"])
def test_every_model_is_that_of_lstsq(representation, pool, intercept, rng):
    """Coefficients, constants, predictions, dual variables and risk; the risk falls."""
    family = ProductFamily(make_bases(representation, rng, n=50), 2, rho=[1.0, 0.5, 2.0])
    columns, _ = family.features(family.indices())
    problem = problem_of(rng, sums(rng, columns, 2), intercept=intercept)
    _, states = selected(problem, family, terms=7, pool=pool)
    assert len(states) == 8
    risks = [state.solution.objective for state in states]
    assert np.all(np.diff(risks) < 0)
    for state in states:
        indices, theta = state.weights
        own, owners = family.features(indices)
        coefficients, constant, risk = least_squares(problem, own)
        solution = state.solution
        scaled = own * np.sqrt(theta)[owners]
        fitted = scaled @ solution.coefficients + solution.intercept
        np.testing.assert_allclose(fitted, own @ coefficients + constant, atol=1e-9)
        np.testing.assert_allclose(fitted, solution.fitted, atol=1e-9)
        np.testing.assert_allclose(solution.intercept, constant, atol=1e-9)
        assert solution.objective == pytest.approx(risk.sum())
        slopes = solution.fitted - problem.y
        alpha = -problem.weights[:, None] * slopes / problem.strength
        np.testing.assert_allclose(solution.alpha, alpha, atol=1e-9)
        if indices:
            assert theta.sum() == pytest.approx(1.0)
            # Of the solver's own coefficients: products of blocks have more than one solution.
            own = np.sqrt(theta)[owners, None] * solution.coefficients
            norms = np.sqrt(np.bincount(owners, np.sum(own**2, axis=1)))
            np.testing.assert_allclose(theta, norms / norms.sum(), atol=1e-9)


@pytest.mark.parametrize("representation", ["columns", "blocks"])
def test_a_pool_loses_little_against_pricing_every_time(representation, rng):
    family = ProductFamily(make_bases(representation, rng, n=80, r=4), 2)
    columns, _ = family.features(family.indices())
    problem = problem_of(rng, sums(rng, columns, noise=0.1))
    often, _ = selected(problem, family, terms=6, pool=1)
    seldom, _ = selected(problem, family, terms=6, pool=100)
    nothing = problem.risk(np.zeros_like(problem.y))
    assert seldom.solution.objective <= often.solution.objective + 0.02 * nothing


@pytest.mark.parametrize("pool", [1, 100])
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_a_clear_sum_is_found(loss, pool, rng):
    bases = make_bases("columns", rng, n=400, r=6)
    x = bases.features
    score = 2 * x[:, [0]] * x[:, [3]] + 1.5 * x[:, [2]]
    y = np.where(score > 0, 1.0, -1.0) if loss.classification else score
    y = y + (0.0 if loss.classification else 0.05 * rng.normal(size=y.shape))
    problem = problem_of(rng, y, loss)
    result, _ = selected(problem, ProductFamily(bases, 2), terms=2, pool=pool)
    assert set(result.indices) == {(0, 3), (2,)}


@pytest.mark.parametrize("pool", [1, 3, 100])
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_scale_factors_count_whatever_the_pool(loss, pool, rng):
    """Products that cost far more come last."""
    bases = make_bases("columns", rng, n=200)
    x = bases.features
    score = 2 * x[:, [0]] * x[:, [1]] + 0.5 * x[:, [2]]
    y = np.where(score > 0, 1.0, -1.0) if loss.classification else score
    family = ProductFamily(bases, 2, rho=[1.0, 1.0, 1e5])
    result, _ = selected(problem_of(rng, y, loss), family, terms=3, pool=pool)
    assert all(len(index) == 1 for index in result.indices)


@pytest.mark.parametrize("terms", [0, 1, 4])
def test_no_more_terms_than_asked_for(terms, rng):
    family = ProductFamily(make_bases("columns", rng, n=30), 2)
    problem = problem_of(rng, rng.normal(size=30))
    result, states = selected(problem, family, terms=terms)
    assert len(result.indices) == terms
    assert len(states) == terms + 1
    assert result.converged
    assert result.certificate.kind == "none"
    assert np.isnan(result.certificate.gap)
    assert result.history["active"] == list(range(terms + 1))


@both
@pytest.mark.parametrize("pool", [1, 100])
def test_a_perfect_fit_ends_early(pool, intercept, rng):
    family = ProductFamily(make_bases("columns", rng, n=40), 2)
    columns, _ = family.features([(0,), (1, 2)])
    y = columns @ [2.0, -1.0] + (3.0 if intercept else 0.0)
    result, _ = selected(problem_of(rng, y, intercept=intercept), family, terms=15, pool=pool)
    assert {(0,), (1, 2)} <= set(result.indices)
    assert len(result.indices) < 15
    np.testing.assert_allclose(result.solution.fitted[:, 0], y, atol=1e-9)


def test_a_constant_target_needs_no_kernel(rng):
    family = ProductFamily(make_bases("columns", rng), 2)
    result, _ = selected(problem_of(rng, np.full(12, 3.0)), family)
    assert len(result.indices) == 0
    np.testing.assert_allclose(result.solution.fitted, 3.0)


@pytest.mark.parametrize("representation", ["columns", "blocks"])
@pytest.mark.parametrize("loss", [Squared(), Huber(0.7)], ids=name)
def test_no_more_terms_than_rows(loss, representation, rng):
    family = ProductFamily(make_bases(representation, rng, n=10, r=4), 3)
    result, _ = selected(problem_of(rng, rng.normal(size=10), loss), family, terms=40)
    columns, _ = family.features(result.indices)
    assert np.linalg.matrix_rank(columns) <= 10
    assert result.solution.objective <= 1e-6


@pytest.mark.parametrize("pool", [1, 3, 100])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=name)
def test_copies_are_passed_over(loss, width, pool, rng):
    """Every kernel is there three times; one of each is chosen, and all are in the end."""
    x = rng.normal(size=(60, 4 * width))
    family = ListFamily(FeatureBlocks(np.hstack([x, -2 * x, x]), [width] * 12))
    score = x @ (0.6 ** np.arange(4 * width))
    y = classes(rng, score) if loss.classification else score + rng.normal(size=60)
    result, _ = selected(problem_of(rng, y, loss), family, terms=4, pool=pool)
    assert sorted(j % 4 for (j,) in result.indices) == [0, 1, 2, 3]


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2)], ids=name)
def test_kinked_losses_are_refused(loss, rng):
    family = ListFamily(make_bases("columns", rng))
    problem = problem_of(rng, np.tile([-1.0, 1.0], 6), loss)
    with pytest.raises(ValueError, match=f"loss must be smooth .* got {name(loss)}"):
        selected(problem, family)


def test_kernels_without_features_are_refused(rng):
    family = ProductFamily(make_bases("grams", rng), 2)
    with pytest.raises(ValueError, match="needs kernels with features"):
        selected(problem_of(rng, rng.normal(size=12)), family)


# Fits


@both
@pytest.mark.parametrize("outputs", [1, 3])
def test_projection_is_lstsq(outputs, intercept, rng):
    """Also after more columns than there was room for at first, of very different sizes."""
    columns = rng.normal(size=(60, 40)) * 10.0 ** rng.integers(-4, 4, size=40)
    problem = problem_of(rng, rng.normal(size=(60, outputs)), intercept=intercept)
    fit = Projection(problem)
    assert isinstance(fit_of(problem), Projection)
    done = 0
    for width in (1, 2, 5, 1, 15, 16):
        assert fit.add(columns[:, done : done + width])
        done += width
        coefficients, constant, risk = least_squares(problem, columns[:, :done])
        solution = fit.solution()
        scale = np.abs(coefficients).max(axis=1, keepdims=True)
        np.testing.assert_allclose(solution.coefficients / scale, coefficients / scale, atol=1e-7)
        np.testing.assert_allclose(solution.intercept, constant, atol=1e-8)
        assert solution.objective == pytest.approx(risk.sum())
        assert fit.scale == pytest.approx(2 * risk.sum())
        np.testing.assert_allclose(
            fit.pull(), problem.weights[:, None] * (problem.y - solution.fitted), atol=1e-12
        )


@both
@pytest.mark.parametrize("width", [1, 3])
def test_gains_of_a_projection_are_what_additions_bring(width, intercept, rng):
    columns, others = rng.normal(size=(40, 5)), rng.normal(size=(40, 4 * width))
    problem = problem_of(rng, rng.normal(size=(40, 2)), intercept=intercept)
    fit = Projection(problem)
    fit.add(columns[:, :2])
    prepared = fit.prepare(others)
    fit.add(columns[:, 2:])
    gains = fit.gains(fit.update(prepared), np.arange(0, 4 * width, width))
    _, _, before = least_squares(problem, columns)
    for i, gain in enumerate(gains):
        grown = np.hstack([columns, others[:, i * width : (i + 1) * width]])
        _, _, after = least_squares(problem, grown)
        assert gain == pytest.approx(2 * (before - after).sum())


@both
def test_dependent_columns_are_refused(intercept, rng):
    columns = rng.normal(size=(30, 3))
    problem = problem_of(rng, rng.normal(size=30), intercept=intercept)
    fit = Projection(problem)
    assert fit.add(columns)
    before = fit.solution()
    assert not fit.add(columns[:, :1] - 3 * columns[:, 1:2])
    assert not fit.add(1e-9 * columns[:, [2, 0]])
    assert fit.add(np.full((30, 1), 2.0)) is not intercept
    if intercept:
        np.testing.assert_array_equal(fit.solution().coefficients, before.coefficients)
    # Of a group that is partly new the new part is taken.
    fresh = np.column_stack([columns[:, 0], rng.normal(size=30), columns[:, 1]])
    assert fit.add(fresh)
    every = np.column_stack([columns, np.ones(30), fresh[:, 1]])
    _, _, risk = least_squares(problem, every)
    solution = fit.solution()
    assert solution.objective == pytest.approx(risk.sum())
    added = [columns, fresh] if intercept else [columns, np.full((30, 1), 2.0), fresh]
    fitted = np.hstack(added) @ solution.coefficients + solution.intercept
    np.testing.assert_allclose(fitted, solution.fitted, atol=1e-9)


@both
def test_refit_is_logistic_regression_without_a_penalty(intercept, rng):
    columns = rng.normal(size=(120, 4))
    y = classes(rng, columns @ [1.0, -0.5, 0.3, 0.0])
    problem = problem_of(rng, y, Logistic(), intercept)
    fit = fit_of(problem)
    assert isinstance(fit, Refit)
    for start, stop in ((0, 1), (1, 3), (3, 4)):
        assert fit.add(columns[:, start:stop])
        model = LogisticRegression(C=1e10, fit_intercept=intercept, tol=1e-10, max_iter=1000)
        model.fit(columns[:, :stop], y, sample_weight=problem.weights)
        solution = fit.solution()
        np.testing.assert_allclose(solution.coefficients[:, 0], model.coef_[0], atol=1e-4)
        np.testing.assert_allclose(solution.intercept, model.intercept_, atol=1e-4)
        decision = model.decision_function(columns[:, :stop])
        assert solution.objective == pytest.approx(problem.risk(decision[:, None]), rel=1e-6)


@both
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("loss", [Huber(0.7), SquaredHinge(), Logistic()], ids=name)
def test_slopes_of_a_refit_are_orthogonal_to_its_columns(loss, outputs, intercept, rng):
    columns = rng.normal(size=(100, 5))
    score = columns @ rng.normal(size=(5, outputs))
    y = classes(rng, score) if loss.classification else score + rng.normal(size=score.shape)
    columns[1], y[1] = columns[0], -y[0]  # no plane separates the classes
    fit = Refit(problem_of(rng, y, loss, intercept))
    fit.add(columns[:, :2])
    fit.add(columns[:, 2:])
    np.testing.assert_allclose(columns.T @ fit.pull(), 0.0, atol=1e-5)
    if intercept:
        np.testing.assert_allclose(fit.pull().sum(axis=0), 0.0, atol=1e-5)


@both
@pytest.mark.parametrize("outputs", [1, 3])
def test_separable_classes_have_a_ridge(outputs, intercept, rng):
    """Coefficients are where the slopes are those of the ridge, not as large as rounding lets."""
    columns = rng.normal(size=(40, 4))
    y = np.where(columns[:, :outputs] > 0, 1.0, -1.0)
    if outputs > 1:  # one of the outputs is enough
        y[:, 1:] = rng.choice([-1.0, 1.0], size=(40, outputs - 1))
    fit = Refit(problem_of(rng, y, Logistic(), intercept))
    for added in (columns[:, :2], columns[:, 2:]):
        fit.add(added)
        solution, used = fit.solution(), fit.columns
        assert np.all(solution.fitted[:, 0] * y[:, 0] > 0)
        assert Logistic().value(y[:, 0], solution.fitted[:, 0]).mean() < 0.1
        ridge = APART_RIDGE * (fit.problem.weights @ used**2).mean()
        np.testing.assert_allclose(used.T @ fit.pull(), ridge * solution.coefficients, atol=1e-8)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_debiasing_drops_the_penalty_and_copies(loss, rng):
    bases = make_bases("columns", rng, n=60)
    family = ProductFamily(bases, 2)
    indices = [(0,), (1, 2), (3,)]
    columns, _ = family.features(indices)
    score = columns @ [1.0, -1.0, 0.5]
    y = classes(rng, score) if loss.classification else score + rng.normal(size=60)
    problem = problem_of(rng, y, loss)
    found = debiased(problem, family, indices)
    assert list(found.indices) == indices
    fit = fit_of(problem)
    fit.add(columns)
    assert found.solution.objective == pytest.approx(fit.solution().objective, rel=1e-6)
    if loss == Squared():
        twice = debiased(problem, family, [*indices, (0,), ()])
        assert list(twice.indices) == indices


def test_a_limit_of_time_cuts_the_first_look_at_all_kernels_short(rng):
    family = ProductFamily(FeatureBlocks(rng.normal(size=(40, 60))), 3)
    problem = problem_of(rng, family.features([(0,), (1, 2, 3)])[0].sum(axis=1))
    late = run(Greedy(terms=5), problem, family, rng, 1000, 1e-6, max_time=1e-9)
    assert len(late.indices) == 1
    assert not late.converged
    models = list(growing(Greedy(terms=5), problem, family, 1000, 1e-9, rng))
    assert len(models) == 1
