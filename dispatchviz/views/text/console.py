"""Text for a terminal without a screen: wrapped to its width, and colored only if a person sees the colors.

Every state has a sign in addition to its color. Elsewhere: the texts themselves (``explain``), the characters that a
terminal may receive (``shown_text.py``).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator

from dispatchviz.foundation.shown_text import shown, shown_lines
from dispatchviz.foundation.terminal_output import print_lines, print_painted

STYLES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
"""The codes of the styles, by name."""

WIDEST = 120
"""The maximum width of sentences."""

CODES = re.compile(r"(\x1b\[[0-9;]+m)")
"""The pattern of the codes that begin and end a style."""


class Console:
    """The output for which text is laid out: its width, and whether it shows colors."""

    def __init__(self, width: int, colors: bool) -> None:
        self.width = width
        self.colors = colors

    def styled(self, text: str, *styles: str) -> str:
        """The text in a style, or unchanged without colors."""
        if not self.colors or not styles or not text:
            return text
        return f"\x1b[{';'.join(STYLES[style] for style in styles)}m{shown(text)}\x1b[0m"

    def heading(self, text: str) -> str:
        """The heading of a part."""
        return self.styled(text, "bold")

    def wrapped(self, text: str, indent: int = 2, hanging: int | None = None) -> list[str]:
        """A sentence as lines of this width; ``hanging`` indents those after the first."""
        later = indent if hanging is None else hanging
        return textwrap.wrap(
            shown_lines(text),
            self.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * later,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def columns(self, rows: Iterable[tuple[str, str]], indent: int = 2, widest: int = 40) -> Iterator[str]:
        """Yield two columns, with the second one wrapped. A left text that is too wide gets its own line."""
        rows = list(rows)
        left = max((len(first) for first, _ in rows if len(first) <= widest), default=0)
        for first, second in rows:
            yield from self._row(" " * indent + first, second, indent + left + 2)

    def print(self, lines: Iterable[str]) -> None:
        """Print lines on standard output. With colors, the codes of ``styled`` are sent unchanged."""
        if self.colors:
            print_painted(map(CODES.split, lines))
        else:
            print_lines(lines)

    def _row(self, first: str, second: str, column: int) -> Iterator[str]:
        if not second:
            yield first
            return
        lines = self.wrapped(second, column)
        if len(first) + 2 <= column:
            yield first.ljust(column) + lines[0].lstrip()
        else:
            yield from (first, lines[0])
        yield from lines[1:]


def terminal() -> Console:
    """The console for standard output: the terminal's width, and whether it shows colors."""
    return Console(max(40, min(shutil.get_terminal_size((100, 24)).columns, WIDEST)), shows_colors())


def shows_colors() -> bool:
    """Return whether standard output gets colors. NO_COLOR decides first, then FORCE_COLOR, each if it is set and not
    empty, for any kind of output. Otherwise a terminal that is not dumb gets colors. Python's own output follows the
    same order.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def painted(*parts: tuple[str, tuple[str, ...]]) -> list[str]:
    """Paint texts in styles for ``print_painted``. Every second part is one of our codes."""
    found = [""]
    for text, styles in parts:
        if not styles:
            found[-1] += text
        elif text:
            found += [f"\x1b[{';'.join(STYLES[style] for style in styles)}m", text, "\x1b[0m", ""]
    return found
