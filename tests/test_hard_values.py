"""Values at the edges of floating point, masks, broken matrices: a right answer or a clear error.

A fit is right if its certificate is: a lower bound of the optimum that nothing known beats.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from manykernels import MKLClassifier, MKLRegressor, MKLRegressorCV
from manykernels.baselines import HierarchicalKernelLearning, UniformProductKernel
from manykernels.inputs import LARGEST_VALUE, constant_columns, sound_sparse
from manykernels.losses import EpsilonInsensitive

generator = np.random.default_rng(0)
X = generator.normal(size=(40, 3))
y = X[:, 0] * X[:, 1] + X[:, 2]
labels = y > 0
KERNELS = ["linear", "auto", "rbf", "nystroem"]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("size", [1e149, 1e200, 1e300, 1e308])
@pytest.mark.parametrize("columns", [[0, 1, 2], [1]])
def test_large_values_are_worked_with_or_their_column_is_named(kernels, size, columns):
    Z = X.copy()
    Z[:, columns] *= size / np.abs(Z[:, columns]).max()
    model = MKLRegressor(alpha=1e-3, kernels=kernels, degree=2, p=1)
    if size <= LARGEST_VALUE:
        expected = MKLRegressor(alpha=1e-3, kernels=kernels, degree=2, p=1).fit(X, y).predict(X)
        assert np.allclose(model.fit(Z, y).predict(Z), expected, atol=1e-6)
        return
    worst = columns[np.argmax(np.abs(Z[:, columns]).max(axis=0))]
    with pytest.raises(ValueError, match=f"column 'x{worst}' of X has values as large as"):
        model.fit(Z, y)


@pytest.mark.parametrize(
    "estimator",
    [
        MKLRegressorCV(degree=1),
        MKLRegressor(kernels="widths"),
        HierarchicalKernelLearning(),
        UniformProductKernel(),
    ],
)
def test_every_estimator_names_the_column(estimator):
    Z = X.copy()
    Z[3, 1] = -1e200
    with pytest.raises(ValueError, match="column 'x1' of X has values as large as 1e"):
        estimator.fit(Z, y)
    with pytest.raises(ValueError, match="y has values as large as"):
        estimator.fit(X, y * 1e200)
    with pytest.raises(ValueError, match=r"y differs from .* by .* at most"):
        estimator.fit(X, y * 1e-200)


def test_values_that_are_too_small():
    Z = X.copy()
    Z[:, 2] *= 1e-200
    with pytest.raises(ValueError, match="column 'x2' of X varies by"):
        MKLRegressor(alpha=1e-3).fit(Z, y)
    MKLRegressor(alpha=1e-3, standardize=False).fit(Z, y)  # as it is, it has no effect
    MKLRegressor(alpha=1e-3).fit(X, np.full(40, 1e-200))  # constants stay constants


def test_rows_to_predict_that_overflow_name_the_column():
    model = MKLRegressor(alpha=1e-3, degree=3, p=1).fit(X, y)
    Z = X.copy()
    Z[5, :2] = 1e160, 1e200
    with pytest.raises(ValueError, match=r"products of degree 3 overflow; column 'x1' has ones"):
        model.predict(Z)
    with pytest.raises(ValueError, match=r"largest base feature .* of 'x2'"):
        MKLRegressor(alpha=1e-3, degree=3, standardize=False).fit(X * [1, 1, 1e100], y)


@pytest.mark.parametrize("rounding", [0, 1, 3])
@pytest.mark.parametrize("value", [1e-100, 0.1, 1e8, 1e30, -1e100, 1e149])
@pytest.mark.parametrize("kernels", ["linear", "auto", "rbf"])
def test_constant_columns_leave_nothing_behind(value, rounding, kernels):
    """A column that is constant, or differs by units in the last place, is one of zeros."""
    constant = np.full(40, value)
    for _ in range(rounding):
        up = generator.random(40) < 0.5
        constant = np.where(up, np.nextafter(constant, np.inf), constant)
    Z = np.column_stack([X, constant])
    expected = np.column_stack([X, np.zeros(40)])
    one, two = (
        MKLRegressor(alpha=1e-3, kernels=kernels, degree=2).fit(rows, y).predict(rows)
        for rows in (Z, expected)
    )
    assert np.array_equal(one, two)


def test_small_spreads_beside_large_means_are_kept():
    far = 1e6 + 1e-8 * X[:, [0]]  # a hundred units in the last place
    near = MKLRegressor(alpha=1e-3, degree=1, p=1).fit(far, X[:, 0])
    assert near.score(far, X[:, 0]) > 0.999
    assert not constant_columns(far.min(axis=0), far.max(axis=0))[0]
    many = np.repeat(far, 500, axis=0)  # scikit-learn takes this for constant
    truth = np.repeat(X[:, 0], 500)
    assert MKLRegressor(alpha=1e-3, degree=1, p=1).fit(many, truth).score(many, truth) > 0.999


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
@pytest.mark.parametrize("alpha", [1e-300, 1e-200, 1e-145, 1e-100, 1e-50, 1e100, 1e300])
@pytest.mark.parametrize(
    ("estimator", "loss"),
    [(MKLRegressor, "squared"), (MKLClassifier, "squared_hinge"), (MKLClassifier, "logistic")],
)
@pytest.mark.filterwarnings("ignore")
def test_certificates_at_extreme_strengths(p, alpha, estimator, loss):
    """The optimum never falls with the strength: a bound must not exceed a larger one's value."""
    target = y if estimator is MKLRegressor else labels

    def fit(strength):
        settings = {"kernels": "auto", "loss": loss, "p": p, "max_iter": 20, "max_time": 1}
        return estimator(alpha=strength, degree=1, **settings).fit(X[:12], target[:12])

    if alpha < 1e-140:
        with pytest.raises(ValueError, match=f"alpha must be at least 1e-140.*alpha={alpha:g}"):
            fit(alpha)
        return
    try:
        model = fit(alpha)
    except ValueError as error:
        assert "beyond floating-point range" in str(error)  # noqa: PT017
        return
    above = fit(1e-3 if alpha < 1 else 10 * alpha).objective_
    assert model.objective_ * (1 - model.gap_) <= above * (1 + 1e-9)


