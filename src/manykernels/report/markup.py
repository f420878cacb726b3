"""HTML from text that nobody has checked: all of it is escaped, once, here."""

from __future__ import annotations

import re
from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *content: str | Markup, **attributes: str | int | bool | None) -> Markup:
    """Return an element; whatever of its content is not :class:`Markup` is escaped.

    Names of attributes may end in an underscore (``class_``), and underscores inside are hyphens
    (``aria_label``). True gives an attribute without a value; False and None give none.

    Examples
    --------
    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f" {_name(name)}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{tag}{given}>{join(*content)}</{tag}>")


def join(*content: str | Markup) -> Markup:
    """Return pieces of text and HTML one after another."""
    return Markup("".join(c if isinstance(c, Markup) else escape(c) for c in content))


def breakable(name: str) -> Markup:
    """Return a name that may break after underscores, points and the like, not inside words.

    Words of more than 24 characters may break at any place.

    Examples
    --------
    >>> breakable("device_score * age")
    'device_<wbr>score * age'
    """
    parts = re.split(r"(?<=[_./\\|:-])(?=\w)", name)
    return Markup("<wbr>".join(_pieces(part) for part in parts))


def _pieces(part: str) -> Markup:
    """Return text with places to break in its long words."""
    words = re.split(r"(\s+)", part)
    return join(
        *(
            Markup("<wbr>".join(join(word[k : k + 24]) for k in range(0, len(word), 24)))
            for word in words
        )
    )


def _name(name: str) -> str:
    return name.removesuffix("_").replace("_", "-")
