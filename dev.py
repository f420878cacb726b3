"""Tasks for users and developers: ``python dev.py TASK``. Needs Python >= 3.11 and pip only.

demo   find the interactions in two data sets, compare with ridge and a polynomial kernel, and write
       a report to open
test   run the tests (further arguments go to pytest)
extras add extras of the package to the environment of the tests, such as backends
lint   check format, style and types, build a wheel and import it in an empty environment
bench  run the benchmarks of the folder benchmarks/
fuzz   attack the library for --minutes (10): all cases of tests/attack, then drawn ones (--seed)
trace  write the way of a small fit: functions, files, depth, and how often rows are prepared
docs   build the documentation, with the gallery of examples, to docs/_build/html
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".venv"
STAMP = HOME / "built-from"


def python_of(home):
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


# One BLAS thread: the matrices of tests and demo are too small to gain from more.
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run(*command, **options):
    options = {"env": {**os.environ, **THREADS}, **options}
    done = subprocess.run([str(part) for part in command], cwd=ROOT, check=False, **options)
    if done.returncode:
        sys.exit(done.returncode)


def pip(python, *arguments):
    quiet = ("--quiet", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *quiet, *arguments)


def environment(extras):
    """Make .venv with the package in it, once, and again when pyproject.toml changes."""
    source = (ROOT / "pyproject.toml").read_bytes() + sys.version.encode()
    stamp = hashlib.sha256(source).hexdigest()
    built = STAMP.read_text().split() if STAMP.exists() else []
    fresh = built[:1] != [stamp]
    have = set() if fresh else set(built[1:])
    if fresh:
        print("Setting up .venv; this takes a minute the first time.", flush=True)
        venv.EnvBuilder(with_pip=True, clear=True).create(HOME)
    if fresh or not set(extras) <= have:
        wanted = sorted(have | set(extras))
        pip(python_of(HOME), "--editable", f"{ROOT}[{','.join(wanted)}]" if wanted else ROOT)
        STAMP.write_text(" ".join([stamp, *wanted]))
    return python_of(HOME)


def demo(arguments):
    run(environment(["plot"]), ROOT / "examples" / "demo.py", *arguments)


def test(arguments):
    parallel = [] if any(a.startswith("-n") for a in arguments) else ["-n", "auto"]
    run(environment(["test"]), "-m", "pytest", *parallel, *arguments)


def extras(arguments):
    environment(arguments)


def lint(arguments):
    python = environment(["lint", "test"])
    run(python, "-m", "ruff", "format", "--check", ".")
    run(python, "-m", "ruff", "check", ".")
    run(python, "-m", "mypy")
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "build", "--wheel", "--outdir", folder, stdout=subprocess.DEVNULL)
        wheel = next(Path(folder).glob("*.whl"))
        empty = Path(folder) / "empty"
        venv.EnvBuilder(with_pip=True).create(empty)
        pip(python_of(empty), wheel)
        check = "import manykernels; print('wheel imports', manykernels.__version__)"
        subprocess.run([python_of(empty), "-c", check], cwd=folder, check=True)


def bench(arguments):
    scripts = arguments or sorted(str(p) for p in (ROOT / "benchmarks").glob("[!_]*.py"))
    python = environment(["bench"])
    for script in scripts:
        run(python, script, env=dict(os.environ))  # benchmarks set their own threads


def fuzz(arguments):
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
    python = environment(["test"])
    run(python, "-m", "attack.fuzz", *arguments, env={**os.environ, **THREADS, "PYTHONPATH": path})


def trace(arguments):
    run(environment([]), ROOT / "tests" / "tracing.py")


def docs(arguments):
    source, pages = ROOT / "docs", ROOT / "docs" / "_build" / "html"
    run(environment(["docs"]), "-m", "sphinx", "-W", "--keep-going", *arguments, source, pages)
    print(f"Open {pages / 'index.html'} in a browser.")


def main():
    tasks = {
        "demo": demo,
        "test": test,
        "extras": extras,
        "lint": lint,
        "bench": bench,
        "fuzz": fuzz,
        "trace": trace,
        "docs": docs,
    }
    if len(sys.argv) < 2 or sys.argv[1] not in tasks:
        print(__doc__)
        sys.exit(2)
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"Python >= 3.11 is needed; this is {sys.version.split()[0]}.")
    tasks[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    main()
