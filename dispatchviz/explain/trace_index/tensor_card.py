"""A tensor as of a step: shape, strides, keys, version, memory, the Nodes that saved it. Facts that the trace does not
have are left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.tensor_numbers import numbers_of
from dispatchviz.explain.trace_index.trace_index import Index, index

MOST_MATES = 64
"""The largest number of tensors on one memory for which the version is searched, because all of them must be read."""

LOOKED_AT = 12
"""The number of last events about a tensor's version that are read."""

SHOWN = 4
"""The number of other tensors on the same memory, and of Nodes, that are named."""


class Saved(Struct, frozen=True):
    """A Node that keeps the tensor."""

    node: str
    name: str
    """The name of the Node's member: ``self``."""
    version: int
    """The version at which it was saved."""
    seq: int


class TensorCard(Struct, frozen=True):
    """The facts about a tensor."""

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    """``torch.float32``."""
    device: str
    key_set: int
    requires_grad: bool
    """The value of ``x.requires_grad``. A view also requires grad if its base does, in whichever mode it was made."""
    grad_fn: str
    """The Node that made it; empty for a leaf, and for a tensor without history."""
    version: int | None
    """The version, or None if the trace does not have it."""
    storage: int
    """The number of the storage; -1 if the tensor has no memory of its own."""
    base: str
    """The base of the view; empty if it is not a view that autograd knows."""
    mates: tuple[str, ...]
    """Other tensors on the same memory that exist by then, newest first; at most a few."""
    more_mates: int
    """The number of others that are not named."""
    saved: tuple[Saved, ...]
    """The Nodes that keep it, latest first; at most a few."""
    made: int
    """The step at which it appeared."""
    numbers: str
    """The elements, such as ``[[0.1, 2.0], [3.0, nan]]``; empty if the trace does not have them."""


def tensor_card(trace: Trace, tensor: int, at: int) -> TensorCard | None:
    """Return the card of a tensor, or None if the trace does not have the tensor at that step."""
    known = index(trace)
    made = known.tensors.get(tensor)
    if made is None or made.seq > at:
        return None
    shape = known.shape(tensor, at)
    node, view, taken = known.history(tensor, at), known.views.get(tensor), _taken_over(trace, tensor, at)
    storage = made.storage if taken is None else taken.storage
    mates = [other for other in _on_memory(trace, storage, at) if other != tensor][::-1]
    return TensorCard(
        tensor,
        tensor_name(trace, tensor, at),
        made.shape if shape is None else shape,
        made.dtype if taken is None else taken.dtype,
        made.device if taken is None else taken.device,
        key_set_of(trace, tensor, at) or 0,
        known.grad_needed(tensor, at),
        "" if node is None else node_title(trace, node, at),
        version_of(trace, tensor, at),
        storage,
        tensor_name(trace, view.base, at) if view is not None and view.seq <= at else "",
        tuple(tensor_name(trace, other, at) for other in mates[:SHOWN]),
        max(len(mates) - SHOWN, 0),
        tuple(_saved(trace, tensor, at)),
        made.seq,
        numbers_of(trace, tensor, at),
    )


def storage_of(trace: Trace, made: ev.TensorCreated, at: int) -> int:
    """Return the storage of a tensor as of a step, or of its creation if that comes later; -1 if it has none."""
    taken = _taken_over(trace, made.tensor, max(at, made.seq))
    return made.storage if taken is None else taken.storage


def _taken_over(trace: Trace, tensor: int, at: int) -> ev.GeometryChanged | None:
    """Return the last ``x.data = y`` or ``x.set_(y)`` of a tensor."""
    steps = index(trace).steps_about(tensor, ev.GeometryChanged)
    place = bisect_right(steps, at)
    events = (trace[step] for step in steps[max(place - LOOKED_AT, 0) : place][::-1])
    return next((event for event in events if isinstance(event, ev.GeometryChanged) and event.dtype), None)


def _on_memory(trace: Trace, storage: int, at: int) -> list[int]:
    """Return the tensors that came onto a storage by then and are still on it, in order, each once."""
    left = ((tensor, _taken_over(trace, tensor, at)) for tensor in _came_onto(trace, storage, at))
    return [tensor for tensor, taken in left if taken is None or taken.storage == storage]


def _came_onto(trace: Trace, storage: int, at: int) -> list[int]:
    """Return all tensors that came onto a storage, even if they have left it: they keep their version counter."""
    if storage < 0:
        return []
    steps = index(trace).about_storage(storage, ev.TensorCreated, ev.GeometryChanged)
    near = steps[max(bisect_right(steps, at) - MOST_MATES, 0) : bisect_right(steps, at)]
    return list(dict.fromkeys(trace.columns.tensors[step] for step in near))


# -- version -------------------------------------------------------------------------------------------------------


