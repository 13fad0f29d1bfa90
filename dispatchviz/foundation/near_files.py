"""Files whose names are close to that of a file that is not there."""

from __future__ import annotations

import os

CLOSE = 0.75
"""How alike names are, from 0 to 1, of which one may be a misspelling of the other."""


def near_file(path: str) -> str:
    """The end of an error: a file beside it that was probably meant; empty if there is none."""
    import difflib

    folder, name = os.path.split(path)
    try:
        names = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except OSError:
        return ""
    alike = [each for each in names if os.path.splitext(each)[1] == os.path.splitext(name)[1]]
    without_suffix = [each for each in names if os.path.splitext(each)[0] == name]
    close = difflib.get_close_matches(name, alike, 1, CLOSE) or without_suffix
    return f"; did you mean {os.path.join(folder, close[0])}?" if close else ""
