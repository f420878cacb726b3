"""A path of models ends at about the same strength however finely it is sampled."""

from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from manykernels import MKLRegressorCV
from manykernels.fitting import paths
from manykernels.fitting.choose import STEP_DECADES, Candidate, ended, first_of_steps
from manykernels.fitting.crossval import SPAN
from manykernels.fitting.folds import Scored
from manykernels.fitting.paths import FoldPath, finished, over

DECADES = -np.log10(SPAN)


def rule_of_models(losses, greedy, small):
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
        return difference.sum() / error if error > 0 else 0.0

    if small and worse < 4:
        return False
    if not small:
        if len(means) < 3:
            return False
        gain, all_gain = min(means[:-2]) - min(means), means[0] - min(means)
        if gain > 0.005 * min(means[:-2]) or gain > 0.05 * all_gain:
            return False
    for row in (kept[0], kept[-1]):
        if row.sum() > 1.05 * means[best] and errors_above(row, kept[best]) > 2:
            return True
    return worse >= 8  # nothing was found yet


def rows_of(curve, places, noise=0.5):
    """Return the losses of 60 rows, whose sum is a curve; they drift around it."""
    phases = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    return curve(places)[:, None] / 60 + noise * np.sin(phases + places[:, None]) / 60


def end_of(losses, rule):
    """Return how many models a path has."""
    return next((n for n in range(1, len(losses)) if rule(losses[:n])), len(losses))


def end_at(curve, places, small):
    """Return where a path ends whose losses are a curve over decades below the first strength."""
    strengths, losses = 7.3 * 10.0**-places, rows_of(curve, places)
    return places[end_of(losses, lambda own: ended(own, strengths, small=small)) - 1]


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


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("count", [97, 100, 300, 1000])
@pytest.mark.parametrize("name", CURVES)
def test_the_end_does_not_move_with_the_grid(name, count, small):
    curve = CURVES[name]
    usual = end_at(curve, np.linspace(0, DECADES, 25), small)
    fine = end_at(curve, np.linspace(0, DECADES, count), small)
    assert abs(fine - usual) < 1.01 * STEP_DECADES
    if count == 97:  # holds the usual grid
        assert fine == pytest.approx(usual)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("name", CURVES)
def test_the_end_does_not_move_on_irregular_grids(name, small, rng):
    curve = CURVES[name]
    usual = end_at(curve, np.linspace(0, DECADES, 25), small)
    for _ in range(3):
        # Dense in some decades, never with a hole of more than a tenth of a step.
        places = np.concatenate([np.linspace(0, DECADES, 241), DECADES * rng.beta(2, 5, 200)])
        assert abs(end_at(curve, np.sort(places), small) - usual) < 1.01 * STEP_DECADES


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
    places = np.arange(8.0) - rng.random()
    values = np.cumsum(rng.normal(-0.2, 0.5, 8))
    noise, shift = rng.choice([0.0, 1e-3]), rng.uniform(0, 9)
    return lambda x: np.exp(np.interp(x, places, values) + noise * wiggle(x + shift))


@pytest.mark.parametrize("count", [100, 300, 1000])
def test_the_end_hardly_ever_moves_on_random_curves(count, rng):
    """Close calls may go the other way; all others must not."""
    curves = [random_curve(rng) for _ in range(60)]
    usual = [end_at(curve, np.linspace(0, DECADES, 25), False) for curve in curves]
    fine = [end_at(curve, np.linspace(0, DECADES, count), False) for curve in curves]
    moves = np.abs(np.subtract(fine, usual))
    assert len(set(usual)) > 8
    assert np.mean(moves < 1.01 * STEP_DECADES) > 0.95


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("decades", [DECADES, 12.0, 48.0, 6.6])
def test_usual_and_coarser_grids_end_as_if_models_were_counted(decades, small, rng):
    """Models further apart than a step count as one each: a single bad one ends no path."""
    strengths = np.geomspace(3.7, 3.7 * 10.0**-decades, 25)
    ends = []
    for _ in range(120):
        losses = random_losses(rng, 25)
        ends.append(end_of(losses, lambda own: rule_of_models(own, False, small)))
        assert end_of(losses, lambda own: ended(own, strengths, small=small)) == ends[-1]
    assert len(set(ends)) > (6 if small else 12)


def test_greedy_paths_count_terms(rng):
    ends = []
    for _ in range(40):
        losses = random_losses(rng, 60)
        ends.append(end_of(losses, lambda own: rule_of_models(own, True, False)))
        assert end_of(losses, lambda own: ended(own, np.arange(61), greedy=True)) == ends[-1]
    assert len(set(ends)) > 8


def test_the_models_that_are_judged():
    assert first_of_steps(np.geomspace(5, 5e-6, 25)) == list(range(25))
    assert first_of_steps(np.geomspace(5, 5e-6, 97)) == list(range(0, 97, 4))
    assert first_of_steps(np.array([1, 0.1, 0.01])) == [0, 1, 2]
    assert first_of_steps(np.array([1, 1, 0.9, 0.5, 0.5, 0.1, 0.09, 0.01])) == [0, 3, 5, 7]
    assert first_of_steps(np.array([1e300, 1e-300])) == [0, 1]


