"""The code of the documentation runs, and its commands exist.

Blocks of Python of a page run in order, in one namespace and a folder of its own. A comment
``<!-- warns: NAME -->`` before a block allows warnings of that name in it; a block behind
``<!-- needs: NAME -->`` is left out where that library is not installed.
"""

import ast
import contextlib
import doctest
import io
import re
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = {"_build", "auto_examples", "generated"}
FENCE = re.compile(
    r"(?:<!-- (?:warns: (?P<warns>\w+)|needs: (?P<needs>\w+)) -->\n+)?"
    r"^```(?P<kind>python|pycon|console)\n(?P<code>.*?)^```$",
    re.S | re.M,
)
LINES = 40


def pages():
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(p for p in docs if not MADE & set(p.relative_to(ROOT).parts))]


def blocks(path, *kinds):
    found = FENCE.finditer(path.read_text(encoding="utf-8"))
    return [match for match in found if match["kind"] in kinds]


def name_of(path):
    return str(path.relative_to(ROOT))


with_python = [page for page in pages() if blocks(page, "python", "pycon")]
with_commands = [page for page in pages() if blocks(page, "console")]
examples = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.fixture
def figures():
    mpl = pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    mpl.use("Agg")
    yield pyplot
    pyplot.close("all")


def run_as_session(code, names, place):
    """Run a block of ``>>>`` lines; what it shows must be true."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(code, names, place, place, 0)
    said = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    runner.run(test, out=said.write, clear_globs=False)
    assert runner.failures == 0, said.getvalue()
    names.update(test.globs)


@pytest.mark.parametrize("path", with_python, ids=name_of)
def test_python_of_pages_runs(path, tmp_path, monkeypatch, figures):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    text = path.read_text(encoding="utf-8")
    for block in blocks(path, "python", "pycon"):
        line = text.count("\n", 0, block.start("code"))
        if block["needs"] and find_spec(block["needs"]) is None:
            continue
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            if block["warns"]:
                warnings.filterwarnings("ignore", category=category_of(block["warns"]))
            if block["kind"] == "pycon":
                run_as_session(block["code"], names, f"{path}:{line + 1}")
            else:
                exec(compile("\n" * line + block["code"], str(path), "exec"), names)
        figures.close("all")


def category_of(name):
    from sklearn import exceptions

    return getattr(exceptions, name)


def commands(path):
    """Return the commands of a page that are ours, without what a shell adds."""
    found = []
    for block in blocks(path, "console"):
        code = block["code"].replace("\\\n", " ")
        for line in code.splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words and words[0] == "manykernels":
                found.append(words[1:])
    return found


@pytest.mark.parametrize("path", with_commands, ids=name_of)
def test_commands_of_pages_exist(path):
    typer = pytest.importorskip("typer")
    from manykernels.cli.app import app

    group = typer.main.get_command(app)
    for words in commands(path):
        if "|" in words:  # alternatives, as in: reproduce convergence | synthetic [--quick]
            words = [*words[:2], *re.findall(r"--[a-z-]+", " ".join(words))]
        assert words[0] in group.commands
        context = group.commands[words[0]].make_context(words[0], list(words[1:]))
        assert not context.args  # all was understood; what is not raises


def test_some_pages_have_commands_and_code():
    assert len(with_python) >= 10
    assert sum(len(commands(page)) for page in with_commands) >= 20


def test_extensions_are_short():
    found = {"Loss": 0, "kernel": 0, "map": 0, "family": 0}
    path = ROOT / "docs" / "extending.md"
    for block in blocks(path, "python"):
        for node in ast.parse(block["code"]).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                assert node.end_lineno - node.lineno + 1 < LINES
                base = node.bases[0] if isinstance(node, ast.ClassDef) and node.bases else None
                names = [getattr(base, "attr", getattr(base, "id", None))]
                names += [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
                found["Loss"] += "conjugate" in names
                found["kernel"] += isinstance(node, ast.FunctionDef)
                found["map"] += "Centred" in names
                found["family"] += "KernelFamily" in names
    assert all(found.values()), found
    # A family with its gradients is one extension.
    sizes = [len(b["code"].splitlines()) for b in blocks(path, "python") if "class " in b["code"]]
    assert max(sizes) < LINES


@pytest.mark.parametrize("path", examples, ids=lambda path: path.stem)
def test_examples_run(path, figures, capsys):
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    with warnings.catch_warnings():
        exec(code, {"__name__": "__main__"})
    assert figures.get_fignums()


def test_every_example_has_its_place_in_the_gallery():
    settings = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert re.findall(r'"(plot_\w+\.py)"', settings)
    assert set(re.findall(r'"(plot_\w+\.py)"', settings)) == {path.name for path in examples}
