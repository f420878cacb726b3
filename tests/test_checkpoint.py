"""Fits that are killed go on from their checkpoint, and end with the same model."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import check_estimator

from manykernels import MKLClassifier, MKLClassifierCV, MKLRegressor, MKLRegressorCV, load
from manykernels.checkpoint import CheckpointWarning, fingerprint, folder
from manykernels.selection import SplitTest, StabilitySelection
from manykernels.solvers import FullPass, Greedy, MirrorDescent
from manykernels.solvers.dual_newton import DualNewton

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Killed(BaseException):
    """The process is killed, as far as the fit can tell."""


class Killer:
    """Writes states whenever there are any, and kills the fit after some of them."""

    def __init__(self, monkeypatch):
        self.put, self.left, self.written = folder.Checkpoint._put, np.inf, 0
        monkeypatch.setattr(folder, "WRITING_SHARE", np.inf)
        killer = self

        def put(checkpoint, slot, state):
            killer.put(checkpoint, slot, state)
            killer.written += 1
            killer.left -= 1
            if killer.left <= 0:
                raise Killed

        monkeypatch.setattr(folder.Checkpoint, "_put", put)

    def run(self, fit, writings):
        """Return what ``fit`` returns in the end, and how many times it was killed before."""
        kills = 0
        for self.left in writings:
            try:
                return fit(), kills
            except Killed:
                kills += 1
        self.left = np.inf
        return fit(), kills


@pytest.fixture
def killer(monkeypatch):
    return Killer(monkeypatch)


def data(rng, rows=100, columns=4):
    X = rng.normal(size=(rows, columns))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=rows)


def decisions(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


TIGHT = {"degree": 2, "alpha": 1e-3, "tol": 1e-7}
SOLVED = {
    "working set": MKLRegressor(p=1, **{**TIGHT, "alpha": 1e-5, "degree": 3}),
    "subspaces": MKLRegressor(p=1, kernels="auto", **TIGHT),
    "matrices": MKLRegressor(p=1, kernels="rbf", **{**TIGHT, "tol": 1e-4}),
    "kinks": MKLRegressor(p=1, loss="epsilon_insensitive", **{**TIGHT, "tol": 1e-3}),
    "classes": MKLClassifier(p=1, kernels="auto", **TIGHT),
    "full passes": MKLRegressor(p=1.2, solver=FullPass(), **TIGHT),
    "dual Newton": MKLRegressor(p=1.5, solver=DualNewton(), **{**TIGHT, "alpha": 1e-5}),
    "mirror descent": MKLRegressor(p=1.5, solver=MirrorDescent(), max_iter=30, **TIGHT),
    "average": MKLRegressor(
        p=1.3, solver=MirrorDescent(draws=5, average=True, known=3), max_iter=30, **TIGHT
    ),
    "mirror descent on matrices": MKLRegressor(
        p=1.5, kernels="rbf", solver="mirror-descent", max_iter=15, **TIGHT
    ),
    "greedy": MKLRegressor(degree=2, solver=Greedy(12, pool=2)),
    "greedy classes": MKLClassifier(degree=2, solver=Greedy(4, pool=2)),
    "closed form": MKLRegressor(p=2, **TIGHT),
    "widths": MKLRegressor(kernels="widths"),
    "both": MKLRegressor(kernels="both"),
}


@pytest.mark.parametrize("name", SOLVED)
def test_each_solver_goes_on_from_each_of_its_rounds(name, rng, tmp_path, killer):
    X, y = data(rng, 60 if name in ("widths", "both") else 100)
    model = SOLVED[name].set_params(random_state=3)
    target = y > 0 if "classes" in name else y
    plain = clone(model).fit(X, target)
    kept = clone(model).set_params(checkpoint=tmp_path)
    # The head is written at each start: two writings are one new state of the solver.
    again, kills = killer.run(lambda: clone(kept).fit(X, target), [2] * 12 + [4, 8])
    assert kills > 0
    np.testing.assert_allclose(decisions(again, X), decisions(plain, X), rtol=0, atol=1e-10)
    assert again.terms_ == plain.terms_
    assert again.n_iter_ == plain.n_iter_
    assert len(again.history_["gap"]) == len(plain.history_["gap"])
    assert list(tmp_path.iterdir()) == []


CHOSEN = {
    "strengths": MKLRegressorCV(p=1, degree=2, n_alphas=6, cv=3),
    "subspaces": MKLRegressorCV(p=1, degree=2, n_alphas=4, cv=2, kernels="auto"),
    "candidates": MKLRegressorCV(p=[1, 1.5], degree=[1, 2], n_alphas=3, cv=2),
    "passes": MKLRegressorCV(p=1.3, degree=2, n_alphas=4, cv=3, one_standard_error=True),
    "refits": MKLRegressorCV(p=1, degree=2, n_alphas=5, cv=3, debias=True),
    "terms": MKLRegressorCV(degree=2, solver=Greedy(6, pool=2), cv=3),
    "matrices": MKLRegressorCV(p=1.5, kernels="rbf", degree=1, n_alphas=3, cv=2),
    "classes": MKLClassifierCV(p=1, degree=2, n_alphas=4, cv=3),
    "processes": MKLRegressorCV(p=1, degree=2, n_alphas=5, cv=2, n_jobs=2),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_choice_goes_on_from_each_fold_and_strength(name, rng, tmp_path, killer):
    X, y = data(rng, 80)
    model = CHOSEN[name].set_params(random_state=1)
    target = y > 0 if name == "classes" else y
    plain = clone(model).fit(X, target)
    kept = clone(model).set_params(checkpoint=tmp_path)
    if name == "processes":  # those of the folds were killed before, in one process
        kept.set_params(n_jobs=None)
        killer.left = 12
        with pytest.raises(Killed):
            clone(kept).fit(X, target)
        kept.set_params(n_jobs=2)
    again, kills = killer.run(lambda: clone(kept).fit(X, target), [2, 3, 5, 8, 13, 21])
    assert kills > 0
    np.testing.assert_allclose(decisions(again, X), decisions(plain, X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(again.score_path_, plain.score_path_, rtol=1e-9)
    assert again.choice_.best == plain.choice_.best
    ours, theirs = (model.choice_.predictions(len(X)) for model in (again, plain))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    assert list(tmp_path.iterdir()) == []


def test_finished_work_is_not_done_again(rng, tmp_path, killer, monkeypatch):
    X, y = data(rng)
    model = MKLRegressorCV(p=1, degree=2, n_alphas=6, cv=3, checkpoint=tmp_path)
    clone(model).fit(X, y)
    everything = killer.written
    killer.left = everything - 3  # nearly all of it
    with pytest.raises(Killed):
        clone(model).fit(X, y)
    killer.left, killer.written = np.inf, 0
    clone(model).fit(X, y)
    assert killer.written < everything / 3


@pytest.mark.parametrize("subsample", [None, "auto"])
def test_subsets_of_rows(rng, tmp_path, killer, subsample):
    X, y = data(rng, 2100, 3)
    model = MKLRegressor(p=1, subsample=subsample, random_state=0, **TIGHT)
    plain = clone(model).fit(X, y)
    kept = clone(model).set_params(checkpoint=tmp_path)
    again, kills = killer.run(lambda: clone(kept).fit(X, y), [2, 2, 3])
    assert kills > 0
    np.testing.assert_allclose(again.predict(X), plain.predict(X), rtol=0, atol=1e-10)


def test_the_best_of_several_kinds_of_kernels(rng, tmp_path, killer):
    X, y = data(rng, 50, 3)
    model = MKLRegressorCV(kernels="best", random_state=0)
    plain = clone(model).fit(X, y)
    kept = clone(model).set_params(checkpoint=tmp_path)
    again, kills = killer.run(lambda: clone(kept).fit(X, y), [3, 9, 20, 30])
    assert kills > 0
    assert again.kernels_losses_ == pytest.approx(plain.kernels_losses_, rel=1e-10)
    np.testing.assert_allclose(again.predict(X), plain.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "work",
    [
        SplitTest(MKLRegressor(degree=2), n_splits=6),
        SplitTest(MKLRegressor(degree=2, kernels="auto", p=1), n_splits=3),
        StabilitySelection(MKLRegressor(degree=2), n_pairs=4),
        StabilitySelection(MKLRegressor(kernels="widths"), n_pairs=1, q=2),
    ],
)
def test_selections_go_on_behind_what_is_done(work, rng, tmp_path, killer):
    X, y = data(rng, 60)
    plain = clone(work).set_params(random_state=0).fit(X, y)
    kept = clone(work).set_params(random_state=0, checkpoint=tmp_path)
    again, kills = killer.run(lambda: clone(kept).fit(X, y), [2, 2, 3])
    assert kills > 0
    assert again.table_.equals(plain.table_)
    assert again.selected_ == plain.selected_
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [None, 5, np.random.default_rng, np.random.RandomState])
def test_randomness_is_the_same_in_the_next_process(given, rng, tmp_path, killer):
    X, y = data(rng)
    model = MKLRegressor(p=1.5, degree=2, alpha=1e-3, solver="mirror-descent", max_iter=20)
    model.set_params(tol=1e-9, checkpoint=tmp_path)
    seen = []

    def fit():
        state = given(7) if callable(given) else given
        return clone(model).set_params(random_state=state).fit(X, y)

    first = folder.check_random_state
    folder.check_random_state = lambda state: first(len(seen) if state is None else state)
    try:
        seen.append(killer.run(fit, [])[0])  # never killed, with seed 0 where none is given
        seen.clear()
        again, kills = killer.run(fit, [4, 5, 6])
    finally:
        folder.check_random_state = first
    assert kills == 3
    truth = killer.run(fit, [])[0] if given is not None else again
    np.testing.assert_allclose(again.predict(X), truth.predict(X), rtol=0, atol=1e-10)


def killed_fit(killer, model, X, y, writings=6):
    killer.left = writings
    with pytest.raises(Killed):
        clone(model).fit(X, y)
    killer.left = np.inf


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def changed(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def empty(path):
    path.write_bytes(b"")


def other_contents(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", '{"format": 2, "files": {}, "model": 3}')


@pytest.mark.parametrize("damage", [cut, changed, empty, other_contents])
@pytest.mark.parametrize("model", [SOLVED["subspaces"], CHOSEN["strengths"]])
def test_damaged_files_are_not_used(damage, model, rng, tmp_path, killer):
    X, y = data(rng)
    plain = clone(model).set_params(random_state=0).fit(X, y)
    kept = clone(model).set_params(checkpoint=tmp_path, random_state=0)
    killed_fit(killer, kept, X, y)
    files = list(tmp_path.glob("*/*.state"))
    assert len(files) >= 2
    for path in files:
        damage(path)
    with pytest.warns(CheckpointWarning, match="done again"):
        again = clone(kept).fit(X, y)
    np.testing.assert_allclose(again.predict(X), plain.predict(X), rtol=0, atol=1e-10)
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_fit_are_not_used(rng, tmp_path, killer):
    X, y = data(rng)
    one, two = (MKLRegressor(p=1, kernels="auto", degree=2, alpha=a, tol=1e-7) for a in (1e-3, 1))
    plain = clone(two).fit(X, y)
    for model, place in ((one, "one"), (two, "two")):
        killed_fit(killer, clone(model).set_params(checkpoint=tmp_path / place), X, y, 2)
    (source,), (goal,) = (tmp_path.glob(f"{place}/fit-*") for place in ("one", "two"))
    assert {path.name for path in source.iterdir()} == {path.name for path in goal.iterdir()}
    for path in source.iterdir():
        shutil.copy(path, goal / path.name)
    with pytest.warns(CheckpointWarning, match="of another fit"):
        again = clone(two).set_params(checkpoint=tmp_path / "two").fit(X, y)
    np.testing.assert_array_equal(again.predict(X), plain.predict(X))


CHANGES = {
    "rows": lambda X, y, model: (X + 1e-12, y),
    "order": lambda X, y, model: (X[::-1], y[::-1]),
    "target": lambda X, y, model: (X, np.where(np.arange(len(y)) == 5, y + 1e-9, y)),
    "strength": lambda X, y, model: model.set_params(alpha=2e-3) and (X, y),
    "solver": lambda X, y, model: model.set_params(solver="working-set") and (X, y),
    "loss": lambda X, y, model: model.set_params(loss="huber") and (X, y),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_fit_leaves_the_folder_of_the_first(change, rng, tmp_path, killer, monkeypatch):
    X, y = data(rng)
    model = MKLRegressor(p=1, kernels="auto", degree=2, alpha=1e-3, tol=1e-7)
    killed_fit(killer, clone(model).set_params(checkpoint=tmp_path), X, y, 3)
    before = {path: path.read_bytes() for path in tmp_path.glob("*/*")}
    assert before
    # It was this very process, which seems to be at work.
    monkeypatch.setattr(folder, "may_run", lambda process: False)
    other = clone(model).set_params(checkpoint=tmp_path)
    rows, target = CHANGES[change](X, y, other)
    with pytest.warns(CheckpointWarning, match="the state of other fits.*: 1, such as"):
        found = clone(other).fit(rows, target)
    plain = other.set_params(checkpoint=None).fit(rows, target)
    np.testing.assert_array_equal(found.predict(X), plain.predict(X))
    assert {path: path.read_bytes() for path in tmp_path.glob("*/*")} == before
    # And the first goes on as if nothing had been.
    killer.written = 0
    again = clone(model).set_params(checkpoint=tmp_path, verbose=0).fit(X, y)
    np.testing.assert_allclose(again.predict(X), model.fit(X, y).predict(X), rtol=0, atol=1e-10)
    assert list(tmp_path.iterdir()) == []


def test_another_version_begins_anew(rng, monkeypatch):
    before = fingerprint(X=np.ones(3))
    assert fingerprint(X=np.ones(3)) == before
    monkeypatch.setattr("manykernels.__version__", "99.0")
    assert fingerprint(X=np.ones(3)) != before


def test_fingerprints_tell_values_apart():
    rng = np.random.default_rng(0)
    values = [
        None, 0, 0.0, False, "", "0", b"0", [], (), [0], [[0]], {}, {"a": 0}, {"a": 0, "b": 0},
        np.zeros(2), np.zeros(2, int), np.zeros((2, 1)), np.zeros((1, 2)), np.float64(0),
        np.array([-0.0, 0.0]), np.array(["a", "b"]), np.array(["a", "b"], dtype=object),
        sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(3)), sparse.csr_array(2 * np.eye(2)),
        KFold(3), KFold(4), KFold(3, shuffle=True, random_state=0), Greedy(3), Greedy(4),
        lambda x: x + 1, lambda x: x + 2, lambda x: x * 1, np.random.RandomState(0),
        np.random.RandomState(1), np.random.default_rng(0), np.random.default_rng(1), Path("a"),
        max,
    ]  # fmt: skip
    found = [fingerprint(value=value) for value in values]
    assert len(set(found)) == len(values)
    assert found == [fingerprint(value=value) for value in values]
    assert fingerprint(value=rng) == fingerprint(value=np.random.default_rng(0))
    rng.random()
    assert fingerprint(value=rng) != fingerprint(value=np.random.default_rng(0))
    with pytest.raises(TypeError, match="checkpoint needs parameters that are the same"):
        fingerprint(value=iter([1]))


def test_folds_of_an_iterator_are_told_by_their_rows(rng, tmp_path, killer):
    X, y = data(rng, 60)
    model = MKLRegressorCV(p=1, degree=2, n_alphas=4, checkpoint=tmp_path)
    folds = list(KFold(3).split(X))
    others = list(KFold(3, shuffle=True, random_state=0).split(X))
    killer.left = 12
    with pytest.raises(Killed):
        clone(model).set_params(cv=iter(folds)).fit(X, y)
    killer.left = np.inf
    found = clone(model).set_params(cv=iter(others)).fit(X, y)
    plain = MKLRegressorCV(p=1, degree=2, n_alphas=4, cv=others).fit(X, y)
    np.testing.assert_allclose(found.score_path_, plain.score_path_, rtol=1e-12)


@pytest.mark.parametrize("told_by", ["folds", "groups"])
def test_the_last_fit_is_that_of_the_setting_that_is_chosen(told_by, rng, tmp_path, monkeypatch):
    X, y = data(rng, 80)
    plain = MKLRegressorCV(p=1, degree=2, n_alphas=12, random_state=0)
    kept = clone(plain).set_params(checkpoint=tmp_path)
    folds = list(KFold(5).split(X)), [(np.arange(12), np.arange(12, 80))]
    groups = np.arange(80) // 4, y > np.median(y)

    def fitted(model, number):
        if told_by == "groups":
            return clone(model).fit(X, y, groups=groups[number])
        return clone(model).set_params(cv=iter(folds[number])).fit(X, y)

    put = folder.Checkpoint._put

    def killed_at_the_end(checkpoint, slot, state):
        put(checkpoint, slot, state)
        if slot.name.endswith("all rows/answer"):
            raise Killed

    monkeypatch.setattr(folder, "WRITING_SHARE", np.inf)
    monkeypatch.setattr(folder.Checkpoint, "_put", killed_at_the_end)
    with pytest.raises(Killed):
        fitted(kept, 0)
    monkeypatch.setattr(folder.Checkpoint, "_put", put)
    known = fitted(plain, 1)
    assert known.alpha_ != fitted(plain, 0).alpha_
    np.testing.assert_allclose(fitted(kept, 1).objective_, known.objective_, rtol=1e-12)


def test_nothing_is_written_without_a_folder(rng, tmp_path, killer, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MKLRegressorCV(degree=2, n_alphas=3, cv=2).fit(*data(rng))
    assert killer.written == 0
    assert list(tmp_path.iterdir()) == []


def test_writing_takes_a_tenth_of_the_time(tmp_path, monkeypatch):
    clock = iter(np.arange(0.0, 1e6))  # each look at the clock is a second later
    monkeypatch.setattr(folder, "perf_counter", lambda: next(clock))
    checkpoint = folder.Checkpoint.opened(tmp_path, "0" * 64)
    written = sum(checkpoint.slot.at("part").offer(lambda: {"a": 1}) for _ in range(1000))
    assert 0.05 * 1000 < written < 0.15 * 1000


def test_a_disk_that_is_full_ends_no_fit(rng, tmp_path, killer, monkeypatch):
    X, y = data(rng)
    model = MKLRegressor(p=1, kernels="auto", **TIGHT)

    def full(path, content):
        if path.parent.exists() and len(list(path.parent.iterdir())) >= 2:
            raise OSError(28, "No space left on device")
        write(path, content)

    write = folder.write_whole
    monkeypatch.setattr(folder, "write_whole", full)
    with pytest.warns(CheckpointWarning, match="goes on without it"):
        found = clone(model).set_params(checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), model.fit(X, y).predict(X))


def test_what_is_no_folder_is_refused_before_the_work(rng, tmp_path):
    X, y = data(rng)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="checkpoint must be a folder that can be written to"):
        MKLRegressor(checkpoint=tmp_path / "file").fit(X, y)
    for wrong in ("", 3, b"x", [tmp_path]):
        for model in (MKLRegressor(), MKLClassifierCV(), SplitTest(MKLRegressor())):
            with pytest.raises(ValueError, match="checkpoint must be a folder or None; got"):
                model.set_params(checkpoint=wrong).fit(X, y > 0)


def test_after_ctrl_c_the_state_stays(rng, tmp_path, killer):
    X, y = data(rng)
    model = MKLRegressor(p=1, kernels="auto", **TIGHT)
    plain = clone(model).fit(X, y)
    put, left = folder.Checkpoint._put, iter([None, None, KeyboardInterrupt])

    def interrupted(checkpoint, slot, state):
        put(checkpoint, slot, state)
        if next(left, None) is not None:
            raise KeyboardInterrupt

    folder.Checkpoint._put = interrupted
    try:
        with pytest.warns(UserWarning, match="Interrupted"):
            clone(model).set_params(checkpoint=tmp_path).fit(X, y)
    finally:
        folder.Checkpoint._put = put
    assert len(list(tmp_path.glob("fit-*/*"))) >= 2
    again = clone(model).set_params(checkpoint=tmp_path).fit(X, y)
    np.testing.assert_allclose(again.predict(X), plain.predict(X), rtol=0, atol=1e-10)
    assert again.n_iter_ == plain.n_iter_
    assert list(tmp_path.iterdir()) == []


def test_a_model_file_does_not_name_the_folder(rng, tmp_path):
    X, y = data(rng)
    model = MKLRegressor(degree=2, checkpoint=tmp_path / "secret place").fit(X, y)
    path = model.save(tmp_path / "model.mk")
    assert load(path).checkpoint is None
    with zipfile.ZipFile(path) as archive:
        assert all(b"secret" not in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize(
    "model",
    [
        MKLRegressorCV(p=1, degree=2, n_alphas=4, cv=2, tol=1e-6),
        MKLRegressor(p=1, degree=1, alpha=1e-2, tol=1e-6, kernels="auto"),
    ],
)
def test_rows_in_parts(model, rng, tmp_path, killer):
    da = pytest.importorskip("dask.array")
    X, y = data(rng, 300)
    rows, target = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    plain = clone(model).fit(rows, target)
    kept = clone(model).set_params(checkpoint=tmp_path)
    again, kills = killer.run(lambda: clone(kept).fit(rows, target), [2, 3, 3])
    assert kills > 0
    np.testing.assert_allclose(again.predict(X), plain.predict(X), atol=1e-4)
    assert list(tmp_path.iterdir()) == []


def test_scikit_learn_has_no_exceptions(tmp_path):
    model = MKLRegressor(degree=2, p=1, alpha=1e-2, tol=1e-8, checkpoint=str(tmp_path))
    check_estimator(model, on_skip=None)
    assert list(tmp_path.glob("fit-*/*")) == []
