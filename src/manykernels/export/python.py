"""A formula as a plain Python function that imports nothing but math."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import Array
from ..frames.dates import DAY_OF_WEEK, HOUR, MONTH
from .formula import Bells, Block, Formula, Levels, Line, Powers, ProductSum, Smooth
from .helpers import HELPERS
from .sources import Source

PYTHON_HEAD = '''"""A model of manykernels as plain Python: it needs nothing but this file."""

import math

'''


MOMENTS = {"": "_years", DAY_OF_WEEK: "_week_day", HOUR: "_hour", MONTH: "_month"}
"""Functions of a date by its parts; without one it is decimal years."""


def to_python(formula: Formula) -> str:
    """Return the text of a module with ``predict`` and, for probabilities, ``predict_proba``.

    Names and categories are in it as literals only.
    """
    body = _decision(formula)
    body += _outcome(formula)
    # A helper may call those before it.
    wanted: list[str] = []
    for name, text in reversed(HELPERS.items()):
        if f"{name}(" in body or any(f"{name}(" in other for other in wanted):
            wanted.insert(0, text)
    return "\n\n".join([PYTHON_HEAD.rstrip("\n"), *(text.strip("\n") for text in wanted), body])


def _decision(formula: Formula) -> str:
    tables, lines = [], []
    for number, source in formula.sources.items():
        shift, scale = float(formula.shifts[number]), float(formula.scales[number])
        value = _source(source)
        if source.kind == "category":
            tables.append(f"CODES_{number} = {source.codes!r}")
            value = value.replace("CODES", f"CODES_{number}")
        lines.append(f"# {source.label!r}")
        standard = (shift, scale) == (0.0, 1.0)
        lines.append(
            f"z{number} = {value}" if standard else f"z{number} = ({value} - {shift!r}) / {scale!r}"
        )
    for number, block in formula.blocks.items():
        table, call = _block(number, block)
        tables += table
        lines += [call] if call else []
    lines.append(f"total = {_numbers(formula.constants, as_list=True)}")
    for place, part in enumerate(formula.parts):
        table, own = _part(place, part, formula)
        tables += table
        lines += own
    lines.append("return total")
    names = ", ".join(dict.fromkeys(repr(source.column) for source in formula.sources.values()))
    said = [
        "def decision(row):",
        '    """Return the outputs of the model for a row: a dict of values by column.',
        "",
        "    Plain numbers, text for categories, dates as text or objects; None where missing.",
        '    """',
        f"    # Columns in use: {names}",
        *(f"    # As plain numbers, unlike in training: {name!r}" for name in formula.written),
        *(f"    {line}" for line in lines),
    ]
    return "\n".join([*tables, "", "", *said]).lstrip("\n") + "\n"


def _source(source: Source) -> str:
    value = f"row[{source.column!r}]"
    if source.kind in ("plain", "number"):
        return f"_number({value}, {source.middle!r}, {source.column!r})"
    if source.kind == "moment":
        return f"{MOMENTS[source.part]}({value}, {source.middle!r}, {source.style!r})"
    if source.kind == "missing":
        return f"float(_gap({value}))"
    return f"_code({value}, CODES, {source.unknown!r}, {source.gap!r})"


def _block(number: int, block: Block) -> tuple[list[str], str]:
    """Return the tables of a block of functions, and the line that computes them."""
    if isinstance(block, Line):
        if len(block.columns) == 1:
            return [], ""
        return [], f"f{number} = ({', '.join(f'z{j}' for j in block.columns)})"
    z = f"z{block.columns[0]}"
    if isinstance(block, Levels):
        fields: tuple[Any, ...] = (block.values, block.high, block.low)
        call = f"_levels({z}, *F{number})"
    elif isinstance(block, Powers):
        fields = (block.middle, block.reach, block.coefficients.T)
        call = f"_powers({z}, *F{number})"
    elif isinstance(block, Smooth):
        ends = block.lowest, block.highest, block.mean, block.factor
        fields = (block.places, block.evenly, block.axes, *ends)
        call = f"_smooth({z}, *F{number})"
    else:
        assert isinstance(block, Bells)
        seen = ", ".join(f"z{j}" for j in block.columns)
        fields = (block.points, block.gamma, block.axes.T, block.mean, block.factor)
        if block.places is not None:
            fields += (block.places, block.evenly)
        call = f"_bells(({seen},), *F{number})"
    text = ",\n    ".join(_numbers(field) for field in fields)
    return [f"F{number} = (\n    {text},\n)"], f"f{number} = {call}"


def _part(place: int, part: ProductSum, formula: Formula) -> tuple[list[str], list[str]]:
    """Return the tables of a part, and the lines that add it to the outputs."""
    lines = [f"# {part.name!r}"]
    outputs = range(part.table.shape[-1])
    blocks = [formula.blocks[j] for j in part.blocks]
    if all(isinstance(block, Line) and block.size == 1 for block in blocks):
        factors = "".join(f" * z{block.columns[0]}" for block in blocks)
        own = part.table.reshape(-1)
        return [], lines + [f"total[{c}] += {float(own[c])!r}{factors}" for c in outputs]
    seen = [
        f"(z{b.columns[0]},)" if isinstance(b, Line) and b.size == 1 else f"f{j}"
        for j, b in zip(part.blocks, blocks, strict=True)
    ]
    tables = [f"C{place}_{c} = {_numbers(part.table[..., c])}" for c in outputs]
    lines += [f"total[{c}] += _part(C{place}_{c}, {', '.join(seen)})" for c in outputs]
    return tables, lines


def _outcome(formula: Formula) -> str:
    if not formula.classes:
        return (
            "\n\ndef predict(row):\n"
            '    """Return the prediction for a row; see decision."""\n'
            "    return decision(row)[0]\n"
        )
    text = f"\n\nCLASSES = {formula.classes!r}\n"
    text += (
        "\n\ndef predict(row):\n"
        '    """Return the class of a row; see decision."""\n'
        "    total = decision(row)\n"
    )
    if len(formula.classes) == 2:
        text += "    return CLASSES[1] if total[0] > 0 else CLASSES[0]\n"
    else:
        text += "    return CLASSES[max(range(len(total)), key=total.__getitem__)]\n"
    if formula.link:
        chances = f"    chances = [_{formula.link}(value) for value in decision(row)]\n"
        if formula.link == "exponential":  # those of the largest value are one
            chances = (
                "    total = decision(row)\n"
                "    chances = [math.exp(value - max(total)) for value in total]\n"
            )
        text += (
            "\n\ndef predict_proba(row):\n"
            '    """Return the probabilities of the classes of a row, by class; see decision."""\n'
            f"{chances}"
            "    if len(chances) == 1:\n"
            "        chances = [1 - chances[0], chances[0]]\n"
            "    whole = sum(chances)\n"
            "    if whole > 0:\n"
            "        chances = [chance / whole for chance in chances]\n"
            "    else:\n"
            "        chances = [1 / len(chances)] * len(chances)\n"
            "    return dict(zip(CLASSES, chances))\n"
        )
    return text


def _numbers(values: Any, as_list: bool = False) -> str:
    """Return numbers as a literal of nested tuples, at their full precision."""
    if isinstance(values, float | int):
        return repr(float(values))
    parts: Iterable[Any] = np.asarray(values).tolist() if _is_flat(values) else values
    text = ", ".join(_numbers(part) for part in parts)
    return f"[{text}]" if as_list else f"({text},)" if text else "()"


def _is_flat(values: Array) -> bool:
    return np.ndim(values) == 1
