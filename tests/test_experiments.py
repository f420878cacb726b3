"""The three experiments: smoke runs of the whole, and their parts against hand-made truths."""

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from manykernels import MKLRegressor
from manykernels.baselines import MonomialLasso, PolynomialCombination
from manykernels.experiments import convergence, real, synthetic, tuning
from manykernels.experiments.methods import Method, lasso, uniform
from manykernels.experiments.reproduce import reproduce
from manykernels.experiments.runner import Run, cache_path
from manykernels.solvers import FullPass
from manykernels.spec import StopRule

pytest.importorskip("matplotlib")

FOLDER = os.environ.get("MANYKERNELS_DATA") or None


@pytest.fixture(autouse=True)
def _no_files(monkeypatch):
    """Quick versions use generated data, so that they run everywhere."""
    monkeypatch.delenv("MANYKERNELS_DATA", raising=False)


def quick(name, folder):
    return reproduce(name, folder, 10, 30.0, True, None, progress=False)


@pytest.mark.parametrize("name", ["real", "synthetic"])
def test_quick_version_writes_everything_and_starts_from_its_cache(name, tmp_path, monkeypatch):
    page = quick(name, tmp_path)
    tmp_path = tmp_path / "quick"
    assert page == tmp_path / f"{name}.md"
    assert f"`manykernels reproduce {name} --quick`" in page.read_text()
    for suffix in ("csv", "png", "svg", "md"):
        assert (tmp_path / f"{name}.{suffix}").stat().st_size > 500
    frame = pd.read_csv(tmp_path / f"{name}.csv")
    assert frame["mse"].between(0, 1.2).all()
    before = (tmp_path / f"{name}.csv").read_bytes()
    module = real if name == "real" else synthetic
    monkeypatch.setattr(module, "compute", lambda run, data_dir: pytest.fail("computed again"))
    quick(name, tmp_path.parent)
    assert (tmp_path / f"{name}.csv").read_bytes() == before


def test_same_seed_same_numbers(tmp_path):
    run = next(r for r in real.plan(1, True, None) if r.settings["method"] == "ours D=2")
    first, second = (pd.DataFrame(real.compute(run, None)) for _ in range(2))
    pd.testing.assert_frame_equal(first.drop(columns="seconds"), second.drop(columns="seconds"))


def test_quick_convergence_approaches_the_optimum_from_above(tmp_path):
    page = quick("convergence", tmp_path)
    frame = pd.read_csv(page.with_suffix(".csv"))
    paths = convergence.suboptimality(frame)
    assert set(paths["method"]) == set(convergence.RACED_METHODS)
    assert set(paths["panel"]) == set(convergence.PANELS)
    assert (paths["suboptimality"] > -1e-5).all()
    listed = paths[paths["method"] == convergence.LP_NORM]
    for _, part in listed.groupby("panel"):
        assert (part["objective"].diff().dropna() <= 1e-9 * part["objective"].iloc[0]).all()
    assert frame.loc[frame["method"] == "optimum", "gap"].max() < 1e-7
    assert "lp-norm MKL" in page.read_text()


@pytest.mark.parametrize("method", convergence.RACED_METHODS)
def test_columns_and_matrices_are_two_forms_of_the_same_kernels(method, rng):
    X = rng.normal(size=(30, 4))
    y = X[:, :1] * X[:, 1:2]
    problem = convergence.Problem(y, np.full(30, 1 / 30), convergence.Squared(), 1e-3, 4 / 3)
    solver = convergence.make_solver(method, None)
    paths = [
        [
            state.solution.objective
            for state in islice(
                solver.iterate(problem, convergence.family_of(X, panel), np.random.default_rng(0)),
                4,
            )
        ]
        for panel in convergence.PANELS
    ]
    assert paths[0] == pytest.approx(paths[1], rel=1e-6)


def test_second_moments_are_those_of_draws(rng):
    family = convergence.family_of(rng.normal(size=(8, 3)), "rank-one")
    alpha = rng.normal(size=(8, 1))
    square = np.sum(family.at(alpha).all() ** 2)
    moments = convergence.second_moments(family, alpha)
    for moment, sampler in zip(moments, convergence.SAMPLERS.values(), strict=True):
        draw = sampler.draw(family, family.at(alpha), 200_000, rng)
        assert moment == pytest.approx(draw.mean(draw.ratios**2) / square, rel=0.05)
    assert moments[0] < moments[1]


