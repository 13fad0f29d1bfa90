"""Python text in colours, by Pygments, which is only loaded once the first screen has been painted."""

from __future__ import annotations

import sys

from dispatchviz.render import code_tokens
from dispatchviz.tui.text.styled_line import Span


def load() -> None:
    """Loads Pygments; until then text has no colours."""
    import pygments.lexers.python  # type: ignore[import-untyped]  # noqa: F401


def highlighted(lines: tuple[str, ...]) -> list[tuple[Span, ...]]:
    """The spans of each line."""
    if "pygments.lexers.python" not in sys.modules:
        return [((text, ""),) for text in lines]
    return code_tokens.highlighted(lines)
