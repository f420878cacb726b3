"""Ways out that messages of the command line name: its options."""

from __future__ import annotations

from collections.abc import Sequence


def quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'


class CommandWays:
    """Options of ``manykernels fit``."""

    def gap(self, value: str) -> str:
        """Return the option that names a value for missing ones."""
        return f"use --na {quoted(value.strip())}"

    def kept(self, name: str) -> str:
        """Return the options that keep a column."""
        return f"Keep it with --keep {quoted(name)}, as categories with --category {quoted(name)}."

    def tell(self, note: str) -> None:
        """Say nothing yet: the command writes all notes when it ends."""

    def out(self, names: Sequence[str], able: str, doubtful: bool, more: bool) -> str:
        """Return the options that drop columns, or say what they are."""
        drops = " ".join(f"--drop {quoted(name)}" for name in names) + (" ..." if more else "")
        doubt = ", or, if it is no identifier, as it is with --keep NAME"
        taken = "; or take a column as categories with --category NAME" if able else ""
        return f"Correct the file; or drop with: {drops}{taken}{doubt if doubtful else ''}."


COMMAND = CommandWays()
