"""The page: what is said and drawn, put together."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from ..words import (
    MINUS,
    NO_NUMBER,
    SPACE,
    certificate,
    count,
    number,
    percent,
    second_measure,
    second_name,
)
from . import content
from .figures import Size, close, draw
from .markup import Markup, breakable, element, join
from .scores import SCALED, Scores, headline, score_note, scores_of, shown
from .subject import Subject
from .sure import sure_mark, sure_section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..plot import EffectDisplay

MEASURE_NAMES = {"RMSE": "typical error (RMSE)", "log loss": "log loss (lower is better)"}
"""Names of measures among the first facts, where a newcomer may not know them."""

WIDE = (5.6, 3.8)
"""Width and height in inches of most figures."""

MOST_CONFUSED = 12
"""Most classes with a table of true and predicted ones. Set by judgement."""

SQUARE = (5.6, 5.2)
"""Width and height in inches of the figure of predictions."""


def make_page(subject: Subject, title: str | None) -> str:
    """Return the report as the text of an HTML file."""
    scores = scores_of(subject)
    style, script, skeleton = (_resource(f"page.{kind}") for kind in ("css", "js", "html"))
    effects = effect_articles(subject)
    parts: dict[str, str] = {
        "style": style,
        "script": script,
        # The page's own script runs, and nothing that data might smuggle in.
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'",
        "title": join(title or f"A model of {subject.target}"),
        "headline": join(headline(subject, scores)),
        "lede": join(content.lede(subject)),
        "facts": facts(subject, scores),
        "notes": notes(content.provenance(subject)),
        "scores": score_table(scores),
        "score_note": join(score_note(subject, scores)),
        "term_note": join(content.term_note(subject)),
        "terms": term_table(subject, set(effects)),
        "effects": join(*effects.values()) if effects else no_effects(),
        "sure": sure_section(subject),
        "interaction_note": join(content.interaction_note(subject)),
        "interactions": interactions(subject),
        "prediction_note": join(content.prediction_note(subject)),
        "predictions": predictions(subject),
        "certificate": join(certificate(subject.estimator)),
        "effort": join(content.effort(subject.estimator, subject.summary)),
        "convergence": convergence(subject),
        "path": path(subject),
        "settings": join(content.settings(subject)),
    }
    return Template(skeleton).substitute(parts)


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def facts(subject: Subject, scores: Scores) -> Markup:
    """Return the few numbers that a reader looks for first."""
    matter = [str(subject.table["term"].iloc[place]) for place in subject.matter]
    found: list[tuple[Any, str]] = [
        (f"{MEASURE_NAMES.get(name, name)} on {scores.where}", shown(name, scores.ours(name)))
        for name in scores.names[:2]
    ] or [(f"score on {scores.where}", NO_NUMBER)]
    found.append(("terms that matter", count(len(matter))))
    if subject.how_sure is None or subject.how_sure.untested:
        why = "how to test them" if subject.how_sure is None else "why"
        link = element("a", why, href="#sure")
        found.append((join("how sure the terms are: ", link), "not tested"))
    else:
        stand = sum(subject.how_sure.is_sure(matter))
        found.append(("of the terms that matter stand", f"{count(stand)} of {count(len(matter))}"))
    pairs = [(element("dt", name), element("dd", value)) for name, value in found]
    return join(*(element("div", *pair, class_="fact") for pair in pairs))


def notes(said: Sequence[str]) -> Markup:
    """Return remarks as a list, or nothing."""
    if not said:
        return Markup("")
    return element("ul", *(element("li", text) for text in said), class_="notes")


def score_table(scores: Scores) -> Markup:
    """Return the scores as a table, with bars for the main one."""
    if not scores.values:
        return Markup("")
    main = scores.names[0]
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(element("td", _known(measure, own), class_="number") for measure in scores.names),
            *([element("td", bar(own.get(main, 0.0)), class_="track")] if main in SCALED else []),
            class_="ours" if not place else None,
        )
        for place, (name, own) in enumerate(scores.values.items())
    ]
    heads = [element("th", name, scope="col", class_="number") for name in scores.names]
    last = [element("th", f"{main} as a bar", scope="col")] if main in SCALED else []
    head = element("tr", element("th", "Model", scope="col"), *heads, *last)
    caption = element("caption", f"Scores on {scores.where}", class_="unseen")
    body = element("tbody", *rows)
    table = element("table", caption, element("thead", head), body, class_="scores")
    return element("div", table, class_="across")


def _known(measure: str, own: dict[str, float]) -> str:
    return shown(measure, own[measure]) if measure in own else NO_NUMBER


def bar(share: float) -> Markup:
    """Return a bar of a length between nothing and all of its place."""
    length = 100 * min(max(share, 0.0), 1.0) if np.isfinite(share) else 0.0
    return element("span", class_="bar", style=f"width: {length:.2f}%", aria_hidden="true")


def term_table(subject: Subject, plotted: set[str]) -> Markup:
    """Return the table of terms; those with a plot are buttons."""
    places = subject.listed
    table = subject.table.iloc[places]
    signed = bool((table["sign"] != 0).any())
    second, estimator = second_measure(table), subject.estimator
    name = second_name(estimator, table)
    columns = [("term", "Term"), ("variables", "Variables"), ("spread", "Spread")]
    columns += [("second", f"{name[0].upper()}{name[1:]}")]
    largest = float(table["spread"].max()) if len(table) else 1.0
    columns += [("sign", "Sign")] if signed else []
    columns += [("sure", "Stands")] if subject.how_sure is not None else []
    head = [
        element(
            "th",
            element("button", name, type="button", data_key=key),
            scope="col",
            class_=key,
            aria_sort="descending" if key == "spread" else "none",
        )
        for key, name in columns
    ]
    rows = []
    stands = subject.how_sure.standing(table["term"].tolist()) if subject.how_sure else []
    keys = ("term", "degree", "spread", second, "sign")
    entries = (table[key].tolist() for key in keys)
    for line, (name, degree, spread, other, sign) in enumerate(zip(*entries, strict=True)):
        rank = places[line]
        variables = len(subject.terms.columns(name))
        known = variables > 0 or degree == 0
        label = element("bdi", breakable(name if degree else f"{name} (constant)"))
        if name in plotted:
            label = element(
                "button", label, type="button", class_="show", aria_controls=f"effect-{rank}"
            )
        track = element("div", bar(spread / (largest or 1.0)), class_="track")
        text = NO_NUMBER if np.isnan(spread) else number(spread)
        meter = element("div", element("span", text), track, class_="meter")
        cells = [
            element("th", label, scope="row", class_="term"),
            element("td", str(variables) if known else NO_NUMBER, class_="variables number"),
            element("td", meter, class_="spread"),
            element("td", _second(second, other), class_="second number"),
            *([element("td", sign_of(sign), class_="sign")] if signed else []),
            *([element("td", sure_mark(stands[line]), class_="sure")] if stands else []),
        ]
        data: dict[str, Any] = {"term": name, "variables": variables, "sign": sign}
        data |= {"spread": repr(spread), "second": repr(other)}
        data |= {"sure": int(bool(stands[line]))} if stands else {}
        data |= {"rest": ""} if name == subject.terms.rest else {}
        rows.append(element("tr", *cells, **{f"data_{key}": value for key, value in data.items()}))
    caption = element("caption", "Terms of the model", class_="unseen")
    body = element("tbody", *rows)
    # Beside a plot there is no room for all: the number of variables can be told from the name.
    kind = "terms tested" if stands else "terms"
    return element("table", caption, element("thead", element("tr", *head)), body, class_=kind)


def _second(kind: str, value: float) -> str:
    """Return what stands beside the spread as text."""
    if np.isnan(value):
        return NO_NUMBER
    if kind == "share":
        return percent(value)
    return f"<{SPACE}0.0001" if abs(value) < 0.0001 else number(value, 2)


def sign_of(sign: int) -> str | Markup:
    """Return a sign to be seen, with a word for those who hear the page."""
    if not sign:
        return ""
    shown, word = ("+", "positive") if sign > 0 else (MINUS, "negative")
    return join(element("span", shown, aria_hidden="true"), element("span", word, class_="unseen"))


def effect_display(subject: Subject, name: str, ax: Axes | None) -> EffectDisplay:
    """Return the display of a term; panels of a third variable two by two."""
    from matplotlib.figure import Figure

    from ..plot import EffectDisplay

    display = EffectDisplay.from_estimator(
        subject.estimator, subject.rows, name, label=subject.label, levels=subject.levels, ax=ax
    )
    if ax is not None:
        ax.set_title("")  # the heading says it
        figure: Any = display.figure_
        figure.set_size_inches(*display.size)
        return display
    close(display.figure_)
    size = len(display.ax_)
    lines = -(-size // 2)
    grid = Figure((7.0, 3.0 * lines), layout="constrained")
    panels = list(grid.subplots(lines, min(size, 2), squeeze=False).flat)
    for spare in panels[size:]:
        grid.delaxes(spare)
    display.plot(panels[:size])
    for panel in panels[2:size:2]:
        panel.set_ylabel(panels[0].get_ylabel())
        panel.tick_params(labelleft=True)
    return display


def effect_articles(subject: Subject) -> dict[str, Markup]:
    """Return plot and sentence of each term that has one, by the term's name."""
    articles = {}
    for name in subject.plottable:
        sentence = content.effect_sentence(subject, name)
        rank = subject.terms.names.index(name)
        drawing = draw(
            partial(effect_display, subject, name),
            f"plot-{rank}",
            f"Plot of the effect of {name}. {sentence}",
            None if len(subject.terms.columns(name)) > 2 else WIDE,
        )
        if drawing.svg is not None:
            articles[name] = element(
                "article",
                element("h3", element("bdi", breakable(name))),
                drawing.shown(),
                element("p", sentence),
                class_="effect",
                id=f"effect-{rank}",
            )
    return articles


