"""The call that changed a tensor that a Node had saved.

The model records version counters (``explain/graph/version_counters.py``). A recording of an installed PyTorch has the
saved version and all calls. There the changes are the later in-place calls on the same memory, and PyTorch's message
contains their number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.values import shape_of, steps_of_node, views_back
from dispatchviz.explain.graph.version_counters import invalidated_of
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.enclosing_steps import within

VERSIONS = re.compile(r"\[[\w.]+ \[([\d, ]*)\]\].*? is at version (\d+); expected version (\d+) instead")
"""The shape and the two versions in PyTorch's message."""


class Change(NamedTuple):
    """A saved variable of a Node, and the first step that changed it."""

    saved: ev.VariableSaved
    seq: int
    written: int
    """The tensor that was written to, on the same memory."""
    call: ev.Dispatched | None
    complete: bool = True
    """True if the recording has as many changes as PyTorch counted."""


def change_of(failure: Failure, node: int) -> Change | None:
    """Return the change that makes a Node raise, or None if the recording does not have it."""
    trace, at = failure.trace, failure.raised
    for saved, change in invalidated_of(trace, node, at):
        call = next(iter(list(calls_around(trace, change.seq))[::-1]), None)
        if _fits(failure, saved):
            return Change(saved, change.seq, change.tensor, call)
    return next(_by_calls(failure, node), None)


def _by_calls(failure: Failure, node: int) -> Iterator[Change]:
    """Yield the changes that a recording without version counters shows."""
    versions = VERSIONS.search(failure.message)
    for step in steps_of_node(failure.trace, node, ev.VariableSaved):
        saved = failure.trace[step]
        if not isinstance(saved, ev.VariableSaved) or saved.tensor is None or not _fits(failure, saved):
            continue
        found = list(writes(failure.trace, saved.tensor, saved.seq, failure.raised))
        if found:
            call, written = found[0]
            counted = int(versions[2]) - int(versions[3]) if versions is not None else len(found)
            yield Change(saved, call.seq, written, call, counted == len(found))


def _fits(failure: Failure, saved: ev.VariableSaved) -> bool:
    """Return whether PyTorch's message can be about this tensor, by its shape and version."""
    versions = VERSIONS.search(failure.message)
    if versions is None or saved.tensor is None:
        return saved.tensor is not None
    shape = tuple(int(each) for each in versions[1].split(",") if each.strip())
    return saved.version == int(versions[3]) and shape_of(failure.trace, saved.tensor, saved.seq) == shape


def writes(trace: Trace, tensor: int, after: int, before: int) -> Iterator[tuple[ev.Dispatched, int]]:
    """Yield the calls between two steps that wrote to the memory of a tensor through it or a view, in order."""
    base = views_back(trace, tensor, detached=True)[-1]
    for step in _in_place_steps(trace, after, before):
        call = trace[step]
        if not isinstance(call, ev.Dispatched) or call.is_redispatch:
            continue
        for written in _written(trace, call):
            if views_back(trace, written, detached=True)[-1] == base:
                yield call, written


def _in_place_steps(trace: Trace, after: int, before: int) -> list[int]:
    """Return the calls of operators that write in place and bump versions."""
    found = list[int]()
    for operator, key, steps in trace.columns.calls():
        name, _, overload = operator.partition("::")[2].partition(".")
        if (name.endswith("_") or overload.endswith("out")) and ("Autograd" in key or key == "ADInplaceOrView"):
            found += [step for step in steps[bisect_right(steps, after) :] if step < before]
    return sorted(found)


def _written(trace: Trace, call: ev.Dispatched) -> list[int]:
    """Return the tensors that a call writes to: ``self``, each of ``self[0]``, ``self[1]``, or ``out``."""
    computed = within(trace, call.seq, ev.KeySetComputed)
    own = ("out",) if call.operator.endswith("out") else ("self", "tensors")
    arguments = () if computed is None else computed.arguments
    return [tensor for name, tensor, _ in arguments if name.partition("[")[0] in own]
