"""What functions, classes and objects consist of, for their fingerprints."""

from __future__ import annotations

import copyreg
import dis
import pickle
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

OPAQUE = (
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
"""Types of what Python makes for a class by itself, or what is written in C: told by its name."""

MADE_FOR_CLASSES = {
    "__abstractmethods__",
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__orig_bases__",
    "__parameters__",
    "__static_attributes__",
    "__type_params__",
    "__weakref__",
    "_abc_impl",
}
"""Attributes of classes that change nothing that an object does, or stand elsewhere, too."""

PROTOCOL = 4
"""Of pickle: from 2 on objects with slots can be kept."""

HEAP_TYPE = 1 << 9
"""Flag of classes that are made by statements, not written in C (Py_TPFLAGS_HEAPTYPE)."""

_FOLDERS = tuple(
    str(Path(sysconfig.get_paths()[name]))
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)

_PACKAGES = {"site-packages", "dist-packages"}
"""Names of folders of installed packages, of the user's and of the system, too."""


def is_installed(value: Any) -> bool:
    """Tell whether a function, a class or a module is one of an installed package, by its name.

    Classes that are written in C are, wherever they come from.
    """
    if isinstance(value, type) and not value.__flags__ & HEAP_TYPE:
        return True
    own = isinstance(value, ModuleType)
    module = value.__name__ if own else getattr(value, "__module__", None)
    if not isinstance(module, str) or not (own or _named(value)):
        return False
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return top != "__main__"
    place = getattr(sys.modules.get(module), "__file__", None) or ""
    return place.startswith(_FOLDERS) or bool(_PACKAGES & set(Path(place).parts))


def _named(value: Any) -> bool:
    """Tell whether something is what its module calls by its name."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        return False
    found: Any = sys.modules.get(pickle.whichmodule(value, name))  # type: ignore[attr-defined]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def code_of(code: CodeType) -> list[Any]:
    """Return all of a function's code that has a say in what it does: no lines, no file."""
    parts = [code.co_code, getattr(code, "co_exceptiontable", b""), code.co_flags]
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount]
    inner = [code_of(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return [*parts, *names, *counts, inner]


def globals_of(function: FunctionType) -> dict[str, Any]:
    """Return what a function finds in its module by name, and in modules that are not installed.

    Also in those that it imports by itself, and in modules within modules.
    """
    found: dict[str, Any] = {}
    for code in _codes(function.__code__):
        known = {one: function.__globals__.get(one, found) for one in _looked_up(code)}
        known |= {one: sys.modules.get(one, found) for one in _imported(code, function)}
        waiting = [(name, value) for name, value in known.items() if value is not found]
        seen: set[int] = set()
        while waiting:
            name, value = waiting.pop()
            found[name] = value
            if not isinstance(value, ModuleType) or is_installed(value) or id(value) in seen:
                continue
            seen.add(id(value))
            inside = [one for one in code.co_names if one in vars(value)]
            waiting += [(f"{name}.{one}", vars(value)[one]) for one in inside]
    return found


def _imported(code: CodeType, function: FunctionType) -> set[str]:
    """Return the names of the modules that code imports, which are imported for that."""
    found = set()
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        level = next((one.argval for one in reversed(steps[:place]) if _is_level(one)), 0)
        package = function.__globals__.get("__package__") or ""
        name = "." * level + step.argval
        with suppress(ImportError):
            found.add(import_module(name, package or None).__name__)
            found |= {one for one in (name, name.partition(".")[0]) if one in sys.modules}
    return found


def _is_level(step: dis.Instruction) -> bool:
    """Tell whether a step loads a number: before an import, how many packages it goes up."""
    return step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(step.argval) is int


def closed_over(function: FunctionType) -> list[Any]:
    """Return the values of the variables of outer functions that a function uses."""
    found: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            found.append(("set", cell.cell_contents))
        except ValueError:  # of a name that has no value yet
            found.append(("empty", None))
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _looked_up(code: CodeType) -> set[str]:
    """Return the names that code looks up outside of functions."""
    return {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_NAME" or ("LOAD" in step.opname and "GLOBAL" in step.opname)
    }


def own_attributes(kind: type) -> dict[str, Any]:
    """Return the attributes of a class itself, functions for what is made of them."""
    return {
        name: _within(value) for name, value in vars(kind).items() if name not in MADE_FOR_CLASSES
    }


def _within(value: Any) -> Any:
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, staticmethod | classmethod):
        return [type(value).__name__, value.__func__]
    return value.func if isinstance(value, cached_property) else value


def reduced(value: Any) -> list[Any] | None:
    """Return what pickle keeps of an object; None if that is a name that does not lead back to it.

    Raises
    ------
    Exception
        If it cannot be pickled.
    """
    special = copyreg.dispatch_table.get(type(value))
    parts = value.__reduce_ex__(PROTOCOL) if special is None else special(value)
    if isinstance(parts, str):
        home = sys.modules.get(pickle.whichmodule(value, parts))  # type: ignore[attr-defined]
        return [parts] if getattr(home, parts, None) is value else None
    return [list(part) if isinstance(part, Iterator) else part for part in parts]
