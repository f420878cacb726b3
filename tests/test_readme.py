"""The commands of README run as they are printed, one after another."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
from typer.testing import CliRunner

from manykernels import load
from manykernels.cli.app import app
from manykernels.tables import read

ROOT = Path(__file__).parents[1]


def commands(name):
    """Return the commands of the first block that has any of ours, those of others left out."""
    found = re.findall(r"```console\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.S)
    block = next(text for text in found if "manykernels sample" in text)
    return [shlex.split(line) for line in block.splitlines() if line.startswith("manykernels")]


def test_commands_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = commands("README.md")
    assert [words[1] for words in run] == ["sample", "fit", "predict", "explain", "export"]
    for words in run:
        more = ["--quiet"] if words[1] == "fit" else []
        done = CliRunner().invoke(app, [*words[1:], *more])
        assert done.exit_code == 0, done.output
    model = load("diabetes.mk")
    assert model.summary["scores"]["this model"] > 0.3
    assert len(read(Path("predictions.csv"))) == len(read(Path("diabetes.csv"))) == 442
    assert "<html" in Path("diabetes.html").read_text(encoding="utf-8")
    assert Path("diabetes.sql").read_text().startswith("WITH ")


def test_the_first_pages_have_a_picture_and_a_command():
    for name in ("README.md", "docs/index.md", "docs/start.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "figures/first.png)" in text
        assert "manykernels sample diabetes.csv" in text
    words = [words[1:] for words in commands("docs/index.md")]
    assert words == [
        ["sample", "diabetes.csv"],
        ["fit", "diabetes.csv", "--target", "progression", "--report", "diabetes.html"],
    ]


def test_the_sample_replaces_nothing(tmp_path):
    path = tmp_path / "diabetes.csv"
    for _ in range(2):
        assert CliRunner().invoke(app, ["sample", str(path)]).exit_code == 0
    path.write_text("mine")
    done = CliRunner().invoke(app, ["sample", str(path)])
    assert done.exit_code == 1
    assert path.read_text() == "mine"
    assert CliRunner().invoke(app, ["sample", str(tmp_path / "t.xlsx")]).exit_code == 1
    assert CliRunner().invoke(app, ["sample", str(tmp_path / "no" / "t.csv")]).exit_code == 1
