"""Parameters of a base class with other defaults."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import FunctionType
from typing import Any, TypeVar, cast

Init = TypeVar("Init", bound=Callable[..., None])


def with_defaults(init: Init, **defaults: Any) -> Init:
    """Return a copy of an ``__init__`` with other default values of some parameters.

    The copy has a signature of its own, as scikit-learn and ``help`` want to see it.
    """
    assert isinstance(init, FunctionType)
    copy = FunctionType(init.__code__, init.__globals__, init.__name__, None, init.__closure__)
    taken = {name: parameter.default for name, parameter in signature(init).parameters.items()}
    copy.__defaults__ = tuple((taken | defaults)[name] for name in list(taken)[1:])
    copy.__annotations__, copy.__qualname__ = init.__annotations__, init.__qualname__
    return cast(Init, copy)
