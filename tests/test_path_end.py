"""A path of models ends at about the same strength however finely it is sampled."""

from types import SimpleNamespace

import numpy as np
import pytest

from manykernels import MKLRegressorCV
from manykernels.fitting.choose import STEP_DECADES, ended, first_of_steps
from manykernels.fitting.crossval import SPAN

DECADES = -np.log10(SPAN)


def rule_of_models(scores, features, greedy):
    """Return what the rule said that counted models, before fine grids were thought of."""
    before = [np.nan, *scores[:-1]]
    scores = [
        score
        for score, last in zip(scores, before, strict=True)
        if not np.isclose(score, last, rtol=1e-9, atol=0.0)
    ]
    best = max(scores)
    worse = len(scores) - 1 - max(i for i, score in enumerate(scores) if score == best)
    gained = best > scores[0] * (1 - 5 * 0.01)
    patience = 6 if greedy else 3
    if not greedy and not gained and scores[-1] > best * (1 + 1.0):
        patience = 12
    if greedy or worse >= patience:
        return worse >= patience
    if features > 8_000:
        return True
    if not gained or len(scores) < 3:
        return False
    return -best > (1 - 0.01) * -max(scores[:-2])


def path_ended(scores, features, greedy, strengths):
    solution = SimpleNamespace(in_features=True, coefficients=np.zeros((features, 1)))
    return ended(scores, SimpleNamespace(solution=solution), greedy, strengths)


def end_of(losses, over):
    """Return how many models a path has."""
    scores = (-losses).tolist()
    return next((n for n in range(1, len(scores)) if over(scores[:n])), len(scores))


def end_at(curve, places):
    """Return where a path ends whose losses are a curve over decades below the first strength."""
    strengths = 7.3 * 10.0**-places
    return places[end_of(curve(places), lambda own: path_ended(own, 0, False, strengths)) - 1]


def drop(x, at, width):
    """Return a fall from 1 to 0."""
    return 1 / (1 + np.exp((x - at) / width))


def wiggle(x):
    """Return something between -1 and 1 that looks like noise."""
    return np.sin(7 * x + 1) * np.cos(23 * x)


CURVES = {
    "monotone": lambda x: 0.1 + np.exp(-x / 2),
    "monotone and steep": lambda x: 0.01 + 10.0**-x,
    "weak signal": lambda x: 1 - 0.002 * x,
    "nothing but noise": lambda x: 1 + 0.01 * x**2,
    "noise that is hopeless": lambda x: np.exp(1.3 * x),
    "U-shaped": lambda x: 0.2 + drop(x, 1.5, 0.3) + 0.02 * np.maximum(x - 2.5, 0) ** 2,
    "V-shaped": lambda x: 0.2 + np.abs(x - 2.1),
    "late bloomer": lambda x: 0.1 + drop(x, 2.6, 0.1) + 0.01 * x,
    "second bloom": lambda x: 0.1 + 0.5 * drop(x, 0.5, 0.4) + drop(x, 1.9, 0.3),
    "noisy plateau": lambda x: 0.3 + drop(x, 1.2, 0.2) + 0.001 * wiggle(x),
    "noisy start": lambda x: 1 + 0.02 * wiggle(x) - 0.8 * (1 - drop(x, 3.1, 0.2)),
    "rising first": lambda x: 0.1 + drop(x, 2.4, 0.2) + 0.3 * np.exp(-((x - 0.8) ** 2) / 0.3),
    "refits": lambda x: 0.2 + np.exp(-np.floor(x / 0.9 + 0.13) / 2),
    "refits that get worse": lambda x: 1.03 ** np.abs(np.floor(x / 0.7 + 0.21) - 3) - 0.5,
}


@pytest.mark.parametrize("count", [97, 100, 300, 1000])
@pytest.mark.parametrize("name", CURVES)
def test_the_end_does_not_move_with_the_grid(name, count):
    curve = CURVES[name]
    usual = end_at(curve, np.linspace(0, DECADES, 25))
    fine = end_at(curve, np.linspace(0, DECADES, count))
    assert abs(fine - usual) < 1.01 * STEP_DECADES
    if count == 97:  # holds the usual grid
        assert fine == pytest.approx(usual)


@pytest.mark.parametrize("name", CURVES)
def test_the_end_does_not_move_on_irregular_grids(name, rng):
    curve = CURVES[name]
    usual = end_at(curve, np.linspace(0, DECADES, 25))
    for _ in range(3):
        # Dense in some decades, never with a hole of more than a tenth of a step.
        places = np.concatenate([np.linspace(0, DECADES, 241), DECADES * rng.beta(2, 5, 200)])
        assert abs(end_at(curve, np.sort(places)) - usual) < 1.01 * STEP_DECADES


def random_losses(rng, count):
    """Return losses that fall, stay the same or rise, with more or less noise."""
    slopes = np.repeat(rng.normal(-0.05, 0.15, 6), 50)[:count]
    steps = slopes * rng.random(count) + rng.choice([0.0, 0.002, 0.05]) * rng.normal(size=count)
    if rng.random() < 0.4:
        steps[rng.random(count) < 0.6] = 0.0
    return np.exp(np.cumsum(steps))


