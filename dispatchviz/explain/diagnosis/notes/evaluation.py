"""``eval()`` without ``no_grad()``: modules compute other results, but autograd still records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note, result_of
from dispatchviz.explain.diagnosis.silent.calls import calls_between, lines_with
from dispatchviz.explain.diagnosis.silent.leaves import leaves_behind
from dispatchviz.explain.diagnosis.silent.missing_gradients import parameters
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.outline.facts import made_nodes
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.foundation.english import counted, listed

EVAL = re.compile(r"([A-Za-z_][\w.]*)\.eval\(\)")
TRAIN = re.compile(r"\.train\(")
LOOKED_AT = 50
"""The number of Nodes that are read."""

SWITCHES_OFF = re.compile(r"(torch\.no_grad|torch\.inference_mode)\(\)")


def evaluation(trace: Trace) -> Iterator[Note]:
    """Yield a note on the Nodes recorded after ``eval()``, if no backward pass uses them."""
    begins = lines_with(trace, EVAL.search)
    passes = trace.steps_of(ev.BackwardStarted)
    if not begins or (passes and passes[-1] > begins[0]):
        return
    end = next((step for step in lines_with(trace, TRAIN.search) if step > begins[0]), len(trace) - 1)
    match = EVAL.search(_text(trace, begins[0]))
    nodes = list(made_nodes(trace, begins[0], end)) if match is not None else []
    if match is not None and (first := _of_module(trace, match[1], nodes)) is not None:
        yield _note(trace, match[1], begins[0], end, nodes[first:])


def _of_module(trace: Trace, module: str, nodes: Sequence[int]) -> int | None:
    """Return the place of the first Node whose graph leads to a parameter of a module."""
    own = {tensor for tensor, name in parameters(trace).get(module, {}).items() if name.startswith(f"{module}.")}
    for place, step in enumerate(nodes[:LOOKED_AT] if own else ()):
        if own & set(leaves_behind(trace, [trace.columns.nodes[step]])):
            return place
    return None


def _note(trace: Trace, module: str, begin: int, end: int, nodes: list[int]) -> Note:
    changes = list(dict.fromkeys(_changes(trace, begin, end)))
    line = source_line(trace, nodes[0])
    own = [step for step in nodes if (at := source_line(trace, step)) is not None and line is not None and at == line]
    count = counted(len(own), "Node")
    text = (
        f"{module}.eval() on {on_line(trace, begin, text=False)} changes what modules compute"
        f"{f' ({listed(changes)})' if changes else ''}, not what autograd records: {on_line(trace, nodes[0])} records "
        f"{count}."
    )
    off = next((step for step in lines_with(trace, SWITCHES_OFF.search) if step > begin), None)
    switch = None if off is None else SWITCHES_OFF.search(_text(trace, off))
    if off is not None and switch is not None:
        text += f" {switch[0]} on {on_line(trace, off, text=False)} changes only the recording: no Node is recorded."
    return Note(nodes[0], Statement("eval without no_grad", text))


def _text(trace: Trace, step: int) -> str:
    line = trace[step]
    return source_text(trace, line) if isinstance(line, ev.SourceLine) else ""


def _changes(trace: Trace, begin: int, end: int) -> Iterator[str]:
    """Yield the modules that compute other results in evaluation mode, as their calls show."""
    for call in calls_between(trace, begin, end):
        if call.name == "dropout" and result_of(trace, call.seq) == call.tensors[0]:
            yield "Dropout passes its input on"
        if call.name == "batch_norm" and any(name == "running_mean" for name, _, _ in call.computed.arguments):
            yield "BatchNorm takes its running mean and variance"
