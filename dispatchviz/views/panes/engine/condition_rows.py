"""Conditions as a list: what holds, what decided, what was not asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.explain.graph.engine.buffer_conditions import Condition
from dispatchviz.views.text.styled_line import Line, line

SIGNS = {True: ("✓", ""), False: ("✗", "removed"), None: ("–", "dim")}


def condition_rows(conditions: Iterable[Condition], indent: int) -> Iterator[Line]:
    """A row for each."""
    for term in conditions:
        sign, role = SIGNS[term.holds]
        means = term.means if term.holds is not None else "not asked any more"
        means = f"not so: {means}" if term.holds is False else means
        decides = ("  ← decides", "focus") if term.decides else ("", "")
        yield line(" " * indent, (f"{sign} ", role), (term.asked, "name"), decides, (f"  {means}", "dim"),
                   indent=indent + 2)  # fmt: skip
