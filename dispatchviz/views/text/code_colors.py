"""Python text in colors, by Pygments, which is only loaded once the first screen has been painted."""

from __future__ import annotations

import functools
import sys

from dispatchviz.foundation.shown_text import shown
from dispatchviz.views.text import code_tokens
from dispatchviz.views.text.styled_line import Span


def load() -> None:
    """Load Pygments; until then text has no colors."""
    import pygments.lexers.python  # type: ignore[import-untyped]  # noqa: F401


def highlighted(lines: tuple[str, ...]) -> list[tuple[Span, ...]]:
    """The spans of each line."""
    rows = _laid_out(lines)
    if "pygments.lexers.python" not in sys.modules:
        return [((text, ""),) for text in rows]
    return code_tokens.highlighted(rows)


@functools.lru_cache(maxsize=128)
def _laid_out(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Tabs as blanks; what else is no text is shown before Pygments can take it for the end of a line."""
    return tuple(shown(text.expandtabs(TAB)) for text in lines)


TAB = 4
"""Columns from one stop of the tabulator to the next."""
