"""The writes to the memory of a saved tensor that bump no version counter of it, through ``.data`` or NumPy.

``detach()`` shares the version counter, so PyTorch compares it and raises an error. ``.data`` has its own counter, and
NumPy has none. The Node then computes with the new numbers, and the gradient is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.calls import Call, lines_with, outermost_calls, storage_of
from dispatchviz.explain.diagnosis.silent.numpy_writes import NumpyWrite, numpy_writes
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, made_by, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.lookups import StepsByKind
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

ASSIGNED = re.compile(r"\.data\s*=[^=]")
"""The pattern of ``x.data = y``, but not of ``x.data -= y``, which writes and then assigns the same memory."""

LATEST = 8
"""The number of tensors saved last before a write that are read."""

LONGEST_CHAIN = 8
"""The number of nested views that are followed."""

NO_OTHER_FORM = ("copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_")
"""Operators that programs do not call out of place. An assignment to ``y[0]`` calls the first one."""

ONE_BY_ONE = (
    "AddmmBackward0",
    "BmmBackward0",
    "DivBackward0",
    "DotBackward0",
    "MmBackward0",
    "MulBackward0",
    "MvBackward0",
)
"""The Nodes that save only the tensors that the formulas of their edges need, so that they use all of them.

Other Nodes, such as those of convolutions and norms, save all arguments, and use some of them only for an edge that may
be missing.
"""

Saves = dict[int, list[int]]
"""The steps that saved a tensor on each memory, in order."""


class Wrong(NamedTuple):
    """A Node that computes with numbers that were written after it saved the tensor."""

    saved: ev.VariableSaved
    started: ev.NodeStarted


def hidden_writes(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each line with an undetected write to a tensor that a Node saved and then used."""
    sources, seen = trace.header.sources.values(), set[tuple[str, int]]()
    saves: Saves = {}
    if any(".data" in text for text in sources):
        for call in _through_data(trace):
            wrong = _wrong(trace, saves, call.written[0], call.seq)
            if wrong is not None and _first_of_line(trace, call.seq, seen):
                yield _by_data(trace, call, wrong)
        yield from _replaced(trace, saves, seen)
    if any("numpy" in text for text in sources):
        for write in numpy_writes(trace):
            wrong = _wrong(trace, saves, write.tensor, write.step)
            if wrong is not None and _first_of_line(trace, write.step, seen):
                yield _by_numpy(trace, write, wrong)


def _first_of_line(trace: Trace, step: int, seen: set[tuple[str, int]]) -> bool:
    line = source_line(trace, step)
    place = ("", -1) if line is None else (line.file, line.line)
    new = place not in seen
    seen.add(place)
    return new


# -- writes through .data ---------------------------------------------------------------------------------------------


def _through_data(trace: Trace) -> Iterator[Call]:
    """Yield the program's in-place calls on tensors that ``.data`` returned, and on their views."""
    aliases = _aliases(trace)
    if aliases:
        for call in outermost_calls(trace, lambda name: name.endswith("_") and not name.endswith("__")):
            if call.written and _is_of(trace, call.written[0], aliases):
                yield call


def _aliases(trace: Trace) -> frozenset[int]:
    """Return the tensors that ``.data`` returned: no operator made them, and their memory is that of an earlier
    tensor.
    """
    columns = trace.columns
    inner = {columns.code(kind) for kind in (ev.KernelEntered, ev.MetaEntered, ev.Dispatched, ev.ImplEntered)}
    kinds, parents, firsts = columns.kinds, columns.parents, columns.of_storage.firsts
    steps = (
        step
        for step in trace.steps_of(ev.TensorCreated)
        if step not in firsts and parents[step] >= 0 and kinds[parents[step]] not in inner
    )
    lines = set(lines_with(trace, lambda text: ".data" in text))
    return frozenset(columns.tensors[step] for step in steps if columns.lines[step] in lines)


def _is_of(trace: Trace, tensor: int, aliases: frozenset[int]) -> bool:
    """Return whether a tensor is one of some tensors, or a view of one."""
    memory = storage_of(trace, tensor)
    for _ in range(LONGEST_CHAIN):
        if tensor in aliases:
            return True
        call = made_by(trace, tensor)
        before = () if call is None else arguments_of(trace, call)
        same = [each for each in before if each != tensor and storage_of(trace, each) == memory]
        if not same:
            return False
        tensor = same[0]
    return False


def _by_data(trace: Trace, call: Call, wrong: Wrong) -> Diagnosis:
    at, started = call.seq, wrong.started
    saved, where = _saved(trace, wrong, at), on_line(trace, at)
    through = "through .data, which has a version counter of its own"
    text = f"{saved}. {capital(where)} then wrote to that memory {through}, so {_unseen(trace, wrong)}"
    cause = Statement("write through .data to a saved tensor", text)
    line, name, kept = on_line(trace, at, text=False), base_name(call.event), wrong.saved.tensor
    first = f"Make {line} return a new tensor: use {name.rstrip('_')} instead of {name}, without .data."
    if kept is not None and index(trace).history(kept, at) is None:
        first = f"Move {line} after the backward pass on {on_line(trace, started.seq, text=False)}."
    elif kept is not None and name in NO_OTHER_FORM:
        first = f"Write to a copy, without .data: {last_name(trace, kept, at)}.clone() before {line}."
    check = "Use detach() instead of .data: it shares the version counter, so PyTorch detects that write."
    proof = (wrong.saved.seq, at, started.seq)
    return Diagnosis("silent mistake", at, (cause,), "", (first, check), proof)


