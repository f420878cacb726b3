"""The folder of a checkpoint: one sub-folder for each fit, one file for each part of its state."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from sklearn.utils import check_random_state

from ..notices import notify
from ..store import may_run, packed, this_host, unpacked, write_whole

WRITING_SHARE = 0.1
"""Share of the time since a fit began that writing its checkpoint may take: what is offered beyond
that is not written, and a process that is killed loses some ten times as long as it takes to write
its state. Set by judgement."""

PREFIX = "fit-"
"""Beginning of the names of sub-folders; the rest is the fingerprint of a fit."""

KEY_DIGITS = 32
"""Digits of a fingerprint in the name of a sub-folder; files in it have the whole."""

HEAD = "head"
"""Name of the part that tells what a checkpoint is of."""


class CheckpointWarning(UserWarning):
    """Something in a checkpoint's folder cannot be used, or cannot be written."""


@dataclass(frozen=True)
class FolderSlot:
    """A part of the state of a fit, in a file of its own; see :class:`manykernels.solvers.Slot`."""

    checkpoint: Checkpoint
    name: str

    def at(self, name: str) -> FolderSlot:
        """Return the slot of a part of this part."""
        return FolderSlot(self.checkpoint, f"{self.name}/{name}")

    @property
    def path(self) -> Path:
        """The file."""
        digits = hashlib.sha256(self.name.encode()).hexdigest()[:KEY_DIGITS]
        return self.checkpoint.place / f"{digits}.state"

    def read(self) -> Any:
        """Return what was kept; None, with a warning, if the file is damaged or of another fit."""
        path = self.path
        try:
            tree = unpacked(path)
            if (tree["key"], tree["name"]) != (self.checkpoint.key, self.name):
                raise ValueError("it is of another fit")
            return tree["state"]
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever a damaged file leads to
            notify(
                f"{path} is no part of a checkpoint that can be used ({str(error)[:200]}). It is "
                "not used, and that part of the work is done again.",
                CheckpointWarning,
            )
            return None

    def write(self, state: Any) -> bool:
        """Keep a state, and tell whether that was possible."""
        return self.checkpoint.write(self, state)

    def offer(self, make: Callable[[], Any]) -> bool:
        """Keep what a function returns unless writing has taken too much time already."""
        return self.checkpoint.due and self.checkpoint.write(self, make())

    def drop(self) -> None:
        """Forget what was kept."""
        self.path.unlink(missing_ok=True)


class Checkpoint:
    """The state of one fit in a folder, from which another process can go on.

    Parameters
    ----------
    folder : path
        The folder. Each fit has a sub-folder of its own in it.
    key : str
        Fingerprint of the fit.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key
        self.place = folder / f"{PREFIX}{key[:KEY_DIGITS]}"
        self.began, self.writing, self.broken = perf_counter(), 0.0, False
        self.slot = FolderSlot(self, "fit")
        self.seed = 0

    def __reduce__(self) -> Any:
        return Checkpoint, (self.folder, self.key)  # a clock of its own in each process

    @classmethod
    def opened(cls, folder: Any, key: str, verbose: int = 0) -> Checkpoint:
        """Return the checkpoint of a fit, new or as an earlier process has left it.

        Raises
        ------
        OSError
            If the folder cannot be made or written to.
        """
        self = cls(Path(os.path.abspath(os.fspath(folder))), key)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            known = self.slot.at(HEAD).read()
            others = [] if known is not None else self._others()
            seed = check_random_state(None).randint(2**31 - 1) if known is None else known["seed"]
            self.seed = int(seed)
            head = {"seed": self.seed, "process": os.getpid(), "host": this_host()}
            self._put(self.slot.at(HEAD), head)
        except OSError as error:
            raise OSError(
                f"checkpoint must be a folder that can be written to; got {str(folder)!r} "
                f"({error}). Name another, or use checkpoint=None."
            ) from error
        if others:
            notify(
                f"{self.folder} has the state of other fits, of other data, parameters or "
                f"versions: {len(others)}, such as {others[0].name}. It is not used and left as it "
                "is; this fit begins anew, in a sub-folder of its own.",
                CheckpointWarning,
            )
        if known is not None and verbose:
            sys.stderr.write(f"going on from the checkpoint in {self.place}\n")
        return self

    def _others(self) -> list[Path]:
        """Return the sub-folders of other fits that no process is at work on."""
        found = []
        for place in sorted(self.folder.glob(f"{PREFIX}*")):
            try:
                head = unpacked(place / self.slot.at(HEAD).path.name)["state"]
                busy = head["host"] == this_host() and may_run(head["process"])
            except Exception:  # it is being written or removed, or was damaged
                busy = False
            if not busy and place.is_dir() and place != self.place:
                found.append(place)
        return found

    @property
    def due(self) -> bool:
        """Whether there is time to write."""
        spent = perf_counter() - self.began
        return not self.broken and self.writing <= WRITING_SHARE * spent

    def write(self, slot: FolderSlot, state: Any) -> bool:
        """Write a state; warn once, and go on without, if that is not possible."""
        before = perf_counter()
        try:
            self._put(slot, state)
        except OSError as error:
            self.broken = True
            notify(
                f"the checkpoint cannot be written any more ({error}); the fit goes on without it.",
                CheckpointWarning,
            )
        self.writing += perf_counter() - before
        return not self.broken

    def _put(self, slot: FolderSlot, state: Any) -> None:
        from .. import __version__

        tree = {"key": self.key, "name": slot.name, "state": state}
        content = packed(tree, __version__, smaller=False)
        self.place.mkdir(exist_ok=True)
        write_whole(slot.path, content)

    def random_state(self, given: Any) -> Any:
        """Return a source of randomness; where none is given one that is the same next time."""
        return self.seed if given is None else given

    def remove(self) -> None:
        """Remove the state of this fit."""
        shutil.rmtree(self.place, ignore_errors=True)