def no_effects() -> Markup:
    """Return what stands in place of plots where no term has one."""
    return element("p", "There is no term of one to three columns that could be drawn.")


def interactions(subject: Subject) -> Markup:
    """Return network and heat map, or nothing if no term joins variables."""
    from ..plot import HeatmapDisplay, NetworkDisplay

    if not subject.interacts:
        return Markup("")
    said, estimator = content.interaction_note(subject), subject.estimator
    network = f"Network of the variables, joined where a term has them in common. {said}"
    heat = f"Heat map of the spreads of variables and of pairs of them. {said}"
    return element(
        "div",
        element("div", element("h3", "Network"), _figure(NetworkDisplay, network, None, estimator)),
        element("div", element("h3", "Heat map"), _figure(HeatmapDisplay, heat, None, estimator)),
        class_="pair",
    )


def predictions(subject: Subject) -> Markup:
    """Return the plot of predictions against targets."""
    from ..plot import PredictionsDisplay

    if len(subject.y) < 2:
        return element("p", "A single row is too little to draw.", class_="note")
    several = len(subject.classes) > 2
    kind = "Predicted and observed"
    if subject.classes:
        kind = "Matrix of true and predicted classes" if several else "Predicted probabilities"
    label = f"{kind}. {content.prediction_note(subject)}"
    drawn = _figure(PredictionsDisplay, label, SQUARE, subject.estimator, subject.X, subject.y)
    if not subject.classes:
        return drawn
    return join(drawn, calibration(subject), confusion(subject))


