import copy
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, DotProduct

from manykernels import MKLRegressor
from manykernels.bases import FeatureBlocks, GramStack
from manykernels.kernels import Precomputed, check_gram, rbf, refuse_large, resolve, sets

NAMES = ["age", "bmi", "bp"]


def test_linear_is_one_feature_for_each_column(rng):
    X = rng.normal(size=(6, 3))
    kernels = resolve("linear", NAMES)
    bases = kernels.fit(X, X)
    assert isinstance(bases, FeatureBlocks)
    assert kernels.names == NAMES
    np.testing.assert_array_equal(bases.features, X)


def test_blocks_of_columns(rng):
    X = rng.normal(size=(6, 3))
    kernels = resolve([("linear", ["bp", "age"]), ("linear", 1)], NAMES)
    bases = kernels.fit(X, X)
    assert isinstance(bases, FeatureBlocks)
    np.testing.assert_array_equal(bases.block(0), X[:, [2, 0]])
    np.testing.assert_array_equal(bases.block(1), X[:, [1]])
    assert kernels.names == ["linear(bp, age)", "bmi"]


def test_rbf_of_each_column(rng):
    X, new = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    kernels = resolve("rbf", NAMES)
    assert isinstance(kernels.fit(X, X), GramStack)
    cross = kernels.on(new, new)
    expected = np.exp(-((new[:, None, 1] - X[None, :, 1]) ** 2) / 2)
    np.testing.assert_allclose(cross.kernel(1), expected)
    assert kernels.names[1] == "rbf(bmi)"


def test_callables_and_scikit_learn_kernels(rng):
    def half(X, Y):
        return X @ Y.T / 2

    X = rng.normal(size=(5, 3))
    kernels = resolve([half, (RBF(2.0), [0]), (DotProduct(), ["bmi", "bp"]), "rbf"], NAMES)
    stack = kernels.fit(X, X)
    np.testing.assert_allclose(stack.kernel(0), X @ X.T / 2)
    np.testing.assert_allclose(stack.kernel(1), RBF(2.0)(X[:, [0]]))
    np.testing.assert_allclose(stack.kernel(2), DotProduct()(X[:, 1:]))
    np.testing.assert_allclose(stack.kernel(3), rbf(X, X))
    assert kernels.names == [
        "half",
        "RBF(length_scale=2)(age)",
        "DotProduct(sigma_0=1)(bmi, bp)",
        "rbf(age, bmi, bp)",
    ]


def test_precomputed_looks_up_rows(rng):
    F = rng.normal(size=(9, 4))
    kernel = Precomputed(F @ F.T, name="texts")
    kernels = resolve([kernel], ["row"])
    train, new = np.array([[2.0], [5.0], [7.0]]), np.array([[0.0], [8.0]])
    np.testing.assert_allclose(
        kernels.fit(train, train).kernel(0), (F @ F.T)[[2, 5, 7]][:, [2, 5, 7]]
    )
    np.testing.assert_allclose(kernels.on(new, new).kernel(0), (F @ F.T)[[0, 8]][:, [2, 5, 7]])
    assert kernels.names == ["texts"]
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(ValueError, match=r"X must hold row numbers 0\.\.8"):
        kernels.on(np.array([[9.0]]), np.array([[9.0]]))
    with pytest.raises(ValueError, match="X must hold row numbers"):
        kernels.on(np.array([[0.5]]), np.array([[0.5]]))


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], "kernels must not be empty"),
        ("cubic", "kernels must be one of 'best', 'both', .*'precomputed', a callable"),
        (["cubic"], r"kernels\[0\] must be \"auto\", \"linear\""),
        ([3.5], r"kernels\[0\] must be"),
        ([("rbf", ["height"])], r"refers to column height, which X does not have"),
        ([("rbf", [7])], r"refers to column 7"),
        ([("rbf", [])], "must see at least one column"),
        ([("rbf", [0.7])], r"refers to column 0\.7"),
        ([("rbf", [True, False])], "has a mask of 2 columns; X has 3"),
        ([("rbf", ["age"], 1.0)], "pair"),
        ([Precomputed(np.ones((3, 2)))], "must be square"),
    ],
)
def test_wrong_kernels_are_named(kernels, message):
    rows = np.zeros((3, 3))
    with pytest.raises(ValueError, match=message):
        resolve(kernels, NAMES).fit(rows, rows)


def test_columns_by_mask_and_slice(rng):
    X = rng.normal(size=(4, 3))
    kernels = resolve([("linear", [True, False, True]), ("linear", slice(1, None))], NAMES)
    assert kernels.names == ["linear(age, bp)", "linear(bmi, bp)"]
    np.testing.assert_array_equal(kernels.fit(X, X).block(0), X[:, [0, 2]])


def test_equal_names_are_numbered(rng):
    grams = [Precomputed(np.eye(3)), Precomputed(np.ones((3, 3)))]
    assert resolve(grams, ["row"]).names == ["precomputed[0]", "precomputed[1]"]


