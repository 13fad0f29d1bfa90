"""The folders in which traces are kept that nobody asked to save, and what lies there.

Light to import: the home screen lists them before anything can run.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dispatchviz.core.record.unfinished_files import is_being_written, unfinished_files

SUFFIX = ".dvtrace"

DAY = 24 * 3600
"""Seconds; parts of recordings whose process is gone stay that long in the cache folder."""


def places(program: str) -> Iterator[Path]:
    """Where the trace of a program may be kept, over the last one of that program."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            _remove_parts(folder)
            yield folder / (Path(program).stem.strip("<>") + SUFFIX)


def _remove_parts(folder: Path) -> None:
    """Remove what recordings left that were killed more than a day ago."""
    for part in unfinished_files(folder, suffix=SUFFIX):
        if time.time() - part.stat().st_mtime > DAY and not is_being_written(part):
            part.unlink(missing_ok=True)


def kept_files() -> list[Path]:
    """The traces that are kept, the latest first; also what is being recorded, and what killed processes left."""
    folder = next((folder for folder in _folders() if folder.is_dir()), None)
    found: dict[Path, float] = {}
    for path in folder.glob(f"*{SUFFIX}") if folder else ():
        with suppress(OSError):  # it was removed in the meantime
            found[path] = path.stat().st_mtime
    return sorted(found, key=found.__getitem__, reverse=True)


def _folders() -> Iterator[Path]:
    """The user's cache folder; where that cannot be written to, the one of temporary files."""
    yield from (_cache_folder(), Path(tempfile.gettempdir()))


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".cache") / "dispatchviz"
