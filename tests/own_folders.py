"""A check that a test, or a process that it starts, writes nothing into the folder of the project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]

CACHES = ("__pycache__", "build", "dist", "dispatchviz.egg-info")
"""Folders that git ignores there, besides hidden ones."""


@contextmanager
def left_as_it_is(folder: Path = ROOT) -> Iterator[None]:
    """Raise AssertionError after the block if entries of the folder were added, removed or changed meanwhile.

    Only the folder itself is checked, because a program with a relative file name writes there.
    """
    before = _entries(folder)
    yield
    changed = {name for name, _ in before ^ _entries(folder)}
    assert not changed, f"written into {folder}, which is not the test's own folder: {', '.join(sorted(changed))}"


def _entries(folder: Path) -> set[tuple[str, int]]:
    """Return name and modification time of each file, and the names of folders."""
    with os.scandir(folder) as entries:
        return {
            (entry.name, 0 if entry.is_dir() else entry.stat().st_mtime_ns)
            for entry in entries
            if not entry.name.startswith(".") and entry.name not in CACHES
        }
