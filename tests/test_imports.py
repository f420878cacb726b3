"""Modules import only from those that stand before them."""

import ast
import resource
import subprocess
import sys
from pathlib import Path

import manykernels

ORDER = [
    "limits",
    "notices",
    "deadline",
    "arrays",
    "inputs",
    "arguments",
    "backend",
    "memory",
    "losses",
    "potentials",
    "bases",
    "feature_maps",
    "kernels",
    "families",
    "objective",
    "dual",
    "certificate",
    "solvers",
    "registry",
    "store",
    "checkpoint",
    "function",
    "spec",
    "specify",
    "passes",
    "rows",
    "fitting",
    "words",
    "frames",
    "how_sure",
    "estimators",
    "selection",
    "baselines",
    "plot",
    "report",
    "tables",
    "export",
    "datasets",
    "experiments",
    "cli",
    "__main__",
]
ROOT = Path(manykernels.__file__).parent


def parts_of(path):
    relative = path.relative_to(ROOT).with_suffix("").parts
    return relative[:-1] if relative[-1] == "__init__" else relative


def imported(path):
    """Yield the top-level parts of the package that a file imports."""
    own = path.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = own[: len(own) - node.level]
            names = [node.module.split(".")[0]] if node.module else [a.name for a in node.names]
            names = [name for name in names if name != "__version__"]
            yield from ([base[0]] if base else names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manykernels"):
            yield ".".join(node.module.split(".")[1:2])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert not alias.name.startswith("manykernels"), f"{path}: use relative imports"


def test_every_part_has_a_place():
    found = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert found - {"__init__"} == set(ORDER)


def test_imports_point_upwards():
    checked = 0
    for path in ROOT.rglob("*.py"):
        own = parts_of(path)
        if not own:
            continue
        for other in imported(path):
            checked += 1
            assert ORDER.index(other) <= ORDER.index(own[0]), f"{path} imports {other}"
    assert checked > 50


def test_import_brings_in_nothing_that_scikit_learn_does_not():
    def loaded(module):
        code = f"import sys, {module}; print(*{{m.split('.')[0] for m in sys.modules}})"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return {name for name in done.stdout.split() if name[0] != "_"}

    extra = loaded("manykernels") - loaded("sklearn.linear_model, sklearn.svm, scipy.stats")
    assert not extra & {"pandas", "matplotlib", "polars", "pyarrow", "torch", "dask"}
    assert not extra & {"typer", "rich", "selenium"}
    assert "manykernels" in extra


def test_import_takes_less_than_twice_the_time_of_scikit_learn():
    def seconds(module):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # Of the processor, not of the clock: other work on the machine does not count.
    ours, theirs = (
        min(seconds(module) for _ in range(3)) for module in ("manykernels", "sklearn.linear_model")
    )
    assert ours < 2 * theirs
