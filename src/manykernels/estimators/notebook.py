"""What a notebook shows of an estimator: scikit-learn's diagram and, once fitted, its terms."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from sklearn.utils import estimator_html_repr

from ..words import certificate, number, percent, plural, terms_and_rest

if TYPE_CHECKING:
    import pandas as pd

TOP = 8
"""Terms shown."""

_BAR = (
    '<td style="text-align:left;min-width:8em"><span style="display:inline-block;height:.7em;'
    'width:{width:.1f}em;background:#7aa6d6;border-radius:2px"></span></td>'
)


def html(estimator: Any, table: pd.DataFrame | None) -> str:
    """Return the diagram of an estimator and, given the table of its terms, the first of these."""
    diagram = str(estimator_html_repr(estimator))
    if table is None:
        return diagram
    rows = []
    known = bool(table["spread"].notna().all())  # not in model files of earlier versions
    sizes = table["spread"] if known else table["share"]
    largest = float(sizes.max()) if len(table) else 0.0
    for term, size in zip(table["term"][:TOP], sizes[:TOP].tolist(), strict=True):
        bar = _BAR.format(width=8 * max(size, 0.0) / (largest if largest > 0 else 1.0))
        text = number(size) if known else percent(size)
        rows.append(f"<tr><th>{escape(str(term))}</th><td>{text}</td>{bar}</tr>")
    more = len(table) - len(rows)
    rest = f"<p>and {plural(more, 'term')} more</p>" if more > 0 else ""
    name = "spread (standard deviation of its part)" if known else "share of variance"
    kernels = plural(estimator.n_kernels_, "kernel")
    return (
        f"{diagram}<div><p>{terms_and_rest(estimator, table)} from {kernels}. "
        f"{escape(certificate(estimator))}</p><table><thead><tr><th>term</th>"
        f'<th colspan="2">{name}</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{rest}</div>"
    )
