"""Events of a recording of an installed PyTorch.

The builder derives them from the raw facts in the notes: keys in our numbers, guards and cells. The model's builder
does the rest.
"""

from __future__ import annotations

import functools
from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import reads_note
from dispatchviz.core.record.builders.cell_text import CellText, CellTexts, key_name
from dispatchviz.live.local_sets import guard_name
from dispatchviz.running.user_lines import ProgramEventBuilder

if TYPE_CHECKING:
    from dispatchviz.live.key_numbers import KeyNumbers
    from dispatchviz.live.watched_operators import WatchedCell


class NodeKind:
    """The class of a Node, as a note holds it."""

    edge_names: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.__name__ = self.cpp_name = name


class NodeKinds(dict[str, NodeKind]):
    """Kinds of Nodes by ``Node::name``."""

    def __missing__(self, name: str) -> NodeKind:
        kind = self[name] = NodeKind(name)
        return kind


class _LocalSet(dict[int, int]):
    """A cache of a thread's included or excluded set: the raw value (``local_sets.py``) to the set in our numbers."""

    def __init__(self, keys: KeyNumbers, which: int) -> None:
        super().__init__()
        self._keys, self._which = keys, which

    def __missing__(self, kept: int) -> int:
        known = self[kept] = self._keys[kept ^ self._keys.defaults[self._which]]
        return known


RawSets = tuple[Any, ...]
"""The parameter, serial number and raw key set of each tensor argument, one after the other. Key sets are as the
installed release numbers them.
"""

Open = tuple[int, int, str, "WatchedCell"]
"""A running kernel: the thread's included and excluded sets when it began, the guard that was derived around it, its
cell.
"""


