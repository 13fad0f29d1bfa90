"""The dispatch table entry that the call at a step selected, its reason, and the other candidates."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.events import KernelSelected
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.cell_card import Candidate, CellCard, cell_card
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.line_fitting import columns
from dispatchviz.views.text.styled_line import Line, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the card, or the step at which there is one."""
    card = cell_card(trace, at)
    if card is None:
        return [not_yet(trace, at, KernelSelected, "No table entry here: this step is outside any dispatch")]
    return _card(card, width)


def _card(card: CellCard, width: int) -> list[Line]:
    registered = f", {card.registered}" if card.registered else ""
    return [
        _fact("key", card.key, f"  entry {card.index} of {card.cells} in the table of {card.operator}", "winner"),
        _fact("kernel", card.kernel or "none", "", "bold" if card.kernel else "error"),
        _fact("reason", card.reason, f"  registered to {card.source}{registered}" if card.source else "", "good"),
        *_candidates(card.candidates, width),
        line(""),
        line((card.why, "")),
    ]


def _fact(name: str, value: str, rest: str, role: str) -> Line:
    return line((f"{name:<8}", "dim"), (value, role), (rest, "dim"), key=name, value=value, indent=8)


def _candidates(candidates: tuple[Candidate, ...], width: int) -> list[Line]:
    """The candidates in order of precedence, in columns if they fit. The one that fills the entry has a sign."""
    if not candidates:
        return []
    head = line(("Where a kernel can come from, highest precedence first:", "dim"))
    table = [(candidate.source, candidate.outcome, candidate.kernel) for candidate in candidates]
    aligned = [_candidate(candidate, cells) for candidate, cells in zip(candidates, columns(table), strict=True)]
    if max(row.width for row in aligned) <= width:
        return [head, *aligned]
    return [head, *(_candidate(candidate, cells) for candidate, cells in zip(candidates, table, strict=True))]


def _candidate(candidate: Candidate, cells: Sequence[str]) -> Line:
    role = "winner" if candidate.taken else "" if candidate.reached else "dark"
    mark = "▶ " if candidate.taken else "· "
    return line((mark, "focus" if candidate.taken else "dim"), ("  ".join(cells).rstrip(), role), indent=4)
