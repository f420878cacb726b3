"""The one writer of files: whole or not at all, nobody let in, nothing left behind."""

import errno
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import manykernels
from manykernels import MKLRegressor, report
from manykernels.cli.app import app
from manykernels.experiments.pages import write_table
from manykernels.store import write_whole
from manykernels.store.whole import STRAY_SECONDS, this_host
from manykernels.tables import Settings, fit_table, split_table

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes, links and signals of POSIX")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return MKLRegressor(alpha=1e-3, degree=1, p=1).fit(X, X[:, 0])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=60)
    frame.to_csv(folder / "t.csv", index=False)
    settings = Settings("y", kernels="linear", degree=[1])
    fit_table(split_table(frame, settings), settings).save(folder / "m.mk")
    return folder


@pytest.fixture
def writers(model, table):
    """All that writes files for people, by name: a function of the path."""
    X = np.random.default_rng(1).normal(size=(30, 2))

    def predictions(path):
        arguments = ["predict", str(table / "m.mk"), str(table / "t.csv"), "-o", str(path)]
        result = CliRunner().invoke(app, arguments)
        if result.exit_code:
            raise OSError(result.output)

    return {
        "model": model.save,
        "report": lambda path: report.write(model, X, X[:, 0], path),
        "predictions": predictions,
        "table of an experiment": lambda path: write_table(pd.DataFrame({"a": [1]}), path),
    }


KINDS = ["model", "report", "predictions", "table of an experiment"]


@POSIX
@pytest.mark.parametrize("kind", KINDS)
def test_modes_are_kept_and_nothing_is_left(kind, writers, tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o604)
    writers[kind](path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert path.read_bytes() != b"old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(kind, step, writers, tmp_path, monkeypatch):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        writers[kind](path)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


@POSIX
def test_drafts_have_names_that_cannot_be_guessed_and_are_not_for_others(tmp_path, monkeypatch):
    path, seen = tmp_path / "out", []
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace = os.replace

    def look(draft, place):
        seen.append((Path(draft).name, Path(draft).parent, draft.stat().st_mode))
        replace(draft, place)

    def while_written(descriptor):
        assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600

    monkeypatch.setattr(os, "replace", look)
    monkeypatch.setattr(os, "fsync", while_written)
    monkeypatch.setattr("manykernels.store.whole._settle", lambda folder: None)
    for _ in range(2):
        write_whole(path, b"new")
    (first, folder, mode), (second, *_) = seen
    assert first != second
    assert folder == tmp_path
    assert stat.S_IMODE(mode) == 0o640


@POSIX
def test_a_link_in_the_way_of_a_draft_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)
    draft = tmp_path / f".manykernels-{this_host()}-{os.getpid()}-{'0' * 16}.part"
    draft.symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "out", b"new")
    assert victim.read_bytes() == b"precious"


@POSIX
def test_new_files_have_the_mode_that_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "out", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


@POSIX
def test_what_is_no_file_is_never_replaced(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (tmp_path, fifo, Path("/dev/null")):
        with pytest.raises(OSError, match="it is no file"):
            write_whole(path, b"new")
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@POSIX
def test_drafts_of_dead_processes_are_removed(tmp_path):
    code = (
        "import os, sys, pathlib; os.replace = lambda *a: os.kill(os.getpid(), 9);"
        "from manykernels.store.whole import write_whole;"
        "write_whole(pathlib.Path(sys.argv[1]), b'new')"
    )
    source = str(Path(manykernels.__file__).parents[1])
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, check=False)
    (draft,) = os.listdir(tmp_path)
    assert re.fullmatch(r"\.manykernels-.*\.part", draft)
    ours = tmp_path / f".manykernels-{this_host()}-{os.getpid()}-{'1' * 16}.part"
    others = tmp_path / f".manykernels-{'f' * 8}-1234567-{'1' * 16}.part"
    old = tmp_path / f".manykernels-{'f' * 8}-1234567-{'2' * 16}.part"
    foreign = tmp_path / ".other.1234567.part"
    for path in (ours, others, old, foreign):
        path.write_bytes(b"")
    past = time.time() - STRAY_SECONDS - 60
    os.utime(old, (past, past))
    write_whole(tmp_path / "out", b"new")
    assert set(os.listdir(tmp_path)) == {"out", ours.name, others.name, foreign.name}


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("n" * 250)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
