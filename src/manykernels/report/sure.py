"""The part of a report that says how sure the terms are."""

from __future__ import annotations

from ..how_sure import HowSure, how_to_run
from ..words import NO_NUMBER, p_value, percent
from .markup import Markup, breakable, element, join
from .subject import Subject

LISTED_GROUPS = 50
"""Most groups of terms in the table of how sure they are. Set by judgement, not measured."""

SURE_MARK = "\N{BLACK CIRCLE}"
"""Sign of a term that stands."""


def standing(how_sure: HowSure, name: str) -> str:
    """Return in a sentence whether a term stands."""
    (place,) = how_sure.places([name])
    if how_sure.untested:
        return "Whether it stands could not be tested."
    if place is None:
        never = (
            "on no split was it tested" if how_sure.tested else "no half of the rows selected it"
        )
        return f"It does not stand: {never}."
    group = how_sure.groups[place - 1]
    evidence = how_sure.evidence(group)
    if not group.sure:
        return (
            f"It does not stand ({evidence}): these rows do not show that it is needed beside the "
            "other terms."
        )
    if len(group.terms) == 1:
        return f"It stands ({evidence})."
    return f"It stands as one of {len(group.terms)} that cannot be told apart ({evidence})."


def sure_section(subject: Subject) -> Markup:
    """Return sentences and the table of groups, or how to get them."""
    if subject.how_sure is None:
        return element("p", f"{how_to_run(subject.summary.get('command'))}.", class_="note")
    # Of rows held out by the fit: others may be those that it was fitted to.
    said = subject.how_sure.sentences(subject.table, subject.summary.get("useful"))
    return join(*(element("p", text) for text in said), group_table(subject.how_sure))


def group_table(how_sure: HowSure) -> Markup:
    """Return the terms that some rows selected as a table, a line for each group."""
    if not how_sure.groups:
        return Markup("")
    names = ["Term", *(["P-value"] if how_sure.tested else []), "Selected", "Correlation", "Stands"]
    figures = ("P-value", "Selected", "Correlation")
    heads = [
        element("th", name, scope="col", class_="number" if name in figures else None)
        for name in names
    ]
    head = element("tr", *heads)
    rows = []
    for group in how_sure.groups[:LISTED_GROUPS]:
        alike = group.correlations[1:]
        values = [] if group.p_value is None else [p_value(group.p_value)]
        values += [percent(group.frequency), f"{min(alike):.2f}" if alike else NO_NUMBER]
        rows.append(
            element(
                "tr",
                element("th", element("bdi", breakable(str(group))), scope="row"),
                *(element("td", value, class_="number") for value in values),
                element("td", sure_mark("yes" if group.sure else "")),
            )
        )
    more = len(how_sure.groups) - len(rows)
    note = (
        "Selected is the share of the parts of the rows that selected the term; the correlation "
        "is the least with the first of terms that cannot be told apart."
    )
    note += f" {more} more were selected and are not listed." if more else ""
    body = element("tbody", *rows)
    caption = element("caption", "How sure terms are", class_="unseen")
    table = element("table", caption, element("thead", head), body, class_="groups")
    frame = element(
        "div", table, class_="scroll", tabindex="0", role="region", aria_label="How sure terms are"
    )
    return join(element("p", note, class_="note"), frame)


def sure_mark(stands: str) -> str | Markup:
    """Return a filled circle for a term that stands, with a word for those who hear the page.

    Terms that stand as one of several have these words: none of them may be the one.
    """
    if stands != "yes":
        return stands
    seen = element("span", SURE_MARK, aria_hidden="true")
    return join(seen, element("span", "sure", class_="unseen"))
