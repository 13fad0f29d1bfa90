"""The changes of a pane between steps: its rows, with signs where they differ from the previous ones."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from dispatchviz.views.text.styled_line import Line, Span

GUTTER = 2
"""The cells left of the text, for the sign of a change."""


def marked(now: Iterable[Line], before: Iterable[Line]) -> list[Line]:
    """The rows behind a gutter. A new row gets ``+`` and bold text. A changed row gets ``~``, bold text and its former
    value.

    If all rows are new, none gets a sign, since it would be on every row.
    """
    rows, old = list(now), {row.key: row for row in before if row.key}
    if not any(row.key in old for row in rows):
        return [_marked(row, row) for row in rows]
    return [_marked(row, old.get(row.key)) for row in rows]


def _marked(row: Line, was: Line | None) -> Line:
    if not row.key or (was and _text(was) == _text(row)):
        spans = (("  ", ""), *row.spans)
    elif was is None:
        spans = (("+ ", "new"), *_loud(row))
    else:
        spans = (("~ ", "new"), *_loud(row, f" (was {was.value})" if row.value and was.value != row.value else ""))
    return replace(row, spans=spans, indent=row.indent + GUTTER)


def _text(row: Line) -> str:
    """The text of a row without the sign of the current row."""
    return row.plain.replace("▶", " ")


def _loud(row: Line, former: str = "") -> tuple[Span, ...]:
    """The spans in bold, with the former value right after the value."""
    spans = [(text, f"new:{role}") for text, role in row.spans]
    at = next((at for at, (text, _) in enumerate(spans, 1) if text == row.value), len(spans))
    return (*spans[:at], (former, "was"), *spans[at:])
