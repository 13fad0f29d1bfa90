"""The log on standard output: in colors in a terminal, and through a pager if it is longer than the screen.

Each color accompanies a sign. Not here: the log's text (``text_log.py``) and the output itself
(``terminal_output.py``).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import SIGNS
from dispatchviz.foundation.terminal_output import print_lines, print_paged, print_painted
from dispatchviz.outputs.log.log_filter import ALL_STEPS, LogFilter
from dispatchviz.outputs.log.text_log import WIDTH, LogRow, log_rows, text_log
from dispatchviz.views.text.console import painted, shows_colors

Styles = tuple[str, ...]

LOOKS: dict[str, tuple[Styles, Styles]] = {
    "program": (("bold",), ("bold",)),
    "binding": (("blue",), ()),
    "dispatch": (("cyan",), ()),
    "thread": (("yellow",), ()),
    "structured": (("dim",), ()),
    "tensor": (("green",), ()),
    "forward": (("green",), ()),
    "engine": (("magenta",), ()),
    "registration": (("blue",), ()),
    "error": (("red", "bold"), ("red", "bold")),
    "unknown": (("dim",), ("dim",)),
}
"""For each group, the styles of its sign and of its text."""

_BY_SIGN = {sign: LOOKS[group] for group, sign in SIGNS.items()}

DIM: Styles = ("dim",)


def print_log(trace: Trace, begin: int = 0, wanted: LogFilter = ALL_STEPS, pager: bool = True) -> None:
    """Print the log of the chosen steps, starting at a step. Raise DispatchvizError if there are no such steps."""
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    if not shows_colors():
        print_plain(text_log(trace, begin, wanted, width), pager)
    else:
        rows = map(painted_row, log_rows(trace, begin, wanted, width))
        (print_paged if is_paged(pager) else print_painted)(rows)


def print_plain(lines: Iterable[str], pager: bool) -> None:
    """Print lines without colors, through a pager if one is wanted and there is a terminal."""
    if is_paged(pager):
        print_paged([line] for line in lines)
    else:
        print_lines(lines)


def is_paged(pager: bool) -> bool:
    """Return whether a pager is wanted, and there is a terminal for it."""
    return pager and sys.stdout is not None and sys.stdout.isatty()


def painted_row(row: LogRow) -> list[str]:
    """Return a row of the log in its colors, for ``print_painted``."""
    if row.is_reason:
        return painted((row.text, DIM))
    sign, text = _BY_SIGN.get(row.sign, ((), ()))
    return painted((row.margin, DIM), (row.sign, sign), (row.text, text))
