"""Nodes of an installed PyTorch: the Node of a kernel's result, the targets of its edges, the values that it saved.

The recorder reads a Node when the kernel that made it has returned, through the ``grad_fn`` of a result. It reads
nothing that would make another Node (the ``grad_fn`` of a view whose base was written to without grad mode) or run a
hook (saved tensors while hooks pack them).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import own_errors_suppressed
from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.live.live_events import NodeKinds
from dispatchviz.live.packing_hooks import PackingHooks
from dispatchviz.live.retained_gradients import move_retained_hook
from dispatchviz.live.tensor_numbers import ACCUMULATE, NodeNumbers

if TYPE_CHECKING:
    from dispatchviz.live.live_notes import Sets
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.watched_operators import WatchedCell

NOWHERE, UNMET = -1, -2
"""Stand-ins for the serial number of a Node."""

COMPOSITE: ev.CellReason = "math kernel"
"""The reason of a cell that holds a composite kernel. A composite calls other operators and makes no Node itself."""


Saved = Sequence[tuple[weakref.ref[Any], int, int] | None]
"""For each tensor that a custom Function saves: a reference, its serial number and its version."""

Results = Mapping[str, Any]
"""The tensors that an operator returns, by name."""


class NodeWatch:
    """The recorder of Nodes. It emits their notes and knows which Nodes were met."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._c = watch.torch._C
        self._function = self._c._FunctionBase
        self.hooks = PackingHooks(self._c)
        self._modes = getattr(self._c, "_len_torch_dispatch_stack", lambda: 0)
        self._python = self._c.DispatchKeySet(self._c.DispatchKey.Python).raw_repr()
        self.begin()
        self._kinds = NodeKinds()
        self._next_sequence_nr = self._c._autograd._get_sequence_nr
        self._first_new = 0
        """The sequence number of this thread's next Node when recording began; 0 if everything is recorded."""
        self._members: dict[str, tuple[tuple[Member, ...], bool]] = {}
        """For each kind of Node its saved members, and whether any of them may be packed."""
        self._custom: dict[int, tuple[weakref.ref[Any], Saved]] = {}
        """The tensors that custom Functions saved, by the ``id`` of their context (the first item of the pair), until
        the context is met as a Node.
        """

    def begin(self) -> None:
        """Know no Node yet, at first and in a forked child."""
        self.numbers = NodeNumbers(self._c._autograd._get_sequence_nr, self._function)

    def part_begins(self) -> int:
        """Note that recording begins. Return the sequence number of the last Node of this thread."""
        self._first_new = self._next_sequence_nr()
        return self._first_new - 1

    def look_at(self, tensors: Sequence[Any], cell: WatchedCell, sets: Sets) -> None:
        """Note the Nodes of tensors that an autograd kernel returned in grad mode."""
        if cell.operator.rebases:
            self._look_at_bases(tensors, cell)
        watch, results = self._watch, tensors
        numbered, thread = watch.live_tensors, watch._threads.state
        for tensor in tensors:
            had_node = numbered.has_node(tensor)
            if had_node and not cell.operator.rebases and not self._may_get_another(cell):
                continue
            if tensor.requires_grad and (node := tensor.grad_fn) is not None:
                name, sequence_nr = node.name(), node._sequence_nr()
                number = self.numbers.of_result(node, sequence_nr, thread)
                if number < 0:
                    if isinstance(node, self._function) and cell.operator.cell(cell.key).reason == COMPOSITE:
                        continue  # the composite handed back what the Function returned
                    number = self._introduce(node, name, sequence_nr, self._known_targets(node), True)
                    self._saved(node, name, number, sets, results, cell)
                results = ()
                serial = numbered.gets_node(tensor, number)
                if serial < 0:
                    continue
                if cell.operator.rebases or (had_node and not cell.operator.is_in_place_view):
                    self._has_history(tensor, serial, number)
                else:
                    watch.note(("history_set", serial, number, tensor.output_nr))

    def _may_get_another(self, cell: WatchedCell) -> bool:
        """Return whether a kernel that writes to no tensor may give a tensor that has a Node another one.

        An in-place view does. The fallback of autograd reads the ``grad_fn`` of its results, which makes a new Node for
        a view whose base was written to. If any other kernel returns a tensor that has a Node, it is as it was, and our
        kernel must not read its ``grad_fn``.
        """
        return cell.operator.is_in_place_view or cell.operator.cell(cell.key).reason == FALLBACK

    def _look_at_bases(self, tensors: Sequence[Any], cell: WatchedCell) -> None:
        """Note the new history of bases. A write through a view changes the history of its base too."""
        watch = self._watch
        for tensor in tensors:
            if tensor.requires_grad and tensor._is_view() and (node := (base := tensor._base).grad_fn) is not None:
                watch.serial(base)
                number = self.known(node)
                if (serial := watch.live_tensors.gets_node(base, number)) >= 0:
                    self._has_history(base, serial, number)

    def _has_history(self, tensor: Any, serial: int, number: int) -> None:
        """Emit the event that a write to a tensor, to a view of it or to its base has given it another Node."""
        watch = self._watch
        fields = serial - watch.first_tensor, number - watch.first_node, tensor.output_nr
        watch._emit(ev.HistoryRebased, *fields)
        move_retained_hook(watch, tensor, number - watch.first_node)

    def look_at_bound(self, tensor: Any) -> None:
        """Note the Node of a tensor that gets a name. If no kernel gave it its Node, a custom Function did. A leaf may
        require grad now.
        """
        watch = self._watch
        if type(tensor) is not watch.torch.Tensor or watch.live_tensors.has_node(tensor):
            return
        with self._c.DisableTorchFunction():  # the program's function modes must not see these calls
            own = tensor.requires_grad and not tensor._is_view()
            node, output_nr = tensor.grad_fn if own else None, tensor.output_nr
        if own and node is None:
            watch.leaf_requires_grad(tensor)
        elif isinstance(node, self._function):
            serial, number = watch.serial(tensor), self.known(node)
            watch.live_tensors.gets_node(tensor, number)
            watch.note(("history_set", serial, number, output_nr))

    def saves(self, context: Any, tensors: Sequence[Any]) -> None:
        """Remember the tensors that a custom Function saves. Its context is its Node, which is met later."""
        key = id(context)
        gone = weakref.ref(context, partial(self._custom.pop, key))  # no Python code: exceptions are ignored there
        self._custom[key] = gone, [self._own(one) for one in tensors]

    def _own(self, tensor: Any) -> tuple[Any, int, int] | None:
        """Return a reference, the serial number and the version of a tensor. Return None for anything else."""
        if not isinstance(tensor, self._watch.torch.Tensor):
            return None
        return weakref.ref(tensor), self._watch.serial(tensor), -1 if tensor.is_inference() else tensor._version

    def _saved_by_function(self, node: Any, number: int) -> None:
        own, first = number - self._watch.first_node, self._watch.first_tensor
        _, saved = self._custom.pop(id(node), (None, ()))
        for place, one in enumerate(saved):
            name = f"saved_tensors[{place}]"
            if one is None:
                self._watch._emit(ev.VariableSaved, own, name, None, -1, False)
            else:
                tensor, serial, version = one
                is_output = (living := tensor()) is not None and not living._is_view() and living.grad_fn is node
                self._watch._emit(ev.VariableSaved, own, name, serial - first, version, is_output)

    def resetting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the kernel of an operator that resets the AccumulateGrad of its first argument
        (``reset_grad_accumulator``).
        """

        def resets(keys: Any, leaf: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.listening is self._watch and self._watch.thread.watched:
                self._watch.guarded(lambda: self._is_reset(leaf))
            return call(keys, leaf, *args, **kwargs)

        return resets

    def _is_reset(self, leaf: Any) -> None:
        if leaf.requires_grad and leaf.grad_fn is None and self.numbers.accumulators.get(leaf) >= 0:
            self.numbers.is_reset(leaf, self._watch.engine.accumulator(leaf))

    def known(self, node: Any) -> int:
        """Return the number of a Node. Number the Node if it has none yet."""
        number = self.numbers.get(node)
        return number if number >= 0 else self.met(node)

    def met(self, node: Any) -> int:
        """Number a Node that is met for the first time, and unmet Nodes before it. Return its number."""
        return self._introduce(node, node.name(), node._sequence_nr(), self._known_targets(node), True)

    def _known_targets(self, node: Any) -> list[int]:
        """Return the same as ``_targets``, after numbering those of them that were unmet."""
        targets = self._targets(node)
        if UNMET in targets:
            self._meet_those_before(node)
            targets = self._targets(node)
        return targets

    def _targets(self, node: Any) -> list[int]:
        """Return the targets of a Node's edges: for each edge, one after the other, the serial number of a Node and its
        input number.
        """
        get, targets = self.numbers.get, list[int]()
        for to, input_nr in node.next_functions:
            targets += NOWHERE if to is None else number if (number := get(to)) >= 0 else UNMET, input_nr
        return targets

    def _meet_those_before(self, node: Any) -> None:
        get, waiting = self.numbers.get, [node]
        if self._watch.looking is not None:
            self._meet_next(node)
            return
        while waiting:
            one = waiting[-1]
            unmet = [to for to, _ in one.next_functions if to is not None and get(to) < 0]
            if unmet:
                waiting += reversed(unmet)
                continue
            waiting.pop()
            if one is not node and get(one) < 0:
                self._introduce(one, one.name(), one._sequence_nr(), self._targets(one), False)

    def _meet_next(self, node: Any) -> None:
        """Number the unmet targets of a Node, without following their edges: they were made before the part that is
        recorded, and a graph may be large.
        """
        for to, _ in node.next_functions:
            if to is not None and self.numbers.get(to) < 0:
                self._introduce(to, to.name(), to._sequence_nr(), None, False)

    def _introduce(self, node: Any, name: str, sequence_nr: int, targets: list[int] | None, is_made: bool) -> int:
        watch = self._watch
        number = next(watch.node_numbers)
        self.numbers.set(node, name, sequence_nr, number, watch._threads.state)
        how: Literal["node_created", "node_known"]
        is_made = is_made and sequence_nr >= self._first_new
        how = "node_created" if is_made or watch.origin == "new" else "node_known"
        watch.note((how, number, self._kinds[name], sequence_nr, 0, 1))
        if name == ACCUMULATE:
            watch._emit(ev.AccumulatorMade, number - watch.first_node, watch._tensor(node.variable))
        elif targets is not None:
            watch.note(("live_edges_collected", number, tuple(targets)))
        if watch.looking is not None and watch.looking.follows_nodes and (is_made or name == ACCUMULATE):
            watch.engine.follow(node, number)
        if isinstance(node, self._function):
            self._saved_by_function(node, number)
        return number

    def _named(self, results: Sequence[Any], cell: WatchedCell) -> Results:
        """Return the results of an operator by name: the names of its schema, otherwise ``result`` or ``result0``."""
        names = cell.operator.returns
        if len(names) != len(results):
            return {f"result{place or ''}": one for place, one in enumerate(results)}
        several = len(results) > 1
        return {
            name or f"result{place if several else ''}": one
            for place, (name, one) in enumerate(zip(names, results, strict=True))
        }

    # -- saved members ------------------------------------------------------------------------------------------------

    def _saved(self, node: Any, name: str, number: int, sets: Sets, tensors: Sequence[Any], cell: WatchedCell) -> None:
        """Note the saved members of a Node.

        ``tensors`` are the results of the cell's kernel, if none of them has a Node that was met before this one.
        """
        known = self._members.get(name)
        if known is None:
            members = _members_of(type(node))
            known = self._members[name] = members, any(one.may_be_packed for one in members)
        members, may_be_packed = known
        if may_be_packed:
            self._saved_tensors(node, number, members, sets, self._named(tensors, cell) if tensors else {})
            return
        note = self._watch.note
        for member in members:
            value = getattr(node, member.attribute)
            note(("attribute_saved", number, member.name, _signed(value) if type(value) in PLAIN else _text(value)))

    def _saved_tensors(self, node: Any, number: int, members: Sequence[Member], sets: Sets, results: Results) -> None:
        """Note the saved members of a Node without recording the kernels that run when a tensor is read."""
        packed, thread = self.hooks.there(), self._watch.thread
        thread.watched = False
        try:
            if self._modes() > 0 or self._any_python(sets) or any(map(self._is_python, results.values())):
                with self._c._DisableTorchDispatch():
                    self._read(node, number, members, packed, sets, results)
            else:
                self._read(node, number, members, packed, sets, results)
        finally:
            thread.watched = True

    def _read(
        self, node: Any, number: int, members: Sequence[Member], packed: bool, sets: Sets, results: Results
    ) -> None:
        """Note the saved members, except those that a hook would unpack."""
        for member in members:
            if not (packed and member.may_be_packed):
                self._member(node, number, member, sets, results)

    def _any_python(self, sets: Sets) -> bool:
        return any(raw & self._python for raw in sets[2::3])

    def _is_python(self, tensor: Any) -> bool:
        """Return whether a tensor has the Python key. Reading it from its Node would then call its class, unless that
        is disabled.
        """
        return bool(self._c._dispatch_keys(tensor).raw_repr() & self._python)

    def _member(self, node: Any, number: int, member: Member, sets: Sets, results: Results) -> None:
        value: Any = _NOT_THERE
        with own_errors_suppressed(RuntimeError):
            value = getattr(node, member.attribute)
        if value is _NOT_THERE:
            return
        name = member.name
        kind = type(value)
        if kind in PLAIN and not (value is None and member.may_be_packed):
            self._watch.note(("attribute_saved", number, name, _signed(value)))
            return
        own = number - self._watch.first_node
        if value is None and member.may_be_packed:
            self._watch._emit(ev.VariableSaved, own, name, None, -1, False)
        elif isinstance(value, self._watch.torch.Tensor):
            self._variable(own, name, value, sets, results)
        elif isinstance(value, (tuple, list)) and any(isinstance(v, self._watch.torch.Tensor) for v in value):
            for place, one in enumerate(value):
                if one is not None:
                    self._variable(own, f"{name}[{place}]", one, sets, results)
        else:
            self._watch.note(("attribute_saved", number, name, _text(value)))

    def _variable(self, node: int, name: str, value: Any, sets: Sets, results: Results) -> None:
        """Emit the event of a saved tensor.

        Python gets another object for a saved result than the one that was saved, and sometimes for a saved argument.
        The member's name then identifies the tensor.
        """
        known = self._watch.live_tensors.get
        serial = known(value)
        is_output = serial >= 0 and name not in sets and serial in map(known, results.values())
        if serial < 0:
            serial = _number_in(sets, name)
        if serial < 0 and name in results:
            serial, is_output = self._watch.serial(results[name]), True
        if serial < 0:
            self._watch._emit(ev.AttributeSaved, node, name, f"a tensor of sizes {tuple(value.size())}")
        else:
            version = -1 if value.is_inference() else value._version
            self._watch._emit(ev.VariableSaved, node, name, serial - self._watch.first_tensor, version, is_output)


_NOT_THERE = object()
"""A stand-in for a member that PyTorch does not hand out."""


class Member(NamedTuple):
    """A member that Nodes of one kind save."""

    name: str
    attribute: str
    """The attribute of the Node."""
    may_be_packed: bool
    """True if it is a tensor, which hooks may have packed."""


def _members_of(kind: type) -> tuple[Member, ...]:
    names = [one.removeprefix("_saved_") for one in dir(kind) if one.startswith("_saved_")]
    return tuple([Member(one, f"_saved_{one}", hasattr(kind, f"_raw_saved_{one}")) for one in names])


def _number_in(sets: Sets, name: str) -> int:
    """Return the serial number of an argument, or -1 if there is none."""
    place = sets.index(name) if name in sets else -1
    return -1 if place < 0 else int(sets[place + 1])


def _text(value: Any) -> str:
    return str(tuple(map(_signed, value)) if isinstance(value, (list, tuple)) else _signed(value))


def _signed(value: Any) -> Any:
    """Return a value with its sign. Python receives a negative SymInt as an unsigned number."""
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value
