"""A path of models ends at about the same strength however finely it is sampled."""

from dataclasses import replace

import numpy as np
import pytest

from manykernels import MKLRegressorCV
from manykernels.fitting.choose import STEP_DECADES, Candidate, ended, first_of_steps
from manykernels.fitting.crossval import SPAN
from manykernels.fitting.folds import Scored
from manykernels.fitting.paths import FoldPath, over

DECADES = -np.log10(SPAN)


def rule_of_models(losses, greedy):
    """Return what the rule says where each model is a step, written as it is said."""
    kept = [losses[0]]
    for row in losses[1:]:
        if abs(row.sum() - kept[-1].sum()) > 1e-9 * kept[-1].sum():
            kept.append(row)
    means = [row.sum() for row in kept]
    best = means.index(min(means))
    worse = len(means) - 1 - best
    if greedy:
        return worse >= 6

    def errors_above(row, other):
        difference = row - other
        error = np.sqrt(len(row)) * difference.std(ddof=1)
        return difference.sum() / error if error > 0 else np.inf * difference.sum()

    if best == 0 or errors_above(kept[0], kept[best]) <= 2:  # nothing was found yet
        return worse >= 2 and errors_above(kept[-1], kept[best]) > 2
    return worse >= 4 or (worse >= 2 and errors_above(kept[-1], kept[best]) > 1)


def rows_of(curve, places, noise=0.5):
    """Return the losses of 60 rows, whose sum is a curve; they drift around it."""
    phases = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    return curve(places)[:, None] / 60 + noise * np.sin(phases + places[:, None]) / 60


def end_of(losses, rule):
    """Return how many models a path has."""
    return next((n for n in range(1, len(losses)) if rule(losses[:n])), len(losses))


def end_at(curve, places):
    """Return where a path ends whose losses are a curve over decades below the first strength."""
    strengths = 7.3 * 10.0**-places
    return places[end_of(rows_of(curve, places), lambda own: ended(own, strengths, False)) - 1]


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
    """Return losses of 30 rows that fall, stay the same or rise, with more or less noise."""
    slopes = np.repeat(rng.normal(-0.05, 0.15, 6), 50)[:count]
    steps = slopes * rng.random(count) + rng.choice([0.0, 0.002, 0.05]) * rng.normal(size=count)
    if rng.random() < 0.4:
        steps[rng.random(count) < 0.6] = 0.0
    rows = np.cumsum(rng.choice([0.01, 0.1, 1.0]) * rng.normal(size=(count, 30)), axis=0)
    rows = (rows - rows.mean(axis=1, keepdims=True)) / 30
    return np.exp(np.cumsum(steps))[:, None] / 30 + rows * (steps != 0)[:, None]


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
        ends.append(end_of(losses, lambda own: rule_of_models(own, False)))
        assert end_of(losses, lambda own: ended(own, strengths, False)) == ends[-1]
    assert len(set(ends)) > 12


def test_greedy_paths_count_terms(rng):
    ends = []
    for _ in range(40):
        losses = random_losses(rng, 60)
        ends.append(end_of(losses, lambda own: rule_of_models(own, True)))
        assert end_of(losses, lambda own: ended(own, np.arange(61), True)) == ends[-1]
    assert len(set(ends)) > 8


def test_the_models_that_are_judged():
    assert first_of_steps(np.geomspace(5, 5e-6, 25)) == list(range(25))
    assert first_of_steps(np.geomspace(5, 5e-6, 97)) == list(range(0, 97, 4))
    assert first_of_steps(np.array([1, 0.1, 0.01])) == [0, 1, 2]
    assert first_of_steps(np.array([1, 1, 0.9, 0.5, 0.5, 0.1, 0.09, 0.01])) == [0, 3, 5, 7]
    assert first_of_steps(np.array([1e300, 1e-300])) == [0, 1]


def path_of(scores, large=False, complete=False):
    """Return the path of a fold with two rows left out."""
    return FoldPath([Scored(None, -s, np.full(2, s / 2), large, False) for s in scores], complete)


def test_a_large_model_in_any_fold_ends_a_path_between_two_steps():
    candidate = Candidate(2, 1.0, np.geomspace(1, 1e-6, 1000))
    small, large = path_of([1.0, 0.9]), path_of([1.0, 0.9], large=True)
    assert over([small, large], 2, candidate, False)
    assert not over([small, small], 2, candidate, False)
    assert not over([small, large], 2, replace(candidate, sizes=np.arange(5)), True)


def test_the_mean_over_folds_ends_a_path():
    candidate = Candidate(2, 1.0, np.geomspace(1, 1e-6, 25))
    falling, rising = np.linspace(1, 0.1, 9), np.array([1, 0.5, *np.linspace(0.6, 0.9, 7)])
    assert over([path_of(rising)], 9, candidate, False)
    assert not over([path_of(rising), path_of(falling)], 9, candidate, False)
    assert not over([path_of(falling)], 9, candidate, False)
    # A fold without further models stays at its last one.
    bowl = [5, 4, 3, 2, 3, 3.1, 3.2, 3.3, 3.4, 3.5]
    short = path_of([9, 8, 7], complete=True)
    assert over([path_of(bowl), short], 10, candidate, True)
    assert not over([path_of(bowl), short], 9, candidate, True)


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
