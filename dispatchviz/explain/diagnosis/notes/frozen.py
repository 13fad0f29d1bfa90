"""Frozen parameters of a module whose other parameters are trained, and the parts that the backward pass skips."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.graph_errors.no_graph import reason
from dispatchviz.explain.diagnosis.modules import shown_module
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.explain.diagnosis.silent.calls import Call, calls_between, lines_with
from dispatchviz.explain.diagnosis.silent.leaves import gets_gradient, named
from dispatchviz.explain.diagnosis.silent.missing_gradients import PREPARES, parameters
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.call_chains import COMPOSITE
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

FREEZES = re.compile(r"requires_grad\s*=\s*False|requires_grad_\(\s*False\s*\)")
PARAMETER = re.compile(r"(?:^|[._])(?:weight|bias)$")
"""The names of parameters of PyTorch's modules. Its buffers have other names."""

NAMED = 3


class Use(NamedTuple):
    """A call that computes with a frozen parameter."""

    call: Call
    module: str
    """``net.0 (Linear)``"""
    node: int | None
    """The Node of its result, or None if it recorded none."""


def frozen(trace: Trace) -> Iterator[Note]:
    """Yield a note on each variable of a module with some frozen parameters and others that get a gradient."""
    lines, passes = lines_with(trace, FREEZES.search), trace.steps_of(ev.BackwardStarted)
    if not lines or not passes or passes[-1] < lines[0]:
        return
    for own in parameters(trace).values():
        still = [each for each, name in own.items() if _is_frozen(trace, each, name, lines[0], passes[-1])]
        if still and any(gets_gradient(trace, each) for each in own):
            yield from _note(trace, still, lines, passes[-1])


def _is_frozen(trace: Trace, tensor: int, name: str, since: int, until: int) -> bool:
    """Return whether a parameter, older than the line that freezes, does not require grad and never got a gradient."""
    made = index(trace).tensors.get(tensor)
    if made is None or made.seq > since or gets_gradient(trace, tensor):
        return False
    if trace.header.engine == "model":
        switched = len(index(trace).steps_about(tensor, ev.RequiresGradSet)) > 0
        return switched and not index(trace).grad_needed(tensor, until)
    is_parameter = PARAMETER.search(name) is not None  # this recording has neither requires_grad nor buffers
    return is_parameter and not index(trace).steps_about(tensor, ev.AccumulatorMade)


def _note(trace: Trace, still: list[int], lines: list[int], until: int) -> Iterator[Note]:
    uses = list(_uses(trace, still, lines[0], until))
    unrecorded, passing = ([use for use in uses if (use.node is None) == none] for none in (True, False))
    if not uses:
        return
    places = {on_line(trace, each, text=False) for each in lines}
    where = f" ({places.pop()})" if len(places) == 1 else ""
    text = f"{named(trace, still, until)} {'are' if len(still) > 1 else 'is'} frozen{where}."
    if unrecorded:
        where = on_line(trace, unrecorded[0].call.seq, text=False)
        unrecorded = [use for use in unrecorded if on_line(trace, use.call.seq, text=False) == where]
        it, records = ("it", "it records") if len({use.module for use in unrecorded}) == 1 else ("them", "they record")
        text += (
            f" No input of {_modules(unrecorded)} on {where} requires grad, so {records} no Node, and the backward "
            f"pass does not reach {it}."
        )
    for use in passing[:1]:
        text += (
            f" {node_title(trace, use.node or 0, until)} of {use.module} computes no gradient for "
            f"{'them' if len(still) > 1 else 'it'}, only for its inputs that require grad."
        )
    yield Note(uses[0].call.seq, Statement("frozen parameters", text))


def _modules(uses: list[Use]) -> str:
    names = list(dict.fromkeys(use.module for use in uses))
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return listed([*names[:NAMED], *more])


def _uses(trace: Trace, still: list[int], since: int, until: int) -> Iterator[Use]:
    """Yield the calls that compute with frozen parameters in grad mode, the first one of each module."""
    owners, seen = {each: shown_module(trace, each, until) for each in still}, set[str]()
    for call in calls_between(trace, since, until):
        taken = next((owners[each] for each in call.tensors if each in owners), None)
        if taken is None or taken in seen:
            continue
        result = _result(trace, call)
        if call.name in PREPARES:
            owners |= {result: taken} if result is not None else {}
        elif call.event.key.startswith("Autograd") and not _is_composite(trace, call):
            node = None if result is None else index(trace).history(result, trace.ends[call.seq])
            if node is not None or reason(trace, call.event) != "grad mode is off":
                seen.add(taken)
                yield Use(call, taken, node)


def _is_composite(trace: Trace, call: Call) -> bool:
    selected = within(trace, call.seq, ev.KernelSelected)
    return selected is not None and selected.reason in COMPOSITE


def _result(trace: Trace, call: Call) -> int | None:
    """Return the first tensor that it returned."""
    last = trace[trace.ends[call.seq]]
    return last.tensors[0] if isinstance(last, ev.KernelReturned) and last.tensors else None