def test_best_scale_is_that_of_the_least_final_objective():
    frame = pd.DataFrame(
        {
            "data": "a",
            "panel": "dense",
            "method": "ours, 1 draw",
            "scale": [0.1, 0.1, 1.0, 1.0],
            "objective": [5.0, 3.0, 2.0, 4.0],
        }
    )
    assert convergence.best_scale(frame, "a", "dense", "ours, 1 draw") == 0.1
    assert convergence.best_scale(frame, "a", "dense", "lp-norm MKL") is None


def test_race_and_winners():
    points = [
        ("fast", 0, [(1.0, 1, 0.5), (2.0, 2, 0.01), (3.0, 3, 0.001)]),
        ("slow", 0, [(2.0, 1, 0.5), (8.0, 4, 0.005)]),
        ("never", 0, [(1.0, 1, 0.5), (9.0, 9, 0.4)]),
    ]
    paths = pd.DataFrame(
        [
            ("a", "dense", method, number, seconds, iteration, value)
            for method, number, rows in points
            for seconds, iteration, value in rows
        ],
        columns=["data", "panel", "method", "split", "seconds", "iteration", "suboptimality"],
    )
    times = convergence.race(paths).set_index("method")
    assert times["seconds to 1 %"].to_dict() == {"fast": 2.0, "slow": 8.0, "never": np.inf}
    assert times["ms a step"].to_dict() == {"fast": 1000.0, "slow": 2000.0, "never": 1000.0}
    first = convergence.winners(times.reset_index()).iloc[0]
    assert (first["first"], first["seconds"], first["next"]) == ("fast", 2.0, "slow")
    assert first["later by a factor"] == 4.0


def test_split_standardises_with_training_rows_only(rng):
    X, y = rng.normal(3.0, 2.0, size=(50, 3)), rng.normal(size=50)
    X[:, 1] = 7.0
    parts = tuning.split(X, y, (20, 10, 15), 4)
    assert parts.X[parts.train].mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert parts.X[parts.train].std(axis=0) == pytest.approx([1.0, 0.0, 1.0])
    assert parts.y[parts.train].std() == pytest.approx(1.0)
    order = np.random.RandomState(4).permutation(50)
    scaled = (y[order] - y[order][:20].mean()) / y[order][:20].std()
    assert parts.y[parts.test] == pytest.approx(scaled[30:45])
    assert (parts.validation, parts.test) == (slice(20, 30), slice(30, 45))


class Known:
    """A model whose validation error is least at one strength."""

    def __init__(self, alpha, target):
        self.error = abs(np.log10(alpha) - target)

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.error)


@pytest.mark.parametrize(("best", "narrow", "wide"), [(0, 1, 1), (5, 100, 1e5), (-6, 0.01, 1e-6)])
def test_grid_grows_while_the_best_is_at_its_edge(best, narrow, wide):
    parts = tuning.SplitRows(np.zeros((3, 1)), np.zeros(3), slice(0, 1), slice(1, 2), slice(2, 3))
    tuner = tuning.Tuner(Method(lambda alpha, columns: Known(alpha, best)), parts)
    grid = (-2, -1, 0, 1, 2)
    assert tuner.best(grid).ridge == pytest.approx(narrow)
    assert tuner.best_wide(grid).ridge == pytest.approx(wide)


