"""Ways out that messages name: arguments in Python, options on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..notices import notify


class Ways(Protocol):
    """How a person says what is to be done about a column."""

    def gap(self, value: str) -> str:
        """Return how to say that a value stands for a missing one."""

    def kept(self, name: str) -> str:
        """Return how to keep a column that looks like an identifier."""

    def tell(self, note: str) -> None:
        """Say at once what else would be a note only."""

    def out(self, names: Sequence[str], able: str, doubtful: bool, more: bool) -> str:
        """Return what to do about columns that cannot be used, as the end of a message.

        ``able`` is one that can be taken as categories, empty if none can. ``doubtful`` tells
        whether some may be no identifiers, ``more`` whether there are others.
        """


class PythonWays:
    """Arguments of a transformer, methods of tables."""

    def gap(self, value: str) -> str:
        """Return how to replace a value."""
        return f"replace it by None: X.replace({value!r}, None)"

    def kept(self, name: str) -> str:
        """Return how to keep a column, in a pipeline or by its type."""
        return (
            f"Keep it by TableEncoder(keep=[{name!r}]) in a pipeline, or as categories by "
            f"X.astype({{{name!r}: 'category'}})."
        )

    def tell(self, note: str) -> None:
        """Warn."""
        notify(f"{note[0].upper()}{note[1:]}", UserWarning)

    def out(self, names: Sequence[str], able: str, doubtful: bool, more: bool) -> str:
        """Return how to drop columns, or what the transformer can be told of them."""
        listed = ", ".join(map(repr, names)) + (", ..." if more else "")
        doubt = f", one that is no identifier by TableEncoder(keep=[{names[0]!r}]) in a pipeline"
        taken = (
            f" A column of categories is taken as it is after X.astype({{{able!r}: 'category'}})"
        )
        return f"Correct the values, or leave columns out: X.drop(columns=[{listed}])." + (
            f"{taken}{doubt if doubtful else ''}." if able else ""
        )


PYTHON = PythonWays()
