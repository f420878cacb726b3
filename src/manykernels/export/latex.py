"""A formula in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import isfinite
from typing import Any

from ..frames.dates import DAY_OF_WEEK, HOUR, MONTH
from ..frames.written import YEAR
from .formula import Bells, Block, Formula, Levels, Line, Powers, Smooth
from .sources import Source

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
"""Characters that mean something in LaTeX, and how they are written."""

PARTS_IN_WORDS = {
    DAY_OF_WEEK: "day of the week (0 for Monday)",
    HOUR: "hour (with its fraction)",
    MONTH: "month (with its fraction)",
}
"""What a part of a date is, before the name of its column."""

TERMS_A_LINE = 4
"""Most terms in a line of a sum. Set by judgement."""


def to_latex(formula: Formula, digits: int = 6) -> str:
    """Return equations: standardised columns, functions of them, and the sum that predicts."""
    write = Writer(formula, digits)
    lines = write.columns() + write.functions() + write.outputs() + write.outcome()
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"


def text(words: str) -> str:
    """Return words for a formula, with all that means something in LaTeX escaped."""
    shown = "".join(c if c.isprintable() else " " for c in words)
    return rf"\text{{{''.join(SPECIAL.get(c, c) for c in shown)}}}"


class Writer:
    """Writes the equations of a formula, with numbers of some digits."""

    def __init__(self, formula: Formula, digits: int) -> None:
        self.formula, self.digits = formula, digits

    def number(self, value: float) -> str:
        """Return a number, with its power of ten as such."""
        assert isfinite(value)
        mantissa, mark, power = f"{float(value):.{self.digits}g}".partition("e")
        return rf"{mantissa} \cdot 10^{{{int(power)}}}" if mark else mantissa

    def signed(self, value: float) -> str:
        """Return a number behind a sign."""
        return f"{'-' if value < 0 else '+'} {self.number(abs(value))}"

    def columns(self) -> list[str]:
        """Return an equation for each standardised column."""
        return [self._column(j, source) for j, source in self.formula.sources.items()]

    def _column(self, j: int, source: Source) -> str:
        shift, scale = float(self.formula.shifts[j]), float(self.formula.scales[j])
        name = text(source.column)
        missing = rf"\text{{if }} {name} \text{{ is missing}}"

        def standard(value: float) -> str:
            return self.number((value - shift) / scale)

        if source.kind == "category":
            assert source.codes is not None
            rows = [
                rf"{standard(code)} & \text{{if }} {name} = {text(f'“{level}”')}"
                for level, code in source.codes.items()
            ]
            rows += [f"{standard(source.gap)} & {missing}"]
            rows += [rf"{standard(source.unknown)} & \text{{otherwise}}"]
            return rf"z_{{{j}}} &= {_cases(rows)}"
        if source.kind == "missing":
            rows = [f"{standard(1.0)} & {missing}", rf"{standard(0.0)} & \text{{otherwise}}"]
            return rf"z_{{{j}}} &= {_cases(rows)}"
        if source.kind == "moment":
            name = _moment(source)
        value = rf"\frac{{{name} {self.signed(-shift)}}}{{{self.number(scale)}}}"
        if source.kind == "plain" or source.middle is None:
            return rf"z_{{{j}}} &= {value}"
        rows = [f"{standard(source.middle)} & {missing}", rf"{value} & \text{{otherwise}}"]
        return rf"z_{{{j}}} &= {_cases(rows)}"

    def functions(self) -> list[str]:
        """Return equations for the functions of columns."""
        lines: list[str] = []
        for j, block in self.formula.blocks.items():
            if isinstance(block, Line):
                continue
            for k, own in enumerate(self._block(j, block, lines)):
                lines.append(rf"g_{{{j},{k}}} &= {own}")
        return lines

    def _block(self, j: int, block: Block, lines: list[str]) -> list[str]:
        """Return the functions of a block; what they are made of goes to the lines."""
        z = rf"z_{{{block.columns[0]}}}"
        if isinstance(block, Levels):
            return [self._level(block, k) for k in range(block.size)]
        if isinstance(block, Powers):
            t = rf"t_{{{j}}}"
            inner = rf"\frac{{{z} {self.signed(-block.middle)}}}{{{self.number(block.reach)}}}"
            lines.append(f"{t} &= {_between(inner, '-1.5', '1.5')}")
            powers = ["", t, *(rf"{t}^{{{k}}}" for k in range(2, len(block.coefficients)))]
            return [self._sum(own, powers) for own in block.coefficients.T]
        assert not isinstance(block, Line)
        if block.places is not None:
            lines.append(self._scale(j, block, z))
        if isinstance(block, Smooth):
            count = len(block.axes)
            lines.append(
                rf"B_{{{j},i}} &= \beta\left({count - 3}\, u_{{{j}}} - i + 3\right), \quad "
                rf"\beta(v) = \frac{{1}}{{6}} \sum_{{m=0}}^{{4}} (-1)^m \binom{{4}}{{m}} "
                r"\max(v - m, 0)^3"
            )
            names = [rf"B_{{{j},{i}}}" for i in range(count)]
            ends = map(self.number, block.lowest), map(self.number, block.highest)
            raw = [
                _between(self._sum(own, names), low, high)
                for own, low, high in zip(block.axes.T, *ends, strict=True)
            ]
        else:
            names = [rf"e_{{{j},{q}}}" for q in range(len(block.points))]
            lines += [
                rf"{name} &= \exp\left(-{self.number(block.gamma)} \left("
                rf"{self._squares(j, block, point)}\right)\right)"
                for name, point in zip(names, block.points.tolist(), strict=True)
            ]
            raw = [self._sum(own, names) for own in block.axes.T]
        return [
            rf"{self.number(block.factor)} \left({one} {self.signed(-mean)}\right)"
            for one, mean in zip(raw, block.mean, strict=True)
        ]

    def _sum(self, coefficients: Any, names: Sequence[str]) -> str:
        terms = zip(coefficients, names, strict=True)
        joined = " ".join(rf"{self.signed(c)}\, {name}".removesuffix(r"\, ") for c, name in terms)
        return joined.removeprefix("+ ")

    def _squares(self, j: int, block: Bells, point: list[float]) -> str:
        seen = [rf"z_{{{column}}}" for column in block.columns]
        seen = seen if block.places is None else [rf"u_{{{j}}}"]
        both = zip(seen, point, strict=True)
        return " + ".join(f"({z} {self.signed(-a)})^2" for z, a in both)

    def _level(self, block: Levels, k: int) -> str:
        z = rf"z_{{{block.columns[0]}}}"
        values = [self.number(value) for value in block.values]
        rows = [
            rf"{self.number(block.high[k])} & \text{{if }} {z} = {values[k]}",
            rf"{self.number(block.low[k])} & \text{{else if }} {z} \in \{{{', '.join(values)}\}}",
        ]
        return _cases([*rows, r"0 & \text{otherwise}"])

    def _scale(self, j: int, block: Any, z: str) -> str:
        x, y = block.places.tolist(), block.evenly.tolist()
        rows = [rf"{self.number(y[0])} & \text{{if }} {z} \le {self.number(x[0])}"]
        for k in range(1, len(x)):
            slope = (y[k] - y[k - 1]) / (x[k] - x[k - 1])
            rows.append(
                rf"{self.number(y[k - 1])} {self.signed(slope)} ({z} {self.signed(-x[k - 1])}) & "
                rf"\text{{else if }} {z} \le {self.number(x[k])}"
            )
        rows.append(rf"{self.number(y[-1])} & \text{{otherwise}}")
        return rf"u_{{{j}}} &= {_cases(rows)}"

    def outputs(self) -> list[str]:
        """Return the sums that the outputs are."""
        lines = []
        several = len(self.formula.constants) > 1
        for o, constant in enumerate(self.formula.constants):
            terms = [self.number(constant)]
            for part in self.formula.parts:
                names = [_functions(j, self.formula.blocks[j]) for j in part.blocks]
                for place in product(*map(range, part.table.shape[:-1])):
                    value = float(part.table[(*place, o)])
                    factors = [rf"\, {own[k]}" for own, k in zip(names, place, strict=True)]
                    if value:
                        terms.append(self.signed(value) + "".join(factors))
            name = rf"f_{{{o}}}" if several else "f"
            rows = [
                " ".join(terms[k : k + TERMS_A_LINE]) for k in range(0, len(terms), TERMS_A_LINE)
            ]
            lines += [rf"{name} &= {rows[0]}", *(rf"&\quad {row}" for row in rows[1:])]
        return lines

    def outcome(self) -> list[str]:
        """Return predictions from outputs."""
        formula, target = self.formula, text(self.formula.target)
        if not formula.classes:
            return [rf"\widehat{{{target}}} &= f"]
        labels = [text(str(label)) for label in formula.classes]
        if len(labels) == 2:
            rows = [rf"{labels[1]} & \text{{if }} f > 0", rf"{labels[0]} & \text{{otherwise}}"]
        else:
            rows = [
                rf"{label} & \text{{if }} f_{{{o}}} \text{{ is largest}}"
                for o, label in enumerate(labels)
            ]
        lines = [rf"\widehat{{{target}}} &= {_cases(rows)}"]
        if not formula.link:
            return lines
        if len(labels) == 2:
            return [*lines, rf"P({target} = {labels[1]}) &= {_chance(formula.link, 'f')}"]
        lines.append(rf"q_{{c}} &= {_chance(formula.link, 'f_{c}')}")
        whole = rf"\sum_{{c=0}}^{{{len(labels) - 1}}} q_{{c}}"
        return lines + [
            rf"P({target} = {label}) &= \frac{{q_{{{o}}}}}{{{whole}}}"
            for o, label in enumerate(labels)
        ]


def _moment(source: Source) -> str:
    """Return a date as the number that stands for it."""
    if source.part:
        return text(f"{PARTS_IN_WORDS[source.part]} of {source.column}")
    since = text(f"seconds from 1970 to {source.column}")
    return rf"1970 + \frac{{{since}}}{{{YEAR!r}}}"


def _chance(link: str, f: str) -> str:
    if link == "exponential":
        return rf"e^{{{f}}}"
    if link == "logistic":
        return rf"\frac{{1}}{{1 + e^{{-{f}}}}}"
    return _between(rf"\frac{{1 + {f}}}{{2}}", "0", "1")


def _between(inner: str, low: str, high: str) -> str:
    return rf"\min\left(\max\left({inner}, {low}\right), {high}\right)"


def _functions(j: int, block: Block) -> list[str]:
    if isinstance(block, Line):
        return [rf"z_{{{column}}}" for column in block.columns]
    return [rf"g_{{{j},{k}}}" for k in range(block.size)]


def _cases(rows: Sequence[str]) -> str:
    return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"
