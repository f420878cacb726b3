"""The README and the docstrings say what is true."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import manykernels

ROOT = Path(__file__).parents[1]


def test_readme_example(capsys):
    first, chosen, second = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    names = {}
    exec(first, names)
    model = names["model"]
    assert model.explain()["term"].tolist() == ["x3 * x7 * x11", "x20"]
    assert model.n_kernels_ == 23426
    assert model.gap_ < 1e-12
    exec(chosen, names)
    assert sorted(names["few"].explain()["term"]) == ["x20", "x3 * x7 * x11"]
    assert set(names["chosen"].explain(2)["term"]) == {"x20", "x3 * x7 * x11"}
    exec(second, names)
    assert names["model"].explain()["term"][0] == "texts * images"


def modules():
    return [m.name for m in pkgutil.walk_packages(manykernels.__path__, "manykernels.")]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_some_docstrings_have_examples():
    found = sum(
        len(test.examples)
        for name in modules()
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
    )
    assert found >= 10


def test_architecture_names_every_part():
    text = (ROOT / "docs" / "architecture.md").read_text()
    for path in Path(manykernels.__file__).parent.iterdir():
        if path.suffix == ".py" and path.stem != "__init__":
            assert path.name in text
        elif path.is_dir() and (path / "__init__.py").exists():
            assert f"{path.name}/" in text


def test_every_page_of_results_names_the_command_that_makes_it():
    folder = ROOT / "docs" / "reproduction"
    table = (folder / "README.md").read_text()
    for name in ("convergence", "synthetic", "real"):
        command = re.search(
            r"Made by `(manykernels reproduce [^`]+)`", (folder / f"{name}.md").read_text()
        )
        assert command is not None
        assert command[1].startswith(f"manykernels reproduce {name} --runs")
        assert f"`{command[1]}`" in table
        for suffix in ("csv", "png", "svg"):
            assert (folder / f"{name}.{suffix}").exists()


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=str
)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
