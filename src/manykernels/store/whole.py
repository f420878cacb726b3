"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from threading import get_ident


def write_whole(path: Path, content: bytes) -> None:
    """Write a file next to the one wanted and move it there: an interruption leaves the old one.

    Where the path is a link, what it points to is replaced.
    """
    place = path.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}-{get_ident()}.part")
    try:
        draft.write_bytes(content)
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)
