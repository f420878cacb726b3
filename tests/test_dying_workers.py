"""Clusters whose workers die again and again: a fit ends with a message, within Dask's retries."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from manykernels import MKLRegressor
from manykernels.rows import dask as cluster_rows

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

LONG_SECONDS = 300


def deadly(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 1:
        os._exit(1)
    return block


def endless(block, folder, block_info=None):
    if block_info[0]["chunk-location"][0] == 1:
        with open(os.path.join(folder, str(os.getpid())), "w"):
            pass
        time.sleep(LONG_SECONDS)
    return block


def table(rng):
    X = rng.normal(size=(60, 3))
    return da.from_array(X, chunks=(20, -1)), da.from_array(X[:, 0], chunks=20)


def one_worker():
    return distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outside", [False, True])
def test_a_fit_ends_where_workers_die_again_and_again(rng, tmp_path, outside):
    """A part that kills its worker, and workers that are killed from outside."""
    X, y = table(rng)
    settings = {"distributed.scheduler.allowed-failures": 0}
    over = threading.Event()

    def kill_whoever_begins():
        while not over.wait(0.05):
            for path in list(tmp_path.iterdir()):
                path.unlink()
                os.kill(int(path.name), signal.SIGKILL)

    killer = threading.Thread(target=kill_whoever_begins)
    with dask.config.set(settings), one_worker() as one, distributed.Client(one):
        nothing = np.empty((0, 3))
        rows = X.map_blocks(deadly, meta=nothing)
        if outside:
            rows = X.map_blocks(endless, str(tmp_path), meta=nothing)
            killer.start()
        began = time.perf_counter()
        try:
            with pytest.raises(MemoryError, match="workers of the cluster died"):
                MKLRegressor().fit(rows, y)
        finally:
            over.set()
        assert time.perf_counter() - began < LONG_SECONDS / 4
    if outside:
        killer.join()


class Future:
    """A task that never ends."""

    released = False

    def done(self):
        return False

    def release(self):
        self.released = True


class Client:
    """A cluster that loses a worker at each look, and gets new ones until there are no more."""

    def __init__(self, workers, lasts=np.inf, expected=False):
        self.workers, self.lasts, self.expected = workers, lasts, expected
        self.looks, self.future = 0, Future()

    def nthreads(self):
        return {str(i): 1 for i in range(self.workers)} if self.looks < self.lasts else {}

    def get_events(self, topic):
        assert topic == "all"
        self.looks += 1
        before = [(i, {"action": "remove-worker", "expected": False}) for i in range(3)]
        lost = [(10 + i, self._event()) for i in range(min(self.looks - 1, self.lasts))]
        return [*before, *lost]

    def _event(self):
        return {"action": "remove-worker", "expected": self.expected, "worker": "tcp://x"}

    def compute(self, task):
        return self.future


@pytest.fixture
def quick(monkeypatch):
    """Looks that take no time; one that is never over fails."""
    looks = iter(range(200))

    def wait(future, timeout):
        next(looks)
        raise TimeoutError

    monkeypatch.setattr(distributed, "wait", wait)


@pytest.mark.parametrize(("retries", "workers"), [(0, 1), (3, 1), (0, 4), (3, 4)])
def test_each_worker_may_die_as_often_as_a_task_may_fail(quick, retries, workers):
    client = Client(workers)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": retries}),
        pytest.raises(MemoryError, match=f"died {(retries + 1) * workers} times in one pass"),
    ):
        cluster_rows._watched(client, None)
    assert client.future.released


def test_workers_that_are_let_go_do_not_count(quick):
    with pytest.raises(StopIteration):  # it was waited for, 200 times
        cluster_rows._watched(Client(1, expected=True), None)


def test_a_cluster_without_workers_is_not_waited_for_ever(quick):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        pytest.raises(MemoryError, match="no workers for 6 s, after 2 of them died"),
    ):
        cluster_rows._watched(Client(4, lasts=2), None)


def test_an_error_of_a_task_is_its_own(rng):
    X, y = table(rng)

    def late(block):
        raise TimeoutError("the disk is slow")

    settings = {"n_workers": 1, "processes": False, "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(**settings) as one,
        distributed.Client(one),
        pytest.raises(TimeoutError, match="the disk is slow"),
    ):
        MKLRegressor().fit(X.map_blocks(late, meta=np.empty((0, 3))), y)
