"""The owners that keep a Node alive at a step: every holder of a ``c10::intrusive_ptr`` to it.

These are tensors (``grad_fn_``), edges of other Nodes (``Edge::function``), the engine (``NodeTask::fn_``), the kernel
that makes it, and Python. A leaf holds its AccumulateGrad only weakly, so it is not an owner.

A trace does not record the end of a tensor. A tensor is listed only if something is known to keep it: a variable, a
Node that has saved it, a view of it, or a call that has it as an argument. So every listed owner is real. Owners that
are not listed are tensors without a name, or references in Python.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.things.answer import Answer
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_line, user_stack, within
from dispatchviz.explain.trace_index.trace_index import index

EDGES_LOOKED_AT = 20_000
"""The number of Nodes made after a Node that are searched for edges to it."""

VIEWS_LOOKED_AT = 64
"""The number of views of a tensor that are read."""


def freed_at(trace: Trace, node: int) -> ev.NodeDeleted | None:
    """Return the end of a Node, or None if it outlives the recording."""
    found = history(trace).events.of_node(node, ev.NodeDeleted)
    return found[0] if found else None


def is_freed(trace: Trace, node: int, at: int) -> bool:
    """Return whether a Node has been freed at a step."""
    end = freed_at(trace, node)
    return end is not None and end.seq <= at


def keepers(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    """Yield the known owners of a Node that has not been freed."""
    yield from _maker(trace, node, at)
    yield from _tensors(trace, node, at)
    yield from _edges(trace, node, at)
    yield from _engine(trace, node, at)
    yield from _child(trace, node, at)


def losses(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    """Yield the tensors that kept the Node and have another history by now."""
    known = index(trace)
    for tensor in _ever(trace, node):
        entries = [(step, of) for step, of in known.histories.get(tensor, ()) if step <= at]
        own = [place for place, (_, of) in enumerate(entries) if of == node]
        if own and entries[own[-1] + 1 :]:
            since, now = entries[own[-1] + 1]
            now_text = "has no history" if now is None else f"has {node_title(trace, now, at)} as its grad_fn"
            text = f"no longer {tensor_name(trace, tensor, at)}: after this step it {now_text}"
            yield Answer(text, since, TensorThing(tensor))


# -- tensors ----------------------------------------------------------------------------------------------------------


def _ever(trace: Trace, node: int) -> list[int]:
    """Return the tensors whose ``grad_fn`` it is or was, in order."""
    columns = trace.columns
    codes = {columns.code(ev.HistorySet), columns.code(ev.HistoryRebased)}
    steps = history(trace).events.making(node)
    return list(dict.fromkeys(columns.tensors[step] for step in steps if columns.kinds[step] in codes))


def _tensors(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    known = index(trace)
    for tensor in _ever(trace, node):
        if known.history(tensor, at) != node:
            continue
        why = _why_alive(trace, tensor, at)
        if why is not None:
            since = next(step for step, of in reversed(known.histories.get(tensor, ())) if of == node and step <= at)
            name = tensor_name(trace, tensor, at)
            yield Answer(f"{name}, whose grad_fn it is{why and f': {why}'}", since, TensorThing(tensor))


def unknown_tensors(trace: Trace, node: int, at: int) -> list[int]:
    """Return the tensors whose ``grad_fn`` it is and that may or may not still exist."""
    known = index(trace)
    own = (tensor for tensor in _ever(trace, node) if known.history(tensor, at) == node)
    return [tensor for tensor in own if _why_alive(trace, tensor, at) is None]


def _why_alive(trace: Trace, tensor: int, at: int, views: bool = True) -> str | None:
    """Return the known owner of a tensor: empty for the variable of its own name, None if no owner is known."""
    if _has_variable(trace, tensor, at):
        return ""
    found = _saved(trace, tensor, at) or _argument(trace, tensor, at) or _gradient(trace, tensor, at)
    return _view(trace, tensor, at) if found is None and views else found


def _has_variable(trace: Trace, tensor: int, at: int) -> bool:
    """Return whether a variable names a tensor. A variable of a function counts only while that call runs."""
    name = index(trace).name(tensor, at)
    if not name.isidentifier():
        return False
    bound = [step for step, of in index(trace).holders.get(name, ()) if of == tensor and step <= at]
    line = source_line(trace, bound[-1]) if bound else None
    if line is None or not line.function:
        return line is not None
    return any((each.function, each.caller) == (line.function, line.caller) for each in user_stack(trace, at))


def _saved(trace: Trace, tensor: int, at: int) -> str | None:
    """Return the Node that saved a tensor as an input. Of its outputs a Node keeps only those without a ``grad_fn``."""
    for step in index(trace).steps_about(tensor, ev.VariableSaved):
        event = trace[step]
        if step > at or not isinstance(event, ev.VariableSaved) or event.is_output or event.packed:
            continue
        if not is_freed(trace, event.node, at) and not _has_released(trace, event.node, step, at):
            return f"{node_title(trace, event.node, at)} has saved it as {event.name}"
    return None


def _has_released(trace: Trace, node: int, since: int, at: int) -> bool:
    released = history(trace).events.of_node(node, ev.VariablesReleased)
    return any(since < event.seq <= at for event in released)


def _argument(trace: Trace, tensor: int, at: int) -> str | None:
    """Return the running call that has a tensor as an argument."""
    for event in (trace[at], *trace.ancestors(at)):
        if isinstance(event, ev.Dispatched) and at < trace.ends[event.seq]:
            computed = within(trace, event.seq, ev.KeySetComputed)
            if computed is not None and any(number == tensor for _, number, _ in computed.arguments):
                return f"{event.operator.removeprefix('aten::')} has it as an argument"
    return None


def _gradient(trace: Trace, tensor: int, at: int) -> str | None:
    known = index(trace)
    leaf = known.leaves.get(tensor)
    if leaf is None or leaf == tensor or not known.is_gradient(tensor, leaf, at) or not _has_variable(trace, leaf, at):
        return None
    return ""


def _view(trace: Trace, tensor: int, at: int) -> str | None:
    """Return the view that keeps a tensor as its base."""
    made = index(trace).tensors.get(tensor)
    steps = () if made is None else index(trace).about_storage(made.storage, ev.TensorCreated)
    for other in (trace.columns.tensors[step] for step in steps[:VIEWS_LOOKED_AT] if step <= at):
        view = index(trace).views.get(other)
        is_view = view is not None and view.base == tensor and view.seq <= at
        if is_view and _why_alive(trace, other, at, views=False) is not None:
            return f"it is the base of {tensor_name(trace, other, at)}"
    return None


# -- Nodes, the engine ------------------------------------------------------------------------------------------------


def _edges(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    """Yield the edges of Nodes that were made later and have not been freed."""
    first = history(trace).events.first(node)
    steps = trace.steps_of(ev.EdgesCollected)
    near = steps[bisect_left(steps, first) : bisect_right(steps, at)][:EDGES_LOOKED_AT]
    for event in some_events(trace.events, near):
        if not isinstance(event, ev.EdgesCollected) or not any(edge and edge[0] == node for edge in event.edges):
            continue
        latest = history(trace).edges(event.node, at)
        if latest is not None and latest.seq == event.seq and not is_freed(trace, event.node, at):
            yield Answer(_edge(trace, node, event, at), event.seq, NodeThing(event.node))


def _edge(trace: Trace, node: int, event: ev.EdgesCollected, at: int) -> str:
    places = [place for place, edge in enumerate(event.edges) if edge and edge[0] == node]
    which = "edge" if len(places) == 1 else "edges"
    numbers = " and ".join(map(str, places)) if len(places) < 4 else f"{places[0]} and {len(places) - 1} more"
    return f"{node_title(trace, event.node, at)}, through its {which} {numbers}"


def _engine(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    """Yield the engine's references while a backward pass runs: its roots, the queued Nodes and the running Node."""
    backward = backward_around(trace, at)
    if backward is None:
        return
    started = backward.event
    if any(root == node for root, _ in started.roots):
        yield Answer("the backward pass that runs: it is its root", started.seq)
    columns = trace.columns
    queued, ran, over = map(columns.code, (ev.NodeQueued, ev.NodeStarted, ev.NodeFinished))
    about = [step for step in history(trace).events.steps(node) if started.seq < step <= at]
    last = next((step for step in reversed(about) if columns.kinds[step] in (queued, ran, over)), None)
    if last is not None and columns.kinds[last] == queued:
        yield Answer("the engine: it waits in the ready queue", last)
    elif last is not None and columns.kinds[last] == ran:
        yield Answer("the engine: it runs", last)


def _maker(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    """Yield the kernel that makes a Node, and the forward of its Function."""
    made = index(trace).nodes.get(node)
    parent = None if made is None or made.known or made.parent is None else trace[made.parent]
    if isinstance(parent, ev.KernelEntered) and at < trace.ends[parent.seq] and node not in index(trace).accumulators:
        yield Answer(f"{parent.kernel}, which makes it", parent.seq)
    entered = index(trace).functions.get(node)
    if entered is not None and entered <= at < trace.ends[entered]:
        yield Answer("the forward of its Function, as ctx", entered)


def _child(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    """Yield the Nodes whose metadata keeps a Node in anomaly mode, because they were made while it ran."""
    for step in trace.steps_of(ev.ParentAssigned):
        event = trace[step]
        if step > at:
            return
        if isinstance(event, ev.ParentAssigned) and event.parent_node == node and not is_freed(trace, event.node, at):
            text = f"the metadata of {node_title(trace, event.node, at)}, whose parent it is (anomaly mode)"
            yield Answer(text, step, NodeThing(event.node))
