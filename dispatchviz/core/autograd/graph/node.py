"""Node: the backward of one operation (``torch/csrc/autograd/node.h``, ``function.cpp``).

A Node's inputs are the gradients of the forward outputs, its outputs the gradients of the forward inputs. Generated
Nodes are in ``generated/nodes.py``, handwritten ones in ``basic_nodes.py``, ``accumulate_grad.py``, ``copy_nodes.py``.
``engine.py`` runs them.

Rule 1: a Node takes its sequence number when it is constructed, from the counter of its thread. MAX_SEQUENCE_NR is for
Nodes that do not take one.
Rule 2: reading ``topological_nr()`` marks the Node as having a parent. After that its number must not change.
Rule 3: nothing here recurses along edges. Freeing a long chain needs no code of ours, since CPython's deallocator puts
the objects that die in a chain on a list of its own (its "trashcan"). In PyTorch ``Node::release_resources`` has
``gatherFunctions`` for that, as ``deleteNode`` of older releases had. ``node_life.py`` reports the end of a Node to a
recorder.
Rule 4: while a Node that saved tensors is applied, no other thread applies it or releases its saved tensors. The mutex
is created when a second thread has used the machine. AccumulateGrad and CopySlices, which write, always have one.
"""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex

from msgspec import structs

from dispatchviz.core.autograd.engine import anomaly_mode
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.input_metadata import UNDEFINED, InputMetadata, device_of, metadata_of
from dispatchviz.core.autograd.graph.node_life import NodeLife
from dispatchviz.core.autograd.graph.saved_attributes import install_properties
from dispatchviz.core.autograd.hooks.hooks import NodeHooks, RemovableHandle, TensorPreHook, note_hook, registered
from dispatchviz.core.device import streams
from dispatchviz.core.device.device import Device
from dispatchviz.core.device.streams import Stream
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.compiled_autograd import CompiledNodeArgs, SwapSavedVariables

MAX_SEQUENCE_NR = 2**64 - 1

_making_mutexes = threading.Lock()

_NO_EDGES: list[Edge] = []
"""An empty list to which nothing is ever appended: a Node with edges gets another list."""

Gradients = list[Tensor | None]
"""A list with one slot per input or output of a Node. None is an undefined gradient."""