def test_callable_of_wrong_shape(rng):
    X = rng.normal(size=(5, 3))
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(5, 5\)"):
        resolve([lambda A, B: A], NAMES).fit(X, X)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda K: K + 1j, "complex numbers"),
        (lambda K: np.ma.array(K, mask=K > 1), "masked values"),
        (lambda K: np.full(K.shape, "a"), "array"),
        (sparse.csr_array, "<Compressed Sparse Row"),
    ],
    ids=["complex", "masked", "text", "sparse"],
)
def test_kernel_values_are_real_numbers(change, got, rng):
    X = rng.normal(size=(5, 3))
    with pytest.raises(ValueError, match=rf"\) must return real numbers; got {got}"):
        resolve([lambda A, B: change(A @ B.T)], NAMES).fit(X, X)
    matrix = Precomputed(change(X @ X.T), "words")
    with pytest.raises(ValueError, match=rf"kernel 'words' must hold real numbers; got {got}"):
        resolve([matrix], ["row"]).fit(np.arange(5)[:, None], np.arange(5)[:, None])


@pytest.mark.parametrize("size", [1e-290, 1e-200, 1.0, 1e139, 1e200, 1e290])
def test_kernels_of_any_size_work_or_are_refused(size, rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    check_gram(size * X @ X.T, "fine")
    with pytest.raises(ValueError, match="must be positive semi-definite"):
        check_gram(size * (X @ X.T - np.eye(30)), "low")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for p in (1, 4 / 3, 2):
            model = MKLRegressor([lambda A, B: size * A @ B.T], degree=1, p=p)
            if size > 1e140:
                with pytest.raises(ValueError, match=r"kernel value is .*, of '<lambda>'"):
                    model.fit(X, y)
            else:
                assert np.all(np.isfinite(model.fit(X, y).predict(X)))


def test_gram_checks(rng):
    F = rng.normal(size=(20, 3))
    check_gram(F @ F.T, "fine")
    check_gram(np.zeros((3, 3)), "zero")
    with pytest.raises(ValueError, match=r"'odd' must be symmetric.*Use \(K \+ K\.T\) / 2"):
        check_gram(F @ F.T + np.triu(np.ones((20, 20)), 1), "odd")
    with pytest.raises(
        ValueError, match=r"'low' must be positive semi-definite; .* eigenvalue of -1"
    ):
        check_gram(F @ F.T - np.eye(20), "low")


def test_stacks_too_large_for_memory_are_refused():
    with pytest.raises(ValueError, match=r"1000 kernels on 1000000 rows, a matrix each: .* GiB"):
        refuse_large(1000, 1_000_000)
    refuse_large(10, 100)


def test_kernels_that_are_not_used_are_left_out():
    X = np.random.default_rng(0).normal(size=(40, 3))
    kernels = resolve([("auto", [0]), ("polynomial", [1]), ("linear", [2, 0])], ["a", "b", "c"])
    kernels.fit(X, X)
    every = kernels.on(X[:9], X[:9])
    some = kernels.on(X[:9], X[:9], used={0, every.count - 1})
    assert some.sizes.tolist() == every.sizes.tolist()
    for j in range(every.count):
        truth = every.block(j) if j in (0, every.count - 1) else 0.0 * every.block(j)
        np.testing.assert_array_equal(some.block(j), truth)


def test_the_widths_of_kernels_are_known_without_their_rows():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 1] = 1.0
    kernels = resolve("auto", ["a", "b", "c"])
    sizes = kernels.fit(X, X).sizes.tolist()
    del kernels.widths
    assert kernels.widths == sizes


def test_maps_that_were_let_go_are_fitted_again(rng, monkeypatch):
    X = np.column_stack([rng.normal(size=(30, 3)), np.arange(30) % 4, np.ones(30)])
    weights, other = rng.dirichlet(np.ones(30)), rng.normal(size=(7, 5))
    names = list("abcde")
    kept = resolve("auto", names, 1)
    expected = kept.fit(X, X, weights).features
    monkeypatch.setattr(sets, "KEPT_MAPS", 4)
    light = resolve("auto", names, 1)
    np.testing.assert_array_equal(light.fit(X, X, weights).features, expected)
    assert (light.widths, light.names) == (kept.widths, kept.names)
    used = {1, len(kept.fitted) - 2}
    on = [one.on(other, other, used=used).features for one in (kept, light, light.only(used))]
    np.testing.assert_array_equal(on[1], on[0])
    np.testing.assert_array_equal(on[2], on[0])
    final = light.only(used)
    light.on(other, other)  # what is fitted later leaves it alone
    assert final.training is None
    assert replace(final).widths == kept.widths
    # Kernels that have no part in a model are zero, all else is at hand.
    np.testing.assert_array_equal(final.on(other, other).features, on[0])
    whole = [one.on(other, other).features for one in (kept, light)]
    np.testing.assert_array_equal(whole[1], whole[0])
