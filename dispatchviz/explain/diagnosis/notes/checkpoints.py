"""Functions under ``torch.utils.checkpoint``, which run a second time during the backward pass."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.explain.diagnosis.silent.calls import lines_with
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.lookups import events_between

LOOKED_AT = 5_000
"""The number of lines after the call that are read."""

CALL = re.compile(r"^(?!def |from |import ).*(?<!\w)checkpoint\(")

OF_REENTRANT = "CheckpointFunctionBackward"
"""The Node that runs the function again itself. Otherwise a Node needs its saved tensors."""


def checkpoints(trace: Trace) -> Iterator[Note]:
    """Yield a note on the first line of the program that runs again within a Node, after a call of ``checkpoint``."""
    calls = lines_with(trace, CALL.search)
    sources = trace.header.sources.values()
    if not calls or not any("torch.utils" in each for each in sources) or any("context_fn" in each for each in sources):
        return
    forward = set[tuple[str, int]]()
    lines = events_between(trace, ev.SourceLine, calls[0], len(trace) - 1)
    for _, line in zip(range(LOOKED_AT), lines, strict=False):
        node = around(trace, line.seq, ev.NodeStarted)
        if node is None:
            forward.add((line.file, line.line))
        elif (line.file, line.line) in forward and line.function and not line.resumed:
            yield _note(trace, calls[0], line, node)
            return


def _note(trace: Trace, call: int, line: ev.SourceLine, node: ev.NodeStarted) -> Note:
    title = node_title(trace, node.node, line.seq)
    saved = "needs a tensor that it saved in the forward pass, and checkpoint has kept only the inputs of"
    why = f"{title} runs it" if title.startswith(OF_REENTRANT) else f"{title} {saved} {line.function}"
    text = (
        f"checkpoint on {on_line(trace, call, text=False)} runs {line.function} a second time in the backward pass, "
        f"from {on_line(trace, line.seq)} on: {why}."
    )
    return Note(line.seq, Statement("forward that runs again", text))
