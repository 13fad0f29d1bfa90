"""The folders for traces that are kept without ``--save``, and the files in them.

This module is light to import: the home screen lists these traces before anything can run.
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
"""A day in seconds. Parts of a killed recording stay in the cache folder that long."""


def places(program: str) -> Iterator[Path]:
    """Yield the paths where the trace of a program may be kept; it replaces the last one of that program."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            _remove_parts(folder)
            yield folder / (Path(program).stem.strip("<>") + SUFFIX)


def ranks_folder(program: str) -> Path:
    """Return the folder where the traces of all processes of a program are kept, which replaces that of the last
    run.
    """
    return next(iter(_folders())) / (Path(program).stem.strip("<>") + ".ranks")


def _remove_parts(folder: Path) -> None:
    """Remove the parts of recordings that were killed more than a day ago."""
    for part in unfinished_files(folder, suffix=SUFFIX):
        if time.time() - part.stat().st_mtime > DAY and not is_being_written(part):
            part.unlink(missing_ok=True)


def kept_files() -> list[Path]:
    """Return the kept traces, the latest first, with recordings in progress and the parts of killed ones."""
    folder = next((folder for folder in _folders() if folder.is_dir()), None)
    found: dict[Path, float] = {}
    for path in folder.glob(f"*{SUFFIX}") if folder else ():
        with suppress(OSError):  # it was removed in the meantime
            found[path] = path.stat().st_mtime
    return sorted(found, key=found.__getitem__, reverse=True)


def _folders() -> Iterator[Path]:
    """Yield the user's cache folder, then the folder of temporary files in case the first cannot be written to."""
    yield from (_cache_folder(), Path(tempfile.gettempdir()))


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".cache") / "dispatchviz"