def test_lasso_is_tuned_over_its_own_path(rng):
    X = rng.normal(size=(90, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=90)
    parts = tuning.split(X, y, (40, 30, 20), 0)
    chosen = tuning.best_lasso(lasso(2), parts)
    errors = {}
    for k in range(tuning.STEPS_A_DECADE * tuning.DECADES):
        alpha = largest_strength(parts) * 10.0 ** (-k / tuning.STEPS_A_DECADE)
        model = MonomialLasso(degree=2, alpha=alpha, standardize=False, tol=1e-4, max_iter=5000)
        errors[alpha] = parts.mse(model.fit(parts.X[:40], parts.y[:40]), parts.validation)
    assert chosen.validation <= min(errors.values()) * 1.02
    assert min(errors, key=lambda a: abs(a - chosen.ridge)) == pytest.approx(chosen.ridge)


def test_lasso_is_tuned_on_converged_fits():
    """Without noise the error falls with the strength, as far as fits are fits."""
    run = next(r for r in synthetic.plan(1, False, None) if r.settings == NOISE_FREE)
    assert synthetic.compute(run, None)[0]["mse"] < 1e-6


NOISE_FREE = {"columns": 5, "draw": 0, "method": "Lasso", "quick": False}


class Stopped(MKLRegressor):
    """Interrupted by Ctrl-C in its third step."""

    def _specify(self):
        return replace(super()._specify(), solver=CtrlC(), stop=StopRule(100, 1e-9, None))


class CtrlC:
    """Full passes, interrupted in the third."""

    def iterate(self, problem, family, rng):
        for state in FullPass().iterate(problem, family, rng):
            yield state
            if state.k == 3:
                raise KeyboardInterrupt


def test_an_interrupted_fit_is_no_result(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    parts = tuning.split(X, y, (30, 15, 15), 0)
    with pytest.warns(ConvergenceWarning, match="Interrupted after 2"):
        Stopped(alpha=1e-3).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        tuning.Tuner(Method(lambda alpha, columns: Stopped(alpha=alpha)), parts).best([0])


def test_settings_of_a_method_are_part_of_its_runs():
    loose, tight = (
        Method(lambda alpha, columns, tol=tol: MKLRegressor(alpha=alpha, tol=tol))
        for tol in (1e-2, 1e-3)
    )
    assert loose.recipe != tight.recipe
    runs = [Run("real", {"data": "a"}, recipe=method.recipe) for method in (loose, tight)]
    assert cache_path(runs[0], Path("x")) != cache_path(runs[1], Path("x"))


def largest_strength(parts):
    X, y = parts.X[parts.train], parts.y[parts.train]
    columns = [X[:, i] for i in range(4)] + [
        X[:, i] * X[:, j] for i in range(4) for j in range(i, 4)
    ]
    centred = np.column_stack(columns) - np.mean(columns, axis=1)
    return np.abs(centred.T @ (y - y.mean())).max() / len(y)


def test_power_kernels_are_expanded_into_monomials(rng):
    X = rng.uniform(-1, 1, size=(60, 4))
    y = X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3] ** 2
    model = PolynomialCombination(degree=3, alpha=1e-6, standardize=False).fit(X, y)
    predictor = model.function_.predictor.monomials()
    family = predictor.family.on(type(model.function_.predictor.power.bases)(X))
    columns, _ = family.features(predictor.indices)
    fitted = columns @ predictor.coefficients[:, 0] + predictor.intercept[0]
    assert fitted == pytest.approx(model.predict(X), abs=1e-8)
    shares = synthetic.term_shares(model)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert max(shares, key=shares.get) in {(0, 1, 2), (3, 3)}


def test_uniform_method_is_the_unscaled_polynomial_kernel(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = uniform(2).make(0.1, 3).set_params(fit_intercept=False).fit(X, y)
    other = KernelRidge(kernel="poly", degree=2, gamma=1.0, coef0=1.0, alpha=30 * 0.1).fit(X, y)
    assert model.predict(X) == pytest.approx(other.predict(X))


def table_of_errors():
    rows = []
    for number in range(2):
        for method, validation, mse in [
            ("ours D=2", 0.5 + number, 0.40),
            ("ours D=3", 0.9 - number, 0.60),
            ("HKL D=2", 0.1, 0.41 + 0.02 * number),
        ]:
            rows.append(("a", number, method, validation, mse))
    return pd.DataFrame(rows, columns=["data", "split", "method", "validation", "mse"])


def test_our_configuration_is_chosen_on_validation_rows():
    frame = table_of_errors()
    best = real.chosen(frame, "ours", real.FAMILIES["ours"])
    assert best["configuration"].tolist() == ["ours D=2", "ours D=3"]
    rank = real.ranking(pd.concat([frame, best])).iloc[0]
    assert rank["our choices"] == "1 x D=2, 1 x D=3"
    assert rank["ours, chosen"] == pytest.approx(0.5)
    assert rank["best other"] == "HKL D=2"
    assert rank["its standard error"] == pytest.approx(0.01)
    assert rank["within one error"] == "no"


def test_uniform_kernel_has_the_reference_errors():
    """Errors on ten splits of german, computed elsewhere with plain kernel ridge regression."""
    if FOLDER is None:
        pytest.skip("needs german.csv.gz in the folder paper/ of MANYKERNELS_DATA")
    errors = {1: (0.827, 0.248), 2: (0.870, 0.266)}
    for degree, (mse, rate) in errors.items():
        rows = []
        for run in real.plan(10, False, FOLDER):
            wanted = ("german", f"uniform D={degree}")
            if (run.settings["data"], run.settings["method"]) == wanted:
                rows.append(real.compute(run, FOLDER)[0])
        frame = pd.DataFrame(rows)
        assert frame["mse"].mean() == pytest.approx(mse, abs=0.01)
        assert frame["misclassified"].mean() == pytest.approx(rate, abs=0.01)
