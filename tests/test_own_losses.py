"""Losses of a user's own: what a fit asks of them, and what it does with their targets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import xlogy

from checks import LOSSES
from manykernels import MKLRegressor
from manykernels.losses import Squared, depends_on_errors, refuse_unsound


@dataclass(frozen=True)
class Poisson:
    """The likelihood of counts, below zero for most of them."""

    classification: ClassVar[bool] = False

    def value(self, y, f):
        return np.exp(f) - y * f

    def gradient(self, y, f):
        return np.exp(f) - y

    def curvature(self, y, f):
        return np.exp(f)

    def conjugate(self, y, v):
        t = np.maximum(v + y, 0)
        return np.where(v + y >= 0, xlogy(t, t) - t, np.inf)


class Deviance(Poisson):
    """The same, but for what depends on the counts alone: zero at best."""

    def value(self, y, f):
        return super().value(y, f) + xlogy(y, y) - y

    def conjugate(self, y, v):
        return super().conjugate(y, v) - xlogy(y, y) + y


def counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, rng.poisson(np.exp(2 + X[:, 0] / 2)).astype(float)


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_losses_below_zero_are_refused(p):
    """A share of an objective below zero is no gap: it was zero at the first iterate."""
    X, y = counts()
    for parted in (False, True):
        rows, targets = X, y
        if parted:
            array = pytest.importorskip("dask.array")
            rows, targets = array.from_array(X, chunks=(20, 3)), array.from_array(y, chunks=20)
        model = MKLRegressor("linear", degree=1, p=p, loss=Poisson())
        with pytest.raises(ValueError, match="loss must have no value below zero; got values down"):
            model.fit(rows, targets)


@pytest.mark.parametrize("p", [1, 4 / 3, 2])
def test_targets_are_centred_for_losses_of_errors_alone(p):
    X, y = counts()
    strong = MKLRegressor("linear", degree=1, p=p, alpha=1e6, loss=Deviance()).fit(X, y)
    np.testing.assert_allclose(strong.predict(X), np.log(y.mean()), atol=1e-4)
    model = MKLRegressor("linear", degree=2, p=p, alpha=0.01, loss=Deviance()).fit(X, y)
    assert model.gap_ <= model.tol
    assert np.mean(Deviance().value(y, model.predict(X))) <= model.objective_ * (1 + 1e-9)


def test_which_losses_are_of_errors_alone():
    y = np.array([[3.0], [8.0], [1.0]])
    real = [loss for loss in LOSSES if not loss.classification]
    assert all(depends_on_errors(loss, y, 4.0) for loss in real)
    assert not depends_on_errors(Deviance(), y, 4.0)
    for loss in LOSSES:
        refuse_unsound(loss, np.sign(y - 4) if loss.classification else y)


@pytest.mark.parametrize("name", ["value", "gradient", "conjugate"])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda *_: None,
        lambda _, y, f: (f - y)[:3],
        lambda *_: 1.0,
        lambda _, y, f: y * np.nan,
        lambda _, y, f: (f - y) + 1j,
        lambda _, y, f: (f - y).astype(str),
    ],
    ids=["none", "short", "one", "nan", "complex", "text"],
)
def test_losses_without_a_number_for_each_target_are_refused(name, wrong):
    X, y = counts()
    loss = type("Odd", (Squared,), {name: wrong})()
    with pytest.raises(ValueError, match=rf"loss\.{name} must return a finite number for each"):
        MKLRegressor("linear", degree=1, loss=loss).fit(X, y)