class LiveEventBuilder(ProgramEventBuilder):
    """The builder that reads the notes of a ``LiveRecorder``."""

    def __init__(self, keys: KeyNumbers) -> None:
        super().__init__()
        self._keys = keys
        self._included, self._excluded = (_LocalSet(keys, which) for which in range(2))
        self._texts: dict[WatchedCell, CellText] = {}
        """The texts of entries. After a change of registrations, the operator's watched cells are other objects."""
        self._running = defaultdict[int, list[Open]](list)
        """The kernels that run on each thread."""
        self._topological = array("i")
        """Topological numbers of Nodes by their numbers; that of an AccumulateGrad is 0. This is an array, because no
        event says when a Node is freed.
        """

    @staticmethod
    def texts_of_cells() -> CellTexts:
        """Return no texts yet, since each recording has cells of its own."""
        return CellTexts()

    def _text_of(self, cell: WatchedCell) -> CellText:
        known = self._texts.get(cell)
        if known is None:
            known = self._texts[cell] = self._cells[cell.operator.cell(cell.key)]
        return known

    # -- kernels ------------------------------------------------------------------------------------------------------

    @reads_note
    def kernel_called(self, cell: WatchedCell, own: int, included: int, excluded: int, sets: RawSets) -> None:
        """Emit the events of a kernel that begins because a call selected it."""
        self._called_with(cell, own, included, excluded, sets, 0)

    @reads_note
    def kernel_called_with_generator(
        self, cell: WatchedCell, own: int, included: int, excluded: int, sets: RawSets, device: str
    ) -> None:
        """Emit the same events for a call with a random generator among the arguments. The generator adds the key of
        its device.
        """
        self._called_with(cell, own, included, excluded, sets, raw(DispatchKey[device.upper()]))

    def _called_with(
        self, cell: WatchedCell, own: int, included: int, excluded: int, sets: RawSets, generator: int
    ) -> None:
        keys, included, excluded = self._keys, self._included[included], self._excluded[excluded]
        self._begins(cell, included, excluded)
        flat, tensors, arguments, united = iter(sets), self.tensors, [], generator
        for name, serial, own_set in zip(flat, flat, flat, strict=True):
            ks = keys[own_set]
            united |= ks
            arguments.append((name, tensors[serial], ks))
        text = self._text_of(cell)
        self._called("call", text, keys[own], included, excluded, tuple(arguments), united, generator)

    @reads_note
    def kernel_redispatched(self, cell: WatchedCell, own: int, included: int, excluded: int) -> None:
        """Emit the events of a kernel that begins because a redispatch selected it."""
        self._begins(cell, self._included[included], self._excluded[excluded])
        text, ks, seq = self._text_of(cell), self._keys[own], self._next()
        self.events.append(ev.Dispatched(seq, self.open, "redispatch", text.operator, ks, key_name(ks)))
        self._picked(text, ks, seq, seq + 1)

    def _begins(self, cell: WatchedCell, included: int, excluded: int) -> None:
        """Note a kernel that begins. If its thread-local sets differ from those of the kernel around it, it is within a
        guard.
        """
        running, guard = self._running[self.thread], ""
        if running:
            old_included, old_excluded, _, _ = running[-1]
            if included != old_included or excluded != old_excluded:
                guard = _guard(old_included, included, old_excluded, excluded)
                self.guard_entered(guard, old_included, included, old_excluded, excluded)
        running.append((included, excluded, guard, cell))

    @reads_note
    def kernel_returned_one(self, tensor: int) -> None:
        """Emit the events of a kernel that returned one tensor."""
        self.returned_one(tensor)
        self._ends()

    @reads_note
    def kernel_returned(self, tensors: tuple[int, ...]) -> None:
        """Emit the events of a kernel that returned several tensors, or none."""
        self.returned(tensors)
        self._ends()

    @reads_note
    def kernel_failed(self, cell: WatchedCell) -> None:
        """Emit the event of a kernel that raised. There is none if an exception from outside came before the note that
        the kernel begins.
        """
        running = self._running[self.thread]
        if running and running[-1][3] is cell:
            self.failed()
            self._ends()

    def _ends(self) -> None:
        running = self._running[self.thread]
        _, _, guard, _ = running.pop()
        if guard:
            included, excluded, _, _ = running[-1]
            self.guard_left(guard, included, excluded)

    # -- Nodes, the engine --------------------------------------------------------------------------------------------

    @reads_note
    def live_edges_collected(self, node: int, targets: tuple[int, ...]) -> None:
        """Emit the event that a Node has its edges. Its topological number is one more than the highest number of the
        Nodes that they lead to.
        """
        number, first, known, flat = self.nodes[node], self.nodes.first, self._topological, iter(targets)
        known.extend([0] * (number + 1 - len(known)))
        known[number] = topological_nr = max([self._below(to - first) for to in targets[::2] if to >= 0], default=0)
        ends = zip(flat, flat, strict=True)
        edges = tuple([None if to < 0 else (self.nodes[to], input_nr) for to, input_nr in ends])
        self._event(ev.EdgesCollected, number, edges, (), topological_nr)

    def _below(self, number: int) -> int:
        """Return the topological number of a Node whose only edge leads to this one."""
        return (self._topological[number] if number < len(self._topological) else 0) + 1

    @reads_note
    def live_node_started(
        self,
        node: int,
        name: str,
        sequence_nr: int,
        gradients: int | tuple[int | None, ...],
        place: Any,
        is_engines: bool,
    ) -> None:
        """Emit the event of a Node that is about to be evaluated. ``place`` is the device of its first gradient.

        ``is_engines`` is True on a thread of the engine's own, which ``set_device`` in PyTorch's ``engine.cpp`` names.
        """
        device = "cpu" if place is None else _text(place)
        thread = f"pt_autograd_{place.index or 0}" if is_engines and place is not None else "caller"
        received = self._tensors(gradients if isinstance(gradients, tuple) else (gradients,))
        fields = name, sequence_nr, received, None, device, thread, "", 0, 0
        self._span(ev.NodeStarted, self.nodes[node], *fields)

    # -- tensors ------------------------------------------------------------------------------------------------------

    @reads_note
    def tensor_met(
        self,
        number: int,
        how: ev.TensorOrigin,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        dtype: object,
        device: object,
        ks: int,
        storage: int,
        requires_grad: bool,
        value: str,
    ) -> None:
        """Emit the event of a tensor that is met for the first time. Its dtype and device are objects of the installed
        PyTorch.
        """
        on = -1 if storage < 0 else self.storages[storage]
        fields = tuple(size), stride, _text(dtype), _text(device), ks, on, requires_grad, bool(value), value
        self._event(ev.TensorCreated, self.tensors[number], how, *fields)


_guard = functools.cache(guard_name)
_text = functools.cache(str)
