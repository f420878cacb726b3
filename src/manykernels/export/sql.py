"""A formula as one SQL query, for SQLite and DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .formula import Bells, Block, Formula, Levels, Line, Powers, ProductSum, Smooth
from .sql_values import ROW, dates_of, identifier, literal, number, value_steps

PREDICTION = "prediction"
"""Name of the column of predictions."""

STAGE_COLUMNS = 1_100
"""Most columns that the functions of one step take. SQLite's tables have 2,000 columns at most;
those of the standardised columns come on top."""

VALUE_COLUMNS = 1_900
"""Most columns that the steps from the table's columns to standardised ones take; SQLite's tables
have 2,000 at most."""


def to_sql(formula: Formula, table: str = "data") -> str:
    """Return a query that adds predictions to the columns of a table.

    Columns of numbers must hold numbers, those of dates dates or text such as 2024-05-31. Where a
    value cannot be used the prediction is NULL. Sums are balanced: SQLite allows expressions of a
    depth of 1,000.
    """
    if _value_columns(formula) > VALUE_COLUMNS:
        raise ValueError(
            f"the model has {len(formula.sources):,} columns in use, too many for SQLite (at most "
            f"{VALUE_COLUMNS // 3} of numbers). Export it to Python."
        )
    refuse_names(formula)
    query = Query()
    query.add(
        "mk_input",
        f"SELECT row_number() OVER () AS {ROW}, d.* FROM {identifier(table)} AS d",
    )
    value_steps(formula, query)
    values = [f"z{j}" for j in formula.sources]
    outputs = len(formula.constants)
    constants = [f"{number(c)} AS t{o}" for o, c in enumerate(formula.constants)]
    query.step("mk_start", [ROW, *values, *constants])
    for stage, parts in enumerate(_stages(formula)):
        _functions(query, stage, {j: formula.blocks[j] for part in parts for j in part.blocks})
        sums = []
        for o in range(outputs):
            terms = [f"p.t{o}", *(_sum_of(part, formula, o) for part in parts)]
            sums.append(f"{balanced(terms)} AS t{o}")
        query.step(f"mk_stage{stage}", [f"p.{ROW}", *(f"p.{z}" for z in values), *sums])
    said = "".join(
        f"-- As plain numbers, unlike in training: {name!r}\n" for name in formula.written
    )
    return said + query.text(_outcome(formula, query.last))


def _value_columns(formula: Formula) -> int:
    """Return how many columns the steps to standardised columns take, about.

    A column of dates takes seven to be read, and one for each of its parts.
    """
    kinds = [source.kind for source in formula.sources.values()]
    return 7 * len(dates_of(formula.sources)) + sum(1 if k == "moment" else 3 for k in kinds)


def refuse_names(formula: Formula) -> None:
    """Raise if SQL takes two columns for the same, or one for a column of the result.

    Databases do not tell upper from lower case in names, and rename one of two such columns.
    """
    known = dict.fromkeys([*formula.names, *(one.column for one in formula.sources.values())])
    used = {source.column for source in formula.sources.values()}
    own = {name.lower(): name for name in (ROW, PREDICTION, *_chance_names(formula))}
    seen: dict[str, str] = {}
    for name in known:
        other = seen.setdefault(name.lower(), name)
        if other != name and {name, other} & used:
            raise ValueError(
                "the model cannot be written as SQL, which does not tell the columns "
                f"{other!r} and {name!r} apart. Rename one before the fit, or export to Python."
            )
        if name.lower() in own:
            raise ValueError(
                f"the model cannot be written as SQL: its query adds a column {own[name.lower()]!r}"
                f", and the table has {name!r}. Rename that before the fit, or export to Python."
            )


class Query:
    """The steps of a query: common table expressions, each from the one before it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.last = ""

    def add(self, name: str, select: str) -> None:
        """Add a step of which others are made."""
        self.parts.append(f"{name} AS MATERIALIZED (\n{select}\n)")
        self.last = name

    def step(self, name: str, columns: Sequence[str], more: str = "") -> None:
        """Add a step of given columns of the last one, p."""
        self.add(name, "SELECT " + ",\n  ".join(columns) + f"\nFROM {self.last} AS p{more}")

    def table(self, name: str, columns: Sequence[str], rows: Iterable[str]) -> None:
        """Add a table of numbers."""
        listed = ",\n".join(f"({row})" for row in rows)
        self.parts.append(f"{name}({', '.join(columns)}) AS MATERIALIZED (VALUES\n{listed})")

    def text(self, select: str) -> str:
        """Return the query."""
        return "WITH " + ",\n".join(self.parts) + f"\n{select};\n"


