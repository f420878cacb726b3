"""HTML from text that nobody has checked: all of it is escaped, once, here."""

from __future__ import annotations

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


def _name(name: str) -> str:
    return name.removesuffix("_").replace("_", "-")