def version_of(trace: Trace, tensor: int, at: int) -> int | None:
    """Return the version of a tensor as of a step, or None if the trace does not have it.

    Tensors on one memory may have one version counter or several. A tensor and its views that autograd knows have the
    same one. For other tensors the events with a number of the counter decide.
    """
    known = index(trace)
    made = known.tensors.get(tensor)
    if is_unseen(trace.header, ev.VersionBumped):
        return None
    if made is None or made.storage < 0 or len(known.about_storage(made.storage, ev.TensorCreated)) > MOST_MATES:
        return None
    mates = list(dict.fromkeys((*_came_onto(trace, made.storage, at), tensor)))
    bumps = _steps(known, mates, at, ev.VersionBumped)
    last = _last_counted(trace, known, tensor, mates, at)
    if last is None:
        return _unchanged(known, made, mates) if not bumps else None
    for step in bumps[-LOOKED_AT:][::-1]:
        bump = trace[step]
        if isinstance(bump, ev.VersionBumped) and bump.counter == last.counter:
            return bump.after
    if len(bumps) > LOOKED_AT:
        return None
    return last.version if isinstance(last, ev.VariableSaved) else last.after


def _steps(known: Index, tensors: Iterable[int], at: int, *kinds: type[ev.Event]) -> list[int]:
    """Return the last steps of some kinds about any of some tensors, in order, up to one more than are read."""
    found = (known.steps_about(tensor, *kinds) for tensor in tensors)
    ends = ((steps, bisect_right(steps, at)) for steps in found)
    return sorted(step for steps, end in ends for step in steps[max(end - LOOKED_AT - 1, 0) : end])


def _last_counted(
    trace: Trace, known: Index, tensor: int, mates: Sequence[int], at: int
) -> ev.VersionBumped | ev.VariableSaved | None:
    """Return the last event with the version counter of a tensor, of its base, or of a view of that."""
    own = _steps(known, [tensor], at, ev.VersionBumped, ev.VariableSaved)
    others = _steps(known, mates, at, ev.VersionBumped, ev.VariableSaved)
    base, tensors = _base(known, tensor, at), trace.columns.tensors
    for step in (*own[::-1][:LOOKED_AT], *others[::-1][:LOOKED_AT]):
        of = tensors[step]
        event = trace[step] if of in (tensor, base) or _base(known, of, at) == base else None
        if isinstance(event, ev.VersionBumped | ev.VariableSaved) and event.counter >= 0:
            return event
    return None


def _base(known: Index, tensor: int, at: int) -> int:
    view = known.views.get(tensor)
    return view.base if view is not None and view.seq <= at else tensor


def _unchanged(known: Index, made: ev.TensorCreated, mates: Sequence[int]) -> int | None:
    """Return version 0 for a tensor with a counter on new memory without a write; otherwise None."""
    first = known.tensors.get(mates[0])
    return 0 if first is not None and first.how == "new" and made.key_set & _COUNTS else None


_COUNTS = raw(DispatchKey.ADInplaceOrView)
"""The key that tensors made in inference mode, which have no version counter, do not have."""


# -- owners --------------------------------------------------------------------------------------------------------


def _saved(trace: Trace, tensor: int, at: int) -> Iterator[Saved]:
    """Yield the Nodes that saved the tensor last and have not released it."""
    steps = index(trace).steps_about(tensor, ev.VariableSaved)
    until = bisect_right(steps, at)
    latest = (steps[place] for place in range(until - 1, max(until - MOST_MATES, 0) - 1, -1))
    for step in islice((step for step in latest if not _released(trace, step, at)), SHOWN):
        event = trace[step]
        if isinstance(event, ev.VariableSaved):
            yield Saved(node_title(trace, event.node, at), event.name, event.version, event.seq)


def _released(trace: Trace, saved: int, at: int) -> bool:
    """Return whether the Node of a step has released its saved variables since."""
    columns = trace.columns
    released, of_node = columns.code(ev.VariablesReleased), columns.of_node.get(columns.nodes[saved], ())
    since = of_node[bisect_right(of_node, saved) : bisect_right(of_node, at)]
    return any(columns.kinds[step] == released for step in since)


def key_set_of(trace: Trace, tensor: int, at: int) -> int | None:
    """Return the key set as a 64-bit number, or None if the trace does not have the tensor at that step."""
    made = index(trace).tensors.get(tensor)
    if made is None or made.seq > at:
        return None
    event = _last(trace, index(trace).steps_about(tensor, ev.KeySetChanged), at)
    return event.after if isinstance(event, ev.KeySetChanged) else made.key_set


def strides_of(trace: Trace, tensor: int, at: int) -> tuple[int, ...] | None:
    """Return the strides in elements, or None if the trace does not have the tensor at that step."""
    event = _last(trace, index(trace).steps_about(tensor, ev.TensorCreated, ev.GeometryChanged), at)
    return event.stride if isinstance(event, ev.TensorCreated | ev.GeometryChanged) else None


def _last(trace: Trace, steps: Sequence[int], at: int) -> ev.AnyEvent | None:
    place = bisect_right(steps, at)
    return trace[steps[place - 1]] if place else None