def balanced(terms: Sequence[str]) -> str:
    """Return a sum whose depth is the logarithm of the number of terms."""
    if len(terms) <= 1:
        return terms[0] if terms else number(0.0)
    half = len(terms) // 2
    return f"({balanced(terms[:half])} + {balanced(terms[half:])})"


def _stages(formula: Formula) -> list[list[ProductSum]]:
    """Cut the parts so that few functions of columns are needed at a time."""
    stages: list[list[ProductSum]] = []
    held: set[int] = set()
    for part in sorted(formula.parts, key=lambda part: part.blocks):
        wanted = held | set(part.blocks)
        size = sum(_columns_of(formula.blocks[j]) for j in wanted)
        if not stages or size > STAGE_COLUMNS:
            stages.append([])
            wanted = set(part.blocks)
        stages[-1].append(part)
        held = wanted
    return stages


def _columns_of(block: Block) -> int:
    """Return how many columns the functions of a block take, with what they are made from."""
    if isinstance(block, Line):
        return 0
    if isinstance(block, Smooth):
        return 5 + 2 * block.size
    return 1 + block.size + (len(block.points) if isinstance(block, Bells) else 0)


def _sum_of(part: ProductSum, formula: Formula, output: int) -> str:
    names = [function_names(j, formula.blocks[j]) for j in part.blocks]
    return _products(part.table[..., output], names)


def _products(table: Array, names: list[list[str]]) -> str:
    if not names:
        return number(float(table))
    first, *rest = names
    terms = [
        f"{name} * {_products(own, rest)}"
        for name, own in zip(first, table, strict=True)
        if np.any(own)
    ]
    return balanced(terms)


def function_names(number: int, block: Block) -> list[str]:
    """Return the columns that hold the functions of a block."""
    if isinstance(block, Line):
        return [f"p.z{column}" for column in block.columns]
    return [f"p.f{number}_{k}" for k in range(block.size)]


def _functions(query: Query, stage: int, blocks: dict[int, Block]) -> None:
    """Add steps that compute the functions of columns."""
    smooth = {j: block for j, block in blocks.items() if isinstance(block, Smooth)}
    scales = {j: b for j, b in blocks.items() if isinstance(b, Bells) and b.places is not None}
    places: dict[int, Any] = {**smooth, **scales}
    name = f"mk{stage}"
    if places:
        columns = [f"{place(b)} AS u{j}" for j, b in places.items()]
        query.step(f"{name}_places", ["p.*", *columns])
    if smooth:
        _lookups(query, name, smooth)
    powers = {j: block for j, block in blocks.items() if isinstance(block, Powers)}
    bells = {j: block for j, block in blocks.items() if isinstance(block, Bells)}
    columns = [
        f"{clipped(f'(p.z{b.columns[0]} - {number(b.middle)}) / {number(b.reach)}', -1.5, 1.5)}"
        f" AS v{j}"
        for j, b in powers.items()
    ]
    for j, bell in bells.items():
        columns += [f"{one} AS e{j}_{q}" for q, one in enumerate(_bells(j, bell))]
    if columns:
        query.step(f"{name}_inner", ["p.*", *columns])
    columns = []
    for j, block in blocks.items():
        if not isinstance(block, Line):
            made = _last_step(j, block)
            columns += [f"{one} AS f{j}_{k}" for k, one in enumerate(made)]
    if columns:
        query.step(f"{name}_functions", ["p.*", *columns])


