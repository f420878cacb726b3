"""Probabilities of more than two classes: logistic ones that are normalised, or a softmax."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

import manykernels
from manykernels import MKLClassifier, MKLClassifierCV
from manykernels.losses import class_losses, log_chances


def clouds(rng, classes=4, rows=160, columns=3):
    """Return rows around a centre of each class, and their classes: the truth is a softmax."""
    centres = 1.2 * rng.normal(size=(classes, columns))
    labels = np.arange(rows) % classes
    return centres[labels] + rng.normal(size=(rows, columns)), labels


def shares(values):
    single = expit(values)
    return single / single.sum(axis=1, keepdims=True)


WAYS = {False: shares, True: lambda values: softmax(values, axis=1)}


@pytest.mark.parametrize("way", WAYS)
def test_chances_are_those_of_their_definition(way, rng):
    values = 3 * rng.normal(size=(30, 4))
    np.testing.assert_allclose(np.exp(log_chances(values, way)), WAYS[way](values))
    labels = rng.integers(4, size=30)
    y = np.where(labels[:, None] == np.arange(4), 1.0, -1.0)
    found = class_losses(y, values, way).mean()
    assert found == pytest.approx(log_loss(labels, WAYS[way](values), labels=range(4)))
    assert np.all(np.isfinite(log_chances(1e4 * values, way)))


@pytest.mark.parametrize("settings", [{"degree": 1, "p": 2}, {"kernels": "auto", "degree": 1}])
def test_the_better_one_on_rows_left_out_is_taken(settings, rng, tmp_path):
    X, labels = clouds(rng)
    model = MKLClassifierCV(**settings, random_state=0).fit(X, labels)
    left_out = model.choice_.predictions(len(X))
    losses = {way: log_loss(labels, chances(left_out)) for way, chances in WAYS.items()}
    assert model.function_.softmax == min(losses, key=losses.get)
    expected = WAYS[model.function_.softmax](model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert np.all(model.predict_proba(X).argmax(axis=1) == model.predict(X))
    model.save(tmp_path / "model.mk")
    np.testing.assert_array_equal(
        manykernels.load(tmp_path / "model.mk").predict_proba(X), model.predict_proba(X)
    )


def test_linear_classes_are_a_softmax(rng):
    """Each class against the others is no linear problem where all together are one."""
    X, labels = clouds(rng, 6, 1200)
    model = MKLClassifierCV(degree=1, p=2, random_state=0).fit(X[:600], labels[:600])
    assert model.function_.softmax
    plain = shares(model.decision_function(X[600:]))
    found = log_loss(labels[600:], model.predict_proba(X[600:]))
    assert found < log_loss(labels[600:], plain)


def test_without_a_choice_probabilities_are_normalised(rng):
    X, labels = clouds(rng)
    for loss in ("logistic", "squared_hinge"):
        model = MKLClassifier(degree=1, p=2, alpha=0.01, loss=loss).fit(X, labels)
        assert not model.function_.softmax
    two = MKLClassifierCV(degree=1, p=2).fit(X, labels > 1)
    assert not two.function_.softmax
    hinge = MKLClassifierCV(degree=1, p=2, loss="squared_hinge").fit(X, labels)
    assert not hinge.function_.softmax


def test_kinds_of_models_are_compared_by_their_log_loss(rng):
    X, labels = clouds(rng, 3, 90)
    model = MKLClassifierCV(random_state=0).fit(X, labels)
    chances = WAYS[model.function_.softmax](model.choice_.predictions(len(X)))
    weights = np.empty(len(X))  # folds count alike, whatever their rows
    for fold in model.choice_.folds:
        weights[fold.test] = 1 / len(fold.test) / len(model.choice_.folds)
    expected = log_loss(labels, chances, sample_weight=weights)
    assert model.kernels_losses_[model.kernels_] == pytest.approx(expected)
