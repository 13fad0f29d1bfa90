"""The in-place writes to a part of a tensor, after which its grad_fn is CopySlices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note, first_run
from dispatchviz.explain.diagnosis.words import base_name, last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around, source_line, source_text
from dispatchviz.explain.trace_index.trace_index import index

OVERWRITES = frozenset(("copy_", "fill_", "zero_"))
"""The operators that overwrite all old numbers."""

AUGMENTED = re.compile(r"[-+*/%@&|^]=")
"""The pattern of ``y[0] += 1``, which writes twice: the second time Python assigns the view back."""

LOOKED_AT = 200


def written_parts(trace: Trace) -> Iterator[Note]:
    """Yield a note on the first in-place call on a view that gave its base a CopySlices, which a backward pass ran."""
    for step in trace.steps_of(ev.HistoryRebased)[:LOOKED_AT]:
        rebased = trace[step]
        made = index(trace).nodes.get(rebased.node) if isinstance(rebased, ev.HistoryRebased) else None
        if made is None or not isinstance(rebased, ev.HistoryRebased) or not made.name.endswith("::CopySlices"):
            continue
        run, calls = first_run(trace, rebased.node), list(calls_around(trace, step))
        own = calls and base_name(calls[-1]).endswith("_") and around(trace, step, ev.NodeStarted) is None
        if run is not None and own:
            yield _note(trace, rebased, run, calls)
            return


def _note(trace: Trace, rebased: ev.HistoryRebased, run: int, calls: list[ev.Dispatched]) -> Note:
    name = last_name(trace, rebased.tensor, rebased.seq)
    base = last_name(trace, rebased.tensor, run) if " (t" in name else name
    collected = index(trace).edges.get(rebased.node)
    edge = collected.edges[0] if collected is not None and collected.edges else None
    before = f", whose next Node is {node_title(trace, edge[0], run)}" if edge is not None else ""
    grad_fn = f"the grad_fn of {base}" if base.startswith("the ") else f"{base}.grad_fn"
    text = (
        f"{on_line(trace, rebased.seq)} writes to a view of {base} in place ({base_name(calls[-1])}), so {grad_fn} "
        f"becomes {node_title(trace, rebased.node, run)}{before}."
    )
    line = source_line(trace, rebased.seq)
    plain = line is not None and not AUGMENTED.search(source_text(trace, line))
    if base_name(calls[0]) in OVERWRITES and plain and edge is not None:
        text += f" In the backward pass CopySlices gives a gradient of 0 to the earlier values of {base} there."
    return Note(rebased.seq, Statement("write to a part of a tensor", text[:1].upper() + text[1:]))