def path_of(losses, small=True, large=False, complete=False):
    """Return the path of a fold with two rows left out."""
    kinds = small, large, False
    return FoldPath([Scored(None, -x, np.array([0.4, 0.6]) * x, *kinds) for x in losses], complete)


def test_a_large_model_in_any_fold_ends_a_path_between_two_steps():
    candidate = Candidate(2, 1.0, np.geomspace(1, 1e-6, 1000))
    usual, large = path_of([1.0, 0.9]), path_of([1.0, 0.9], large=True)
    assert over([usual, large], 2, candidate, False)
    assert not over([usual, usual], 2, candidate, False)
    assert not over([usual, large], 2, replace(candidate, sizes=np.arange(5)), True)


def test_models_count_as_small_if_they_are_so_in_all_folds():
    candidate = Candidate(2, 1.0, np.geomspace(1, 1e-6, 25))
    losses = [1.0, 0.5, 0.4, 0.41, 0.42]
    small, other = path_of(losses), path_of(losses, small=False)
    assert not over([small, small], 5, candidate, False)
    assert over([small, other], 5, candidate, False)


def test_the_mean_over_folds_ends_a_path():
    candidate = Candidate(2, 1.0, np.geomspace(1, 1e-6, 25))
    falling, rising = np.linspace(1, 0.1, 9), np.array([1, 0.5, *np.linspace(0.55, 0.85, 7)])
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


def noisy(seed, n=120):
    """Return rows and a target that is mostly noise: folds on their own end far apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 1.5 * rng.normal(size=n)


@pytest.mark.parametrize("options", [{}, {"debias": True}, {"kernels": "auto"}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_as_good_as_that_of_the_full_path(options, seed, monkeypatch):
    X, y = noisy(seed)
    model = MKLRegressorCV(degree=2, p=1, **options)
    usual = clone(model).fit(X, y)
    monkeypatch.setattr(paths, "ended", lambda *_: False)
    full = model.fit(X, y)
    whole, known = full.score_path_[0], np.isfinite(usual.score_path_[0])
    assert np.all(np.isfinite(whole))
    count = int(known.any(axis=1).sum())
    assert np.all(known[:count])
    assert count < len(known)
    np.testing.assert_array_equal(usual.score_path_[0, :count], whole[:count])
    top, place = full.choice_.best[1], usual.choice_.best[1]
    error = whole[top].std(ddof=1) / np.sqrt(5)
    assert whole[place].mean() >= whole[top].mean() - error


@pytest.mark.parametrize(
    "options",
    [{"p": 1}, {"p": [1, 4 / 3]}, {"p": 1, "debias": True}, {"solver": "greedy"}],
    ids=str,
)
def test_folds_in_processes_give_what_folds_in_step_give(options, monkeypatch):
    X, y = noisy(3 if "solver" in options else 0)
    model = MKLRegressorCV(degree=2, random_state=0, **options)
    here = clone(model).fit(X, y)
    lengths, real = [], paths.alone

    def counted(*arguments):
        found = real(*arguments)
        lengths.extend(len(path.models) for path in found.values())
        return found

    monkeypatch.setattr(paths, "alone", counted)
    with parallel_config("threading"):  # one interpreter, so that calls can be counted
        there = clone(model).set_params(n_jobs=2).fit(X, y)
    candidates = len(here.score_path_)
    assert len(lengths) > 5 * candidates  # some fold had to go further than it would have alone
    np.testing.assert_array_equal(there.score_path_, here.score_path_)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    processes = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(processes.score_path_, here.score_path_, rtol=1e-9)
    assert processes.choice_.best == here.choice_.best


def test_rows_of_a_single_split_tell_when_a_path_ends(rng):
    """One fold has no error over folds; that over its rows ends the path after the best model."""
    X, y, new, truth = product(rng)
    y = y + rng.normal(size=len(y))
    split = ShuffleSplit(1, test_size=0.4, random_state=0)
    model = MKLRegressorCV(degree=2, p=1, cv=split).fit(X, y)
    known = np.isfinite(model.score_path_[0, :, 0])
    best = model.choice_.best[1]
    assert 2 <= int(known.sum()) - 1 - best <= 8
    assert model.score(new, truth) > 0.8


@pytest.mark.parametrize("complete", [0, 1, 2])
def test_what_is_kept_after_ctrl_c(complete):
    """Models that all folds know; else folds that know one; else the model that was cut short."""
    whole = path_of([3.0, 2.0, 1.0]).models
    cut = replace(whole[complete], interrupted=True)
    first = [*whole[:complete], cut]
    kept = finished([[FoldPath(first), FoldPath(whole[:complete]), FoldPath(whole[:complete])]])
    if complete:
        assert [path.models for path in kept[0]] == [whole[:complete]] * 3
    else:
        assert [path.models for path in kept[0]] == [[cut]]
    later = [[FoldPath(whole)] * 3, [FoldPath(first), FoldPath(), FoldPath()]]
    kept = finished(later)
    assert [len(path.models) for path in kept[0]] == [3, 3, 3]
    assert [len(path.models) for path in kept[1]] == [0, 0, 0]
    assert finished([[FoldPath(), FoldPath()]]) == [[]]
