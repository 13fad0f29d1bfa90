"""Python code in colors, by Pygments, which is loaded only after the first screen has been painted."""

from __future__ import annotations

import functools
import sys

from dispatchviz.foundation.shown_text import shown
from dispatchviz.views.text import code_tokens
from dispatchviz.views.text.styled_line import Span


def load() -> None:
    """Load Pygments. Until then, text has no colors."""
    import pygments.lexers.python  # type: ignore[import-untyped]  # noqa: F401


def highlighted(lines: tuple[str, ...]) -> list[tuple[Span, ...]]:
    """The spans of each line."""
    rows = _laid_out(lines)
    if "pygments.lexers.python" not in sys.modules:
        return [((text, ""),) for text in rows]
    return code_tokens.highlighted(rows)


@functools.lru_cache(maxsize=128)
def _laid_out(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Replace tabs by blanks and show other control characters, before Pygments can take them for line ends."""
    return tuple(shown(text.expandtabs(TAB)) for text in lines)


TAB = 4
"""The number of columns between tab stops."""