class Node:
    """The base class of all Nodes. Subclasses implement ``apply``, which the engine and users call (``node(grad)``)."""

    __slots__ = (
        "__weakref__",
        "_has_parent",
        "_life",
        "_metadata",
        "_mutex",
        "_number",
        "_topological_nr",
        "hooks",
        "input_metadata",
        "next_edges",
        "sequence_nr",
        "thread_id",
    )

    cpp_name: ClassVar[str] = ""
    """The name, if it is not that of the class."""
    edge_names: ClassVar[tuple[str, ...]] = ()
    """The forward argument behind each edge. The name of a tensor list represents all its edges."""
    saved_variables: ClassVar[tuple[str, ...]] = ()
    """The names of saved tensors. ``self`` is in the slot ``self_``."""
    saved_attributes: ClassVar[tuple[str, ...]] = ()
    """The names of the plain values that users see."""
    saved_integers: ClassVar[tuple[str, ...]] = ()
    """The names among them of values that are integers in C++."""

    tensor_keeps_hooks: ClassVar[bool] = False
    """True if there may be hooks although ``hooks`` is None, since the tensor keeps them itself."""

    _life: NodeLife
    """The NodeLife of a Node that a recorder has met."""
    sequence_nr: int
    """The engine's priority: when several Nodes are ready, the one with the largest number runs first."""
    thread_id: int
    """The thread that constructed the Node; the first thread is 1."""
    next_edges: list[Edge]
    input_metadata: tuple[InputMetadata, ...]
    hooks: NodeHooks | None

    def __init__(self, sequence_nr: int | None = None) -> None:
        state = thread.state
        if sequence_nr is None:
            sequence_nr = state.sequence_nr
            state.sequence_nr = sequence_nr + 1
        self.sequence_nr = sequence_nr
        self.thread_id = state.thread_id
        self.next_edges = _NO_EDGES
        self.input_metadata = ()
        self.hooks = None
        self._topological_nr = 0
        self._has_parent = False
        self._metadata: dict[str, Any] | None = None
        self._number = -1
        self._mutex: threading.RLock | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == "dispatchviz.core.generated.nodes":
            cls.__module__ = "builtins"  # as it prints: <class 'AddBackward0'>
        install_properties(cls, vars(cls))
        if "will_release_variables" in vars(cls):
            cls.apply = _with_release_check(cls.apply)  # type: ignore[method-assign,assignment]  # slower for such classes only

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise an error: a Node can be neither copied nor pickled."""
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    # -- inputs and outputs -------------------------------------------------------------------------------------------

    def add_input_metadata(self, tensor: Tensor | None) -> int:
        """Append the entry of one forward output and return its index."""
        before = self.input_metadata
        entry = UNDEFINED if tensor is None else metadata_of(tensor._size, tensor._dtype, tensor._device)
        self.input_metadata = before + entry if before else entry
        if tensor is None and recorder.active is not None:
            recorder.active.undefined_input_added(self, len(before))
        return len(before)

    def _add_input_metadata_with_stream(self, tensor: Tensor | None) -> int:
        """Append the entry of one forward output and its stream. It replaces ``add_input_metadata`` once a program has
        a second stream.
        """
        index = _add_input_metadata(self, tensor)
        *before, entry = self.input_metadata
        self.input_metadata = (*before, structs.replace(entry, stream=streams.current()))
        return index

    def set_next_edges(self, edges: list[Edge], arguments: Sequence[Tensor | None] = ()) -> None:
        """Replace the edges. ``arguments`` are the forward arguments behind them, if there are any.

        Raise RuntimeError if the Node is already the target of an edge.
        """
        self.next_edges = edges
        self._update_topological_nr(edges)

    def set_collected_edges(self, edges: list[Edge], topological_nr: int, arguments: Sequence[Tensor | None]) -> None:
        """Set the edges of a new Node, and its topological number, which follows from them."""
        self.next_edges = edges
        self._topological_nr = topological_nr

    def set_next_edge(self, index: int, edge: Edge) -> None:
        """Replace one edge."""
        self._update_topological_nr((edge,))
        self.next_edges[index] = edge

    def add_next_edge(self, edge: Edge) -> None:
        """Append an edge."""
        self._update_topological_nr((edge,))
        self.next_edges = [*self.next_edges, edge]

    def _update_topological_nr(self, edges: Sequence[Edge]) -> None:
        if self._has_parent:
            raise RuntimeError(
                "Cannot update a node's topological_nr after it already has a parent. If we allow this, we can no "
                "longer guarantee that a parent's topo_nr is always greater than those of all its children"
            )
        number = self._topological_nr
        for edge in edges:
            target = edge.function
            if target is not None:
                target._has_parent = True
                if number <= target._topological_nr:
                    number = target._topological_nr + 1
        self._topological_nr = number

    def topological_nr(self) -> int:
        """Return the length of the longest path to a Node without edges. If there is a path from X to Y, X has the
        larger number.
        """
        self._has_parent = True
        return self._topological_nr

    def device(self) -> Device:
        """Return the device of the first input that is not on the CPU. It decides in which queue the Node waits."""
        return device_of(self.input_metadata)

    def should_compute_output(self, index: int) -> bool:
        """Return whether the edge leads to a Node, while the graph is built. Raise RuntimeError if there is no such
        edge.
        """
        try:
            return self.next_edges[index].function is not None
        except IndexError:
            raise RuntimeError("Index out of range") from None

    def should_compute_output_any(self, *ranges: range) -> bool:
        """Return whether any edge in the ranges leads to a Node."""
        return any(self.should_compute_output(index) for indices in ranges for index in indices)

    def task_should_compute_output(self, index: int) -> bool:
        """Return whether the edge leads to a Node that the running graph task needs, while the engine runs."""
        target = self.next_edges[index].function
        if target is None:
            return False
        task = thread.state.graph_task
        if task is None or not task.exec_info or task.should_execute(target):
            return True
        if recorder.active is not None:
            recorder.active.formula_skipped(self, index)
        return False

    def task_should_compute_output_any(self, *indices: int) -> bool:
        """Return whether the running graph task needs the gradient of any of several edges.

        Pruned edges are recorded here only if none is needed; otherwise the formula records them.
        """
        task = thread.state.graph_task
        targets = [self.next_edges[index].function for index in indices]
        wanted = any(target is not None and (task is None or task.wants(target)) for target in targets)
        if not wanted and recorder.active is not None:
            for index in indices:
                self.task_should_compute_output(index)
        return wanted

    # -- running ------------------------------------------------------------------------------------------------------

    def apply(self, grads: Gradients) -> Gradients:
        """Return one gradient per edge for one gradient per input. It may keep or change the list ``grads``."""
        raise NotImplementedError

    @classmethod
    def formula(cls) -> Callable[..., Any]:
        """Return the Python function that has the formula."""
        return cls.apply

    def apply_alone(self, grads: Gradients) -> Gradients:
        """Run ``apply`` while no other thread does the same or releases the variables."""
        if not self.saved_variables:
            return self.apply(grads)
        with self._lock():
            return self.apply(grads)

    def release_alone(self) -> None:
        """Run ``release_variables`` while no other thread applies the Node."""
        if self.saved_variables:
            with self._lock():
                self.release_variables()
        else:
            self.release_variables()

    def _lock(self) -> threading.RLock:
        """Return ``mutex_``. It is reentrant, where PyTorch would wait for itself."""
        if self._mutex is None:
            with _making_mutexes:
                if self._mutex is None:
                    self._mutex = threading.RLock()
        return self._mutex

    def release_variables(self) -> None:
        """Drop saved variables. It is called when the graph is not kept. Plain values stay."""

    def will_release_variables(self) -> None:
        """Free pieces early, if possible. It is called just before ``apply`` if ``release_variables`` will follow."""

    def is_traceable(self) -> bool:
        """Return whether its ``apply`` consists of recorded operations."""
        return False

    def passes_state_transparently(self) -> bool:
        """Return whether its state consists of saved variables and plain values, and it is traceable."""
        return False

    def stream(self) -> Stream | None:
        """Return the stream of the first input on an accelerator, on which the Node runs."""
        return next((entry.stream for entry in self.input_metadata if entry.device.type == "cuda"), None)

    def compiled_args(self, args: CompiledNodeArgs) -> None:
        """Collect all state of the Node. Raise NotImplementedError for a class whose state is not known."""
        from dispatchviz.core.autograd.engine.compiled_autograd import compiled_args

        compiled_args(self, args)

    def apply_with_saved(self, inputs: Gradients, saved: SwapSavedVariables) -> Gradients:
        """Run ``apply`` with other tensors than the Node saved. Raise NotImplementedError for a class whose state is
        not known.
        """
        from dispatchviz.core.autograd.engine.compiled_autograd import apply_with_saved

        return apply_with_saved(self, inputs, saved)

    def tensor_pre_hooks(self) -> Sequence[TensorPreHook]:
        """Return the hooks of the tensors that this Node produced."""
        return () if self.hooks is None else self.hooks.tensor_pre

    def __call__(self, *grads: Tensor | None, **keywords: Any) -> Any:
        """Run the formula outside of the engine, without hooks, reduction and release.

        Raise TypeError for a wrong number of gradients, a gradient that is not a tensor, or keywords.
        """
        if keywords:
            raise TypeError("keyword arguments are not supported")
        expected = len(self.input_metadata)
        if len(grads) != expected:
            raise TypeError(f"expected {expected} arguments, got {len(grads)} instead")
        for index, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(f"argument {index} is not a Variable")
        outputs = self.apply_alone(list(grads))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    # -- names and attributes for Python ------------------------------------------------------------------------------

    def name(self) -> str:
        """Return the name, ``MulBackward0``; for handwritten Nodes the full C++ name."""
        return self.cpp_name or type(self).__name__

    def forward_op_name(self) -> str:
        """Return the name of the operation in messages: ``Add`` for ``AddBackward0``, ``Add1`` for ``AddBackward1``."""
        match = re.fullmatch(r"(.+)Backward(\d+)", self.name())
        if match is None:
            return self.name()
        return match[1] if match[2] == "0" else match[1] + match[2]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges, as Python sees them."""
        return tuple([(edge.function, edge.input_nr) for edge in self.next_edges])

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return self.input_metadata

    @property
    def metadata(self) -> dict[str, Any]:
        """A dict for anomaly mode and users, created on first access."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def requires_grad(self) -> bool:
        """True."""
        return True

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, number: int) -> None:
        """Change the priority. The thread's counter does not change. Raise OverflowError outside of 64 unsigned
        bits.
        """
        before, self.sequence_nr = self.sequence_nr, _as_uint64(number)
        if recorder.active is not None:
            recorder.active.sequence_nr_set(self, before)
            recorder.active.queues_change()

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Register a hook ``hook(grad_inputs, grad_outputs)`` that runs after the Node and may return other
        grad_inputs.
        """
        return registered("post hook", self.own_hooks().add_post(hook), hook, self)

    def register_prehook(self, hook: Any) -> RemovableHandle:
        """Register a hook ``hook(grad_outputs)`` that runs before the Node and may return other grad_outputs."""
        return registered("pre hook", self.own_hooks().add_pre(hook), hook, self)

    def _register_hook_dict(self, tensor: Any) -> None:
        """Run the hooks of ``tensor``, an output of this Node, before the Node. Raise TypeError for anything but a
        tensor.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError("_register_hook_dict expected a variable")
        self._add_hooks_of(tensor)

    def _add_hooks_of(self, tensor: Tensor) -> None:
        if tensor._hooks is not None and tensor._hooks.backward is not None:
            self.own_hooks().tensor_pre.append(TensorPreHook(tensor._hooks.backward, tensor._output_nr))
            for number, hook in tensor._hooks.backward.items():
                note_hook("tensor pre hook", number, hook, self, tensor)

    def own_hooks(self) -> NodeHooks:
        """Return the Node's hooks, created on first use."""
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks


