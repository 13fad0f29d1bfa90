"""Gradients that are summed because the forward call broadcast its argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note, first_run, result_of, runs_once
from dispatchviz.explain.diagnosis.silent.calls import Call, outermost_calls
from dispatchviz.explain.diagnosis.words import last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around, source_line, source_text
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, shaped

BROADCAST = {"add": "+", "sub": "-", "rsub": "-", "mul": "*", "div": "/", "pow": "**", "maximum": "", "minimum": ""}
"""The operators that broadcast two arguments and have one Node, and their Python syntax."""

LOOKED_AT = 2_000
"""The number of calls that are read."""


class Extended(NamedTuple):
    """An argument that is smaller than the result."""

    tensor: int
    shape: tuple[int, ...]
    over: tuple[int, ...]
    """The dimensions of the result over which its gradient is summed."""


def broadcast_sums(trace: Trace) -> Iterator[Note]:
    """Yield a note on the first call that broadcasts two tensors, or a variable on a line that runs once."""
    for _, call in zip(range(LOOKED_AT), outermost_calls(trace, BROADCAST.__contains__), strict=False):
        found = _note(trace, call)
        if found is not None:
            yield found
            return


def _note(trace: Trace, call: Call) -> Note | None:
    result = result_of(trace, call.seq)
    shape = None if result is None else index(trace).shape(result, trace.ends[call.seq])
    node = (
        None if result is None or not _is_written(trace, call) else index(trace).history(result, trace.ends[call.seq])
    )
    if shape is None or node is None or len(call.tensors) != 2:
        return None
    found = [each for tensor in call.tensors if (each := _extended(trace, call.seq, tensor, shape)) is not None]
    if not found or (len(found) == 1 and not _is_plain(trace, call, found[0])):
        return None
    found = [each for each in found if index(trace).grad_needed(each.tensor, call.seq)]
    run = first_run(trace, node, call.seq)
    started = None if run is None else around(trace, run, ev.BackwardStarted)
    if not found or run is None or started is None or started.inputs:  # otherwise some gradients are not computed
        return None
    return _note_on(trace, call, shape, node, run, found)


def _note_on(trace: Trace, call: Call, shape: tuple[int, ...], node: int, run: int, found: list[Extended]) -> Note:
    names = [(last_name(trace, each.tensor, call.seq), each) for each in found]
    what = listed([f"{name} {shaped(each.shape)}" for name, each in names])
    sums = listed([f"that of {name} over {_dimensions(each.over)}" for name, each in names])
    text = (
        f"{call.name} on {on_line(trace, call.seq)} broadcasts {what} to {shaped(shape)}. So the engine sums the "
        f"gradient{'s' * (len(found) > 1)} that {node_title(trace, node, run)} returns: {sums}."
    )
    return Note(run, Statement("gradient summed after broadcasting", text))


def _dimensions(over: tuple[int, ...]) -> str:
    return f"dimension{'s' if len(over) > 1 else ''} {listed([str(each) for each in over])}"


def _extended(trace: Trace, at: int, tensor: int, result: tuple[int, ...]) -> Extended | None:
    made, shape = index(trace).tensors.get(tensor), index(trace).shape(tensor, at)
    if shape is None or made is None or made.wrapped_number or 0 in result:
        return None
    missing = len(result) - len(shape)
    over = (*range(missing), *(missing + n for n, size in enumerate(shape) if size == 1 != result[missing + n]))
    return Extended(tensor, shape, over) if over else None


def _is_plain(trace: Trace, call: Call, one: Extended) -> bool:
    """Return whether the argument is a leaf with a plain variable on a line that runs once. In a loop it is a bias."""
    line = source_line(trace, call.seq)
    name = index(trace).name(one.tensor, call.seq)
    if line is None or not name or "." in name or index(trace).history(one.tensor, call.seq) is not None:
        return False
    return runs_once(trace, line)


def _is_written(trace: Trace, call: Call) -> bool:
    """Return whether the line itself contains the operator. Otherwise a function of a library calls it."""
    line, sign = source_line(trace, call.seq), BROADCAST[call.name]
    text = "" if line is None else source_text(trace, line)
    return f"{call.name}(" in text or (sign != "" and sign in text)