def calibration(subject: Subject) -> Markup:
    """Return the plot of how often classes come true, or nothing without probabilities."""
    from ..plot import CalibrationDisplay

    if not hasattr(subject.estimator, "predict_proba"):
        return Markup("")
    said = content.calibration_note(subject)
    arguments = (subject.estimator, subject.X, subject.y)
    drawing = _figure(CalibrationDisplay, f"Calibration. {said}", SQUARE, *arguments)
    return element("div", element("h3", "Calibration"), element("p", said, class_="note"), drawing)


def confusion(subject: Subject) -> Markup:
    """Return the table of true and predicted classes."""
    from sklearn.metrics import confusion_matrix

    classes = subject.classes
    if len(classes) > MOST_CONFUSED:
        return Markup("")
    counts = confusion_matrix(subject.y, subject.predicted, labels=subject.estimator.classes_)
    heads = [element("th", str(name), scope="col", class_="number") for name in classes]
    rows = [
        element(
            "tr",
            element("th", str(name), scope="row"),
            *(element("td", count(int(value)), class_="number") for value in own),
        )
        for name, own in zip(classes, counts, strict=True)
    ]
    caption = element(
        "caption", f"True classes (rows) and predicted classes (columns) on {subject.where}"
    )
    head = element("tr", element("th", "true \\ predicted", scope="col"), *heads)
    body = element("tbody", *rows)
    table = element("table", caption, element("thead", head), body, class_="confusion")
    return element("div", table, class_="across")


def convergence(subject: Subject) -> Markup:
    """Return the plot of objective and gap along the fit."""
    from ..plot import ConvergenceDisplay

    estimator = subject.estimator
    if estimator.n_kernels_ == np.inf:
        said = (
            "No course is drawn: widths are learnt on growing parts of the rows and for the "
            "evidence, so that objectives along the way do not compare, and no gap is certified."
        )
        return element("p", said, class_="note")
    if len(estimator.history_["objective"]) < 2:
        return element("p", "The fit took one step: there is no course to draw.", class_="note")
    first, last = (number(float(estimator.history_["objective"][i])) for i in (0, -1))
    label = f"Objective along the fit, from {first} to {last}. {certificate(estimator)}"
    return _figure(ConvergenceDisplay, label, WIDE, estimator)


def path(subject: Subject) -> Markup:
    """Return the path of models compared by cross-validation, with a heading; nothing without."""
    from ..plot import PathDisplay

    estimator = subject.estimator
    if not hasattr(estimator, "score_path_"):
        return Markup("")
    said = content.choice(estimator)
    label = f"Loss on the rows left out along the path of models. {said}"
    chosen = "number of terms" if hasattr(estimator, "n_terms_") else "strength"
    words = element("div", element("h2", f"How the {chosen} was chosen"), element("p", said))
    drawing = _figure(PathDisplay, label, WIDE, estimator)
    return element("section", words, drawing, id="path", class_="split")


def _figure(display: Any, label: str, size: Size, *arguments: Any) -> Markup:
    """Return the figure of a display; identifiers in it begin with the display's name."""
    key = display.__name__.removesuffix("Display").lower()
    return draw(lambda ax: display.from_estimator(*arguments, ax=ax), key, label, size).shown()
