"""One name for one thing, files that fit a head, constants that say what they are."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import manykernels

ROOT = Path(manykernels.__file__).parent
LONGEST = 400
"""Most lines of a source file, from the issue that asked for them."""

TREES = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
CONTINUED = re.compile(r"(And|Or|But|Also|Likewise|The same|Ditto)\b")


def said(found):
    return f"{len(found)}:\n" + "\n".join(map(str, found))


def assigned(node):
    """Return the names that a statement assigns and the value, if it is an assignment."""
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets, value = [node.target], node.value
    else:
        return [], None
    flat = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return [part.id for part in flat if isinstance(part, ast.Name)], value


def constants():
    """Yield file, statement, the statement after it, name and value of module-level constants."""
    for path, tree in TREES.items():
        for number, node in enumerate(tree.body):
            names, value = assigned(node)
            after = tree.body[number + 1] if number + 1 < len(tree.body) else None
            if isinstance(value, ast.Attribute) and value.attr in names:
                continue  # the same object under the same name
            for name in names:
                if CONSTANT.fullmatch(name) and len(name) > 1:
                    yield path, node, after, name, value


def numeric(value):
    """Tell whether an expression is made of numbers alone, as 2 * 1024**3 is."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return numeric(value.operand)
    if isinstance(value, ast.BinOp):
        return numeric(value.left) and numeric(value.right)
    if isinstance(value, ast.Tuple | ast.List):
        return bool(value.elts) and all(numeric(part) for part in value.elts)
    return False


def twice(places):
    return [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


def test_no_class_name_stands_for_two_things():
    places = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    found = twice(places)
    assert not found, said(found)


def test_no_constant_name_stands_for_two_things():
    places = defaultdict(list)
    for path, node, _after, name, _value in constants():
        places[name].append(f"{path}:{node.lineno}")
    found = twice(places)
    assert not found, said(found)


def test_numeric_constants_say_what_they_are():
    """A string stands directly after the assignment and is a sentence of its own."""
    found = []
    for path, node, after, name, value in constants():
        if not numeric(value):
            continue
        text = after.value if isinstance(after, ast.Expr) else None
        text = text.value if isinstance(text, ast.Constant) else None
        where = f"{path}:{node.lineno} {name}"
        if not isinstance(text, str):
            found.append(f"{where} has no docstring")
        elif not (text[:1].isupper() and text.rstrip().endswith(".")) or CONTINUED.match(text):
            found.append(f"{where} has no sentence of its own as docstring: {text!r}")
    assert not found, said(found)


def test_no_file_is_too_long():
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in TREES}
    found = [f"{path}: {lines}" for path, lines in lengths.items() if lines > LONGEST]
    assert not found, said(found)


def test_only_one_file_imports_dask():
    """A second engine would be one more file."""
    found = set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            if {name.split(".")[0] for name in names} & {"dask", "distributed"}:
                found.add(str(path))
    assert len(found) == 1, said(sorted(found))


def test_prose_needs_no_key():
    found = []
    for path in TREES:
        text = (ROOT / path).read_text()
        for match in re.finditer(r"\bso\s+many\b", text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line} {text.splitlines()[line - 1].strip()}")
    assert not found, said(found)
