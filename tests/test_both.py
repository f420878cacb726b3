"""Spline terms and kernels with widths in one model, and the choice among all three kinds."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import manykernels
from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.bases import TERMS, FeatureBlocks, TermRows
from manykernels.cli.app import app
from manykernels.losses import Squared
from manykernels.objective import Problem
from manykernels.selection import SplitTest
from manykernels.solvers.widths.evidence import unit_of
from manykernels.solvers.widths.slide import slide, uneven
from width_truth import minus_log_evidence

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def truth(X):
    """Return a strong sum of functions of one and two columns, and a bump of three others."""
    a, b, c, d, e = np.asarray(X)[:, :5].T
    smooth = 2 * np.sin(5 * a) + 2 * np.abs(b) + a * b
    return smooth + 3 * np.exp(-4 * ((c - 0.2) ** 2 + (d + 0.2) ** 2 + e**2))


def drawn(rng, rows, noise=0.1):
    X = pd.DataFrame(rng.uniform(-1, 1, size=(rows, 5)), columns=list("abcde"))
    return X, truth(X) + noise * rng.normal(size=rows)


@pytest.fixture(scope="module")
def fitted():
    X, y = drawn(np.random.default_rng(1), 300)
    return MKLRegressor(kernels="both", alpha=3e-5, random_state=0).fit(X, y), X, y


def features(rows):
    """Return the features of a kernel of terms, each times the root of its weight."""
    parts = []
    for product, weight in zip(rows.products, rows.weights, strict=True):
        whole = np.ones((rows.rows, 1))
        for j in product:
            block = rows.blocks.block(j)
            whole = np.stack([np.kron(a, b) for a, b in zip(whole, block, strict=True)])
        parts.append(np.sqrt(weight) * whole)
    return np.hstack(parts)


def test_the_kernel_of_terms_is_the_product_of_their_features(rng):
    products, weights = [(), (0,), (2,), (0, 1), (1, 2), (0, 2)], rng.random(6)
    left, right = (
        TermRows(FeatureBlocks(rng.normal(size=(n, 6)), [1, 3, 2]), products, weights)
        for n in (9, 7)
    )
    known = features(left) @ features(right).T
    np.testing.assert_allclose(left.kernel(right), known, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(left.kernel(right, bits=32), known, rtol=1e-4, atol=1e-5)
    assert left.kernel(right, bits=32).dtype == np.float32
    some = left.take(np.array([4, 1]))
    np.testing.assert_allclose(some.kernel(right), known[[4, 1]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(left.diagonal(), np.diag(left.kernel(left)), rtol=1e-12)
    alpha = rng.normal(size=(9, 2))
    values = right.expansion(left.coefficients(alpha))
    np.testing.assert_allclose(values, known.T @ alpha, rtol=1e-10, atol=1e-10)


def test_predictions_are_those_of_a_dense_solve_of_the_kernel_written_out(fitted):
    model, X, y = fitted
    learnt = model.function_.predictor
    assert TERMS in learnt.indices
    new = drawn(np.random.default_rng(2), 40)[0]
    rows, others = (model.function_.bases(one.to_numpy()) for one in (X, new))

    def kernel(left):
        total = np.zeros((left.rows, rows.rows))
        for (shape, columns, widths), theta in zip(learnt.indices, learnt.theta, strict=True):
            if shape == "terms":
                total += theta * features(left.terms) @ features(rows.terms).T
                continue
            apart = np.abs(left.values[:, None, columns] - rows.values[None, :, columns])
            far = (apart ** (1 if shape == "laplace" else 2)) @ np.array(widths)
            total += theta * np.exp(-np.sqrt(far) if shape == "radial" else -far)
        return total

    n, ones = len(y), np.ones((len(y), 1))
    ridge = kernel(rows) + n * model.alpha * np.eye(n)
    system = np.block([[ridge, ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(y, 0.0))
    values = kernel(others) @ solved[:n] + solved[n]
    np.testing.assert_allclose(model.predict(new), values, rtol=1e-5, atol=1e-5)
    assert learnt.theta.sum() == pytest.approx(1)
    # Both kinds of kernels have the same size.
    assert rows.terms.diagonal().mean() == pytest.approx(1)


def test_a_sum_of_smooth_functions_and_a_bump_are_found(fitted):
    model, X, y = fitted
    new = drawn(np.random.default_rng(3), 1000)[0]
    score = model.score(new, truth(new))
    assert score > 0.97
    terms = MKLRegressor(kernels="auto", p=1, degree=2, alpha=3e-4, random_state=0).fit(X, y)
    assert score > terms.score(new, truth(new))
    table = model.explain(None).set_index("term")
    assert {"a", "b", "a * b", "c", "d", "e"} <= set(table.index)
    assert table.index[0] == "a"
    assert table["share"].sum() == pytest.approx(1)
    assert model.gap_kind_ == "estimate"
    assert 0 <= model.gap_ < np.inf
    assert model.n_kernels_ == np.inf


def test_contributions_add_up_to_predictions_also_outside_the_training_rows(fitted):
    model, X, _ = fitted
    for rows in (X[:50], 1.5 * X[:50]):
        parts = model.contributions(rows)
        np.testing.assert_allclose(parts.sum(axis=1), model.predict(rows), rtol=1e-9, atol=1e-9)


def test_shares_agree_with_monte_carlo(fitted):
    model, X, _ = fitted
    rng, times = np.random.default_rng(4), 150
    values, names = X.to_numpy(), list(X)
    # Every value of a column comes equally often, in random order.
    draws = [
        np.column_stack([rng.permutation(np.tile(x, times)) for x in values.T]) for _ in range(2)
    ]

    def on(rows):
        return model.predict(pd.DataFrame(rows, columns=names))

    one, other = (on(rows) for rows in draws)
    mean, variance = np.mean([one, other]), np.var([one, other])
    table = model.explain(None).set_index("term")["share"]

    def closed(columns):
        """Return the share of all components inside some columns: those are kept, others drawn.

        By covariances, or where these are large by what the others change, whichever varies less.
        """
        there, back = draws[1].copy(), draws[0].copy()
        there[:, columns], back[:, columns] = draws[0][:, columns], draws[1][:, columns]
        same, rest = on(there), on(back)
        pairs = (one - mean) * (same - other) + (other - mean) * (rest - one)
        changes = (one - same) ** 2 + (other - rest) ** 2
        share = np.mean(pairs) / 2 / variance
        return share if share < 0.5 else 1 - np.mean(changes) / 4 / variance

    for size in (1, 2):
        for columns in combinations(range(3), size):
            inside = [
                " * ".join(names[j] for j in part)
                for k in range(1, size + 1)
                for part in combinations(columns, k)
            ]
            share = table.reindex(inside).fillna(0.0).sum()
            assert closed(list(columns)) == pytest.approx(share, abs=0.005)


def test_two_functions_of_one_column_are_one_term(fitted, monkeypatch):
    model, _, _ = fitted
    part = model.function_.terms.model.terms
    owners = part.kernels.owners
    pair = tuple(np.flatnonzero(np.equal(owners, owners[0]))[:2].tolist())
    assert len(pair) == 2, "a column with smooth and fine functions"
    sizes = [part.features_at(owners[0], np.zeros(1))[a].shape[1] for a in pair]
    own = np.random.default_rng(0).normal(size=(*sizes, 1))
    monkeypatch.setitem(vars(part), "products", [pair])
    monkeypatch.setitem(vars(part), "sets", [(owners[0],)])
    monkeypatch.setitem(vars(part), "coefficients", [own])
    law = model.function_.terms.anova.marginals[owners[0]]
    found = part.components({owners[0]: law})
    assert set(found) == {(), (owners[0],)}
    left, right = (part.features_at(owners[0], law.nodes)[a] for a in pair)
    values = np.einsum("ga,abc,gb->g", left, own, right)
    again = found[()] + law.basis @ found[owners[0],][0]
    np.testing.assert_allclose(again, values, rtol=1e-8, atol=1e-8)
    assert found[()][0] == pytest.approx(law.weights @ values)


def test_slides_gain_evidence_beside_terms(fitted):
    model, X, y = fitted
    learnt = model.function_.predictor
    rows = np.arange(120)
    family = learnt.family.on(model.function_.bases(X.to_numpy()).take(rows))
    target = y[rows, None] - y[rows].mean()
    problem = Problem(target, np.full(120, 1 / 120), Squared(), 1e-3, 1.0, True)
    kernels = [("gaussian", (2, 3, 4), (0.3, 0.3, 0.3)), TERMS, ("laplace", (0,), (2.0,))]
    theta = np.array([0.2, 0.5, 0.3])

    moved = slide(problem, family, kernels, theta, 0.1, 10)
    assert TERMS in moved.kernels
    assert moved.theta.sum() == pytest.approx(1)
    before = minus_log_evidence(target, family.gram(kernels, theta), 0.1)
    after = minus_log_evidence(target, family.gram(moved.kernels, moved.theta), moved.noise)
    assert after < before - 0.05
    logs = [np.log(kernel[2]) for kernel in moved.kernels if kernel != TERMS]
    owners = np.repeat(np.arange(len(logs)), [len(own) for own in logs])
    cost = uneven(np.concatenate(logs), owners, len(rows))[0]
    unit = unit_of(float(np.mean(target**2)))  # of the targets' squares, in evidence of a slide
    assert after + cost - np.log(unit) / 2 == pytest.approx(moved.value, abs=1e-3)
    alone = slide(problem, family, [TERMS], np.ones(1), 0.1, 5)
    assert alone.kernels == [TERMS]


def test_files_keep_the_model(fitted, tmp_path):
    model, X, _ = fitted
    again = manykernels.load(model.save(tmp_path / "both.mk"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    pd.testing.assert_frame_equal(again.explain(), model.explain())
    assert again.terms_ == model.terms_


def test_the_kernel_is_that_of_the_predictions(fitted):
    model, X, _ = fitted
    values = model.kernel(X[:7], X) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(values, model.predict(X[:7]), rtol=1e-6, atol=1e-6)


def test_rows_of_no_weight_have_no_part(rng):
    X, y = drawn(rng, 120)
    weights = np.repeat([1.0, 2.0, 0.0], 40)
    model = MKLRegressor(kernels="both", random_state=0)
    whole = model.fit(X, y, weights).predict(X)
    alone = model.fit(X[:80], y[:80], weights[:80]).predict(X)
    np.testing.assert_allclose(alone, whole, atol=1e-5)  # widths are found in single precision


def test_many_rows_are_solved_by_conjugate_gradients(fitted, monkeypatch):
    model, X, y = fitted
    monkeypatch.setattr("manykernels.solvers.widths.whole.CHOLESKY_ROWS", 100)
    again = MKLRegressor(kernels="both", alpha=3e-5, random_state=0).fit(X, y)
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-3)


def test_every_fold_has_terms_of_its_own(rng):
    X, y = drawn(rng, 120)
    model = MKLRegressorCV(kernels="both", random_state=0, cv=2, alphas=[1e-3, 1e-4]).fit(X, y)
    assert model.alpha_ in (1e-3, 1e-4)
    values = X.to_numpy()
    for fold in model.choice_.folds:
        held = fold.function.decision(values[fold.test])
        np.testing.assert_allclose(fold.predictions, held, rtol=1e-8, atol=1e-8)
        inside = np.setdiff1d(np.arange(120), fold.test)
        assert fold.function.predictor.family.rows == len(inside)
        # Functions of columns are centred over the rows of the fold, and only over these.
        blocks = fold.function.kernels.term_rows(values[inside]).blocks
        np.testing.assert_allclose(blocks.features.mean(axis=0), 0, atol=1e-10)
        others = fold.function.kernels.term_rows(values[fold.test]).blocks
        assert np.abs(others.features.mean(axis=0)).max() > 1e-3


def test_classes(rng):
    X, y = drawn(rng, 200)
    three = np.digitize(y, [0.0, 1.0])
    for target, kind in ((y > 0.5, MKLClassifierCV), (three, MKLClassifier)):
        options = {"alphas": [1e-2, 1e-3], "cv": 2} if kind is MKLClassifierCV else {}
        model = kind(kernels="both", random_state=0, **options).fit(X[:150], target[:150])
        assert model.score(X[150:], target[150:]) > 0.7
        label = model.classes_[-1] if len(model.classes_) > 2 else None
        parts = model.contributions(X[150:], label=label)
        values = model.decision_function(X[150:]).reshape(50, -1)[:, -1]
        np.testing.assert_allclose(parts.sum(axis=1), values, rtol=1e-8, atol=1e-8)


def test_categories_are_so_in_both_parts(rng):
    X, y = drawn(rng, 200)
    X["town"] = rng.integers(4, size=200)
    y = y + np.array([0.0, 3.0, -3.0, 1.0])[X["town"]]
    kernels = [*(("both", column) for column in "abcde"), ("categorical", "town")]
    model = MKLRegressor(alpha=1e-3, kernels=kernels, random_state=0).fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > 0.8
    assert model.explain()["term"][0] == "town"
    parts = model.contributions(X[160:])
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(X[160:]), rtol=1e-8, atol=1e-8)


def test_nothing_to_find_is_a_constant(rng):
    X, y = drawn(rng, 60)
    model = MKLRegressor(kernels="both", alpha=1e6, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-3)
    assert np.isfinite(model.contributions(X[:3]).to_numpy()).all()


def test_both_is_among_the_kinds_to_choose_from_if_time_allows(rng):
    X, y = drawn(rng, 60)
    model = MKLRegressor(kernels="best", max_time=400.0, random_state=0).fit(X, y)
    kinds = {"ridge", "monomials", "greedy", "auto", "widths", "both"}
    assert set(model.kernels_losses_) == kinds
    best = min(model.kernels_losses_, key=model.kernels_losses_.get)
    assert model.kernels_ in (best, "ridge")
    # Where p is not that of spline terms beside widths, these are left out.
    model = MKLRegressor(kernels="best", p=2, alpha=1e-2, random_state=0).fit(X, y)
    assert set(model.kernels_losses_) == {"monomials", "auto"}


@pytest.mark.parametrize(
    ("options", "message"),
    [({"p": 1.5}, "p must be None or 1"), ({"rho": [1, 1, 1]}, "rho must be None")],
)
def test_what_has_no_meaning_for_two_parts_is_refused(options, message, rng):
    X, y = drawn(rng, 30)
    with pytest.raises(ValueError, match=message):
        MKLRegressor(kernels="both", **options).fit(X, y)


def test_terms_are_not_tested_for_two_fits_in_a_row(rng):
    X, y = drawn(rng, 30)
    with pytest.raises(ValueError, match="two fits one after the other"):
        SplitTest(MKLRegressor(kernels="both")).fit(X, y)


def test_the_command(rng, tmp_path):
    X, y = drawn(rng, 100)
    X["town"] = np.array(["here", "there"])[rng.integers(2, size=100)]
    path = tmp_path / "table.csv"
    X.assign(y=y).to_csv(path, index=False)
    files = ["--model", str(tmp_path / "m.mk"), "--report", str(tmp_path / "r.html")]
    result = CliRunner().invoke(
        app, ["fit", str(path), "--target", "y", "--kernels", "both", *files]
    )
    assert result.exit_code == 0, result.output
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The model holds its training rows, and so does its file." in page
    model = manykernels.load(tmp_path / "m.mk")
    assert len(model.predict(X)) == 100
