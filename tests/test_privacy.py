"""No private member is used across the packages of the library.

A package here is a top-level package or module of manykernels. A name with a leading underscore
belongs to the package that defines it: others neither import it nor reach for it on an object.
"""

import ast
from pathlib import Path

import manykernels

ROOT = Path(manykernels.__file__).parent
NAMEDTUPLE = {"_replace", "_fields", "_asdict", "_make"}
REACHING = {"getattr", "hasattr", "setattr", "delattr"}


def is_private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def package_of(path, root=ROOT):
    return path.relative_to(root).parts[0].removesuffix(".py")


def is_own(node):
    """Tell whether an expression is the object itself: self, cls, super() or type(self)."""
    if isinstance(node, ast.Name):
        return node.id in ("self", "cls")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "type":
            return len(node.args) == 1 and is_own(node.args[0])
        return node.func.id == "super"
    return False


def is_stored(node):
    return isinstance(node.ctx, ast.Store)


def members(tree):
    """Yield the private names that the classes of a file define."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield part.name
                targets = getattr(part, "targets", [getattr(part, "target", None)])
                yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Attribute) and is_stored(node) and is_own(node.value):
            yield node.attr


def modules_in_use(tree, path, root):
    """Return the packages of the modules of the library that a file has names for."""
    own = path.relative_to(root).parts
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*own[: len(own) - node.level], *(node.module or "").split(".")]
            base = [part for part in base if part]
            for alias in node.names:
                place = root.joinpath(*base, alias.name)
                if place.is_dir() or place.with_suffix(".py").is_file():
                    found[alias.asname or alias.name] = [*base, alias.name][0]
    return found


def foreign(tree):
    """Return the names that a file imports from other libraries."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def root_name(node):
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def violations(root=ROOT):
    """Return "file:line what" for each use of a private name of another package."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))}
    mine = {}
    for path, tree in trees.items():
        mine.setdefault(package_of(path, root), set()).update(members(tree))
    found = []
    for path, tree in trees.items():
        package, own = package_of(path, root), path.relative_to(root).parts
        modules, others = modules_in_use(tree, path, root), foreign(tree)

        def note(node, what, path=path):
            found.append(f"{path.relative_to(root)}:{node.lineno} {what}")

        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*own[: len(own) - node.level], *(node.module or "").split(".")]
                base = [part for part in base if part]
                private = [a.name for a in node.names if is_private(a.name)]
                private += [part for part in base if is_private(part)]
                if base and base[0] != package and private:
                    note(node, f"imports {', '.join(private)} of {'.'.join(base)}")
            elif isinstance(node, ast.Attribute) and is_private(node.attr):
                if is_own(node.value) or node.attr in NAMEDTUPLE | mine[package]:
                    continue
                name = root_name(node.value)
                if isinstance(node.value, ast.Name) and modules.get(name) == package:
                    continue
                if name in others:
                    continue
                note(node, f"uses {ast.unparse(node)}")
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in REACHING
                and len(node.args) > 1
                and isinstance(node.args[1], ast.Constant)
                and isinstance(node.args[1].value, str)
                and is_private(node.args[1].value)
                and not is_own(node.args[0])
                and node.args[1].value not in NAMEDTUPLE | mine[package]
            ):
                note(node, f"uses {ast.unparse(node)}")
    return found


def test_no_private_member_is_used_across_packages():
    found = violations()
    assert not found, f"{len(found)} uses:\n" + "\n".join(found)


def test_the_test_finds_them(tmp_path):
    """On a small library with each kind of use, allowed and not."""
    files = {
        "one/__init__.py": "",
        "one/a.py": "class A:\n    def _hidden(self): self._x = 1\ndef _help(): pass\n_N = 1\n",
        "one/b.py": "from . import a\nfrom .a import A, _help\nA()._hidden()\na._help()\n",
        "two.py": (
            "from .one import a\n"
            "from .one.a import A, _help\n"  # 2: no
            "import numpy as np\n"
            "A()._hidden()\n"  # 4: no
            "a._N\n"  # 5: no
            "getattr(A(), '_x')\n"  # 6: no
            "np._globals\n"
            "def f(point): return point._replace(x=1)\n"
            "def g(model): model._x = 3\n"  # 9: no
            "class B(A):\n"
            "    def use(self, other): return self._hidden(), super()._hidden()\n"
            "    def _mine(self, other): return other._mine()\n"
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    lines = sorted(line.split()[0] for line in violations(tmp_path))
    assert lines == ["two.py:2", "two.py:4", "two.py:5", "two.py:6", "two.py:9"]
