"""The one seam between the machine and its trace: every kind of event has one method here, and ``active`` is the
recorder that listens, or None.

The machine says what happens with live objects (``recorder.active.node_created(node)``); a Recorder numbers them in
the order in which it meets them and appends the event. Nothing it keeps holds a tensor or a Node alive. A recorder
that fails is dropped with a warning and never changes what the program computes.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dispatchviz.core import events as ev
from dispatchviz.core.keyset import highest, members
from dispatchviz.core.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.edge import Edge
    from dispatchviz.core.autograd.graph_task import GraphTask
    from dispatchviz.core.autograd.node import Node
    from dispatchviz.core.kernel import Kernel
    from dispatchviz.core.keys import DispatchKey
    from dispatchviz.core.operator import Cell, OperatorEntry
    from dispatchviz.core.tensor import Storage, Tensor

active: Recorder | None = None
"""The recorder of the process; at most one listens at a time."""

_serial = 0
"""Numbers given to live objects so far, over all recordings: an object numbered before this recording began is new."""

Method = TypeVar("Method", bound=Callable[..., Any])


class _Open(threading.local):
    """The innermost open event of each thread."""

    seq: int | None = None


def _harmless(method: Method) -> Method:
    """A failure inside a recorder ends the recording, not the program."""

    @functools.wraps(method)
    def guarded(self: Recorder, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.failed = error
            stop(self)
            warnings.warn(f"recording stopped at event {len(self.events)}: {error!r}", RuntimeWarning, stacklevel=2)
            return None

    return cast(Method, guarded)


class _EverySeamHarmless(type):
    """Wraps all public methods, so that none can be forgotten."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
        for key, value in space.items():
            if callable(value) and not key.startswith("_"):
                space[key] = _harmless(value)
        return super().__new__(cls, name, bases, space)


def start(recorder: Recorder) -> None:
    """Begins listening. RuntimeError if another recorder already does."""
    global active
    if active is not None:
        raise RuntimeError("a recording is already running: stop it first (recordings do not nest)")
    active = recorder


def stop(recorder: Recorder) -> None:
    """Ends listening; harmless if it is not the one that listens."""
    global active
    if active is recorder:
        active = None


