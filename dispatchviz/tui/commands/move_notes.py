"""The notes on moves: the start of a jump, why a move did nothing or only reached the end, and the number of a search
hit.
"""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.step_search import Search
from dispatchviz.views.cursor.typed_text import repeated
from dispatchviz.views.cursor.unknown_names import unknown_name
from dispatchviz.views.keymap import key_of
from dispatchviz.views.text.styled_line import Line, line

BACKWARD = ("up", "fold")
"""The names of backward moves that do not end in ``back``."""

UNMOVED = {
    "caller": " No call encloses this step",
    "callee": " No inner call to return to",
    "undo": " No jump to undo",
    "redo": " No jump to redo",
}
"""The notes on jumps that did nothing for another reason than the end of the trace."""


def went_nowhere(cursor: Cursor, how: str) -> Line:
    """The note on why a key did nothing."""
    if how in UNMOVED:
        return line((UNMOVED[how], "hint"))
    at, last = cursor.at, cursor.last_step
    if cursor.tree is not None:
        return line((f" No row {'before' if how.endswith('back') or how in BACKWARD else 'after'} this one", "hint"))
    if at not in (0, last):
        return line((f" The filter shows no {'earlier' if how.endswith('back') else 'later'} step", "hint"))
    return line((f" This is the {'first' if at == 0 else 'last'} step", "hint"))


def no_stop(cursor: Cursor, forward: bool) -> Line:
    """The note on a move that found no stop and went to the end."""
    stops = "breakpoint, mark or error" if cursor.breakpoints else "line, mark or error"
    end = f"{'last' if forward else 'first'} step{' that the filter shows' if cursor.filter_text else ''}"
    return line((f" No more {stops} {'after' if forward else 'before'} that. This is the {end}", "hint"))


def jumped(before: Cursor, after: Cursor) -> Line:
    """The note on a jump."""
    hidden = ", which the filter hides" if after.hidden and after.tree is None else ""
    return line((f" From step {before.at} to step {after.at}{hidden}", "hint"), *returns().spans)


def returns() -> Line:
    """The text with the key that goes back."""
    back = key_of("jump('undo')").first
    return line((f"  {back} returns", "dim"))


def nothing_has(trace: Trace, query: str, hidden: bool = False) -> str:
    """The message that no step matches a query, with the reason if a name is unknown. ``hidden`` is True if the steps
    after the next question were not searched.
    """
    if hidden:
        return f"No step before the next question matches {repeated(query)}"
    unknown = unknown_name(trace, query)
    return f"No step matches {repeated(query)}{f': {unknown}' if unknown else ''}"


def hit_note(search: Search, cursor: Cursor, more: str = "") -> Line:
    """The note on the number of this hit and of all hits. A search also finds steps that the filter hides."""
    number, count = search.position(cursor.at)
    is_hit = search.matches(cursor.at)
    if not search.query.strip():
        return line()
    hits = f"{count} {'hit' if count == 1 else 'hits'}"
    if not search.complete:
        missing = (
            f"No label matches {repeated(search.query)}, so sentences are searched"
            if search.in_sentences
            else (f"No match for {repeated(search.query)} yet")
        )
        found = f"{hits} so far" if count else missing
        text = f" {found}, {search.percent} % searched"
    elif not count:
        return line((f" {nothing_has(cursor.trace, search.query, search.is_limited)}", "warning"))
    else:
        text = f" Hit {number} of {count}" if is_hit else f" {hits}"
    deep = "found in its sentence; no label matches" if search.in_sentences and is_hit else ""
    hidden = "the filter hides this step" if cursor.hidden and cursor.tree is None and is_hit else ""
    return line((text, "hint"), (f"  {'  '.join(filter(None, (deep, hidden, more)))}", "dim"))