def _with_release_check(apply: Callable[[Any, Gradients], Gradients]) -> Callable[[Any, Gradients], Gradients]:
    """Return ``apply`` with a call of ``will_release_variables`` before it, if the Node's variables will be
    released.
    """

    def apply_forewarned(self: Node, grads: Gradients) -> Gradients:
        task = thread.state.graph_task
        if task is not None and not task.keep_graph:
            self.will_release_variables()
        return apply(self, grads)

    return apply_forewarned


_init = Node.__init__


def _recorded_init(self: Node, sequence_nr: int | None = None) -> None:
    _init(self, sequence_nr)
    rec = recorder.active
    if rec is not None:
        number = self._number = next(rec.node_numbers)
        life = self._life = NodeLife(self, rec.node_freed)  # ``follow``, without a call
        life.number = number
        rec.note(("node_created", number, self.__class__, self.sequence_nr, 0, self.thread_id))


def _recorded_set_next_edges(self: Node, edges: list[Edge], arguments: Sequence[Tensor | None] = ()) -> None:
    self.next_edges = edges
    self._update_topological_nr(edges)
    rec = recorder.active
    if rec is not None:
        rec.edges_collected(self, edges, arguments)


def _recorded_set_collected_edges(
    self: Node, edges: list[Edge], topological_nr: int, arguments: Sequence[Tensor | None]
) -> None:
    self.next_edges = edges
    self._topological_nr = topological_nr
    rec = recorder.active
    if rec is None:
        return
    if len(arguments) == 2:  # most Nodes, in half the time
        (a, b), (left, right) = arguments, edges
        to, other = left.function, right.function
        if a is not None and b is not None and to is not None and other is not None:
            first, second, nr, other_nr = to._number, other._number, left.input_nr, right.input_nr
            if first >= rec.first_node and second >= rec.first_node:
                number, topo = self._number, self._topological_nr
                rec.note(("two_edges", number, self.__class__, topo, first, nr, second, other_nr, a._number, b._number))
                return
    rec.edges_collected(self, edges, arguments)


