"""Fingerprints of functions and objects: others for all that changes what they do."""

import functools
import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from manykernels.checkpoint import fingerprint


def product_kernel(A, B, gamma=1.0):
    return gamma * A @ B.T


def in_a_module(text):
    """Return what a text calls ``k``, with names of its own; twice the same are no one object."""
    names = {
        "np": np,
        "__name__": "own_module",
        "functools": functools,
        "partial_of": product_kernel,
    }
    exec(text, names)
    return names["k"]


CLASS = """
class Base:
    __slots__ = ()
    scale = {base}
    def weigh(self): return self.scale
class K(Base):
    __slots__ = ("g", "__dict__")
    factor = {factor}
    def __init__(self, g, h): self.g, self.h = g, h
    def __call__(self, A, B, power={power}): return self.{name}(A @ B.T, power)
    def more(self, G, power): return G {sign} power
    def less(self, G, power): return G {sign} power
    @property
    def half(self): return {half}
    @staticmethod
    def plain(A, B): return A @ B.T * {half}
k = {made}
"""
SAME = {
    "base": 1, "factor": 1, "power": 1, "name": "more", "sign": "+", "half": 1, "made": "K(1, 1)",
}  # fmt: skip
OTHERS = {
    "another class above": {"base": 2}, "another attribute": {"factor": 2},
    "another default": {"power": 2}, "another method called": {"name": "less"},
    "another method": {"sign": "-"}, "another property": {"half": 2},
    "another value in a slot": {"made": "K(2, 1)"}, "another value": {"made": "K(1, 2)"},
    "a method": {"made": "K(1, 1).more"}, "a method of another": {"made": "K(1, 2).more"},
    "a static method": {"made": "K.plain"}, "another static method": {"made": "K.plain", "half": 2},
    "a class": {"made": "K"}, "another class": {"made": "K", "factor": 2},
}  # fmt: skip
CLOSURE = """
def o(g):
    def k(A, B):
        f = lambda x: g * x
        return f(A) @ B.T
    return k
"""
FUNCTIONS = {
    "partial": "k = functools.partial(partial_of, gamma=1.0)",
    "partial of another value": "k = functools.partial(partial_of, gamma=50.0)",
    "partial with positions": "k = functools.partial(partial_of, 1.0)",
    "a name": "k = lambda A, B: np.sinh(A @ B.T)",
    "another name": "k = lambda A, B: np.cosh(A @ B.T)",
    "inner": "def k(A, B):\n f = lambda x: x + 1\n return f(A) @ B.T",
    "another inner": "def k(A, B):\n f = lambda x: x + 7\n return f(A) @ B.T",
    "default": "def k(A, B, g=1): return g * A @ B.T",
    "another default": "def k(A, B, g=2): return g * A @ B.T",
    "named default": "def k(A, B, *, g=1): return g * A @ B.T",
    "closure": CLOSURE + "k = o(1)",
    "another closure": CLOSURE + "k = o(2)",
    "global": "g = 1\ndef k(A, B): return g * A @ B.T",
    "another global": "g = 2\ndef k(A, B): return g * A @ B.T",
    "helper": "def f(A): return A + 1\ndef k(A, B): return f(A) @ B.T",
    "another helper": "def f(A): return A + 2\ndef k(A, B): return f(A) @ B.T",
    "remembered": "@functools.lru_cache\ndef k(A, B): return A + 1",
    "another remembered": "@functools.lru_cache\ndef k(A, B): return A + 2",
    "vectorized": "k = np.vectorize(lambda a, b: a + 1)",
    "another vectorized": "k = np.vectorize(lambda a, b: a + 2)",
    "itself": "def k(A, B, n=3): return k(A, B, n - 1) if n else A + 1",
    "another itself": "def k(A, B, n=3): return k(A, B, n - 1) if n else A + 2",
    "function with a value": "def k(A, B): return A @ B.T\nk.gamma = 1",
    "function with another value": "def k(A, B): return A @ B.T\nk.gamma = 2",
    "method given to an object": "import types\nk = types.MethodType(lambda s, A: A + 1, 1)",
    "another given to an object": "import types\nk = types.MethodType(lambda s, A: A + 2, 1)",
    "method of an array": "k = np.arange(3).dot",
    "method of another array": "k = np.arange(4).dot",
    "masked": "k = np.ma.masked_equal([1, 2, 2], 1)",
    "masked elsewhere": "k = np.ma.masked_equal([1, 2, 1], 1)",
    "list of itself": "k = [1]\nk.append(k)",
    "fields": "k = np.zeros(2, dtype=[('a', int), ('b', int)])",
    "other fields": "k = np.zeros(2, dtype=[('a', int), ('c', int)])",
    "whole numbers and words": "k = {1, '1'}",
    "float of a class": "class F(float): pass\nk = F(1)\nk.gamma = 1",
    "float of a class with another value": "class F(float): pass\nk = F(1)\nk.gamma = 2",
}  # fmt: skip


