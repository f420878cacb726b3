"""Progress while a fit runs."""

import io
import re
import sys
import types
from itertools import pairwise

import numpy as np
import pytest

from manykernels import MKLClassifierCV, MKLRegressor, MKLRegressorCV
from manykernels.fitting import progress
from manykernels.fitting.progress import (
    Lines,
    Progress,
    Watch,
    choosing,
    current,
    model_shares,
    watching,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = X[:, 0] * X[:, 2] + 0.1 * rng.normal(size=60)


def test_silence(capsys):
    MKLRegressor(alpha=1e-3, verbose=0, degree=2).fit(X, y)
    MKLRegressorCV(degree=1, n_alphas=3, cv=2).fit(X, y)
    said = capsys.readouterr()
    assert said.out == said.err == ""


def test_a_line_for_each_iteration(capsys):
    model = MKLRegressor(alpha=1e-3, verbose=2, degree=2).fit(X, y)
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert "one full pass" in lines[0]
    assert len(lines) == 1 + model.n_iter_ + 1
    pattern = (
        r"round \d+, \d+ of 21 kernels in use, objective [\d.]+, gap [\d.e-]+ \(exact\), [\d.]+ s"
    )
    assert all(re.match(pattern, line) for line in lines[1:])


def test_cross_validation_says_where_it_is(capsys):
    MKLRegressorCV(degree=[1, 2], n_alphas=3, cv=2, verbose=2).fit(X, y)
    lines = [line for line in capsys.readouterr().err.splitlines() if ": " in line]
    for words in (
        "degree 1, fold 1 of 2: model 1 of at most 3",
        "degree 2, fold 1 of 2: model 2 of at most 3",
        "degree 2, fold 2 of 2",
        "all rows: round",
    ):
        assert any(words in line for line in lines), words
    MKLClassifierCV(degree=1, n_alphas=2, cv=2, verbose=2).fit(X, y > 0)
    assert "fold 2 of 2" in capsys.readouterr().err


def test_lines_come_every_two_seconds(capsys):
    lines = Lines(always=False)
    for seconds in (0.5, 1.9, 2.1, 3.0, 4.0, 4.2):
        lines.show("work", 0.5, seconds, seconds)
    lines.end(4.3)
    assert capsys.readouterr().err.splitlines() == [
        "work, 0.5 s, about 0 s left",
        "work, 3.0 s, about 3 s left",
        "done in 4.3 s",
    ]


class Recorder:
    def __init__(self):
        self.shown = []

    def show(self, text, share, seconds, left):
        self.shown.append((text, share, left))

    def end(self, seconds):
        self.shown.append(("end", 1.0, None))


def test_shares_and_time_left(monkeypatch):
    clock = iter([0.0, 10.0, 10.0, 30.0])
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    recorder = Recorder()
    watch = Watch(recorder)
    watch.stage("second half", 0.5, 1.0)
    watch.report("begins", 0.0)
    watch.report("ends", 0.5)
    assert recorder.shown[1] == ("second half: begins", 0.5, 10.0)
    assert recorder.shown[2] == ("second half: ends", 0.75, 10.0)


@pytest.mark.parametrize(
    ("gaps", "share"),
    [([1.0, 0.1], 0.5), ([1.0, 0.01], 1.0), ([1.0, 2.0], 0.2), ([np.inf, 0.5], 0.2)],
)
def test_the_gap_or_the_iterations_tell_how_much_is_done(gaps, share):
    told = Progress(None, 10, 0.01, 10, None)
    for gap in gaps:
        last = told._share(2, 1.0, gap)
    assert last == pytest.approx(share)


def test_shares_of_a_fit_rise(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(progress, "Lines", lambda always: recorder)
    MKLRegressorCV(degree=[1, 2], n_alphas=4, cv=2, verbose=1).fit(X, y)
    shares = [share for _, share, _ in recorder.shown]
    starts = [share for text, share, _ in recorder.shown if "model 1 of" in text or "all" in text]
    assert 0 == shares[0] <= max(shares) <= 1
    assert np.all(np.diff(starts) >= -1e-12)
    assert recorder.shown[-1][1] > 0.85


def test_one_watch_at_a_time():
    assert current() is None
    with watching(2) as outer, watching(2) as inner:
        assert inner is outer is current()
    assert current() is None
    with watching(0) as none:
        assert none is None


def test_notebooks_have_lines(monkeypatch):
    """A notebook's stream is no screen; nothing but the stream is needed, no widgets."""

    class Cell(io.StringIO):  # ipykernel's OutStream: text, flushed, never a terminal
        def isatty(self):
            return False

    cell = Cell()
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.setattr(sys, "stderr", cell)
    MKLRegressorCV(degree=1, n_alphas=3, cv=2, verbose=True).fit(X, y)
    MKLRegressor(degree=2, verbose=True).fit(X, y)
    first, *_, last = cell.getvalue().splitlines()
    assert first.startswith("degree 1, fold 1 of 2")
    assert re.fullmatch(r"done in \d+\.\d s", last)
    assert "\x1b" not in cell.getvalue()


@pytest.mark.parametrize("growth", [1.15, 1.25, 1.35])
@pytest.mark.parametrize("end", [20, 22, 24])
def test_time_left_after_a_third(monkeypatch, growth, end):
    """Models of a path cost more and more, and it ends where gains fade: within a factor of two."""
    cost = [growth**i for i in range(end)]
    fade = 0.005 ** (1 / (end - 1))  # gains fall to the share at which a path ends
    losses = 1.0 + np.cumsum((0.3 * fade ** np.arange(end))[::-1])[::-1]
    total = sum(cost) + 2.5 * cost[-1] / 5
    clock = [0.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: clock[0])
    recorder = Recorder()
    watch = Watch(recorder)
    for k in range(end):
        for fold in range(5):
            clock[0] += 10 * cost[k] / 5
            watch.stage("fold", (5 * k + fold) / 125, (5 * k + fold + 1) / 125)
            recorder.shown[-1] = (*recorder.shown[-1], clock[0])
        watch.step(losses[: k + 1], 25, 0, 5)
    told = [(left, at) for *_, left, at in recorder.shown if left is not None]
    assert all(b[0] <= a[0] for a, b in pairwise(told))
    third = [(left, at) for left, at in told if 1 / 3 <= at / (10 * total) <= 0.7]
    assert third
    assert all(0.5 <= left / (10 * total - at) <= 2 for left, at in third[:5]), third


def test_a_bar_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "150")
    MKLRegressorCV(degree=2, n_alphas=4, cv=2, verbose=1).fit(X, y)
    text = terminal.getvalue()
    assert "\x1b[" in text  # drawn in place
    assert "0:00:0" in text
    monkeypatch.undo()
    assert current() is None


def test_without_rich_there_are_lines(monkeypatch):
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert not progress._has_screen()


def test_models_of_a_path_with_widths_keep_those_of_the_first():
    np.testing.assert_allclose(model_shares(4), [0, 0.25, 0.5, 0.75, 1])
    shares = model_shares(4, 0.85)
    assert shares[1] > 0.8
    assert shares[0] == 0
    assert shares[-1] == 1
    assert (np.diff(shares) > 0).all()
    assert choosing(1, True) == 0.5
    assert choosing(5, True) == pytest.approx(5 / 6)


@pytest.mark.parametrize("seconds", [1.0, 10.0, 40.0])
def test_time_left_follows_the_pace_of_the_part_it_is_in(monkeypatch, seconds):
    """Kinds of models that should take as long as the last one may be far quicker."""
    clock, said = [0.0], []
    monkeypatch.setattr(progress, "perf_counter", lambda: clock[0])
    watch = Watch(types.SimpleNamespace(show=lambda *words: said.append(words)))
    for part, start, took in (("first", 0.0, seconds), ("last", 0.4, 40.0)):
        watch.within(part, start, start + (0.4 if part == "first" else 0.6))
        for share in np.linspace(0, 1, 21)[1:]:
            clock[0] += took / 20
            watch.report(f"{part} {share:.2f}", float(share))
    end = seconds + 40.0
    lines = [(spent, left) for _, _, spent, left in said if left is not None and spent > end / 3]
    assert len(lines) > 5
    assert all(0.5 <= left / (end - spent) <= 2 for spent, left in lines if spent < 0.9 * end)
