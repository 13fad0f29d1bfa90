"""One tensor as of a step: shape, keys, version, memory, who saved it; what the trace does not tell is left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.trace_index import Index, index, latest

MOST_MATES = 256
"""Of memory that more tensors are on nobody looks for the version: it would mean to look at all of them."""

SHOWN = 4
"""So many others on the same memory, and so many Nodes, are named."""


@dataclass(frozen=True, slots=True)
class Saved:
    """That a Node keeps the tensor."""

    node: str
    name: str
    """Of the Node's member: ``self``."""
    version: int
    """At which it was saved."""
    seq: int


@dataclass(frozen=True, slots=True)
class TensorCard:
    """What there is to show of a tensor."""

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    """``torch.float32``."""
    device: str
    key_set: int
    requires_grad: bool
    grad_fn: str
    """The Node that made it; empty of a leaf, and of what has no history."""
    version: int | None
    """None if the trace does not tell it."""
    storage: int
    """-1 if it has no memory of its own."""
    base: str
    """Whose view it is; empty if it is none that autograd knows."""
    mates: tuple[str, ...]
    """Others on the same memory that were met by then, the newest first; at most a few."""
    more_mates: int
    """How many others are not named."""
    saved: tuple[Saved, ...]
    """By which Nodes it is kept, the latest first; at most a few."""
    made: int
    """The step at which it appeared."""


def tensor_card(trace: Trace, tensor: int, at: int) -> TensorCard | None:
    """None if the trace does not know the tensor at that step."""
    known = index(trace)
    made = known.tensors.get(tensor)
    if made is None or made.seq > at:
        return None
    node, view = known.history(tensor, at), known.views.get(tensor)
    mates = [other for other in _on_memory(trace, made.storage, at) if other != tensor][::-1]
    return TensorCard(
        tensor,
        tensor_name(trace, tensor, at),
        known.shape(tensor, at) or made.shape,
        made.dtype,
        made.device,
        _key_set(trace, made, at),
        _needs_grad(known, tensor, at),
        "" if node is None else node_title(trace, node, at),
        version_of(trace, tensor, at),
        made.storage,
        tensor_name(trace, view.base, at) if view is not None and view.seq <= at else "",
        tuple(tensor_name(trace, other, at) for other in mates[:SHOWN]),
        max(len(mates) - SHOWN, 0),
        tuple(_saved(trace, tensor, at)),
        made.seq,
    )


def _needs_grad(known: Index, tensor: int, at: int) -> bool:
    """By itself; of a view also if its base did when it was made in grad mode, or got a history by a later write."""
    if latest(known.requires_grad.get(tensor, ()), at):
        return True
    view = known.views.get(tensor)
    if view is None or view.seq > at or view.creation_meta in ("NO_GRAD_MODE", "INFERENCE_MODE"):
        return False
    written = known.steps_about(view.base, ev.HistoryRebased)
    rebased = bisect_right(written, at) > bisect_right(written, view.seq)
    return rebased or bool(latest(known.requires_grad.get(view.base, ()), view.seq))


def _key_set(trace: Trace, made: ev.TensorCreated, at: int) -> int:
    event = _last(trace, index(trace).steps_about(made.tensor, ev.KeySetChanged), at)
    return event.after if isinstance(event, ev.KeySetChanged) else made.key_set


def _last(trace: Trace, steps: Sequence[int], at: int) -> ev.AnyEvent | None:
    place = bisect_right(steps, at)
    return trace[steps[place - 1]] if place else None


def _on_memory(trace: Trace, storage: int, at: int) -> list[int]:
    """The tensors that appeared on a storage by then, in order, each once."""
    if storage < 0:
        return []
    steps, tensors = trace.columns.of_storage.get(storage, ()), trace.columns.tensors
    near = steps[max(bisect_right(steps, at) - MOST_MATES, 0) : bisect_right(steps, at)]
    return list(dict.fromkeys(tensors[step] for step in near))


# -- version -------------------------------------------------------------------------------------------------------


