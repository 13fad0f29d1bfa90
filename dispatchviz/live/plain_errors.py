"""Corrections of the errors that PyTorch raises while it is watched.

When PyTorch finds no kernel, its error lists the registered kernels, and ours would be among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dispatchviz.core.seam.outside_errors import own_errors_suppressed
from dispatchviz.live.registration import OUR_FILE, UNKNOWN_FILE
from dispatchviz.live.watched_parts import GATE

if TYPE_CHECKING:
    from dispatchviz.live.watched_cells import WatchedCells

_OPERATOR = re.compile(r"Could not run '([^']+)'|registered for schema (\S+)\.  ")
_FILES = "|".join(map(re.escape, (OUR_FILE, UNKNOWN_FILE)))
"""The file where our kernels are registered, and the text that releases print that do not report the place of Python's
kernels.
"""
_OURS = re.compile(rf"(?m)^(\w+): registered at (?:{_FILES}):0 \[kernel\]$")
_GATE_ROW = re.compile(rf"(?m)^{GATE}: .*\n")
"""The row of the key that a thread includes while a part of the program is recorded."""
_ROW = re.compile(r"(?m)^(\w+): .*$")

TOO_DEEP = "Python error details: RecursionError: "
"""The text of ``call_boxed`` in a RuntimeError if the stack ends while it converts an argument."""


def as_in_pytorch(error: BaseException, cells: WatchedCells) -> None:
    """Give an error the text that it has without a recorder. Raise RecursionError for one that ``call_boxed`` hid."""
    if type(error) is NotImplementedError:
        plainly(error, cells)
    elif type(error) is RuntimeError and TOO_DEEP in str(error):
        raise RecursionError(str(error).partition(TOO_DEEP)[2]) from None


def plainly(error: NotImplementedError, cells: WatchedCells) -> None:
    """Remove our kernels from the text of an error."""
    text = error.args[0] if error.args else None
    if not isinstance(text, str):
        return
    if GATE in text:
        text = _GATE_ROW.sub("", text.replace(f", {GATE}", ""))
        error.args = (text, *error.args[1:])
    if not _OURS.search(text):
        return
    operator = _OPERATOR.search(text)
    if operator is not None:
        with own_errors_suppressed(RuntimeError):
            rows = {row[1]: row[0] for row in _ROW.finditer(cells.table(operator[1] or operator[2]))}
            error.args = (_with_rows(text, rows), *error.args[1:])


def _with_rows(text: str, rows: Mapping[str, str]) -> str:
    """Return a text with PyTorch's rows instead of ours. Keys without a row of PyTorch's leave its list of keys."""
    for key in {ours[1] for ours in _OURS.finditer(text)}.difference(rows):
        text = re.sub(rf"(?m)\b{key}, |^{key}: .*\n", "", text)
    return _OURS.sub(lambda ours: rows[ours[1]], text)
