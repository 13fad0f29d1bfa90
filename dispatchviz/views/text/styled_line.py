"""The styled text of the stepper. A line consists of spans of plain text, each with the name of its role.

All text on the screen goes through ``line``. It has no markup language, so text from a program or a library (``f[N]``,
``[/]``) can neither vanish nor raise an error. Characters that would control the terminal are made visible
(``shown_text.py``).

Elsewhere: the color of a role (``palette.py``), fitting a line to a width (``line_fitting.py``), the lines themselves
(``panes``, ``bars``).
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len

from dispatchviz.explain.things.thing import Thing
from dispatchviz.foundation.shown_text import shown

Span = tuple[str, str]
"""A text and the name of its role; an empty role is normal text."""

PATH = "path"
"""The role of a path that ends a row."""


class Line(Struct, frozen=True, gc=False):
    """One row of a pane."""

    spans: tuple[Span, ...] = ()
    key: str = ""
    """The subject of the row. The same key with another text is a change, and an unknown key is new. Rows without a key
    are never marked.
    """
    value: str = ""
    """The value that the row shows; a change shows what it was before."""
    goto: int | None = None
    """The step that a click leads to."""
    indent: int = 0
    """The indentation of the lines after the first if the row is wrapped, in cells."""
    here: bool = False
    """True if the row must be in view."""
    cut: bool = False
    """True if the row is cut instead of wrapped when it does not fit."""
    shaded: bool = False
    """True if the row has its own background."""
    about: Thing | None = None
    """The thing that the reader can ask about in this row."""

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.spans)

    @property
    def width(self) -> int:
        return _width(self.spans)


@lru_cache(maxsize=8192)
def _width(spans: tuple[Span, ...]) -> int:
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in spans)


def of_spans(spans: tuple[Span, ...]) -> Line:
    """Return a row of the spans of other rows, whose text was made by ``line``."""
    return Line(spans)


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
    """Create a row from plain strings and (string, role) pairs."""
    return Line(_spans(parts), key, shown(value) if value else "", goto, indent, here, cut, shaded, about)


@lru_cache(maxsize=8192)
def _spans(parts: tuple[str | Span, ...]) -> tuple[Span, ...]:
    """Convert the parts to spans. The result is cached, because few rows change between steps."""
    spans = ((part, "") if isinstance(part, str) else part for part in parts)
    return tuple((shown(text), role) for text, role in spans if text)
