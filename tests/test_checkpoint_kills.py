"""Processes that are killed for good (SIGKILL), at random moments, and begun again.

``MANYKERNELS_SLOW=1`` kills fits 50 times; without it there are a few kills.
"""

import os
import signal
import time
import warnings

import numpy as np
import pytest

from manykernels import MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.checkpoint import folder
from manykernels.selection import SplitTest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is copied and killed"),
    pytest.mark.filterwarnings("ignore"),
]

SLOW = os.environ.get("MANYKERNELS_SLOW") == "1"

FITS = {
    "rounds": MKLRegressor(p=1, kernels="auto", degree=2, alpha=1e-4, tol=1e-8),
    "draws": MKLRegressor(
        p=1.5, degree=2, alpha=1e-3, solver="mirror-descent", tol=1e-9, max_iter=80
    ),
    "folds": MKLRegressorCV(p=1, kernels="auto", degree=2, n_alphas=6, cv=3),
    "classes": MKLClassifierCV(p=[1, 1.5], degree=2, n_alphas=5, cv=3),
    "splits": SplitTest(MKLRegressor(p=1, kernels="auto", degree=2), n_splits=12),
}


def fitted(name, place):
    """Return the numbers that a fit gives."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(120, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=120)
    model = FITS[name].set_params(random_state=2, checkpoint=place)
    model.fit(X, y > 0 if name == "classes" else y)
    if name == "splits":
        return model.table_[["frequency", "p_value", "correlation"]].to_numpy()
    return model.decision_function(X) if name == "classes" else model.predict(X)


def begin(name, place, out):
    """Return the number of a process that fits and writes what it gives."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        warnings.simplefilter("ignore")
        folder.WRITING_SHARE = np.inf  # after each round, however short
        np.save(out, fitted(name, place))
        status = 0
    finally:
        os._exit(status)


def kill_at(seconds, *fit):
    """Run a fit and kill it after some seconds; tell whether it was killed before it was done."""
    process, until = begin(*fit), time.perf_counter() + seconds
    while time.perf_counter() < until:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            assert status == 0
            return False
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1] == signal.SIGKILL


def check(name, place, kills, rng):
    """Kill fits until there were so many kills; each that ends must give the same."""
    work, out, done, ends = place / "work", place / "out.npy", 0, 0
    began = time.perf_counter()
    truth = fitted(name, None)
    whole = time.perf_counter() - began
    while ends == 0 or done < kills:
        # Some moments of a fit that begins anew, and of one that was killed again and again.
        moment = np.inf if done >= kills else rng.uniform(0, whole / (1 + done % 3))
        if kill_at(moment, name, work, out):
            done += 1
            continue
        ends += 1
        np.testing.assert_allclose(np.load(out), truth, rtol=0, atol=1e-10)
        assert list(work.iterdir()) == []
    assert done >= kills


def test_a_few_kills(tmp_path, rng):
    check("folds", tmp_path, 3, rng)


@pytest.mark.skipif(not SLOW, reason="MANYKERNELS_SLOW=1 runs it: a minute or two")
@pytest.mark.parametrize("name", FITS)
def test_fifty_kills(name, tmp_path, rng):
    check(name, tmp_path, 50 // len(FITS), rng)