def version_of(trace: Trace, tensor: int, at: int) -> int | None:
    """The version of a tensor as of a step; None if the trace does not tell it.

    Tensors on one memory may have one version counter or several: a tensor and the views that autograd knows of it have
    one, of others the events tell that have a number of the counter.
    """
    known = index(trace)
    made = known.tensors.get(tensor)
    if made is None or made.storage < 0 or len(trace.columns.of_storage.get(made.storage, ())) > MOST_MATES:
        return None
    mates = _on_memory(trace, made.storage, at)
    told = _counter(trace, known, _family(known, tensor, mates, at), at)
    if told is None:
        return _unchanged(trace, known, mates, at)
    bumps = (_last_bump(trace, known, mate, told.counter, at) for mate in {*mates, tensor})
    last = max(filter(None, bumps), key=lambda bump: bump.seq, default=None)
    if last is not None:
        return last.after
    return told.version if isinstance(told, ev.VariableSaved) else told.after


def _family(known: Index, tensor: int, mates: Sequence[int], at: int) -> set[int]:
    """A tensor, the base that it is a view of, and the views of that."""
    base = _base(known, tensor, at)
    return {tensor, base, *(mate for mate in mates if _base(known, mate, at) == base)}


def _base(known: Index, tensor: int, at: int) -> int:
    view = known.views.get(tensor)
    return view.base if view is not None and view.seq <= at else tensor


def _counter(
    trace: Trace, known: Index, family: Iterable[int], at: int
) -> ev.VersionBumped | ev.VariableSaved | None:
    """The last event about one of these tensors that tells their version counter."""
    told = (_counted(trace, known, each, at) for each in family)
    return max(filter(None, told), key=lambda event: event.seq, default=None)


def _counted(trace: Trace, known: Index, tensor: int, at: int) -> ev.VersionBumped | ev.VariableSaved | None:
    """The last event about a tensor that tells its version counter."""
    steps = known.steps_about(tensor, ev.VersionBumped, ev.VariableSaved)
    for place in range(bisect_right(steps, at) - 1, -1, -1):
        event = trace[steps[place]]
        if isinstance(event, ev.VersionBumped | ev.VariableSaved) and event.counter >= 0:
            return event
    return None


def _last_bump(trace: Trace, known: Index, tensor: int, counter: int, at: int) -> ev.VersionBumped | None:
    steps = known.steps_about(tensor, ev.VersionBumped)
    for place in range(bisect_right(steps, at) - 1, -1, -1):
        event = trace[steps[place]]
        if isinstance(event, ev.VersionBumped) and event.counter == counter:
            return event
    return None


def _unchanged(trace: Trace, known: Index, mates: Sequence[int], at: int) -> int | None:
    """0 on memory that is new, that nobody has written to, and whose tensors all have a counter."""
    made = [known.tensors.get(mate) for mate in mates]
    if any(event is None or event.how != "new" or not event.key_set & _COUNTS for event in made):
        return None
    written = (bump for mate in mates for bump in known.steps_about(mate, ev.VersionBumped)[:1])
    return None if any(step <= at for step in written) else 0


_COUNTS = raw(DispatchKey.ADInplaceOrView)
"""Tensors made in inference mode do not have this key, and no version counter."""


# -- who keeps it --------------------------------------------------------------------------------------------------


def _saved(trace: Trace, tensor: int, at: int) -> Iterator[Saved]:
    """Those of the Nodes that saved it and have not released it."""
    steps, found = index(trace).steps_about(tensor, ev.VariableSaved), 0
    for place in range(bisect_right(steps, at) - 1, max(bisect_right(steps, at) - 1 - 4 * SHOWN, -1), -1):
        event = trace[steps[place]]
        if not isinstance(event, ev.VariableSaved) or _released(trace, event, at):
            continue
        yield Saved(node_title(trace, event.node, at), event.name, event.version, event.seq)
        found += 1
        if found == SHOWN:
            return


def _released(trace: Trace, saved: ev.VariableSaved, at: int) -> bool:
    """Whether the Node has released its saved variables since."""
    columns = trace.columns
    released = columns.code(ev.VariablesReleased)
    of_node = columns.of_node.get(saved.node, ())
    return any(columns.kinds[step] == released for step in of_node[bisect_right(of_node, saved.seq) : bisect_right(of_node, at)])