@pytest.mark.parametrize("p", [1, 4 / 3, 1.999999, 2])
@pytest.mark.parametrize("alpha", [1e-100, 1e-76, 1e-40])
@pytest.mark.parametrize("kernels", ["nystroem", "auto", "linear", "rbf"])
@pytest.mark.parametrize("seed", [0, 1])
def test_next_to_no_penalty_with_weights_of_many_decades(p, alpha, kernels, seed):
    """A model that is not far worse than none, or an error in words; no warning from inside."""
    rng = np.random.default_rng(seed)
    rows, target = rng.normal(size=(25, 2)), rng.normal(size=25)
    weights = 10.0 ** rng.uniform(-15.5, 0, size=25)
    shares = np.where(weights < 1e-16 * weights.max(), 0.0, weights)
    model = MKLRegressor(kernels, alpha=alpha, p=p, degree=1, max_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            found = model.fit(rows, target, weights).predict(rows)
        except ValueError as error:
            assert "beyond floating-point range" in str(error)  # noqa: PT017
            return
    assert np.average((target - found) ** 2, weights=shares) <= 10 * np.abs(target).max() ** 2


@pytest.mark.parametrize("what", ["X", "y", "sample_weight"])
def test_masks_are_not_ignored(what):
    arguments = {"X": X, "y": y, "sample_weight": np.ones(40)}
    whole = np.ma.array(arguments[what], mask=False)
    plain = MKLRegressor(alpha=1e-3, degree=1).fit(**arguments).predict(X)
    model = MKLRegressor(alpha=1e-3, degree=1).fit(**{**arguments, what: whole})
    assert np.array_equal(model.predict(X), plain)
    masked = np.ma.array(arguments[what], mask=np.asarray(arguments[what]) > 0.5)
    words = f"{what} must have no masked values; got {masked.mask.sum()}"
    with pytest.raises(ValueError, match=words):
        MKLRegressor(alpha=1e-3, degree=1).fit(**{**arguments, what: masked})
    if what == "X":
        with pytest.raises(ValueError, match=words):
            model.predict(masked)


def test_masks_and_complex_numbers_in_partitions():
    da = pytest.importorskip("dask.array")
    target = da.from_array(y, chunks=20)
    for rows, words in (
        (np.ma.array(X, mask=X > 1), "X must have no masked values"),
        (X + 1j, "X must be real; got complex numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            MKLRegressor(alpha=1e-3, degree=1).fit(da.from_array(rows, chunks=(20, 3)), target)


@pytest.mark.parametrize(("size", "words"), [(1e300, "as large as"), (1e-200, "varies by")])
def test_extreme_values_in_partitions(size, words):
    da = pytest.importorskip("dask.array")
    Z, target = X.copy(), da.from_array(y, chunks=20)
    Z[:, 1] *= size
    with pytest.raises(ValueError, match=f"column 'x1' of X .*{words}"):
        MKLRegressor(alpha=1e-3, degree=1).fit(da.from_array(Z, chunks=(20, 3)), target)
    with pytest.raises(ValueError, match="y "):
        MKLRegressor(alpha=1e-3, degree=1).fit(da.from_array(X, chunks=(20, 3)), target * size)


@pytest.mark.parametrize("value", [0.1, 1e30, 1e100])
def test_constant_columns_in_partitions(value):
    da = pytest.importorskip("dask.array")
    target = da.from_array(y, chunks=20)
    found = []
    for constant in (value, 0.0):
        Z = np.column_stack([X, np.full(40, constant)])
        model = MKLRegressor(alpha=1e-3, degree=2, p=1).fit(
            da.from_array(Z, chunks=(20, 4)), target
        )
        found.append(model.predict(Z))
    assert np.allclose(*found, rtol=1e-12, atol=1e-12)


def test_partitions_of_other_columns():
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    parts = [
        da.from_delayed(dask.delayed(lambda k: X[20 * k : 20 * k + 20, : 3 - k])(k), (20, 3), float)
        for k in range(2)
    ]
    with pytest.raises(
        ValueError, match=r"partitions of X must have its 3 columns; got one of shape"
    ):
        MKLRegressor(alpha=1e-3, degree=1).fit(da.concatenate(parts), da.from_array(y, chunks=20))


@pytest.mark.parametrize(
    ("rows", "target"),
    [(X[:, :2] * 1e300, y), (X[:, :2], y * np.nan), (X[:, :2], ["a"] * 40), (X[:, :1], y[:3])],
)
def test_a_failed_fit_changes_nothing(rows, target):
    model = MKLRegressor(alpha=1e-3, degree=1).fit(X, y)
    before, expected = dict(vars(model)), model.predict(X)
    with pytest.raises(ValueError, match=r"."):
        model.fit(rows, target)
    assert vars(model) == before
    assert np.array_equal(model.predict(X), expected)


@pytest.mark.parametrize("wrong", [10**6, -7, 3])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("step", ["fit", "predict"])
def test_sparse_indices_out_of_range(wrong, kind, step):
    """They ended the process."""
    model = MKLRegressor(alpha=1e-3, standardize="scale", degree=1)
    good = np.where(X > 0, X, 0.0)
    model.fit(sparse.csr_array(good), y)
    matrix = sparse.csr_array(good).asformat(kind)
    if kind == "coo":
        matrix.coords[1][2] = wrong
    else:
        matrix.indices[2] = wrong + (40 if kind == "csc" and wrong > 0 else 0)
    with pytest.raises(ValueError, match="X must be a sparse matrix with sound indices"):
        model.fit(matrix, y) if step == "fit" else model.predict(matrix)


def test_sound_sparse_matrices_stay():
    for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        matrix = sparse.random_array((5, 4), density=0.5, format=kind, rng=0)
        assert np.array_equal(sound_sparse(matrix).toarray(), matrix.toarray())


@pytest.mark.parametrize("estimator", [MKLRegressor, MKLClassifier])
@pytest.mark.parametrize("gap", [None, np.nan])
def test_targets_that_are_missing(estimator, gap):
    target = np.where(y > 0, 1, 2).astype(object)
    for rows in ([3], range(40)):
        target[list(rows)] = gap
        words = rf"y must have a value in each row; got {gap} in {len(rows)} of 40"
        with pytest.raises(ValueError, match=words):
            estimator(degree=1).fit(X, target)


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-200, 1e-320])
def test_only_ratios_of_weights_matter(size):
    weights = generator.integers(1, 4, size=40).astype(float)
    model, plain = MKLRegressor(alpha=1e-3, degree=1), MKLRegressor(alpha=1e-3, degree=1)
    rounding = 1e-9 if size > 1e-300 else 1e-3  # weights themselves are rounded there
    expected = plain.fit(X, y, weights).predict(X)
    assert np.allclose(model.fit(X, y, weights * (size / 4)).predict(X), expected, atol=rounding)


def test_folds_without_weight():
    weights = np.ones(40)
    weights[:8] = 0.0
    with pytest.raises(ValueError, match=r"Drop the rows of weight zero, mix the rows"):
        MKLRegressorCV(cv=5, degree=1).fit(X, y, weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("y", "weights"),
    [
        ([2e-100, 1e-100, 1e-100, 0.0], None),
        ([2e-100, 1e-100, 1e-100, 0, 0, 0, 0, 0, 0, 2e-100], [2.0, 1, 1, 0, 0, 0, 0, 0, 0, 2]),
        ([1.0, 1, 2, 2, 0, 0, 2], [0.0, 0, 0, 1, 0, 1, 2e8]),
    ],
)
def test_kinked_losses_where_rounding_is_all_there_is_to_solve(y, weights):
    """Targets far below the strength, or a row that has all the weight: errors from inside."""
    X, y = np.random.default_rng(0).normal(size=(len(y), 1)), np.array(y)
    model = MKLRegressor(loss=EpsilonInsensitive(0.0), degree=1, max_iter=40, random_state=0)
    errors = np.abs(model.fit(X, y, sample_weight=weights).predict(X) - y)
    assert np.average(errors, weights=weights) <= model.objective_ * (1 + 1e-6)
    assert model.gap_ >= 0
