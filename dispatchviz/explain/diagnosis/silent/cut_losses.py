"""A loss without its graph that was made a new leaf, so that the backward pass starts and ends there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.graph_errors.no_graph import origins, reason
from dispatchviz.explain.diagnosis.silent.calls import calls_between
from dispatchviz.explain.diagnosis.silent.leaves import leaves_behind, named
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.lookups import StepsByKind, latest_first
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

READS = ("item", "_local_scalar_dense")
"""The operators that return the number of a tensor to Python."""

LINES_BACK = 50
"""The number of lines before a ``torch.tensor`` that are searched for its number."""


class Cut(NamedTuple):
    """The step that cut a loss from its graph."""

    call: ev.Dispatched
    argument: int
    """The tensor with a history, or the leaf, from which it was cut."""
    clause: str
    """The reason, as a clause."""
    fix: str


def cut_losses(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each line whose backward pass starts at a leaf that was cut from a graph."""
    seen = set[tuple[str, int]]()
    for started in _from_a_leaf(trace):
        line = source_line(trace, started.seq)
        place = ("", 0) if line is None else (line.file, line.line)
        if place not in seen and (found := _diagnosis(trace, started)) is not None:
            seen.add(place)
            yield found


def _from_a_leaf(trace: Trace) -> Iterator[ev.BackwardStarted]:
    """Yield the backward passes whose only root is a leaf, so that no Node of an operator runs in them."""
    columns, of_node = trace.columns, StepsByKind(trace.columns, trace.columns.of_node)
    ran = trace.steps_of(ev.NodeStarted)
    for step in trace.steps_of(ev.BackwardStarted):
        place = bisect_right(ran, step)
        if place == len(ran) or not of_node.steps(columns.nodes[ran[place]], ev.AccumulatorMade):
            continue  # found without decoding the events of a long loop
        started = trace[step]
        if not isinstance(started, ev.BackwardStarted) or not started.accumulate or started.depth:
            continue
        if len(started.roots) == 1 and started.roots[0][0] in index(trace).accumulators:
            yield started


def _diagnosis(trace: Trace, started: ev.BackwardStarted) -> Diagnosis | None:
    at, loss = started.seq, index(trace).accumulators[started.roots[0][0]].tensor
    cut = _cut(trace, loss)
    if cut is None:
        return None
    node = index(trace).history(cut.argument, cut.call.seq)
    lost = _leaves_of(trace, cut.call) if node is None else leaves_behind(trace, [node])
    if not lost or loss in lost:
        return None
    name, leaf_line = last_name(trace, loss, at), _made_leaf(trace, loss, at)
    same = trace.columns.lines[cut.call.seq] == leaf_line
    by = "the same line" if same else on_line(trace, leaf_line) if leaf_line >= 0 else "the program"
    text = (
        f"{name} has no history: {cut.clause}. {capital(by)} made {name} a new leaf, so the backward pass on "
        f"{on_line(trace, at)} starts and ends there. {named(trace, lost, at)} get{'s' if len(lost) == 1 else ''} no "
        "gradient from it."
    )
    cause = Statement("loss cut from its graph", text, (RequiresGrad(loss, requires_grad=True),))
    return Diagnosis("silent mistake", at, (cause,), "", (cut.fix,), (cut.call.seq, at))


def _leaves_of(trace: Trace, call: ev.Dispatched) -> list[int]:
    """Return the arguments of a call that are leaves and require grad."""
    return [each for each in arguments_of(trace, call) if index(trace).grad_needed(each, call.seq)]


def _made_leaf(trace: Trace, loss: int, at: int) -> int:
    """Return the last line before a step that makes a loss require grad; -1 if there is none."""
    made = index(trace).tensors.get(loss)
    for line in latest_first(trace, at, ev.SourceLine):
        if made is not None and line.seq < trace.columns.lines[made.seq]:
            break
        if "requires_grad" in source_text(trace, line):
            return line.seq
    return -1


# -- cuts -------------------------------------------------------------------------------------------------------------


def _cut(trace: Trace, loss: int) -> Cut | None:
    found = origins(trace, loss)
    for cut in found.cuts[:1]:
        return None if cut.call is None else _by_call(trace, cut.call, cut.argument)
    return _by_number(trace, found.leaves[0]) if found.leaves else None


def _by_call(trace: Trace, call: ev.Dispatched, argument: int) -> Cut:
    operator, where, name = base_name(call), on_line(trace, call.seq), last_name(trace, argument, call.seq)
    line, dtype = on_line(trace, call.seq, text=False), _dtype(trace, call)
    if dtype and "float" not in dtype and "complex" not in dtype:
        clause = f"{operator} on {where} returns a tensor of {dtype}, which can have no gradient"
        fix = f"Compute the loss from {name}, before {operator} on {line}"
        return Cut(call, argument, clause, f"{fix}, and remove requires_grad.")
    why = reason(trace, call)
    if why == "detached":
        fix = f"Remove {operator}() on {line} and requires_grad: the result has a history then."
        return Cut(call, argument, f"{where} cut it from {name} by {operator}()", fix)
    if why == "grad mode is off":
        fix = f"Move {line} out of torch.no_grad(), and remove requires_grad."
        return Cut(call, argument, f"{where} ran while grad mode was off, so {operator} recorded no Node", fix)
    clause = f"{operator} on {where} recorded no Node, although {name} requires grad"
    return Cut(call, argument, clause, f"Compute the loss from {name}, and remove requires_grad.")


def _dtype(trace: Trace, call: ev.Dispatched) -> str:
    returned = trace[trace.ends[call.seq]]
    if not isinstance(returned, ev.KernelReturned) or not returned.tensors:
        return ""
    made = index(trace).tensors.get(returned.tensors[0])
    return "" if made is None else made.dtype


def _by_number(trace: Trace, leaf: int) -> Cut | None:
    """Return the read of a number that a ``torch.tensor`` of the same line got, or one that an earlier line assigned to
    a variable.
    """
    made = index(trace).tensors.get(leaf)
    line = None if made is None else source_line(trace, made.seq)
    if made is None or line is None or made_by(trace, leaf) is None:
        return None
    code = source_text(trace, line)
    if "tensor(" not in code:
        return None
    for count, earlier in enumerate(latest_first(trace, made.seq, ev.SourceLine)):
        if count == LINES_BACK:
            return None
        text = source_text(trace, earlier)
        variable = re.match(r"([A-Za-z_]\w*)\s*=[^=]", text)
        here = earlier.seq == line.seq
        if here or (variable is not None and re.search(rf"tensor\(\s*{variable[1]}\b", code)):
            read = _read(trace, earlier.seq, made.seq if here else trace.ends[earlier.seq])
            if read is not None or not here:
                return read
    return None


def _read(trace: Trace, begin: int, end: int) -> Cut | None:
    """Return the first read of a number between two steps, from a tensor that requires grad."""
    for call in calls_between(trace, begin, end):
        tensor = call.tensors[0]
        if call.name in READS and index(trace).grad_needed(tensor, call.seq):
            where, line = on_line(trace, call.seq), on_line(trace, call.seq, text=False)
            name = last_name(trace, tensor, call.seq)
            clause = f"{where} converts {name} to a Python number, which has no history"
            fix = f"Use {name} itself as the loss: remove item() on {line} and torch.tensor(..., requires_grad=True)."
            return Cut(call.event, tensor, clause, fix)
    return None


RULES = (cut_losses,)
