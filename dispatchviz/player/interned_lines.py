"""Lines of the stepper's panes as data: every text, span and line once, by its number."""

from __future__ import annotations

from collections.abc import Iterable

from dispatchviz.player.tracks import differences
from dispatchviz.tui.text.long_text import cut_row
from dispatchviz.tui.text.styled_line import Line, Span

HERE, CUT, SHADED = 1, 2, 4
"""Flags of a line."""


class Lines:
    """The table of the lines of one page; number 0 is the empty text, and the empty line."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {"": 0}
        self._roles: dict[str, int] = {"": 0}
        self._spans: dict[Span, int] = {}
        self._span_texts: list[int] = []
        self._span_roles: list[int] = []
        self._lines: dict[Line, int] = {Line(): 0}
        self._line_spans: list[int] = []
        self._columns: tuple[list[int], ...] = tuple([0] for _ in COLUMNS)

    def text(self, text: str) -> int:
        """The number of a text."""
        return self._texts.setdefault(text, len(self._texts))

    def span(self, text: str, role: str = "") -> int:
        """The number of a text in a role."""
        known = self._spans.get((text, role))
        if known is None:
            known = self._spans[text, role] = len(self._spans)
            self._span_texts.append(self.text(text))
            self._span_roles.append(self._roles.setdefault(role, len(self._roles)))
        return known

    def number(self, row: Line) -> int:
        """The number of a line."""
        known = self._lines.get(row)
        if known is None:
            known = self._lines[row] = len(self._lines)
            self._add(cut_row(row))
        return known

    def numbers(self, rows: Iterable[Line]) -> tuple[int, ...]:
        """The numbers of some lines."""
        return tuple(map(self.number, rows))

    def _add(self, row: Line) -> None:
        self._line_spans += [self.span(*span) for span in row.spans]
        goto = 0 if row.goto is None else row.goto + 1
        flags = HERE * row.here + CUT * row.cut + SHADED * row.shaded
        facts = (len(row.spans), self.text(row.key), self.text(row.value), goto, row.indent, flags)
        for column, fact in zip(self._columns, facts, strict=True):
            column.append(fact)

    def data(self) -> dict[str, object]:
        """The table as it stands in the file: in columns, most numbers as differences from the one before."""
        return {
            "roles": list(self._roles),
            "texts": list(self._texts),
            "span_texts": differences(self._span_texts),
            "span_roles": self._span_roles,
            "line_spans": differences(self._line_spans),
            **{name: differences(column) for name, column in zip(COLUMNS, self._columns, strict=True)},
        }


COLUMNS = ("counts", "line_keys", "values", "gotos", "indents", "flags")
"""Of each line: its spans, its key and value, one more than the step that it leads to, its indent, flags."""
