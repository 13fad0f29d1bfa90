"""The memory that saved tensors keep at a step: every storage with its Nodes, its end, and who else holds it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.kept_memory import KeptMemory, kept_memory
from dispatchviz.explain.graph.memory.saved_lives import End, Life
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.trace_index import index

NAMED = 3
"""The number of Nodes that are named for each storage."""

LIMITS = (
    "Not seen: when a graph that does not run is freed; tensors that hooks pack; some tensors of CopySlices, of custom "
    "Functions and in forward mode."
)
"""The limits of a recording of an installed PyTorch."""


class SavedBy(Struct, frozen=True):
    """A Node that keeps a tensor on a storage."""

    node: str
    names: tuple[str, ...]
    """The Node's members: ``self``, ``other``."""
    step: int
    """The step at which it saved the first one."""


class KeptStorage(Struct, frozen=True):
    """A storage that saved tensors keep."""

    storage: int
    size: int
    """The number of bytes."""
    tensor: int
    """The tensor that was saved first."""
    name: str
    shape: tuple[int, ...]
    dtype: str
    """``torch.float32``."""
    device: str
    saved_by: tuple[SavedBy, ...]
    more: int
    """The number of other Nodes that keep it."""
    begin: int
    """The step at which the first of these Nodes saved it."""
    end: int | None
    """The step from which on none of them keeps it; None if the trace shows no end."""
    why: End
    """The reason for that end."""
    last: str
    """The Node that keeps it longest."""
    variable: str
    """A variable of the program that holds it at the step; empty if none is known."""
    copy_of: str
    """The tensor of another dtype whose elements it has, if that is kept too; else empty."""
    copied_dtype: str
    """The dtype of that tensor."""


class Moment(Struct, frozen=True):
    """A step with its line."""

    step: int
    file: str
    line: int
    """The number of the line; 0 if unknown."""


class MemoryCard(Struct, frozen=True):
    """The memory that saved tensors keep at a step."""

    total: int
    """The number of bytes, each storage once."""
    unnamed: int
    """The part of it that no variable is known to hold."""
    copied: int
    """The part of it that is a copy, in another dtype, of something that is kept too."""
    unsure: int
    """The number of bytes that may be kept too: the recording does not show whether their Nodes still exist."""
    storages: tuple[KeptStorage, ...]
    """The largest first; at most as many as were asked for."""
    more: int
    """The number of the other storages."""
    peak: int
    """The largest total of the trace."""
    peak_at: Moment
    """The first step with it."""
    packed: int
    """The number of tensors up to the step that hooks packed, so that their memory is not known."""
    without_storage: int
    """The number of tensors saved up to the step that have no storage: sparse tensors, meta tensors, wrappers."""


def memory_card(trace: Trace, at: int, most: int = 40) -> MemoryCard:
    """Return the card of a step with at most ``most`` storages."""
    known = kept_memory(trace)
    living = known.living(at)
    shown = islice(living.items(), most)
    return MemoryCard(
        known.total.at(at),
        sum(known.sizes[each] for each in living if not known.variable(trace, each, at)),
        sum(known.sizes[each] for each in living if known.kept_original(trace, each, at)),
        known.unsure.at(at),
        tuple(_storage(trace, known, storage, lives, at) for storage, lives in shown),
        max(len(living) - most, 0),
        known.total.at(known.peak),
        moment(trace, known.peak),
        bisect_right(known.packed, at),
        bisect_right(known.without_storage, at),
    )


def moment(trace: Trace, step: int) -> Moment:
    """Return a step with its line."""
    line = source_line(trace, step)
    return Moment(step, "", 0) if line is None else Moment(step, line.file, line.line)


def _storage(trace: Trace, known: KeptMemory, storage: int, lives: Sequence[Life], at: int) -> KeptStorage:
    last = max(lives, key=lambda life: life.end)
    tensor = lives[0].tensor
    made, shape = index(trace).tensors.get(tensor), index(trace).shape(tensor, at)
    nodes = list(dict.fromkeys(life.node for life in lives))
    copied = known.kept_original(trace, storage, at)
    return KeptStorage(
        storage,
        known.sizes[storage],
        tensor,
        tensor_name(trace, tensor, at),
        shape or (),
        made.dtype if made else "",
        made.device if made else "",
        tuple(_saved_by(trace, nodes[:NAMED], lives, at)),
        max(len(nodes) - NAMED, 0),
        lives[0].begin,
        None if last.why is End.NONE else last.end,
        last.why,
        node_title(trace, last.node, at),
        known.variable(trace, storage, at),
        tensor_name(trace, copied.tensor, at) if copied else "",
        copied.dtype if copied else "",
    )


def _saved_by(trace: Trace, nodes: Sequence[int], lives: Sequence[Life], at: int) -> Iterator[SavedBy]:
    for node in nodes:
        steps = [life.begin for life in lives if life.node == node]
        saved = [event for event in map(trace.__getitem__, steps) if isinstance(event, ev.VariableSaved)]
        yield SavedBy(node_title(trace, node, at), tuple(event.name for event in saved), steps[0])
