"""Styled text of the stepper: a line is spans of plain text, each with the name of its role.

All text on the screen goes through ``line``. There is no markup language in it, so text of a program or a library
(``f[N]``, ``[/]``) can neither vanish nor raise; what would command the terminal is shown (``shown_text.py``).

Not here: what color a role has (``palette.py``), how a line is brought to a width (``line_fitting.py``), which lines
there are (``panes``, ``bars``).
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len

from dispatchviz.explain.things.thing import Thing
from dispatchviz.foundation.shown_text import shown

Span = tuple[str, str]
"""Text and the name of its role; an empty role is normal text."""

PATH = "path"
"""The role of a path that ends a row."""


class Line(Struct, frozen=True, gc=False):
    """One row of a pane."""

    spans: tuple[Span, ...] = ()
    key: str = ""
    """What the row is about. The same key with other text is a change, a key that was not there is new; rows without
    a key are never marked."""
    value: str = ""
    """The value that the row shows; a change shows what it was before."""
    goto: int | None = None
    """The step that a click leads to."""
    indent: int = 0
    """Cells by which the rows after the first are indented if it is wrapped."""
    here: bool = False
    """The row that must be in view."""
    cut: bool = False
    """Where it does not fit it is cut, not wrapped."""
    shaded: bool = False
    """It has a background of its own."""
    about: Thing | None = None
    """What the row is about, which can be asked."""

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.spans)

    @property
    def width(self) -> int:
        return _width(self.spans)


@lru_cache(maxsize=8192)
def _width(spans: tuple[Span, ...]) -> int:
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in spans)


def line(
    *parts: str | Span,
    key: str = "",
    value: str = "",
    goto: int | None = None,
    indent: int = 0,
    here: bool = False,
    cut: bool = False,
    shaded: bool = False,
    about: Thing | None = None,
) -> Line:
    """A row made of plain strings and (string, role) pairs."""
    return Line(_spans(parts), key, shown(value) if value else "", goto, indent, here, cut, shaded, about)


@lru_cache(maxsize=8192)
def _spans(parts: tuple[str | Span, ...]) -> tuple[Span, ...]:
    """Few rows of a step are others than at the step before."""
    spans = ((part, "") if isinstance(part, str) else part for part in parts)
    return tuple((shown(text), role) for text, role in spans if text)
