"""From what a recorder noted to the events of a trace: nesting, numbers of events, and everything that follows from a
note by rule.

While a program runs, its recorder only appends facts to a flat list of notes (``recorder.py``). A note is the name of
a method of ``Transcript``, followed by what that takes. Reading them happens when somebody looks, and whenever
an operator's registrations are about to change, since the words about a cell are those of the moment.

One call of an operator is one note and five events: what it computed is a function of its cell and the sets that went
in.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar

from dispatchviz.core.autograd.graph.input_metadata import device_of
from dispatchviz.core.keys.key_set import highest, members
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.file_names import shown_source

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.input_metadata import InputMetadata
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.bindings.binding import Binding, Plan
    from dispatchviz.core.device.device import Device
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
    from dispatchviz.core.tensor.dtype import DType

Value = TypeVar("Value")
Reader = Callable[..., None]
Notes = list[Any]
Sets = tuple[tuple[str, int, int], ...]
"""Of each tensor argument: name, number, key set."""
Numbered = tuple[tuple[int, int], ...]
"""Of each Node: number, sequence number."""
Inputs = tuple["InputMetadata", ...]
"""What a Node expects; the first of them that is not on the CPU says where it runs."""


class Transcript:
    """The events read so far."""

    def __init__(self) -> None:
        self.events: list[ev.AnyEvent] = []
        self.thread = threading.get_ident()
        """Whose notes are being read."""
        self.moved = False
        """The program is on another line than the one told last; it is told before the next event."""
        self._open: dict[int, int | None] = {}
        """The innermost open event of each thread."""
        self.first_tensor = self.first_storage = self.first_node = self.first_counter = 0
        """The serial numbers from which this recording counts."""
        self._readers: dict[str, tuple[Reader, int]] = {}
        self._kinds: dict[int, type[Node]] = {}
        """Of each Node."""
        self._last: dict[object, Any] = {}
        self._over_with_call: set[int | None] = set()
        """Bindings that are over when the call within them is."""
        self._written = ""
        self._cells: dict[int, tuple[Cell, _CellWords]] = {}
        self._skipped: dict[tuple[str, int], tuple[tuple[str, str, str], ...]] = {}
        self._formulas_skipped: set[tuple[int | None, int, int]] = set()
        """Of each: the NodeStarted, the Node, the edge."""

    def read(self, notes: Notes) -> None:
        """Turns notes into events and forgets them."""
        at, end = 0, len(notes)
        try:
            while at < end:
                reader, facts = self._reader(notes[at])
                first, at = at + 1, at + 1 + facts
                reader(*notes[first:at])
        finally:
            del notes[:end]

    def _reader(self, name: str) -> tuple[Reader, int]:
        """A method, and how many facts it takes."""
        known = self._readers.get(name)
        if known is None:
            reader = getattr(self, name)
            known = self._readers[name] = (reader, reader.__func__.__code__.co_argcount - 1)
        return known

    # -- nesting ------------------------------------------------------------------------------------------------------

    @property
    def open(self) -> int | None:
        """The innermost open event of the thread."""
        return self._open.get(self.thread)

    @open.setter
    def open(self, seq: int | None) -> None:
        self._open[self.thread] = seq

    def on_thread(self, ident: int) -> None:
        """What follows happened on a thread."""
        self.thread = ident

    def goes_on(self, ident: int) -> None:
        """The thread works on what another has open."""
        self.open = self._open.get(ident)

    def event(self, kind: Any, fields: tuple[Any, ...]) -> None:
        """An event."""
        if self.moved:
            self.tell_line()
        self.events.append(kind(len(self.events), self._open.get(self.thread), *fields))

    def enter(self, kind: Any, fields: tuple[Any, ...]) -> None:
        """An event that others happen within."""
        if self.moved:
            self.tell_line()
        seq = len(self.events)
        self.events.append(kind(seq, self._open.get(self.thread), *fields))
        self._open[self.thread] = seq

    def leave(self) -> None:
        """The innermost open event is over."""
        seq = self.open
        if seq is not None:
            self.open = self.events[seq].parent

    # -- program ------------------------------------------------------------------------------------------------------

    def source_line(self, file: str, line: int, function: str = "", caller: int | None = None) -> None:
        """A line of the program begins; at the top it stays open until the next."""
        self.moved = False
        self.all_written()
        seq = self.open
        if seq is None or isinstance(self.events[seq], ev.SourceLine):
            self.open = None
            self.enter(ev.SourceLine, (file, line, function, caller))
        else:
            self.event(ev.SourceLine, (file, line, function, caller))

    def tell_line(self) -> None:
        """Tells the line that the program is on; for who knows it."""
        self.moved = False

    def name_bound(self, name: str, tensor: int) -> None:
        """A variable names a tensor."""
        self.event(ev.NameBound, (name, tensor - self.first_tensor))

    def raised(self, kind: str, message: str, file: str, line: int) -> None:
        """An exception left the program: whatever was open but its line is over, an interrupt may come anywhere."""
        self.moved = False  # it stays with the line that it came from
        self.all_written()
        self.open = self._enclosing_line()
        self.event(ev.ProgramRaised, (kind, message, file, line))

    def _enclosing_line(self) -> int | None:
        seq = self.open
        while seq is not None and (parent := self.events[seq].parent) is not None:
            seq = parent
        return seq

    def wrote(self, text: str) -> None:
        """The program writes to its standard output; told when a line ends or another one of the program begins."""
        self._written += text
        if text.endswith("\n"):
            self.all_written()

    def all_written(self) -> None:
        """Tells what was written and is not told yet."""
        text, self._written = self._written, ""
        if text:
            self.event(ev.Printed, (text,))

    # -- bindings -----------------------------------------------------------------------------------------------------

    def binding_entered(self, binding: Binding, signature: int, words: tuple[str, ...]) -> None:
        """A binding, with the values of all parameters in words."""
        function, pytorch_function, signatures = binding.told
        text, names, operator = signatures[signature]
        arguments = self._as_last_time(text, tuple(zip(names, words, strict=True)))
        self.enter(ev.BindingEntered, (function, pytorch_function, text, signature + 1, arguments, operator))

    def binding_called(self, binding: Binding, plan: Plan, facts: tuple[Any, ...]) -> None:
        """A binding, with numbers in the places of tensors and defaults where nothing is given."""
        first = self.first_tensor
        given = [f"t{fact - first}" if place else _plain(fact) for fact, place in zip(facts, plan.tensors, strict=True)]
        self.binding_entered(binding, plan.signature, (*given, *plan.default_words))
        if plan.is_call:
            self._over_with_call.add(len(self.events) - 1)

    def leave_unless_over(self) -> None:
        """A binding is over if it is not yet: all it had to do was a call, and that is over."""
        if self.open in self._over_with_call:
            self._over_with_call.discard(self.open)
            self.leave()

    def _call_over(self) -> None:
        """The kernel is over, and so is the call, and the binding if that was all it had to do."""
        self.leave()
        self.leave()
        self.leave_unless_over()

    # -- calls --------------------------------------------------------------------------------------------------------

    def called(
        self, how: str, cell: Cell, ks: int, included: int, excluded: int, arguments: Sets, generator: int = 0
    ) -> None:
        """A full dispatch, from the arguments' sets to the kernel's first line."""
        op = cell.operator
        words = self._words(cell)
        self.enter(ev.Dispatched, (how, op.name, ks, _key_name(ks)))
        first = self.first_tensor
        sets = self._as_last_time(words, tuple([(name, tensor - first, keys) for name, tensor, keys in arguments]))
        thread_sets = (included, excluded)
        computed = ev.KeySetComputed(len(self.events), self.open, sets, *thread_sets, op.mask_for(ks), ks, generator)
        self.events.append(computed)
        base = computed.without_excluded
        if base & ~ks:
            self.event(ev.FallthroughSkipped, (self._owners(op, base, base & ~ks),))
        self.event(ev.KernelSelected, words.selected)
        self.enter(ev.KernelEntered, (*words.entered[:2], ks, *words.entered[2:]))

    def called_with_one(self, cell: Cell, ks: int, included: int, excluded: int, tensor: int, keys: int) -> None:
        """The same where there is one tensor."""
        ((name, _),) = cell.operator.tensor_parameters
        self.called("call", cell, ks, included, excluded, ((name, tensor, keys),))

    def called_with_two(
        self, cell: Cell, ks: int, included: int, excluded: int, tensor: int, keys: int, other: int, other_keys: int
    ) -> None:
        """The same where there are two."""
        (name, _), (other_name, _) = cell.operator.tensor_parameters
        self.called("call", cell, ks, included, excluded, ((name, tensor, keys), (other_name, other, other_keys)))

    def redispatched_typed(self, cell: Cell, ks: int) -> None:
        """The usual one."""
        self.redispatched("redispatch", cell, ks)

    def redispatched(self, how: str, cell: Cell, ks: int) -> None:
        """A redispatch: the set is as it was given."""
        words = self._words(cell)
        self.enter(ev.Dispatched, (how, cell.operator.name, ks, _key_name(ks)))
        self.event(ev.KernelSelected, words.selected)
        self.enter(ev.KernelEntered, (*words.entered[:2], ks, *words.entered[2:]))

    def returned(self, tensors: tuple[int, ...]) -> None:
        """The kernel came back, and with it the call."""
        self.event(ev.KernelReturned, (tuple([tensor - self.first_tensor for tensor in tensors]),))
        self._call_over()

    def failed(self) -> None:
        """The kernel raised: it is over, and so are its meta or impl function and the call."""
        while self.open is not None and isinstance(self.events[self.open], ev.MetaEntered | ev.ImplEntered):
            self.leave()
        self._call_over()

    def returned_one(self, tensor: int) -> None:
        """The kernel gave back one tensor."""
        self.returned((tensor,))

    def redispatched_within(
        self, cell: Cell, ks: int, guard: str, included: int, old_excluded: int, excluded: int
    ) -> None:
        """A guard, and within it the usual redispatch."""
        self.guard_excludes(guard, included, old_excluded, excluded)
        self.redispatched("redispatch", cell, ks)

    def returned_from_within(self, tensor: int, guard: str, included: int, excluded: int) -> None:
        """The kernel gave back one tensor, and the guard is over too."""
        self.returned((tensor,))
        self.guard_left(guard, included, excluded)

    def no_node_made(self, why: str) -> None:
        """The autograd kernel that runs records nothing."""
        seq = self.open
        while seq is not None and not isinstance(self.events[seq], ev.Dispatched):
            seq = self.events[seq].parent
        call = None if seq is None else self.events[seq]
        self.event(ev.NoNodeMade, (call.operator if isinstance(call, ev.Dispatched) else "", why))

    # -- the common events, with their facts in a row -----------------------------------------------------------------

    def guard_entered(self, guard: str, old_included: int, included: int, old_excluded: int, excluded: int) -> None:
        """A guard."""
        self.enter(ev.GuardEntered, (guard, old_included, included, old_excluded, excluded))

    def guard_excludes(self, guard: str, included: int, old_excluded: int, excluded: int) -> None:
        """A guard that only excludes."""
        self.guard_entered(guard, included, included, old_excluded, excluded)

    def guard_left(self, guard: str, included: int, excluded: int) -> None:
        """The innermost guard is over."""
        self.event(ev.GuardLeft, (guard, included, excluded))
        self.leave()

    def meta_entered(self, family: str) -> None:
        """A structured meta function begins."""
        self.enter(ev.MetaEntered, (f"structured_{family}::meta",))

    def impl_entered(self, kernel: str, body: Callable[..., Any], tensors: tuple[int, ...]) -> None:
        """The meta function is over, the impl function begins."""
        self.leave()
        numbers = tuple([tensor - self.first_tensor for tensor in tensors])
        self.enter(ev.ImplEntered, (f"structured_{kernel}::impl", numbers, *source_of(body)))

    def output_allocated(
        self,
        variant: str,
        tensor: int,
        resized: bool,
        shape: tuple[int, ...],
        dtype: DType,
        method: str,
        proxy: int | None,
    ) -> None:
        """An output."""
        stands_in = None if proxy is None else proxy - self.first_tensor
        number = tensor - self.first_tensor
        self.event(ev.OutputAllocated, (variant, number, resized, method, stands_in, shape, repr(dtype)))

    def proxy_copied(self, proxy: int, output: int) -> None:
        """A proxy's numbers on their way to the output."""
        self.event(ev.ProxyCopied, (proxy - self.first_tensor, output - self.first_tensor))

    def output_created(
        self,
        number: int,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        dtype: DType,
        device: Device,
        ks: int,
        storage: int,
    ) -> None:
        """A new tensor that is a structured kernel's output."""
        self.tensor_created(number, "new", shape, stride, dtype, device, ks, storage, False, False)
        self.output_allocated("functional", number, False, shape, dtype, "set_output_raw_strided", None)

    def output_given(self, number: int, shape: tuple[int, ...], dtype: DType, variant: str) -> None:
        """The tensor that a structured kernel's output shall be written to."""
        self.output_allocated(variant, number, False, shape, dtype, "set_output_raw_strided", None)

    def tensor_created(
        self,
        number: int,
        how: str,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        dtype: DType,
        device: Device,
        ks: int,
        storage: int,
        requires_grad: bool,
        wrapped_number: bool,
    ) -> None:
        """A tensor came into sight."""
        number -= self.first_tensor
        storage = -1 if storage < 0 else storage - self.first_storage
        fields = number, how, shape, stride, repr(dtype), str(device), ks, storage, requires_grad, wrapped_number
        self.event(ev.TensorCreated, fields)

    def node_created(self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int) -> None:
        """A Node was made."""
        self._node_seen(number, kind, sequence_nr, topological_nr, thread, known=False)

    def node_known(self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int) -> None:
        """A Node came into sight that was made before."""
        self._node_seen(number, kind, sequence_nr, topological_nr, thread, known=True)

    def _node_seen(
        self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int, known: bool
    ) -> None:
        self._kinds[number] = kind
        name = kind.cpp_name or kind.__name__
        self.event(ev.NodeCreated, (number - self.first_node, name, sequence_nr, topological_nr, thread, known))

    def edges_collected(
        self, node: int, topological_nr: int, edges: tuple[tuple[int, int] | None, ...], tensors: tuple[int | None, ...]
    ) -> None:
        """A Node's edges; where they are not one for each name, they are the members of the first."""
        names: tuple[str, ...] = self._kinds[node].edge_names
        if len(names) != len(tensors):
            names = tuple(f"{names[0] if names else 'input'}[{i}]" for i in range(len(tensors)))
        numbers = [None if tensor is None else tensor - self.first_tensor for tensor in tensors]
        targets = tuple([None if edge is None else (edge[0] - self.first_node, edge[1]) for edge in edges])
        arguments = self._as_last_time(names, tuple(zip(names, numbers, strict=True)))
        self.event(ev.EdgesCollected, (node - self.first_node, targets, arguments, topological_nr))

    def two_edges(
        self, node: int, topological_nr: int, to: int, input_nr: int, other: int, other_nr: int, a: int, b: int
    ) -> None:
        """The same of a Node with two edges that lead somewhere."""
        self.edges_collected(node, topological_nr, ((to, input_nr), (other, other_nr)), (a, b))

    def attribute_saved(self, node: int, name: str, value: Any) -> None:
        """A plain value."""
        self.event(ev.AttributeSaved, (node - self.first_node, name, str(value)))

    def history_set(self, tensor: int, node: int, output_nr: int) -> None:
        """A result got its grad_fn."""
        self.event(ev.HistorySet, (tensor - self.first_tensor, node - self.first_node, output_nr))

    def version_bumped(self, tensor: int, before: int, after: int, counter: int) -> None:
        """A version."""
        self.event(ev.VersionBumped, (tensor - self.first_tensor, before, after, counter - self.first_counter))

    # -- engine -------------------------------------------------------------------------------------------------------

    def dependency_met(self, node: int, left: int) -> None:
        """One gradient less to wait for."""
        self.event(ev.DependencyMet, (node - self.first_node, left))

    def dependency_met_by_nothing(self, node: int, left: int, defined: bool, skipped: bool) -> None:
        """Without a gradient, or to no use."""
        self.event(ev.DependencyMet, (node - self.first_node, left, defined, skipped))

    def gradient_buffered(self, node: int, input_nr: int, tensor: int, how: str, why: str) -> None:
        """A gradient arrived."""
        self.event(ev.GradientBuffered, (node - self.first_node, input_nr, tensor - self.first_tensor, how, why))

    def formula_skipped(self, node: int, edge: int) -> None:
        """A gradient that nobody needs; told once, however often the Node asks."""
        asked = self.open, node, edge
        if asked not in self._formulas_skipped:
            self._formulas_skipped.add(asked)
            self.event(ev.FormulaSkipped, (node - self.first_node, edge))

    def node_queued(self, node: int, sequence_nr: int, inputs: Inputs, queue: Numbered) -> None:
        """A Node is ready."""
        device = str(device_of(inputs))
        self.event(ev.NodeQueued, (node - self.first_node, sequence_nr, device, self._nodes(queue)))

    def node_queued_alone(self, node: int, sequence_nr: int, inputs: Inputs) -> None:
        """No other one waits."""
        self.node_queued(node, sequence_nr, inputs, ((node, sequence_nr),))

    def node_started(
        self, node: int, sequence_nr: int, gradients: tuple[int | None, ...], waiting: Numbered, inputs: Inputs
    ) -> None:
        """The evaluation of a Node."""
        kind, device = self._kinds[node], device_of(inputs)
        numbers = self._tensors(gradients)
        thread = f"pt_autograd_{device.index or 0}" if device.type == "cuda" else "caller"
        name, source = kind.cpp_name or kind.__name__, source_of(kind.formula())
        fields = node - self.first_node, name, sequence_nr, numbers, self._nodes(waiting), str(device), thread, *source
        self.enter(ev.NodeStarted, fields)

    def node_started_alone(self, node: int, sequence_nr: int, gradient: int, inputs: Inputs) -> None:
        """It received one gradient, and no other Node waits."""
        self.node_started(node, sequence_nr, (gradient,), (), inputs)

    def node_finished_with_two(self, node: int, gradient: int, other: int) -> None:
        """It gave two gradients."""
        self.node_finished(node, (gradient, other))

    def node_finished(self, node: int, gradients: tuple[int | None, ...]) -> None:
        """A Node is over."""
        self.event(ev.NodeFinished, (node - self.first_node, self._tensors(gradients)))
        self.leave()

    def _tensors(self, serials: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return tuple([None if serial is None else serial - self.first_tensor for serial in serials])

    def _nodes(self, numbered: Numbered) -> Numbered:
        return tuple([(node - self.first_node, sequence_nr) for node, sequence_nr in numbered])

    # -- words --------------------------------------------------------------------------------------------------------

    def _as_last_time(self, place: object, value: Value) -> Value:
        """The value, or an equal one that was there in the same place last time: in loops most are."""
        known: Value | None = self._last.get(place)
        if known == value and known is not None:
            return known
        self._last[place] = value
        return value

    def _words(self, cell: Cell) -> _CellWords:
        known = self._cells.get(id(cell))
        if known is None:
            known = self._cells[id(cell)] = (cell, _CellWords(cell))
        return known[1]

    def _owners(self, op: OperatorEntry, base: int, removed: int) -> tuple[tuple[str, str, str], ...]:
        known = self._skipped.get((op.name, base))
        if known is None:
            backends = base & 0xFFFF
            keys = [key for key in members(removed | backends) if removed & ~0xFFFF]
            cells = [(key, op.table[op.cell_of(key)]) for key in reversed(keys)]
            known = tuple((key.name, cell.reason, cell.kernel.debug) for key, cell in cells if cell.kernel is not None)
            self._skipped[op.name, base] = known
        return known

    def registrations_change(self) -> None:
        """What was known of the cells may be no longer so."""
        self._cells.clear()
        self._skipped.clear()


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


@functools.cache
def _key_name(ks: int) -> str:
    return highest(ks).name


class _CellWords:
    """What is said whenever a cell is picked; taken down while its operator's registrations are as they were then."""

    __slots__ = ("entered", "selected")

    def __init__(self, cell: Cell) -> None:
        kernel, op = cell.kernel, cell.operator
        self.entered: tuple[Any, ...] = ("missing", "", "", 0, 0)
        if kernel is not None:
            self.entered = (kernel.name, kernel.file, *source_of(kernel.function))
        self.selected = (
            op.name,
            cell.key.name,
            cell.index,
            kernel.name if kernel else "",
            cell.reason,
            cell.source.name if cell.source is not None else "",
            kernel.debug if kernel else "",
            tuple((c.source.name, c.outcome, c.kernel.name if c.kernel else "") for c in op.candidates(cell.key)),
        )


def source_of(function: Callable[..., Any] | None) -> tuple[str, int, int]:
    """File (of ours: relative to the package), first and last line of a Python function; ("", 0, 0) if it has none."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)  # a batch rule, not its plumbing
    return ("", 0, 0) if code is None else _place_of(code)


@functools.cache
def _place_of(code: CodeType) -> tuple[str, int, int]:
    """Kept by the code: a function of the user's may hold tensors."""
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return shown_source(code.co_filename), code.co_firstlineno, last