def _saved(trace: Trace, wrong: Wrong, at: int) -> str:
    """Return ``ExpBackward0, made on line 3 (y = x.exp()), saved y at version 0``"""
    saved = wrong.saved
    assert saved.tensor is not None
    name = last_name(trace, saved.tensor, at)
    made = on_line(trace, saved.seq)
    by = f", made on {made}," if made else ""
    return f"{node_title(trace, saved.node, saved.seq)}{by} saved {name} at version {saved.version}"


def _unseen(trace: Trace, wrong: Wrong) -> str:
    assert wrong.saved.tensor is not None
    name, at = last_name(trace, wrong.saved.tensor, wrong.started.seq), wrong.started.seq
    still = f"the version of {name} did not change and PyTorch raised no error"
    title = node_title(trace, wrong.saved.node, at)
    return f"{still}. On {on_line(trace, at)} {title} computed with the new numbers: its gradient is wrong."


# -- x.data = y -------------------------------------------------------------------------------------------------------


def _replaced(trace: Trace, saves: Saves, seen: set[tuple[str, int]]) -> Iterator[Diagnosis]:
    """Yield a diagnosis for leaves whose memory the program replaced with ``x.data = y`` after they were saved and
    before they were used.

    A Node keeps a leaf itself, so it finds the new memory there. Of a result it keeps the old memory.
    """
    lines = set(lines_with(trace, ASSIGNED.search))
    for call in outermost_calls(trace, lambda name: name == "_has_compatible_shallow_copy_type") if lines else ():
        leaf, at = call.tensors[0], call.seq
        if trace.columns.lines[at] not in lines or index(trace).history(leaf, at) is not None:
            continue
        if storage_of(trace, call.tensors[-1]) == storage_of(trace, leaf):
            continue  # the same memory again
        wrong = _wrong(trace, saves, leaf, at, of_memory=False)
        if wrong is not None and not wrong.saved.is_output and _first_of_line(trace, at, seen):
            text = f"{_saved(trace, wrong, at)}. {capital(on_line(trace, at))} then gave it other memory, so "
            cause = Statement("saved leaf got other data", text + _unseen(trace, wrong))
            line, backward = (on_line(trace, step, text=False) for step in (at, wrong.started.seq))
            fix = f"Move {line} after the backward pass on {backward}."
            proof = (wrong.saved.seq, at, wrong.started.seq)
            yield Diagnosis("silent mistake", at, (cause,), "", (fix,), proof)


# -- writes through NumPy ---------------------------------------------------------------------------------------------


def _by_numpy(trace: Trace, write: NumpyWrite, wrong: Wrong) -> Diagnosis:
    at, started = write.step, wrong.started.seq
    array = f"the NumPy array {write.array}" if write.array else "a NumPy array"
    text = (
        f"{_saved(trace, wrong, at)}. {capital(on_line(trace, at))} then wrote to that memory through {array}. NumPy "
        f"does not update version counters, so {_unseen(trace, wrong)}"
    )
    cause = Statement("write through NumPy to a saved tensor", text)
    copy = f"Give NumPy a copy: .numpy().copy() on {on_line(trace, write.shared, text=False)}."
    if write.from_numpy:
        copy = f"Copy the array: torch.tensor({write.array}) on {on_line(trace, write.shared, text=False)}."
    proof = (wrong.saved.seq, write.shared, at, started)
    return Diagnosis("silent mistake", at, (cause,), "", (copy,), tuple(sorted(proof)))


# -- saved tensors ----------------------------------------------------------------------------------------------------


def _wrong(trace: Trace, saves: Saves, written: int, at: int, of_memory: bool = True) -> Wrong | None:
    """Return the first Node that saved a tensor before a step overwrites it, and that runs after the step."""
    steps = _saves(trace, saves, storage_of(trace, written))
    columns, of_node = trace.columns, StepsByKind(trace.columns, trace.columns.of_node)
    before = steps[: bisect_left(steps, at)][-LATEST:]
    for step in before:
        if not of_memory and columns.tensors[step] != written:
            continue
        later = [one for one in of_node.steps(columns.nodes[step], ev.NodeStarted) if one > at]
        saved, started = trace[step], trace[later[0]] if later else None
        if not isinstance(saved, ev.VariableSaved) or not isinstance(started, ev.NodeStarted) or saved.packed:
            continue
        if _uses(trace, started) and _overlap(trace, saved.tensor, written, at):
            return Wrong(saved, started)
    return None


def _uses(trace: Trace, started: ev.NodeStarted) -> bool:
    """Return whether a Node certainly computes with all of its saved tensors."""
    node, edges = started.node, index(trace).edges.get(started.node)
    skipped = StepsByKind(trace.columns, trace.columns.of_node).steps(node, ev.FormulaSkipped)
    if edges is None or skipped or all(gradient is None for gradient in started.gradients):
        return False
    return None not in edges.edges or started.name in ONE_BY_ONE


def _saves(trace: Trace, saves: Saves, memory: int) -> list[int]:
    """Return the steps that saved a tensor on a memory."""
    if memory not in saves:
        made, tensors = index(trace).about_storage(memory, ev.TensorCreated), trace.columns.tensors
        on_it = dict.fromkeys(tensors[step] for step in made)
        saves[memory] = sorted(step for each in on_it for step in index(trace).steps_about(each, ev.VariableSaved))
    return saves[memory]


def _overlap(trace: Trace, saved: int | None, written: int, at: int) -> bool:
    """Return whether two tensors on one memory certainly share elements, because one of them is as large as any tensor
    there.
    """
    if saved is None:
        return False
    made = index(trace).about_storage(storage_of(trace, written), ev.TensorCreated)[:LATEST]
    sizes = [prod(event.shape) for step in made if isinstance(event := trace[step], ev.TensorCreated)]
    both = [prod(index(trace).shape(each, at) or ()) for each in (saved, written)]
    return min(both) > 0 and max(both) >= max(sizes, default=0)


RULES = (hidden_writes,)