def _lookups(query: Query, name: str, smooth: dict[int, Smooth]) -> None:
    """Add steps that sum B-splines, with their coefficients looked up by cell."""
    scaled = [f"p.u{j} * {number(len(b.axes) - 3.0)} AS s{j}" for j, b in smooth.items()]
    query.step(f"{name}_scaled", ["p.*", *scaled])
    # A cast rounds in one database and cuts off in another.
    whole = [f"CAST(p.s{j} AS INTEGER) AS i{j}" for j in smooth]
    query.step(f"{name}_whole", ["p.*", *whole])
    cells = []
    for j, b in smooth.items():
        last = len(b.axes) - 4
        cells.append(
            f"CASE WHEN p.i{j} > {last} THEN {last} WHEN p.i{j} > p.s{j} THEN p.i{j} - 1 "
            f"ELSE p.i{j} END AS c{j}"
        )
    query.step(f"{name}_cells", ["p.*", *cells])
    query.step(f"{name}_rest", ["p.*", *(f"p.s{j} - p.c{j} AS w{j}" for j in smooth)])
    for j, block in smooth.items():
        axes, w = block.axes, f"p.w{j}"
        heads = ["i", *(f"a{k}" for k in range(axes.shape[1]))]
        rows = (
            ", ".join([str(i), *(number(value) for value in row)])
            for i, row in enumerate(axes.tolist())
        )
        query.table(f"{name}_axes{j}", heads, rows)
        basis = (
            f"(1 - {w}) * (1 - {w}) * (1 - {w})",
            f"((3 * {w} - 6) * {w} * {w} + 4)",
            f"(((3 - 3 * {w}) * {w} + 3) * {w} + 1)",
            f"{w} * {w} * {w}",
        )
        joins = "".join(f" CROSS JOIN {name}_axes{j} AS q{i}" for i in range(4))
        where = " AND ".join(f"q{i}.i = p.c{j} + {i}" for i in range(4))
        sums = [
            balanced([f"{b} * q{i}.a{k}" for i, b in enumerate(basis)])
            for k in range(axes.shape[1])
        ]
        columns = [f"{one} / {number(6.0)} AS g{j}_{k}" for k, one in enumerate(sums)]
        query.step(f"{name}_sums{j}", ["p.*", *columns], f"{joins}\nWHERE {where}")


def _bells(j: int, block: Bells) -> list[str]:
    seen = [f"p.u{j}"] if block.places is not None else [f"p.z{c}" for c in block.columns]
    made = []
    for point in block.points.tolist():
        squares = [
            f"({z} - {number(a)}) * ({z} - {number(a)})" for z, a in zip(seen, point, strict=True)
        ]
        made.append(f"exp({number(-block.gamma)} * {balanced(squares)})")
    return made


def _last_step(j: int, block: Block) -> list[str]:
    """Return the functions of a block from what was computed before."""
    if isinstance(block, Levels):
        return _levels(block)
    if isinstance(block, Powers):
        return [_horner(f"p.v{j}", own.tolist()) for own in block.coefficients.T]
    if isinstance(block, Bells):
        names = [f"p.e{j}_{q}" for q in range(len(block.points))]
        sums = [
            balanced([f"{name} * {number(a)}" for name, a in zip(names, own, strict=True)])
            for own in block.axes.T.tolist()
        ]
        return [_centred(one, m, block.factor) for one, m in zip(sums, block.mean, strict=True)]
    assert isinstance(block, Smooth)
    ends = zip(block.lowest.tolist(), block.highest.tolist(), block.mean.tolist(), strict=True)
    return [
        _centred(clipped(f"p.g{j}_{k}", low, high), mean, block.factor)
        for k, (low, high, mean) in enumerate(ends)
    ]


def _levels(block: Levels) -> list[str]:
    """Return a function for each value of a column.

    Decimal literals may be off by a rounding, so that values are compared up to that.
    """
    z = f"p.z{block.columns[0]}"
    same = [f"abs({z} - {number(v)}) <= {number(1e-12 * max(1.0, abs(v)))}" for v in block.values]
    known = balanced_or(same)
    return [
        f"CASE WHEN {z} IS NULL THEN NULL WHEN {own} THEN {number(high)} WHEN {known} "
        f"THEN {number(low)} ELSE {number(0.0)} END"
        for own, high, low in zip(same, block.high, block.low, strict=True)
    ]


