"""A summary of a program in one line, and the first step to look at."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import statements, why_here
from dispatchviz.explain.outline.facts import made_nodes, node_text
from dispatchviz.explain.trace_index.call_chains import outermost_calls
from dispatchviz.explain.trace_index.enclosing_steps import arguments, around, source_line
from dispatchviz.explain.trace_index.lookups import created_nodes


def counts(trace: Trace) -> str:
    """Return the counts of a trace: ``7 lines · 6 operator calls · 3 Nodes · 1 backward``."""
    columns = trace.columns
    lines = {(place.file, place.line) for place in columns.line_places}
    nodes = sum(1 for _ in created_nodes(trace, 0, len(trace) - 1))
    runs = len(trace.steps_of(ev.BackwardStarted))
    parts = [
        _counted(len(lines), "line", "lines"),
        _counted(len(outermost_calls(trace)), "operator call", "operator calls"),
        _counted(nodes, "Node", "Nodes"),
        _counted(runs, "backward", "backwards"),
        _counted(len(trace.steps_of(ev.Warned)), "warning", "warnings"),
    ]
    return " · ".join(part for part in parts if part)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}" if number else ""


class FirstNode(NamedTuple):
    """The first Node that was made, and its cause: the highest key of the call or, without a call, its maker."""

    step: int
    text: str


def first_node(trace: Trace) -> FirstNode | None:
    """Return the first Node of a trace, or None if there is none. A Function's Node is made in Python, outside operator
    calls.
    """
    node = next(made_nodes(trace, 0, len(trace) - 1), None)
    if node is None:
        return None
    call = around(trace, node, ev.Dispatched)
    computed = None if call is None else arguments(trace, call.seq)
    at = node if call is None else call.seq
    line = source_line(trace, at)
    where = f"Line {line.line}" if line is not None else f"Step {at}"
    made = f"{where} creates the first Node, {node_text(trace, node)}."
    why = why_here(trace, computed.seq) if computed is not None else statements(trace, node)[0].text
    return FirstNode(node, f"{made} {why}")
