"""The names of files in traces: those of this package, and those of the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


_folder = ContextVar("_folder", default="")


@contextmanager
def seen_from(folder: str) -> Iterator[None]:
    """Name files in the block as if this were the working directory."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


@cache
def shown_file(file: str) -> str:
    """A file's name as traces write it: relative to the working directory if it is below that."""
    folder = _folder.get() or os.getcwd()
    path = os.path.normpath(os.path.join(folder, file))
    below = os.path.relpath(path, folder) if path.startswith(folder + os.sep) else path
    return below.replace(os.sep, "/")


@cache
def shown_source(file: str) -> str:
    """The name of a file that may be one of this package; then it is relative to the package."""
    path = os.path.abspath(file)
    if path.startswith(_PACKAGE + os.sep):
        return os.path.relpath(path, _PACKAGE).replace(os.sep, "/")
    return file if file.startswith("<") else shown_file(file)