def _anomaly_init(init: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor for anomaly mode, which stores the stack."""

    def constructor(self: Node, sequence_nr: int | None = None) -> None:
        init(self, sequence_nr)
        anomaly_mode.store_stack(self)

    return constructor


process_modes.hot_function(
    Node,
    "__init__",
    {
        NO_MODE: _init,
        Mode.RECORDING: _recorded_init,
        Mode.ANOMALY: _anomaly_init(_init),
        Mode.RECORDING | Mode.ANOMALY: _anomaly_init(_recorded_init),
    },
)
process_modes.hot_function(
    Node, "set_next_edges", {NO_MODE: Node.set_next_edges, Mode.RECORDING: _recorded_set_next_edges}
)
process_modes.hot_function(
    Node, "set_collected_edges", {NO_MODE: Node.set_collected_edges, Mode.RECORDING: _recorded_set_collected_edges}
)


class TraceableFunction(Node):
    """The base class of the generated Nodes except those of view functions."""

    __slots__ = ()

    def is_traceable(self) -> bool:
        return True


def _as_uint64(number: object) -> int:
    try:
        value = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError("an integer is required") from None
    if value < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if value > MAX_SEQUENCE_NR:
        raise OverflowError("int too big to convert")
    return value


_add_input_metadata = Node.add_input_metadata
process_modes.hot_function(
    Node,
    "add_input_metadata",
    {NO_MODE: _add_input_metadata, Mode.STREAMS: Node._add_input_metadata_with_stream},
)