def test_fingerprints_tell_functions_and_objects_apart():
    texts = {"the same": CLASS.format(**SAME), **FUNCTIONS}
    texts |= {name: CLASS.format(**{**SAME, **other}) for name, other in OTHERS.items()}
    places = {}
    for name, text in texts.items():
        digits = fingerprint(kernel=in_a_module(text))
        assert digits == fingerprint(kernel=in_a_module(text)), name
        assert digits not in places, (name, places[digits])
        places[digits] = name


def test_fingerprints_are_those_of_another_process(tmp_path):
    """Whatever the seed of the hashes of text is there."""
    texts = [CLASS.format(**SAME), *FUNCTIONS.values(), "k = {'a', 'b', ('c', 'd'), max, np.sinh}"]
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, json\nfrom test_fingerprints import in_a_module, fingerprint\n"
        f"texts = json.loads({json.dumps(texts)!r})\n"
        "print(*[fingerprint(kernel=in_a_module(text)) for text in texts])"
    )
    found = set()
    for seed in "12":
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        settings = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, script], env=settings, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize(
    "odd",
    [iter([1]), (one for one in [1]), threading.Lock(), np.frompyfunc(abs, 1, 1)],
    ids=["iterator", "generator", "lock", "ufunc"],
)
def test_what_cannot_be_told_is_refused(odd):
    for value in (odd, [odd], functools.partial(product_kernel, gamma=odd), lambda x: odd):
        with pytest.raises(TypeError, match="checkpoint needs parameters that are the same"):
            fingerprint(value=value)


def test_arrays_of_other_libraries_are_told_by_their_values():
    torch = pytest.importorskip("torch")
    ones, zeros = (fingerprint(X=torch.full((2,), value)) for value in (1.0, 0.0))
    assert ones != zeros


@pytest.mark.parametrize(
    "text",
    [
        "import {name}.parts.deep\ndef k(A, B): return {name}.parts.deep.scale(A @ B.T)",
        "def k(A, B):\n    from {name}.parts.deep import scale\n    return scale(A @ B.T)",
        "def k(A, B):\n    import {name}.parts.deep as inner\n    return inner.scale(A @ B.T)",
    ],
)
def test_code_in_modules_of_modules_counts(text, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for number in (1, 2):
        name = f"own_package_{abs(hash(text)) % 10**6}"
        for known in [one for one in sys.modules if one.startswith(name)]:
            del sys.modules[known]
        folder = tmp_path / name / "parts"
        folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "__init__.py").write_text("")
        (folder / "__init__.py").write_text("")
        (folder / "deep.py").write_text(f"def scale(a): return a * {number}  #{'-' * number}")
        importlib.invalidate_caches()
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        names = {"__name__": "own_module"}
        exec(text.format(name=name), names)
        found.append(fingerprint(kernel=names["k"]))
    assert found[0] != found[1]


def test_packages_in_other_folders_are_told_by_their_names(tmp_path, monkeypatch):
    place = tmp_path / "dist-packages" / "packed_elsewhere.py"
    place.parent.mkdir()
    place.write_text("import threading\nlocal = threading.local()\ndef f(a): return local, a")
    monkeypatch.syspath_prepend(str(place.parent))
    import packed_elsewhere

    assert fingerprint(kernel=packed_elsewhere.f)
