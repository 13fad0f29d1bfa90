"""The time for which each Node keeps each tensor that it saved.

A Node drops its saved tensors when a backward pass without ``retain_graph`` has run it, or when the Node itself is
freed. A tensor that a hook packs is not kept: the hook's result is.

A recording of an installed PyTorch has no events for either end. The first one follows from the Nodes that run. Of the
second one, only the last step is known at which the Node certainly exists (``proven_ends.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.graph.memory.proven_ends import proven_ends
from dispatchviz.explain.trace_index.recorded_engine import is_unseen


class End(Enum):
    """The reason why a Node no longer keeps a tensor."""

    RELEASED = "the Node has run without retain_graph"
    FREED = "the Node is freed"
    PACKED = "a hook has packed the tensor"
    UNSEEN = "the Node may be freed from this step on"
    NONE = "the trace shows no end"


class Life(NamedTuple):
    """The steps at which a Node keeps a tensor: from ``begin`` up to, but not including, ``end``."""

    begin: int
    """The step of the VariableSaved."""
    end: int
    """The number of steps of the trace if it shows no end."""
    node: int
    tensor: int
    storage: int
    why: End


class Found(NamedTuple):
    """The lives of a trace."""

    lives: list[Life]
    """In the order in which they begin."""
    unsure: list[tuple[int, int, int]]
    """The steps at which a storage may be kept or not: the storage, the first step, the one after the last."""
    packed: list[int]
    """The steps of the saved tensors that a hook packed at once."""
    without_storage: list[int]
    """The steps of the saved tensors that have no storage: sparse ones, meta tensors, wrappers."""


def lives_of(trace: Trace) -> Found:
    """Return the lives of all saved tensors, in one pass over their columns."""
    columns, last = trace.columns, len(trace)
    saved = [step for step in trace.steps_of(ev.VariableSaved) if columns.tensors[step] >= 0]
    packed, later = _packed(trace, saved)
    storages = _storages(trace, saved)
    released, freed = _releases(trace), _first_steps(trace, ev.NodeDeleted)
    found = Found([], [], sorted(packed), [])
    for step in saved:
        if step in packed:
            continue
        storage, node = storages.get(step, -1), columns.nodes[step]
        if storage < 0:
            found.without_storage.append(step)
            continue
        ends = (
            (released.get(node, last), End.RELEASED),
            (freed.get(node, last), End.FREED),
            (later.get(step, last), End.PACKED),
        )
        end, why = min(ends, key=_step)
        found.lives.append(Life(step, end, node, columns.tensors[step], storage, why if end < last else End.NONE))
    if is_unseen(trace.header, ev.NodeDeleted):
        _end_where_unsure(trace, found)
    return found


def _end_where_unsure(trace: Trace, found: Found) -> None:
    """Let each life without an end end where its Node is no longer certain to exist."""
    without_end = [place for place, life in enumerate(found.lives) if life.why is End.NONE]
    proven = proven_ends(trace, found.lives[without_end[0]].begin) if without_end else {}
    for place in without_end:
        life = found.lives[place]
        sure = max(proven.get(life.node, 0), life.begin + 1)
        if sure < life.end:
            found.unsure.append((life.storage, sure, life.end))
            found.lives[place] = life._replace(end=sure, why=End.UNSEEN)


def _step(end: tuple[int, End]) -> int:
    return end[0]


def _first_steps(trace: Trace, kind: type[ev.Event]) -> dict[int, int]:
    """Return the first step of a kind for each Node."""
    nodes = trace.columns.nodes
    return {nodes[step]: step for step in reversed(trace.steps_of(kind))}


# -- the end of a saved tensor -----------------------------------------------------------------------------------------


def _releases(trace: Trace) -> Mapping[int, int]:
    """Return the step at which each Node released its saved tensors."""
    if not is_unseen(trace.header, ev.VariablesReleased):
        return _first_steps(trace, ev.VariablesReleased)
    found: dict[int, int] = {}
    for node, end in _runs_without_retain(trace):
        found.setdefault(node, end)
    return found


def _runs_without_retain(trace: Trace) -> Iterator[tuple[int, int]]:
    """Yield each Node that returned in a backward pass without ``retain_graph``, with the step after its run."""
    columns, backwards = trace.columns, history(trace).backwards
    for step in trace.steps_of(ev.NodeStarted):
        backward = next(backwards.under_way(step), None)
        if backward is None or backward.event.keep_graph:
            continue
        if backward.finished or backward.starts[-1] != step:  # else an exception may have ended the Node
            yield columns.nodes[step], columns.ends[step] + 1


# -- hooks that pack ---------------------------------------------------------------------------------------------------


def _packed(trace: Trace, saved: list[int]) -> tuple[set[int], dict[int, int]]:
    """Return the steps of the tensors that hooks packed at once, and of others the step at which that happened later
    (``SavedTensor.register_hooks``).
    """
    hooks = trace.steps_of(ev.SavedTensorHookRan)
    if not len(hooks):
        return set(), {}
    at_once, later, named = set[int](), dict[int, int](), dict[tuple[int, str], int]()
    for event in some_events(trace.events, sorted((*saved, *hooks))):
        if isinstance(event, ev.VariableSaved):
            named[event.node, event.name] = event.seq
            at_once.update([event.seq] if event.packed else [])
        elif isinstance(event, ev.SavedTensorHookRan) and event.kind == "pack hook" and event.node is not None:
            step = named.get((event.node, event.name))
            if step is not None:
                later.setdefault(step, event.seq)
    return at_once, later


# -- storages ----------------------------------------------------------------------------------------------------------


def _storages(trace: Trace, saved: list[int]) -> dict[int, int]:
    """Return the storage of the tensor of each saved step."""
    columns, tensors = trace.columns, trace.columns.tensors
    wanted, created = {tensors[step] for step in saved}, columns.code(ev.TensorCreated)
    on = {
        tensor: storage
        for storage, steps in columns.of_storage.all()
        for step in steps
        if (tensor := tensors[step]) in wanted and columns.kinds[step] == created
    }
    moved = _moves(trace, wanted)
    return {step: _storage_at(moved.get(tensors[step], ()), step, on.get(tensors[step], -1)) for step in saved}


def _moves(trace: Trace, tensors: set[int]) -> Mapping[int, list[tuple[int, int]]]:
    """Return the storages that tensors got later, by ``x.data = y`` or ``x.set_(y)``, each with its step."""
    found: dict[int, list[tuple[int, int]]] = {}
    steps = (step for step in trace.steps_of(ev.GeometryChanged) if trace.columns.tensors[step] in tensors)
    for event in some_events(trace.events, steps):
        if isinstance(event, ev.GeometryChanged) and event.dtype:
            found.setdefault(event.tensor, []).append((event.seq, event.storage))
    return found


def _storage_at(moves: list[tuple[int, int]] | tuple[()], step: int, made: int) -> int:
    return next((storage for at, storage in reversed(moves) if at <= step), made)
