"""The name of a trace file that is being written, ``run.part-4242.dvtrace``. It contains the number of the process that
writes it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path


def unfinished_name(stem: str, suffix: str, process: int, attempt: int = 1) -> str:
    """The name of the file that a process writes beside ``stem + suffix``. ``attempt`` distinguishes it from names that
    are taken.
    """
    again = "" if attempt == 1 else f"-{attempt}"
    return f"{stem}.part-{process}{again}{suffix}"


def unfinished_files(folder: Path, stem: str = "*", suffix: str = "") -> list[Path]:
    """The unfinished files in a folder, by name."""
    return sorted(folder.glob(f"{stem}.part-*{suffix}")) if folder.is_dir() else []


def is_being_written(path: str | Path) -> bool:
    """Return whether a file has the name of an unfinished one and the process that writes it is running."""
    process = re.search(r"\.part-(\d{1,9})(?:-\d+)?\.", os.path.basename(path))
    return process is not None and runs(int(process[1]))


def runs(process: int) -> bool:
    """Return whether a process with this number is running."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
