"""Checks of whether the terminal supports the stepper. This module does not import Textual, so plain output stays
fast.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING

from dispatchviz.views.layout.pane_layout import SMALLEST

if TYPE_CHECKING:
    from textual.driver import Driver


def can_run() -> str | None:
    """Return the reason why the stepper cannot open here; None if it can."""
    streams = {"input": sys.__stdin__, "output": sys.__stdout__, "error": sys.__stderr__}
    missing = [name for name, stream in streams.items() if not (stream and not stream.closed and stream.isatty())]
    if missing:  # Textual draws on standard error, so it must be a terminal too
        return "this is not a terminal" if len(missing) == 3 else f"standard {missing[0]} is not a terminal"
    term = os.environ.get("TERM", "")
    if term in ("dumb", "") and sys.platform != "win32":
        return f"the terminal cannot move its cursor (TERM={term})"
    (width, height), (least_width, least_height) = shutil.get_terminal_size(), SMALLEST
    if width < least_width or height < least_height:
        return f"the terminal is {width}x{height}, and the stepper needs at least {least_width}x{least_height}"
    return None


def driver() -> type[Driver] | None:
    """Return the driver class for the terminal; None for Textual's own choice."""
    if sys.platform == "win32":
        return None
    from dispatchviz.tui.terminal.driver import TerminalDriver

    return TerminalDriver


def is_there() -> bool:
    """Return whether standard input is a terminal that is still open."""
    return bool(sys.__stdin__ and sys.__stdin__.isatty())


def end_if_gone() -> None:
    """End this process if its terminal is gone, since SIGHUP does not pass through a ``make``."""
    if not is_there():
        os.kill(os.getpid(), signal.SIGTERM)
