"""In-place writes to a part of a tensor: CopySlices is its Node from then on."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note, first_run, note
from dispatchviz.explain.diagnosis.words import base_name, last_name, on_line
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.trace_index import index

OVERWRITES = frozenset(("copy_", "fill_", "zero_"))
"""Operators after which nothing of the old numbers is left."""

LOOKED_AT = 200


def written_parts(trace: Trace) -> Iterator[Note]:
    """Yield a note on the first write to a view that gave its base a CopySlices, which a backward pass ran."""
    for step in trace.steps_of(ev.HistoryRebased)[:LOOKED_AT]:
        rebased = trace[step]
        made = index(trace).nodes.get(rebased.node) if isinstance(rebased, ev.HistoryRebased) else None
        if made is None or not isinstance(rebased, ev.HistoryRebased) or not made.name.endswith("::CopySlices"):
            continue
        run, call = first_run(trace, rebased.node), next(calls_around(trace, step), None)
        collected = index(trace).edges.get(rebased.node)
        if run is not None and call is not None and collected is not None and collected.edges[0] is not None:
            yield _told(trace, rebased, run, call, collected.edges[0][0])
            return


def _told(trace: Trace, rebased: ev.HistoryRebased, run: int, call: ev.Dispatched, before: int) -> Note:
    base = last_name(trace, rebased.tensor, rebased.seq)
    text = (
        f"{on_line(trace, rebased.seq)} writes to a view of {base} in place ({base_name(call)}), so {base}.grad_fn "
        f"becomes {node_title(trace, rebased.node, run)}, whose next Node is {node_title(trace, before, run)}."
    )
    if base_name(call) in OVERWRITES:
        text += f" What {base} held there has no influence any more: in the backward pass it gets a gradient of 0."
    text = text[:1].upper() + text[1:]
    return note(rebased.seq, "write to a part of a tensor", text)
