"""Files that appear whole or not at all: the one way in which the library writes files."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

STRAY_SECONDS = 86_400
"""Age in seconds from which on a draft is stray whoever began it: a day. Set by judgement: no file
takes that long to write."""

_DRAFT = re.compile(r"\.manykernels-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}\.part")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file next to the one wanted and move it there: an interruption leaves the old one.

    The draft has a name that nobody can guess, and is never an existing file or a link. The mode
    of a file that is replaced is kept. Where the path is a link, what it points to is replaced.
    Drafts that dead processes have left in the folder are removed.

    Raises
    ------
    OSError
        If there is something other than a file at the path, or if it cannot be written.
    """
    place = resolved(path)
    old = place.stat() if place.exists() else None
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise OSError(f"{path} cannot be written: it is no file. Name another.")
    remove_strays(place.parent)
    name = f".manykernels-{this_host()}-{os.getpid()}-{secrets.token_hex(8)}.part"
    draft = place.with_name(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for more in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # where the system has them
        flags |= getattr(os, more, 0)
    try:
        descriptor = os.open(draft, flags, 0o666 if old is None else 0o600)
    except OSError as error:  # it names the draft
        why = f"the file cannot be written ({error.strerror})"
        raise type(error)(error.errno, why, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            _take_after(draft, old)
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)
    _settle(place.parent)


def resolved(path: Path) -> Path:
    """Return the place that a path leads to, over all links.

    Raises
    ------
    OSError
        If it leads to itself.
    """
    try:
        return Path(path).resolve()
    except RuntimeError:  # a link to itself
        raise OSError(f"{path} cannot be used: it is a link to itself. Name another.") from None


def remove_strays(folder: Path) -> None:
    """Remove the drafts in a folder whose writers have died."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _DRAFT.fullmatch(entry.name)
            if found is None:
                continue
            with suppress(OSError):  # it is gone already, or another's
                old = time.time() - entry.stat(follow_symlinks=False).st_mtime > STRAY_SECONDS
                if old or (found[1] == this_host() and not may_run(int(found[2]))):
                    os.unlink(entry.path)


def this_host() -> str:
    """Return eight digits that stand for this machine: folders may be shared by several."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def may_run(process: int) -> bool:
    """Tell whether a process of this machine may be running."""
    if os.name != "posix":
        return True  # a signal would end it
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        return True
    return True


def _take_after(draft: Path, old: os.stat_result) -> None:
    """Give a draft the mode of the file that it replaces, and its owner if that is allowed."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(draft, old.st_uid, old.st_gid)
    os.chmod(draft, stat.S_IMODE(old.st_mode))


def _settle(folder: Path) -> None:
    """Make a renaming last through a loss of power, where the system can."""
    if os.name != "posix":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
