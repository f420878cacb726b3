"""Figures of :mod:`manykernels.plot` as parts of a page."""

from __future__ import annotations

import re
import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ..limits import CLOUD_POINTS
from .markup import Markup, element

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Size = tuple[float, float] | None
"""Width and height of a figure in inches, if it has a size of its own."""

DOTS = 150
"""Dots per inch of what is drawn as an image. Set by judgement, not measured."""

_BLACK = re.compile(r"(?<![\w#-])(#000000|#000|black)(?![\w-])")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True)
class Drawing:
    """A figure for the page, or the reason why there is none."""

    svg: Markup | None
    reason: str = ""

    def shown(self) -> Markup:
        """Return the figure as an element, or the reason as a paragraph."""
        if self.svg is None:
            return element("p", f"No figure: {self.reason}", class_="note")
        return element("div", self.svg, class_="figure")


def draw(display: Callable[[Axes | None], Any], key: str, label: str, size: Size) -> Drawing:
    """Make a display and turn its figure into SVG.

    ``display`` takes axes to draw on and returns an object with the attribute ``figure_``; a
    ValueError says why it cannot. All identifiers in the picture start with ``key``, which no two
    pictures of a page share. The label says what is to be seen, for those who do not see it. The
    size is that of the axes' figure; None for a display that makes its axes itself.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    with warnings.catch_warnings(), matplotlib.style.context("default"):
        # The reader's browser has glyphs that the fonts used to measure text may lack.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        ax = None if size is None else Figure(size, layout="constrained").subplots()
        try:
            figure = display(ax).figure_
        except ValueError as error:
            return Drawing(None, str(error))
        try:
            return Drawing(inline(figure, key, label))
        finally:
            close(figure)


def inline(figure: Figure, key: str, label: str) -> Markup:
    """Return a figure as an SVG element that takes the colour of the text around it."""
    import matplotlib as mpl

    _flatten(figure)
    text = StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(text, format="svg", dpi=DOTS, transparent=True, metadata=nothing)
    root = ET.fromstring(_NOT_XML.sub("\ufffd", text.getvalue()))
    _plain(root, key)
    width = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height", None)
    # A point is 4/3 pixels; a narrow screen makes the picture smaller, a wide one not larger.
    root.attrib.update(
        {"role": "img", "aria-label": label, "style": f"max-width: {width * 4 / 3:.0f}px"}
    )
    return Markup(ET.tostring(root, encoding="unicode"))


def close(figure: Any) -> None:
    """Let go of a figure, also where pyplot holds it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    figure.clear()


def _flatten(figure: Figure) -> None:
    """Make meshes and clouds of points images: thousands of elements make a page slow."""
    from matplotlib.collections import PathCollection, QuadMesh

    for artist in (artist for ax in figure.axes for artist in ax.collections):
        many = len(np.asarray(artist.get_offsets())) > CLOUD_POINTS
        if isinstance(artist, QuadMesh) or (isinstance(artist, PathCollection) and many):
            artist.set_rasterized(True)


def _plain(root: ET.Element, key: str) -> None:
    """Drop namespaces, style sheets and unused identifiers; mark the others; free the colours."""
    used: set[str] = set()
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in ("style", "metadata"):
                parent.remove(child)
    for node in root.iter():
        node.tag = _local(node.tag)
        node.attrib = {_local(name): value for name, value in node.attrib.items()}
        for name, value in node.attrib.items():
            used.update(_REFERENCE.findall(value))
            if name == "href" and value.startswith("#"):
                used.add(value[1:])
    for node in root.iter():
        for name, value in list(node.attrib.items()):
            if name == "id":
                node.attrib.pop(name)
                if value in used:
                    node.set(name, f"{key}-{value}")
            elif name == "href":
                node.set(name, f"#{key}-{value[1:]}" if value.startswith("#") else value)
            else:
                value = _REFERENCE.sub(rf"url(#{key}-\1)", value)
                node.set(name, _BLACK.sub("currentColor", value))


def _local(name: str) -> str:
    return name.rpartition("}")[2]
