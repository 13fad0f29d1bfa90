"""The names of files in traces: those of this package, and those of the program."""

from __future__ import annotations

import os
from functools import cache

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@cache
def shown_file(file: str) -> str:
    """A file's name as traces write it: relative to the working directory if it is below that."""
    path = os.path.abspath(file)
    below = os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    return below.replace(os.sep, "/")


@cache
def shown_source(file: str) -> str:
    """The name of a file that may be one of this package; then it is relative to the package."""
    path = os.path.abspath(file)
    if path.startswith(_PACKAGE + os.sep):
        return os.path.relpath(path, _PACKAGE).replace(os.sep, "/")
    return file if file.startswith("<") else shown_file(file)
