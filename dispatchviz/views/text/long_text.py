"""Text of any length cut to what somebody may read, before it is coloured, measured and wrapped at each key."""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.views.text.styled_line import Line, Span

LONGEST = 2_000
"""Characters of one row: more than the largest pane shows."""


def cut_text(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text, and how much follows."""
    return text if len(text) <= longest else f"{text[:longest]}{_more(len(text) - longest)}"


def cut_row(row: Line, longest: int = LONGEST) -> Line:
    """The same of a row of spans."""
    missing = sum(len(text) for text, _ in row.spans) - longest
    if missing <= 0:
        return row
    spans, left = list[Span](), longest
    for text, role in row.spans:
        spans.append((text[:left], role))
        left -= len(text)
        if left <= 0:
            break
    return replace(row, spans=(*spans, (_more(missing), "dim")))


def _more(number: int) -> str:
    return f"… ({number:,} more characters)"