def random_curve(rng):
    """Return losses over decades: bends a decade apart, with a little noise."""
    places = np.arange(8.0)
    values = np.cumsum(rng.normal(-0.2, 0.5, 8))
    noise, shift = rng.choice([0.0, 1e-3]), rng.uniform(0, 9)
    return lambda x: np.exp(np.interp(x, places, values) + noise * wiggle(x + shift))


@pytest.mark.parametrize("count", [100, 300, 1000])
def test_the_end_hardly_ever_moves_on_random_curves(count, rng):
    """Close calls may go the other way; all others must not."""
    curves = [random_curve(rng) for _ in range(60)]
    usual = [end_at(curve, np.linspace(0, DECADES, 25)) for curve in curves]
    fine = [end_at(curve, np.linspace(0, DECADES, count)) for curve in curves]
    moves = np.abs(np.subtract(fine, usual))
    assert len(set(usual)) > 8
    assert np.mean(moves < 1.01 * STEP_DECADES) > 0.95


@pytest.mark.parametrize("decades", [DECADES, 12.0, 48.0, 6.6])
def test_usual_and_coarser_grids_end_as_if_models_were_counted(decades, rng):
    """Models further apart than a step count as one each: a single bad one ends no path."""
    strengths = np.geomspace(3.7, 3.7 * 10.0**-decades, 25)
    ends = []
    for _ in range(120):
        losses = random_losses(rng, 25)
        features = int(rng.choice([0, 10, 8_001], p=[0.5, 0.49, 0.01]))
        ends.append(end_of(losses, lambda own: rule_of_models(own, features, False)))  # noqa: B023
        here = end_of(losses, lambda own: path_ended(own, features, False, strengths))  # noqa: B023
        assert here == ends[-1]
    assert len(set(ends)) > 12


def test_greedy_paths_count_terms(rng):
    for _ in range(40):
        losses = random_losses(rng, 60)
        usual = end_of(losses, lambda own: rule_of_models(own, 0, True))
        assert end_of(losses, lambda own: path_ended(own, 9_000, True, np.arange(61))) == usual


def test_the_models_that_are_judged():
    assert first_of_steps(np.geomspace(5, 5e-6, 25)) == list(range(25))
    assert first_of_steps(np.geomspace(5, 5e-6, 97)) == list(range(0, 97, 4))
    assert first_of_steps(np.array([1, 0.1, 0.01])) == [0, 1, 2]
    assert first_of_steps(np.array([1, 1, 0.9, 0.5, 0.5, 0.1, 0.09, 0.01])) == [0, 3, 5, 7]
    assert first_of_steps(np.array([1e300, 1e-300])) == [0, 1]


def test_large_models_end_a_path_between_two_steps():
    strengths = np.geomspace(1, 1e-6, 1000)
    assert path_ended([-1.0, -0.9], 8_001, False, strengths)
    assert not path_ended([-1.0, -0.9], 8_000, False, strengths)


def product(rng, n=300):
    """Return rows and a target with a product, and new ones without noise."""
    X = rng.normal(size=(n + 1000, 5))
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    return X[:n], signal[:n] + 0.1 * rng.normal(size=n), X[n:], signal[n:]


def curved(rng, n=200):
    """Return rows and a noisy target with bends, and new ones without noise."""
    X = rng.uniform(-1, 1, size=(n + 1000, 3))
    signal = np.exp(X[:, 0]) + 2 * X[:, 1] ** 2 - X[:, 0] * X[:, 2]
    return X[:n], signal[:n] + 0.3 * rng.normal(size=n), X[n:], signal[n:]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (product, {}),
        (product, {"p": 1}),
        (product, {"p": 1, "debias": True}),
        (curved, {"kernels": "polynomial", "p": 4 / 3}),
    ],
)
def test_fine_grids_give_the_model_of_the_usual_one(data, options, rng):
    X, y, new, truth = data(rng)
    usual = MKLRegressorCV(degree=2, cv=2, **options).fit(X, y)
    largest = usual.alphas_.max()
    given = np.geomspace(3 * largest, SPAN * largest, 300)
    assert usual.score(new, truth) > 0.95
    for grid in ({"n_alphas": 300}, {"alphas": given}):
        fine = MKLRegressorCV(degree=2, cv=2, **options, **grid).fit(X, y)
        assert abs(fine.score(new, truth) - usual.score(new, truth)) < 0.005


def test_fine_grids_of_rows_in_parts(rng):
    array = pytest.importorskip("dask.array")
    X, y, new, truth = product(rng)
    X, y = array.from_array(X, chunks=(100, -1)), array.from_array(y, chunks=100)
    usual = MKLRegressorCV(degree=2, p=1, cv=2).fit(X, y)
    fine = MKLRegressorCV(degree=2, p=1, cv=2, n_alphas=300).fit(X, y)
    assert usual.score(new, truth) > 0.99
    assert abs(fine.score(new, truth) - usual.score(new, truth)) < 0.005
