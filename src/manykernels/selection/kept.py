"""What sets of rows have selected, kept for the process that goes on."""

from __future__ import annotations

from typing import Any

from ..solvers import Slot
from .sources import Picked, Picks


class KeptPicks:
    """The picks of all tasks that are done, in chunks.

    Parameters
    ----------
    slot : Slot
        Where they are kept.
    """

    def __init__(self, slot: Slot) -> None:
        self.slot = slot.at("picks")
        self.seconds = 0.0
        self.written = 0
        self.waiting: list[Any] = []

    def read(self) -> list[list[Picks]]:
        """Return what was kept, in order; ``seconds`` is then the time that it took."""
        found: list[list[Picks]] = []
        while (chunk := self.slot.at(str(len(found))).read()) is not None:
            found += [[_thawed(tree) for tree in task] for task in chunk["tasks"]]
            self.seconds = chunk["seconds"]
        self.written = len(found)
        return found

    def add(self, picks: list[Picks], seconds: float) -> None:
        """Keep what a task gave, with those before it that are not written, if it is time to."""
        self.waiting.append([_frozen(one) for one in picks])
        chunk = {"tasks": self.waiting, "seconds": seconds}
        if self.slot.at(str(self.written)).offer(lambda: chunk):
            self.written, self.waiting = self.written + len(self.waiting), []


def _frozen(picks: Picks) -> dict[str, Any]:
    return {"terms": [vars(term) for term in picks.terms], "rest": picks.rest}


def _thawed(tree: dict[str, Any]) -> Picks:
    return Picks([Picked(**term) for term in tree["terms"]], tree["rest"])