def balanced_or(terms: Sequence[str]) -> str:
    """Return conditions of which one must hold, as a tree."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({balanced_or(terms[:half])} OR {balanced_or(terms[half:])})"


def _horner(t: str, coefficients: list[float]) -> str:
    text = number(coefficients[-1])
    for one in reversed(coefficients[:-1]):
        text = f"({text} * {t} + {number(one)})"
    return text


def _centred(text: str, mean: float, factor: float) -> str:
    return f"({text} - {number(mean)}) * {number(factor)}"


def clipped(text: str, low: float, high: float) -> str:
    """Return an expression kept between two numbers."""
    return (
        f"CASE WHEN {text} < {number(low)} THEN {number(low)} WHEN {text} > {number(high)} "
        f"THEN {number(high)} ELSE {text} END"
    )


def place(block: Smooth | Bells) -> str:
    """Return where a column lies on its scale, between points in proportion."""
    assert block.places is not None
    assert block.evenly is not None
    z, x, y = f"p.z{block.columns[0]}", block.places.tolist(), block.evenly.tolist()
    cases = [f"CASE WHEN {z} IS NULL THEN NULL WHEN {z} <= {number(x[0])} THEN {number(y[0])}"]
    for k in range(1, len(x)):
        slope = (y[k] - y[k - 1]) / (x[k] - x[k - 1])
        cases.append(
            f"WHEN {z} < {number(x[k])} THEN {number(y[k - 1])} + {number(slope)} * "
            f"({z} - {number(x[k - 1])})"
        )
    return " ".join([*cases, f"ELSE {number(y[-1])} END"])


def _outcome(formula: Formula, last: str) -> str:
    """Return the last step: predictions and probabilities beside the columns of the table."""
    classes, columns = formula.classes, []
    if not classes:
        columns.append(f"p.t0 AS {PREDICTION}")
    elif len(classes) == 2:
        first, second = map(literal, classes)
        columns.append(
            f"CASE WHEN p.t0 IS NULL THEN NULL WHEN p.t0 > 0 THEN {second} ELSE {first} END "
            f"AS {PREDICTION}"
        )
    else:
        cases = ["CASE WHEN p.t0 IS NULL THEN NULL"]
        for k, label in enumerate(classes[:-1]):
            beats = " AND ".join(f"p.t{k} >= p.t{m}" for m in range(k + 1, len(classes)))
            cases.append(f"WHEN {beats} THEN {literal(label)}")
        columns.append(" ".join(cases) + f" ELSE {literal(classes[-1])} END AS {PREDICTION}")
    if formula.link:
        columns += _chances(formula)
    return (
        f"SELECT d.*,\n  {', '.join(columns)}\nFROM mk_input AS d LEFT JOIN {last} AS p "
        f"ON p.{ROW} = d.{ROW}\nORDER BY d.{ROW}"
    )


def _chance_names(formula: Formula) -> list[str]:
    """Return the columns of probabilities."""
    return [f"probability of {label}" for label in formula.classes] if formula.link else []


def _chances(formula: Formula) -> list[str]:
    if formula.link == "exponential":
        return _softmax(formula)
    single = []
    for o in range(len(formula.constants)):
        t = f"p.t{o}"
        if formula.link == "logistic":
            single.append(
                f"CASE WHEN {t} >= 0 THEN 1 / (1 + exp(-{t})) ELSE exp({t}) / (1 + exp({t})) END"
            )
        else:
            single.append(clipped(f"((1 + {t}) / 2)", 0.0, 1.0))
    names = [identifier(name) for name in _chance_names(formula)]
    if len(single) == 1:
        return [f"1 - ({single[0]}) AS {names[0]}", f"{single[0]} AS {names[1]}"]
    whole = balanced([f"({one})" for one in single])
    even = number(1 / len(single))
    return [
        f"CASE WHEN {whole} > 0 THEN ({one}) / {whole} WHEN p.t0 IS NOT NULL THEN {even} END "
        f"AS {name}"
        for one, name in zip(single, names, strict=True)
    ]


def _softmax(formula: Formula) -> list[str]:
    """Return probabilities by differences of outputs: exponentials of these may be infinite."""
    outputs = range(len(formula.constants))
    columns = []
    for o, name in zip(outputs, _chance_names(formula), strict=True):
        gaps = [clipped(f"(p.t{k} - p.t{o})", -700.0, 700.0) for k in outputs]
        whole = balanced([f"exp({gap})" for gap in gaps])
        columns.append(f"1 / ({whole}) AS {identifier(name)}")
    return columns
