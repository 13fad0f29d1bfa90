"""The contents of ``next_functions`` where a program reads it: the Node for each input of the call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.explain.diagnosis.silent.calls import lines_with
from dispatchviz.explain.diagnosis.words import last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_text, within
from dispatchviz.explain.trace_index.trace_index import index

READ = re.compile(r"([A-Za-z_][\w.]*)\.grad_fn\.next_functions")

LOOKED_AT = 20
"""The number of lines that are read."""

MOST = 6
"""The largest number of inputs for a note."""


def next_functions(trace: Trace) -> Iterator[Note]:
    """Yield a note on each Node whose ``next_functions`` a line reads from a variable: ``y.grad_fn.next_functions``."""
    seen = set[int]()
    for step in lines_with(trace, READ.search)[:LOOKED_AT]:
        line = trace[step]
        for name in READ.findall(source_text(trace, line)) if isinstance(line, ev.SourceLine) else ():
            tensor = index(trace).holder(name, step)
            node = None if tensor is None else index(trace).history(tensor, step)
            if node is not None and node not in seen:
                seen.add(node)
                yield from _note(trace, name, node, step)


def _note(trace: Trace, name: str, node: int, at: int) -> Iterator[Note]:
    collected = index(trace).edges.get(node)
    made = index(trace).nodes.get(node)
    if collected is None or made is None or not 0 < len(collected.edges) <= MOST:
        return
    inputs = _inputs(trace, made.seq, collected)
    if inputs is None:
        return
    entries = []
    for number, (edge, tensor) in enumerate(zip(collected.edges, inputs, strict=True)):
        what = last_name(trace, tensor, made.seq)
        if edge is None:
            entries.append(f"[{number}] is None, because its input {what} does not require grad")
        else:
            is_leaf = edge[0] in index(trace).accumulators
            of = "" if is_leaf else f", for its input {what}"
            entries.append(f"[{number}] is {node_title(trace, edge[0], at)}{of}")
    where = on_line(trace, at, text=False)
    text = (
        f"{name}.grad_fn on {where} is {node_title(trace, node, at)}. Each entry of its next_functions is the Node "
        f"that gets the gradient of one input: {'; '.join(entries)}."
    )
    yield Note(made.seq, Statement("what next_functions holds", text))


def _inputs(trace: Trace, seq: int, collected: ev.EdgesCollected) -> list[int] | None:
    """Return the tensor of each edge, or None if the recording does not have it."""
    known = [tensor for _, tensor in collected.inputs]
    if not known:  # for an installed PyTorch: the arguments of the call, if there is one for each edge
        call = next(calls_around(trace, seq), None)
        computed = None if call is None else within(trace, _outermost(trace, call), ev.KeySetComputed)
        known = [] if computed is None else [tensor for _, tensor, _ in computed.arguments]
    plain = [each for each in known if each is not None]
    return plain if len(plain) == len(collected.edges) else None


def _outermost(trace: Trace, call: ev.Dispatched) -> int:
    """Return the call that redispatches lead back to, which has the arguments."""
    found = call
    for event in trace.ancestors(call.seq):
        if isinstance(event, ev.Dispatched):
            if event.operator != call.operator:
                break
            found = event
    return found.seq
