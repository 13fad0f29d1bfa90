"""The overview as data: rows of the user's lines, the events of each level, their texts, moves between places.

Items are ranges of steps that are nested or separate. So a page can build the tree of a level from their beginnings and
ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import group, label
from dispatchviz.explain.kinds.kind import SIGNS
from dispatchviz.explain.outline.call_facts import Fact
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.explain.outline.line_rows import RowKind
from dispatchviz.explain.outline.outline import MANY, Outline
from dispatchviz.explain.outline.row_texts import Texts, event_texts, heading, row_texts
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.pane_tracks import panes_of
from dispatchviz.outputs.page.tracks import differences
from dispatchviz.outputs.page.written_numbers import written
from dispatchviz.views.cursor.cursor import FRAMES
from dispatchviz.views.cursor.cursor_state import ERRORS
from dispatchviz.views.layout.needed_panes import order
from dispatchviz.views.text.styled_line import line

GAP = "   "
"""The separator of two facts in a row."""


def tree_data(trace: Trace, lines: Lines) -> dict[str, object]:
    """Return the tree at every level, and the data of each step."""
    outlines = [Outline(trace, level) for level in range(len(LEVELS))]
    whole = outlines[-1]
    return {
        "levels": [{"name": level.name, "help": level.help} for level in LEVELS],
        "signs": SIGNS,
        "steps": _steps(trace, lines, outlines),
        "rows": [_line_row(whole, row, lines) for row in range(len(whole.lines)) if whole.lines.shown[row]],
        "runs": [[_run(outline, first, lines) for first in outline.registrations] for outline in outlines],
        "kinds": _kinds(trace),
    }


def _steps(trace: Trace, lines: Lines, outlines: list[Outline]) -> dict[str, object]:
    """Return the data of each event: its kind, the first level that lists it, its end, its texts."""
    columns, whole = trace.columns, outlines[-1]
    levels = bytearray([len(LEVELS) - 1]) * len(trace)
    for level in reversed(range(len(LEVELS) - 1)):
        for step in outlines[level].steps:
            levels[step] = level
    labels, texts, facts = zip(*(_event(trace, whole, step, lines) for step in range(len(trace))), strict=True)
    return {
        "kinds": written(columns.kinds),
        "levels": written(levels),
        "lengths": written(end - step for step, end in enumerate(trace.ends)),
        "parents": written(step - parent for step, parent in enumerate(columns.parents)),
        "labels": written(differences(labels)),
        "texts": written(text - label for text, label in zip(texts, labels, strict=True)),
        "facts": written(facts),
    }


def _event(trace: Trace, outline: Outline, step: int, lines: Lines) -> tuple[int, int, int]:
    """Return the label of a step, the text of its row in the tree, and the facts in that row."""
    event = trace[step]
    name = label(trace, step)
    named = lines.span(shown(name), group(event))
    if outline.lines.at(step):
        return named, named, 0
    (text, role), facts = event_texts(trace, step, name)
    return named, lines.span(shown(text), role), _facts(facts, lines)


def _facts(facts: list[Fact], lines: Lines) -> int:
    return lines.number(line(*(span for fact in facts for span in (fact, (GAP, "")))))


def _line_row(outline: Outline, row: int, lines: Lines) -> list[int]:
    """Return the row of a line, an iteration or a call: kind, beginning, length, text, facts, the line's number."""
    begin, texts = outline.lines.begins[row], row_texts(outline, ~row)
    is_statement = outline.kind(~row) is RowKind.STATEMENT
    number = _line_number(outline.trace, begin) if is_statement else 0
    return [outline.lines.kinds[row], begin, outline.lines.ends[row] - begin, *_texts(texts, lines), number]


def _run(outline: Outline, first: int, lines: Lines) -> list[int]:
    """Return the row of consecutive registrations."""
    item = MANY + first
    texts = row_texts(outline, item)
    assert texts[0][0] == heading(outline, item)
    return [first, outline.end(item) - first, *_texts(texts, lines)]


def _texts(texts: Texts, lines: Lines) -> tuple[int, int]:
    (text, role), facts = texts
    return lines.span(shown(text), role), _facts(facts, lines)


def _line_number(trace: Trace, step: int) -> int:
    event = trace[step]
    return event.line if isinstance(event, ev.SourceLine) else 0


def _kinds(trace: Trace) -> dict[int, dict[str, object]]:
    """Return the data of each kind of event: the group of its sign, its panes, whether it is a call or an error."""
    panes = panes_of(trace)
    return {code: _kind(trace[steps[0]], panes) for code, steps in trace.columns.of_kind.items() if len(steps)}


def _kind(event: ev.AnyEvent, panes: Sequence[int]) -> dict[str, object]:
    return {
        "name": type(event).__name__,
        "group": group(event),
        "panes": [pane for pane in order(event) if pane in panes],
        "frame": isinstance(event, FRAMES),
        "error": isinstance(event, ERRORS),
    }
