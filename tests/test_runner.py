"""Runs are computed once, kept at once, and give the same table however they were interrupted."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from manykernels.experiments import runner
from manykernels.experiments.runner import Pace, Run, cache_path, complete


def make_runs(count=5, **more):
    return [
        Run("demo", {"data": "sonar", "method": "ours D=2", "split": i, **more})
        for i in range(count)
    ]


class Counting:
    """Rows that depend on the settings; interrupts or fails in the run of a given split."""

    def __init__(self, stop=None, error=KeyboardInterrupt):
        self.stop, self.error, self.splits = stop, error, []

    def __call__(self, run):
        split = run.settings["split"]
        if split == self.stop:
            raise self.error("stopped")
        self.splits.append(split)
        rng = np.random.default_rng(split)
        return [{"step": k, "error": rng.normal()} for k in range(2)]


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_an_interrupted_reproduction_goes_on(tmp_path, capsys):
    whole = complete(make_runs(), Counting(), tmp_path / "whole", progress=False)
    with pytest.raises(KeyboardInterrupt):
        complete(make_runs(), Counting(stop=2), tmp_path / "parts", progress=False)
    assert "2 of 5 runs are kept" in capsys.readouterr().err
    assert len(files(tmp_path / "parts")) == 2
    rest = Counting()
    frame = complete(make_runs(), rest, tmp_path / "parts", progress=False)
    assert rest.splits == [2, 3, 4]
    pd.testing.assert_frame_equal(frame, whole, check_exact=True)
    assert files(tmp_path / "parts") == files(tmp_path / "whole")
    again = Counting()
    frame = complete(make_runs(), again, tmp_path / "parts", progress=False)
    assert again.splits == []
    pd.testing.assert_frame_equal(frame, whole, check_exact=True)


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        complete(make_runs(), Counting(), tmp_path, progress=False)
    assert files(tmp_path) == []


@pytest.mark.parametrize("damage", ["half", "empty", "binary", "list", "other run", "rows"])
def test_a_damaged_file_is_recomputed(tmp_path, damage):
    runs = make_runs()
    whole = complete(runs, Counting(), tmp_path, progress=False)
    path = cache_path(runs[3], tmp_path)
    text = path.read_bytes()
    content = json.loads(text)
    path.write_bytes(
        {
            "half": text[: len(text) // 2],
            "empty": b"",
            "binary": b"\xff\xfe\x00",
            "list": b"[1, 2]",
            "other run": cache_path(runs[0], tmp_path).read_bytes(),
            "rows": json.dumps({**content, "rows": [1]}).encode(),
        }[damage]
    )
    compute = Counting()
    frame = complete(runs, compute, tmp_path, progress=False)
    assert compute.splits == [3]
    pd.testing.assert_frame_equal(frame, whole, check_exact=True)
    assert path.read_bytes() == text


def test_a_changed_setting_is_another_run(tmp_path):
    for settings in ({"quick": True}, {"quick": False}, {"quick": 1}, {"quick": None}, {}):
        compute = Counting()
        complete(make_runs(2, **settings), compute, tmp_path, progress=False)
        assert compute.splits == [0, 1], settings
    assert len(files(tmp_path)) == 10


@pytest.mark.parametrize(("name", "value"), [("CACHE_FORMAT", 1000), ("__version__", "1000.0")])
def test_another_version_is_another_run(tmp_path, monkeypatch, name, value):
    complete(make_runs(2), Counting(), tmp_path, progress=False)
    monkeypatch.setattr(runner, name, value)
    compute = Counting()
    complete(make_runs(2), compute, tmp_path, progress=False)
    assert compute.splits == [0, 1]


def test_the_order_of_settings_and_the_cost_do_not_matter(tmp_path):
    one = Run("demo", {"data": "sonar", "split": 3})
    other = Run("demo", {"split": 3, "data": "sonar"}, cost=7.0)
    assert cache_path(one, tmp_path).stem[-12:] == cache_path(other, tmp_path).stem[-12:]


def test_the_name_of_a_file_is_readable_and_short(tmp_path):
    path = cache_path(Run("demo", {"data": "a/b ../é", "split": 3, "long": "x" * 500}), tmp_path)
    assert path.parent == tmp_path / "demo"
    assert path.name.startswith("a-b-..-3-xxx")
    assert len(path.name) <= 80


def test_rows_are_in_the_order_of_the_runs(tmp_path):
    runs = make_runs()
    complete([runs[3], runs[1]], Counting(), tmp_path, progress=False)
    frame = complete(runs[::-1], Counting(), tmp_path, progress=False)
    assert frame["split"].tolist() == [4, 4, 3, 3, 2, 2, 1, 1, 0, 0]
    assert frame["step"].tolist() == [0, 1] * 5
    assert frame.columns.tolist() == ["data", "method", "split", "step", "error"]


def test_settings_are_the_first_columns_also_where_runs_differ(tmp_path):
    runs = [Run("demo", {"split": 0}), Run("demo", {"split": 1, "degree": 2}), make_runs(3)[2]]
    frame = complete(runs, Counting(), tmp_path, progress=False)
    assert frame.columns.tolist() == ["split", "degree", "data", "method", "step", "error"]
    nothing = complete(make_runs(2), lambda run: [], tmp_path / "nothing", progress=False)
    assert nothing.columns.tolist() == ["data", "method", "split"]
    assert len(nothing) == 0


def test_numpy_scalars_and_special_floats_survive(tmp_path):
    row = {
        "double": np.float64(0.1) + np.float64(0.2),
        "single": np.float32(0.1),
        "whole": np.int64(3),
        "flag": np.bool_(True),
        "word": np.str_("ä|b"),
        "nan": np.nan,
        "inf": -np.float32(np.inf),
        "none": None,
    }
    fresh = complete(make_runs(1), lambda run: [row], tmp_path, progress=False)
    cached = complete(make_runs(1), Counting(stop=0), tmp_path, progress=False)
    pd.testing.assert_frame_equal(fresh, cached, check_exact=True)
    found = cached.iloc[0]
    assert found["double"] == 0.1 + 0.2
    assert found["single"] == float(np.float32(0.1))
    assert (found["whole"], found["flag"], found["word"]) == (3, True, "ä|b")
    assert np.isnan(found["nan"])
    assert found["inf"] == -np.inf
    assert found["none"] is None


def test_an_array_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"values must be numbers.*; got a ndarray\. Give"):
        complete(make_runs(1), lambda run: [{"x": np.zeros(2)}], tmp_path, progress=False)
    assert files(tmp_path) == []


def test_a_row_must_not_repeat_a_setting(tmp_path):
    with pytest.raises(ValueError, match=r"rows must not repeat .*; got 'split'\. Rename"):
        complete(make_runs(1), lambda run: [{"split": 9}], tmp_path, progress=False)


def test_runs_must_be_distinct(tmp_path):
    with pytest.raises(ValueError, match=r"runs must be distinct; got demo: .*split=1 twice\."):
        complete([*make_runs(3), make_runs(2)[1]], Counting(), tmp_path, progress=False)


def test_an_error_names_its_run_and_keeps_the_others(tmp_path):
    with pytest.raises(ZeroDivisionError) as caught:
        complete(make_runs(), Counting(3, ZeroDivisionError), tmp_path, progress=False)
    assert caught.value.__notes__ == ["in the run demo: data=sonar, method=ours D=2, split=3"]
    assert len(files(tmp_path)) == 3


def test_blas_has_one_thread(tmp_path):
    def compute(run):
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        return [{"threads": pool["num_threads"]} for pool in pools]

    with threadpool_limits(2, user_api="blas"):
        before = compute(None)
        frame = complete(make_runs(1), compute, tmp_path, progress=False)
        assert compute(None) == before
    assert set(frame["threads"]) == {1}


def test_lines_without_a_terminal(tmp_path, capsys):
    complete(make_runs(2), Counting(), tmp_path)
    complete(make_runs(3), Counting(), tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("demo: data=sonar, method=ours D=2, split=0: 1 of 2, about ")
    assert lines[2].endswith("split=2: 3 of 3, about 0 s left")


def test_a_bar_on_a_terminal(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    pytest.importorskip("rich")
    stream = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": "150", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(KeyboardInterrupt):
        complete(make_runs(more="[red]"), Counting(stop=2), tmp_path)
    assert "split=2, more=[red]" in stream.getvalue()
    assert "2/5" in stream.getvalue()
    assert stream.getvalue().rstrip().endswith("goes on from there.")
    complete(make_runs(more="[red]"), Counting(), tmp_path)
    assert "5/5" in stream.getvalue()
    assert "about 0:00:00 left" in stream.getvalue()


def test_time_left_is_in_proportion_to_cost(monkeypatch):
    now = 100.0
    monkeypatch.setattr(runner, "perf_counter", lambda: now)
    pace = Pace(total=10, finished=7, cost_left=1.0 + 2.0 + 6.0)
    assert pace.seconds_left() is None
    assert str(pace) == ""
    pace.record(1.0, 20.0)
    assert pace.seconds_left() == 160.0
    now += 60.0
    assert str(pace) == "about 0:01:40 left"
    now += 1000.0
    assert pace.seconds_left() == 0.0
    pace.record(2.0, 10.0)
    assert pace.seconds_left() == 60.0
    pace.record(6.0, 1.0)
    assert (pace.finished, pace.seconds_left()) == (10, 0.0)
