"""Commands whose output has nowhere to go: an error of one line, no traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import manykernels
from manykernels.store import write_whole
from manykernels.tables import Settings, fit_table, split_table

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table, a model of it and a link to itself."""
    folder = tmp_path_factory.mktemp("streams")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "y"])
    frame.to_csv(folder / "t.csv", index=False)
    settings = Settings("y", kernels="linear", degree=[1])
    fit_table(split_table(frame, settings), settings).save(folder / "m.mk")
    (folder / "loop").symlink_to("loop")
    return folder


def run(place, command, streams, **settings):
    start = f"{shlex.quote(sys.executable)} -c 'from manykernels.cli import main; main()'"
    return subprocess.run(
        f"{start} {command} {streams}",
        shell=True,
        cwd=place,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(manykernels.__file__).parents[1]),
            **settings,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", ["predict m.mk t.csv", "export m.mk --to python"])
def test_stdout_that_is_closed(place, command):
    done = run(place, command, ">&-")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: stdout is closed")
    assert "Traceback" not in done.stderr
    assert run(place, f"{command} -o out.txt", ">&-").returncode == 0
    quiet = run(place, command, "2>&-")
    assert quiet.returncode == 0
    assert len(quiet.stdout.splitlines()) > 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["predict m.mk t.csv", "--version", "predict --help"])
def test_stdout_that_is_full(place, command):
    done = run(place, command, ">/dev/full")
    assert done.returncode == 1
    assert "No space left" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "predict m.mk t.csv -o loop",
        "predict m.mk loop",
        "predict loop t.csv",
        "fit t.csv --target y --model loop",
        "report m.mk t.csv -o loop",
        "sample loop",
        "export m.mk --to sql -o loop",
    ],
)
def test_links_to_themselves(place, command):
    done = run(place, command, "")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_at_a_link_to_itself(place):
    with pytest.raises(OSError, match="it is a link to itself"):
        write_whole(place / "loop", b"")


def test_names_that_the_encoding_of_stdout_lacks(place):
    """They are escaped in words for people; the model was written, and the command failed."""
    frame = pd.read_csv(place / "t.csv").rename(columns={"a": "größe \U0001f600"})
    frame.to_csv(place / "odd.csv", index=False)
    fit = "fit odd.csv --target y --kernels linear --degree 1 --model odd.mk"
    for command in (fit, "explain odd.mk"):
        done = run(place, command, "", PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
        assert "gr\\xf6\\xdfe \\U0001f600" in done.stdout
