"""The command line."""

import subprocess
import sys
from urllib.error import URLError

import pytest

import manykernels
from manykernels.cli import main

pytest.importorskip("typer")
from typer.testing import CliRunner

from manykernels.cli.app import app


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_version_and_help():
    assert invoke("--version").output.strip() == manykernels.__version__
    assert "reproduce" in invoke("--help").output
    text = invoke("reproduce", "--help").output
    for word in (
        "convergence",
        "synthetic",
        "real",
        "--data-dir",
        "--runs",
        "--seconds",
        "--quick",
    ):
        assert word in text


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "manykernels", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == manykernels.__version__


def test_unknown_experiment_is_refused():
    done = invoke("reproduce", "everything")
    assert done.exit_code == 2
    assert "everything" in done.output


def test_missing_data_is_a_message_not_a_traceback(tmp_path):
    done = invoke("reproduce", "real", "--data-dir", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.exit_code == 1
    assert "german" in done.output
    assert "Traceback" not in done.output


def test_damaged_data_are_a_message(tmp_path):
    (tmp_path / "german.csv.gz").write_bytes(b"no gzip")
    done = invoke("reproduce", "real", "--data-dir", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.exit_code == 1
    assert "german.csv.gz" in done.output
    assert "Traceback" not in done.output


def test_offline_is_a_message(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise URLError("no network")

    monkeypatch.delenv("MANYKERNELS_DATA", raising=False)
    monkeypatch.setattr("manykernels.datasets.openml.fetch_openml", refuse)
    done = invoke("reproduce", "real", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert "MANYKERNELS_DATA" in done.output


def test_interruption_keeps_finished_runs(tmp_path, monkeypatch):
    from manykernels.experiments import synthetic

    calls = []

    def interrupted(run, data_dir):
        calls.append(run)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [{"mse": 0.0}]

    monkeypatch.setattr(synthetic, "compute", interrupted)
    done = invoke("reproduce", "synthetic", "--quick", "--out", str(tmp_path))
    assert done.exit_code == 130
    assert len(list((tmp_path / "quick" / "runs" / "synthetic").glob("*.json"))) == 1


def test_small_reproduction_from_the_shell(tmp_path):
    command = [sys.executable, "-c", "from manykernels.cli import main; main()"]
    arguments = ["reproduce", "real", "--quick", "--out", str(tmp_path)]
    folder = {"MANYKERNELS_DATA": ""}
    done = subprocess.run(
        command + arguments,
        capture_output=True,
        text=True,
        check=False,
        env={**os_environ(), **folder},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "quick" / "real.md").exists()
    assert "12 of 12" in done.stderr


def os_environ():
    import os

    return {key: value for key, value in os.environ.items() if key != "MANYKERNELS_DATA"}


def test_missing_typer_is_a_message(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "manykernels.cli.app", raising=False)
    with pytest.raises(SystemExit, match="pip install 'manykernels\\[cli\\]'"):
        main()