class Recorder(metaclass=_EverySeamHarmless):
    """Turns what the machine does into ``events``."""

    def __init__(self) -> None:
        global _serial
        self.events: list[ev.AnyEvent] = []
        self.failed: Exception | None = None
        self._open = _Open()
        self._epoch = _serial = _serial + 1
        self._tensors = self._storages = self._nodes = 0
        self._last_error: BaseException | None = None
        self._graph_tasks: dict[int, int] = {}
        self._skipped: dict[tuple[str, int], tuple[tuple[str, str, str], ...]] = {}
        self._chosen: dict[int, tuple[Cell, tuple[Any, ...]]] = {}

    # -- numbering and nesting ----------------------------------------------------------------------------------------

    def _add(self, kind: Any, *fields: Any) -> int:
        seq = len(self.events)
        self.events.append(kind(seq, self._open.seq, *fields))
        return seq

    def _enter(self, kind: Any, *fields: Any) -> int:
        seq = self._open.seq = self._add(kind, *fields)
        return seq

    def leave(self) -> None:
        """The innermost open event is over."""
        if self._open.seq is not None:
            self._open.seq = self.events[self._open.seq].parent

    def _tensor(self, tensor: Tensor) -> int:
        """Number of a tensor; the first sight of one that was there before is an event."""
        number = tensor._number
        if number >> 32 != self._epoch:
            self._introduce(tensor, "known before")
            number = tensor._number
        return number & 0xFFFFFFFF

    def _tensor_or_none(self, tensor: Tensor | None) -> int | None:
        return None if tensor is None else self._tensor(tensor)

    def _storage(self, storage: Storage) -> int:
        if storage._number >> 32 != self._epoch:
            storage._number = self._epoch << 32 | self._storages
            self._storages += 1
        return storage._number & 0xFFFFFFFF

    def _node(self, node: Node) -> int:
        """Number of a Node; one made before the recording began is told as if it were made now."""
        if node._number >> 32 != self._epoch:
            node._number = self._epoch << 32 | self._nodes
            self._nodes += 1
            self._add(
                ev.NodeCreated,
                node._number & 0xFFFFFFFF,
                node.name(),
                node.sequence_nr,
                node._topological_nr,
                node.thread_id,
            )
        return node._number & 0xFFFFFFFF

    def _introduce(self, tensor: Tensor, how: str) -> None:
        tensor._number = self._epoch << 32 | self._tensors
        self._tensors += 1
        self._add(
            ev.TensorCreated,
            tensor._number & 0xFFFFFFFF,
            how,
            tensor._size,
            tensor._stride,
            repr(tensor._dtype),
            str(tensor._device),
            tensor._ks,
            self._storage(tensor._storage) if tensor._storage.buffer is not None else -1,
            tensor._requires_grad or tensor._grad_fn is not None,
            tensor._wrapped_number,
        )

    # -- program ------------------------------------------------------------------------------------------------------

    def source_line(self, file: str, line: int) -> None:
        """A line of the program begins; at the top it stays open until the next."""
        self._last_error = None  # it would keep its frames, and their tensors, alive
        at_top = self._open.seq is None or isinstance(self.events[self._open.seq], ev.SourceLine)
        if at_top:
            self._open.seq = None
            self._enter(ev.SourceLine, file, line)
        else:
            self._add(ev.SourceLine, file, line)

    def name_bound(self, name: str, tensor: Tensor) -> None:
        """A variable of the program names a tensor."""
        self._add(ev.NameBound, name, self._tensor(tensor))

    def printed(self, text: str) -> None:
        """Standard output."""
        self._add(ev.Printed, text)

    def program_raised(self, error: BaseException, file: str, line: int) -> None:
        """The last event of a program that failed."""
        self._add(ev.ProgramRaised, type(error).__name__, str(error), file, line)

    # -- binding ------------------------------------------------------------------------------------------------------

    def binding_entered(
        self,
        function: str,
        pytorch_function: str,
        signature: str,
        signatures_tried: int,
        arguments: Iterable[tuple[str, Any]],
        operator: str,
    ) -> None:
        """Opens the event of a Python binding; ``arguments`` are (name, value) pairs."""
        words = tuple((name, self._word(value)) for name, value in arguments)
        self._enter(ev.BindingEntered, function, pytorch_function, signature, signatures_tried, words, operator)

    def _word(self, value: Any) -> str:
        if hasattr(value, "_ks"):
            return str(value._array.item()) if value._wrapped_number else f"t{self._tensor(value)}"
        if isinstance(value, (list, tuple)) and type(value).__repr__ in (list.__repr__, tuple.__repr__):
            return "[" + ", ".join(self._word(part) for part in value) + "]"
        return str(value) if not isinstance(value, str) else repr(value)

    # -- dispatch -----------------------------------------------------------------------------------------------------

    def dispatched(self, how: str, op: OperatorEntry, ks: int) -> None:
        """Opens a call or redispatch."""
        self._enter(ev.Dispatched, how, op.name, ks, highest(ks).name)

    def key_set_computed(self, op: OperatorEntry, arguments: Iterable[tuple[str, Tensor]], ks: int) -> None:
        """How a call came to its set, and what the mask removed from it."""
        sets = tuple((name, self._tensor(tensor), tensor._ks) for name, tensor in arguments)
        event = self._add(ev.KeySetComputed, sets, thread.state.included, thread.state.excluded, op.mask_for(ks), ks)
        computed = cast(ev.KeySetComputed, self.events[event])
        removed = computed.without_excluded & ~ks
        if removed:
            self._add(ev.FallthroughSkipped, self._owners(op, computed.without_excluded, removed))

    def _owners(self, op: OperatorEntry, base: int, removed: int) -> tuple[tuple[str, str, str], ...]:
        known = self._skipped.get((op.name, base))
        if known is None:
            backends = base & 0xFFFF
            keys = [key for key in members(removed | backends) if removed & ~0xFFFF]
            cells = [(key, op.table[op.cell_of(key)]) for key in reversed(keys)]
            known = tuple((key.name, cell.reason, cell.kernel.debug) for key, cell in cells if cell.kernel is not None)
            self._skipped[op.name, base] = known
        return known

    def kernel_selected(self, op: OperatorEntry, cell: Cell) -> None:
        """The cell, and every place its kernel could have come from."""
        known = self._chosen.get(id(cell))
        if known is None:
            known = self._chosen[id(cell)] = (cell, _describe_cell(op, cell))
        self._add(ev.KernelSelected, *known[1])

    def kernel_entered(self, op: OperatorEntry, cell: Cell, ks: int) -> None:
        """Opens the kernel of a cell."""
        kernel = cell.kernel
        if kernel is None:
            self._enter(ev.KernelEntered, "missing", "", ks, "", 0, 0)
        else:
            self._enter(ev.KernelEntered, kernel.name, kernel.file, ks, *_source(kernel.function))

    def kernel_returned(self, result: Any) -> None:
        """What the kernel gave back; ``leave`` follows."""
        values = result if isinstance(result, (list, tuple)) else (result,)
        self._add(ev.KernelReturned, tuple(self._tensor(value) for value in values if hasattr(value, "_ks")))

    def boxed(self, op: OperatorEntry, values: int) -> None:
        """Arguments went onto a stack."""
        self._add(ev.Boxed, op.name, values)

    def unboxed(self, op: OperatorEntry, values: int) -> None:
        """Values came off a stack."""
        self._add(ev.Unboxed, op.name, values)

    def torch_dispatch_entered(
        self,
        kind: str,
        handler: str,
        op: OperatorEntry,
        types: Iterable[type],
        args: Iterable[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Opens the ``__torch_dispatch__`` of a mode or subclass; the thread already has the sets it runs under."""
        named = [*((f"args[{i}]", value) for i, value in enumerate(args)), *kwargs.items()]
        self._enter(
            ev.TorchDispatchEntered,
            kind,
            handler,
            f"{op.schema.name.replace('::', '.')}.{op.schema.overload or 'default'}",
            tuple(t.__name__ for t in types),
            tuple((name, self._word(value)) for name, value in named),
            thread.state.included,
            thread.state.excluded,
            len(thread.state.modes),
        )

    def torch_dispatch_left(self, handler: str, result: Any) -> None:
        """What the handler gave back; ``leave`` follows."""
        tensors = tuple(self._tensor(tensor) for tensor in _tensors_in(result))
        self._add(ev.TorchDispatchLeft, handler, tensors, result is NotImplemented)

    # -- thread state -------------------------------------------------------------------------------------------------

    def guard_entered(self, guard: str, included_before: int, excluded_before: int) -> None:
        """Opens a guard; the thread already has the new sets."""
        self._enter(
            ev.GuardEntered, guard, included_before, thread.state.included, excluded_before, thread.state.excluded
        )

    def guard_left(self, guard: str) -> None:
        """The thread already has the saved sets again."""
        self._add(ev.GuardLeft, guard, thread.state.included, thread.state.excluded)
        self.leave()

    def grad_mode_changed(self, enabled: bool, why: str) -> None:
        """Grad mode was switched."""
        self._add(ev.GradModeChanged, enabled, why)

    def inference_mode_changed(self, enabled: bool) -> None:
        """Inference mode was switched."""
        self._add(ev.InferenceModeChanged, enabled)

    def autocast_changed(self, device: str, enabled: bool, dtype: Any, excluded_before: int) -> None:
        """Autocast was switched or its dtype set; the thread already has the new set."""
        self._add(ev.AutocastChanged, device, enabled, repr(dtype), excluded_before, thread.state.excluded)

    def autocast_cast(self, tensor: Tensor, result: Tensor, how: str) -> None:
        """An autocast kernel has cast an argument."""
        before, after = repr(tensor._dtype), repr(result._dtype)
        self._add(ev.AutocastCast, self._tensor(tensor), before, after, self._tensor(result), how)

    def autocast_cache_cleared(self, casts: int) -> None:
        """The cache still has them."""
        self._add(ev.AutocastCacheCleared, casts)

    # -- structured kernels -------------------------------------------------------------------------------------------

    def meta_computed(self, function: str, shape: tuple[int, ...], dtype: Any) -> None:
        """A meta function came to its result."""
        self._add(ev.MetaComputed, function, shape, repr(dtype))

    def output_allocated(self, variant: str, tensor: Tensor, resized: bool) -> None:
        """``set_output`` is done."""
        self._add(ev.OutputAllocated, variant, self._tensor(tensor), resized)

    def impl_ran(self, function: str, body: Callable[..., Any], tensor: Tensor) -> None:
        """A structured kernel wrote its output."""
        self._add(ev.ImplRan, function, self._tensor(tensor), *_source(body))

    # -- tensors ------------------------------------------------------------------------------------------------------

    def tensor_created(self, tensor: Tensor) -> None:
        """A new tensor object."""
        self._introduce(tensor, "new")

    def view_made(self, tensor: Tensor, base: Tensor, creation_meta: str) -> None:
        """``as_view`` made it a differentiable view."""
        self._add(ev.ViewMade, self._tensor(tensor), self._tensor(base), creation_meta)

    def version_bumped(self, tensor: Tensor, before: int) -> None:
        """The counter already has the new value."""
        self._add(ev.VersionBumped, self._tensor(tensor), before, tensor._version_counter.value)

    def requires_grad_set(self, tensor: Tensor) -> None:
        """The flag already has the new value."""
        self._add(ev.RequiresGradSet, self._tensor(tensor), tensor._requires_grad)

    def key_set_changed(self, tensor: Tensor, before: int) -> None:
        """The set already has the new value."""
        self._add(ev.KeySetChanged, self._tensor(tensor), before, tensor._ks)

    def batched_tensor_made(self, batched: Tensor, value: Tensor, bdim: int, level: int) -> None:
        """A dimension was hidden."""
        self.tensor_created(batched)
        self._add(ev.BatchedTensorMade, self._tensor(batched), self._tensor(value), bdim, level)

    def dynamic_layer_pushed(self, level: int, transform: str, why: str) -> None:
        """A transform is on top of the stack."""
        self._add(ev.DynamicLayerPushed, level, transform, why, thread.state.included)

    def dynamic_layer_popped(self, level: int, transform: str, why: str) -> None:
        """A transform left the stack."""
        self._add(ev.DynamicLayerPopped, level, transform, why, thread.state.included)

    # -- autograd, forward --------------------------------------------------------------------------------------------

    def node_created(self, node: Node) -> None:
        """A Node was constructed; its edges follow."""
        self._node(node)

    def edges_collected(self, node: Node, arguments: Sequence[tuple[str, Tensor | None]]) -> None:
        """The edges are set; ``arguments`` are the forward inputs behind them, where known."""
        self._add(
            ev.EdgesCollected,
            self._node(node),
            tuple(self._edge(edge) for edge in node.next_edges),
            tuple((name, self._tensor_or_none(tensor)) for name, tensor in arguments),
            node._topological_nr,
        )

    def _edge(self, edge: Edge) -> tuple[int, int] | None:
        return None if edge.function is None else (self._node(edge.function), edge.input_nr)

    def attribute_saved(self, node: Node, name: str, value: Any) -> None:
        """A plain value was kept."""
        self._add(ev.AttributeSaved, self._node(node), name, str(value))

    def variable_saved(self, node: Node, name: str, tensor: Tensor | None, is_output: bool) -> None:
        """A tensor was kept."""
        version = -1 if tensor is None else tensor._version_counter.value
        self._add(ev.VariableSaved, self._node(node), name, self._tensor_or_none(tensor), version, is_output)

    def variable_not_saved(self, node: Node, name: str, edge: int) -> None:
        """A tensor was not kept, since only an empty edge's formula needs it."""
        self._add(ev.VariableNotSaved, self._node(node), name, edge)

    def accumulator_made(self, node: Node, tensor: Tensor) -> None:
        """A leaf got its AccumulateGrad."""
        self._add(ev.AccumulatorMade, self._node(node), self._tensor(tensor))

    def history_set(self, tensor: Tensor, node: Node, output_nr: int) -> None:
        """A result got its grad_fn."""
        self._add(ev.HistorySet, self._tensor(tensor), self._node(node), output_nr)

    def history_rebased(self, tensor: Tensor, node: Node, output_nr: int) -> None:
        """An in-place result got a new grad_fn."""
        self._add(ev.HistoryRebased, self._tensor(tensor), self._node(node), output_nr)

    def no_node_made(self, why: str) -> None:
        """The autograd kernel that runs now records nothing."""
        seq = self._open.seq
        while seq is not None and not isinstance(self.events[seq], ev.Dispatched):
            seq = self.events[seq].parent
        self._add(ev.NoNodeMade, "" if seq is None else cast(ev.Dispatched, self.events[seq]).operator, why)

    # -- engine -------------------------------------------------------------------------------------------------------

    def backward_started(
        self, task: GraphTask, roots: Sequence[Edge], gradients: Sequence[Tensor | None], accumulate: bool
    ) -> None:
        """Opens a backward."""
        self._enter(
            ev.BackwardStarted,
            self._graph_task(task),
            tuple((self._node(edge.function), edge.input_nr) for edge in roots if edge.function is not None),
            self._tensors_of(gradients),
            task.keep_graph,
            task.grad_mode,
            accumulate,
            task.reentrant_depth,
        )

    def backward_finished(self, task: GraphTask) -> None:
        """The graph task is complete."""
        self._add(ev.BackwardFinished, self._graph_task(task))
        self.leave()

    def _graph_task(self, task: GraphTask) -> int:
        """Numbered per recording: PyTorch's ids count per process."""
        return self._graph_tasks.setdefault(task.id, len(self._graph_tasks))

    def dependencies_counted(self, counts: Mapping[Node, int]) -> None:
        """In order of discovery."""
        self._add(ev.DependenciesCounted, tuple((self._node(node), count) for node, count in counts.items()))

    def dependency_met(self, node: Node, left: int) -> None:
        """One gradient less to wait for."""
        self._add(ev.DependencyMet, self._node(node), left)

    def node_queued(self, node: Node, queue: Sequence[Node]) -> None:
        """Ready; ``queue`` in the order of popping, with the new one."""
        self._add(ev.NodeQueued, self._node(node), node.sequence_nr, str(node.device()), self._numbered(queue))

    def node_started(self, node: Node, gradients: Sequence[Tensor | None], waiting: Sequence[Node]) -> None:
        """Opens the evaluation of a Node."""
        self._enter(
            ev.NodeStarted,
            self._node(node),
            node.name(),
            node.sequence_nr,
            self._tensors_of(gradients),
            self._numbered(waiting),
            str(node.device()),
            node.pytorch_thread(),
            *_source(type(node).apply),
        )

    def node_finished(self, node: Node, gradients: Sequence[Tensor | None]) -> None:
        """The Node gave its gradients."""
        self._add(ev.NodeFinished, self._node(node), self._tensors_of(gradients))
        self.leave()

    def hook_ran(self, kind: str, node: Node, function: str, replaced: bool) -> None:
        """A hook was called."""
        self._add(ev.HookRan, kind, self._node(node), function, replaced)

    def gradient_reduced(self, before: Tensor, after: Tensor, shape: tuple[int, ...]) -> None:
        """A broadcast gradient was summed."""
        self._add(ev.GradientReduced, self._tensor(before), self._tensor(after), shape)

    def gradient_buffered(self, node: Node, input_nr: int, tensor: Tensor, how: str, why: str) -> None:
        """A gradient arrived in an input buffer."""
        self._add(ev.GradientBuffered, self._node(node), input_nr, self._tensor(tensor), how, why)

    def gradient_accumulated(self, tensor: Tensor, gradient: Tensor, result: Tensor, how: str, why: str) -> None:
        """A leaf's .grad was written."""
        fields = self._tensor(tensor), self._tensor(gradient), self._tensor(result), how, why
        self._add(ev.GradientAccumulated, *fields)

    def gradient_captured(self, node: Node, input_nr: int, tensor: Tensor | None, position: int) -> None:
        """``grad()`` took a gradient."""
        self._add(ev.GradientCaptured, self._node(node), input_nr, self._tensor_or_none(tensor), position)

    def variables_released(self, node: Node) -> None:
        """Saved variables are gone."""
        self._add(ev.VariablesReleased, self._node(node))

    def _tensors_of(self, tensors: Iterable[Tensor | None]) -> tuple[int | None, ...]:
        return tuple(self._tensor_or_none(tensor) for tensor in tensors)

    def _numbered(self, nodes: Iterable[Node]) -> tuple[tuple[int, int], ...]:
        return tuple((self._node(node), node.sequence_nr) for node in nodes)

    # -- registration -------------------------------------------------------------------------------------------------

    def operator_defined(self, op: OperatorEntry) -> None:
        """``def``."""
        self._add(ev.OperatorDefined, op.name, str(op.schema))

    def kernel_registered(self, op: OperatorEntry | None, key: DispatchKey, kernel: Kernel, removed: bool) -> None:
        """``impl`` or, without an operator, ``fallback``; or its removal."""
        self._add(ev.KernelRegistered, op.name if op else "", key.name, kernel.name, removed)

    def cells_recomputed(self, op: OperatorEntry, keys: Iterable[DispatchKey]) -> None:
        """Cells changed."""
        self._add(ev.CellsRecomputed, op.name, tuple(key.name for key in keys))

    # -- errors -------------------------------------------------------------------------------------------------------

    def error_raised(self, error: BaseException) -> None:
        """Told once, where it is first seen."""
        if error is not self._last_error:
            self._last_error = error
            self._add(ev.ErrorRaised, type(error).__name__, str(error))


def _tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in what Python code returned."""
    if hasattr(value, "_ks"):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors_in(part)


def _describe_cell(op: OperatorEntry, cell: Cell) -> tuple[Any, ...]:
    """The fields of KernelSelected."""
    kernel = cell.kernel
    return (
        op.name,
        cell.key.name,
        cell.index,
        kernel.name if kernel else "",
        cell.reason,
        cell.source.name if cell.source is not None else "",
        kernel.debug if kernel else "",
        tuple((c.source.name, c.outcome, c.kernel.name if c.kernel else "") for c in op.candidates(cell.key)),
    )


@functools.cache
def _source(function: Callable[..., Any] | None) -> tuple[str, int, int]:
    """File (relative to the package), first and last line of a Python function; ("", 0, 0) if it has none."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)  # a batch rule, not its plumbing
    if code is None:
        return "", 0, 0
    _, found, relative = code.co_filename.replace("\\", "/").rpartition("/dispatchviz/")
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return (relative if found else code.co_filename), code.co_firstlineno, last
