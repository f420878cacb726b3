"""Objects of solvers as trees of plain values and arrays, which files can hold."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def frozen(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name; its constructor takes them."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
