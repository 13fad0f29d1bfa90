"""Prose with code in backticks, as the parts of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.views.text.styled_line import Span

_CODE = re.compile(r"(`[^`]+`)")


def prose_spans(text: str, role: str = "") -> Iterator[Span]:
    """Color code and remove its backticks. ``role`` is that of the other text."""
    for part in _CODE.split(text):
        yield (part[1:-1], "keycap") if part.startswith("`") and len(part) > 1 else (part, role)


def without_backticks(text: str) -> str:
    """Return the text with plain code, for places without colors."""
    return "".join(part for part, _ in prose_spans(text))
