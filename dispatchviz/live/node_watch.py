"""Nodes of a real PyTorch: which one a kernel's result has, where its edges lead, what it saved.

A Node can be asked when the kernel that made it has returned, by the ``grad_fn`` of a result; nothing is asked that
would make another Node (the ``grad_fn`` of a view whose base was written to without grad mode) or run a hook (what a
Node saved while hooks pack it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dispatchviz.core.record import events as ev
from dispatchviz.live.live_events import NodeKinds
from dispatchviz.live.packing_hooks import PackingHooks
from dispatchviz.live.tensor_numbers import ACCUMULATE, NodeNumbers, WeakNumbers

if TYPE_CHECKING:
    from dispatchviz.live.live_notes import Sets
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_operators import WatchedCell

Known = Mapping[str, tuple[int, Any]]
"""By name of an argument or a result: serial number and tensor."""


class NodeWatch:
    """Emits the notes of Nodes; knows those that were met."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._c = watch.torch._C
        self._grad_mode = (
            self._c.is_grad_enabled if hasattr(self._c, "is_grad_enabled") else watch.torch.is_grad_enabled
        )
        self.hooks = PackingHooks(self._c)
        self._modes = getattr(self._c, "_len_torch_dispatch_stack", lambda: 0)
        self.numbers = NodeNumbers()
        self._kinds = NodeKinds()
        self._members: dict[str, tuple[str, ...]] = {}
        """Of each kind of Node the names of what it saves."""
        self._history = WeakNumbers()
        """The Node of a tensor, as noted last."""

    def look_at(self, tensors: Sequence[Any], cell: WatchedCell, sets: Sets) -> None:
        """An autograd kernel has returned these."""
        if not self._grad_mode():
            return  # no Node was made, and to ask a view that was written to would make one
        for place, tensor in enumerate(tensors):
            if tensor.requires_grad and (node := tensor.grad_fn) is not None:
                self._has_history(tensor, node, cell, sets, tensors if place == 0 else ())

    def _has_history(self, tensor: Any, node: Any, cell: WatchedCell, sets: Sets, results: Sequence[Any]) -> None:
        number = self.numbers.get(node)
        if number < 0:
            number = self.met(node)
            self._saved(node, number, sets, results)
        if self._history.get(tensor) != number:
            self._history.set(tensor, number)
            serial = self._watch.live_tensors.get(tensor)
            if cell.operator.writes:
                fields = serial - self._watch.first_tensor, number - self._watch.first_node, tensor.output_nr
                self._watch._emit(ev.HistoryRebased, *fields)
            else:
                self._watch.note(("history_set", serial, number, tensor.output_nr))

    def known(self, node: Any) -> int:
        """The number of a Node, which it gets now if it has none."""
        number = self.numbers.get(node)
        return number if number >= 0 else self.met(node)

    def met(self, node: Any) -> int:
        """Numbers a Node that is met for the first time, and those before it that nobody has met; gives its number."""
        get = self.numbers.get
        waiting = [node]
        while waiting:
            one = waiting[-1]
            edges = one.next_functions
            numbers = [-1 if to is None else get(to) for to, _ in edges]
            unmet = [to for (to, _), number in zip(edges, numbers, strict=True) if number < 0 and to is not None]
            if unmet:
                waiting += reversed(unmet)
                continue
            waiting.pop()
            if one is node or get(one) < 0:
                targets = tuple([(n, nr) if n >= 0 else None for n, (_, nr) in zip(numbers, edges, strict=True)])
                number = self._introduce(one, targets, one is node)
        return number

    def _introduce(self, node: Any, edges: tuple[tuple[int, int] | None, ...], is_made: bool) -> int:
        number, name = next(self._watch.node_numbers), node.name()
        self.numbers.set(node, number)
        heights = self.numbers.topological
        height = heights[number] = max([heights.get(edge[0], 0) + 1 for edge in edges if edge is not None], default=0)
        how: Literal["node_created", "node_known"]
        how = "node_created" if is_made or self._watch.origin == "new" else "node_known"
        self._watch.note((how, number, self._kinds[name], node._sequence_nr(), 0, 1))
        if name == ACCUMULATE:
            tensor = self._watch._tensor(node.variable)
            self._watch._emit(ev.AccumulatorMade, number - self._watch.first_node, tensor)
        else:
            self._watch.note(("edges_collected", number, height, edges, ()))
        return number

    # -- what it saved ------------------------------------------------------------------------------------------------

    def _saved(self, node: Any, number: int, sets: Sets, results: Sequence[Any]) -> None:
        members = self._members_of(node)
        if not members:
            return
        arguments = {name: serial for name, serial, _ in sets}
        packed = self.hooks.there() or self._modes() > 0 or any(map(self._is_python, results))
        self._watch.thread.watched = False
        try:
            for name in members:
                if not (packed and hasattr(type(node), f"_raw_saved_{name}")):
                    self._member(node, number, name, arguments, results)
        finally:
            self._watch.thread.watched = True

    def _is_python(self, tensor: Any) -> bool:
        """To get such a tensor back from its Node calls its class."""
        return bool(self._c._dispatch_keys(tensor).has(self._c.DispatchKey.Python))

    def _member(self, node: Any, number: int, name: str, arguments: Mapping[str, int], results: Sequence[Any]) -> None:
        try:
            value = getattr(node, f"_saved_{name}")
        except RuntimeError:
            return
        own = number - self._watch.first_node
        if value is None and hasattr(type(node), f"_raw_saved_{name}"):
            self._watch._emit(ev.VariableSaved, own, name, None, -1, False)
        elif isinstance(value, self._watch.torch.Tensor):
            self._variable(own, name, value, arguments, results)
        elif isinstance(value, (tuple, list)) and any(isinstance(v, self._watch.torch.Tensor) for v in value):
            for place, one in enumerate(value):
                if one is not None:
                    self._variable(own, f"{name}[{place}]", one, arguments, results)
        else:
            self._watch.note(("attribute_saved", number, name, _text(value)))

    def _variable(self, node: int, name: str, value: Any, arguments: Mapping[str, int], results: Sequence[Any]) -> None:
        """Python gets another object of a saved tensor than the one that was saved: which one that was is told by the
        member's name, an argument's or ``result``."""
        serial, is_output = arguments.get(name, -1), False
        if serial < 0 and name.startswith("result") and results:
            place = int(name.removeprefix("result") or 0)
            serial, is_output = self._watch.serial(results[place]) if place < len(results) else -1, True
        if serial < 0:
            serial = self._watch.live_tensors.get(value)
            is_output = serial >= 0 and serial in [self._watch.live_tensors.get(one) for one in results]
        if serial < 0:
            self._watch._emit(ev.AttributeSaved, node, name, f"a tensor of sizes {tuple(value.size())}")
        else:
            version = -1 if value.is_inference() else value._version
            self._watch._emit(ev.VariableSaved, node, name, serial - self._watch.first_tensor, version, is_output)

    def _members_of(self, node: Any) -> tuple[str, ...]:
        name = node.name()
        known = self._members.get(name)
        if known is None:
            known = tuple(one.removeprefix("_saved_") for one in dir(type(node)) if one.startswith("_saved_"))
            self._members[name] = known
        return known


def _text(value: Any) -> str:
    return str(tuple(map(_signed, value)) if isinstance(value, (list, tuple)) else _signed(value))


def _signed(value: Any) -> Any:
    """Python is given a negative SymInt as a number without a sign."""
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value
