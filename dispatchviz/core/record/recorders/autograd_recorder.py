"""The recorder of autograd in the forward pass: Nodes, edges, saved variables, histories, tangents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Literal

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.function_source import source_of
from dispatchviz.core.record.recorders.recorder_base import RecorderBase

if TYPE_CHECKING:
    from dispatchviz.core.autograd.function.python_function import FunctionBase
    from dispatchviz.core.autograd.graph.edge import Edge
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
    from dispatchviz.core.record.event_builder import EventBuilder
    from dispatchviz.core.record.note_types import Target
    from dispatchviz.core.tensor.tensor import Tensor


class AutogradRecorder(RecorderBase):
    """The recorder's methods for autograd in the forward pass."""

    def __init__(self, builder: EventBuilder | None = None) -> None:
        super().__init__(builder)
        self._hooks: dict[int, int] = {}
        """The number in this recording of each existing hook, by its handle's id, which counts per process."""
        self._hook_numbers = count()

    def edges_collected(self, node: Node, edges: Sequence[Edge], arguments: Sequence[Tensor | None], /) -> None:
        """Record that a Node's edges are set. ``arguments`` are the forward inputs, if there are any."""
        first = self.first_node
        targets: list[Target | None] = []
        for edge in edges:
            to = edge.function
            if to is None:
                targets.append(None)
            else:
                targets.append((to._number if to._number >= first else self._introduce_node(to), edge.input_nr))
        number = node._number if node._number >= first else self._introduce_node(node)
        behind = self._serials(arguments)
        self.note(("edges_collected", number, node.__class__, node._topological_nr, tuple(targets), behind))

    def accumulator_made(self, node: Node, tensor: Tensor) -> None:
        """Record that a leaf got its AccumulateGrad."""
        self._emit(ev.AccumulatorMade, self._node(node), self._tensor(tensor))

    def history_rebased(self, tensor: Tensor, node: Node, output_nr: int) -> None:
        """Record that an in-place result got a new grad_fn."""
        self._emit(ev.HistoryRebased, self._tensor(tensor), self._node(node), output_nr)

    def history_set(self, tensor: Tensor, node: Node, output_nr: int) -> None:
        """Record that a result got its grad_fn."""
        self._emit(ev.HistorySet, self._tensor(tensor), self._node(node), output_nr)

    # -- members of Nodes ---------------------------------------------------------------------------------------------

    def sequence_nr_set(self, node: Node, before: int) -> None:
        """Record that a Node has another sequence number, which is already set."""
        self._emit(ev.SequenceNumberSet, self._node(node), before, node.sequence_nr)

    def undefined_input_added(self, node: Node, input_nr: int) -> None:
        """Record a placeholder for an output that is undefined."""
        self._emit(ev.UndefinedInputAdded, self._node(node), input_nr)

    def stack_stored(self, node: Node, frame: str, parent: Node | None) -> None:
        """Record that anomaly mode has filled a new Node's metadata."""
        self._emit(ev.StackStored, self._node(node), frame)
        if parent is not None:
            self._emit(ev.ParentAssigned, self._node(node), self._node(parent))

    def hook_registered(
        self,
        kind: ev.HookKind,
        function: str,
        handle: int | None,
        node: Node | None,
        tensor: Tensor | None,
        moved: bool = False,
    ) -> None:
        """Record that a hook was registered. ``handle`` is its handle's id."""
        number = None if handle is None else self._hook(handle)
        keeper = None if node is None else self._node(node)
        output_nr = 0 if tensor is None else tensor._output_nr
        self._emit(ev.HookRegistered, kind, function, number, keeper, self._tensor_or_none(tensor), output_nr, moved)

    def hook_removed(self, handle: int) -> None:
        """Record that a handle removed its hook. Hooks of modules and optimizers, and those older than the recording,
        are not recorded.
        """
        number = self._hooks.pop(handle, None)
        if number is not None:
            self._emit(ev.HookRemoved, number)

    def _hook(self, handle: int) -> int:
        """Return the number of a hook in this recording."""
        if handle not in self._hooks:
            self._hooks[handle] = next(self._hook_numbers)
        return self._hooks[handle]

    def entered_from_python(self) -> None:
        """Mark that the program called the machine. Nothing is recorded: the wrapper of ``safety_net.py`` finds the
        user's line.
        """

    # -- saved variables ----------------------------------------------------------------------------------------------

    def variable_saved(
        self, node: Node, name: str, saved: SavedVariable, tensor: Tensor | None, is_output: bool, /
    ) -> None:
        """Record that a tensor was saved."""
        if self.finds_callers:
            self.find_caller()
        if tensor is None:
            self._emit(ev.VariableSaved, self._node(node), name, None, -1, is_output)
            return
        saved._recorded_as = self._node_serial(node), name
        counter = self._counter(tensor) - self.first_counter
        version, packed = tensor._version_counter.value, hasattr(saved, "_packed")
        self._emit(ev.VariableSaved, self._node(node), name, self._tensor(tensor), version, is_output, counter, packed)

    def variable_not_saved(self, node: Node, name: str, edge: int) -> None:
        """Record that a tensor was not saved, since only the formula of an empty edge needs it."""
        self._emit(ev.VariableNotSaved, self._node(node), name, edge)

    def saved_tensor_hook_ran(
        self, kind: ev.SavedTensorHookKind, function: str, saved: SavedVariable, tensor: Tensor, packed: str
    ) -> None:
        """Record that a tensor was packed or unpacked."""
        node, name = getattr(saved, "_recorded_as", (-1, ""))
        number = self._tensor(tensor)
        if node >= self.first_node:
            self._emit(ev.SavedTensorHookRan, kind, function, number, packed, node - self.first_node, name)
        else:
            self._emit(ev.SavedTensorHookRan, kind, function, number, packed)

    # -- users' Functions ---------------------------------------------------------------------------------------------

    def function_entered(self, function: type[FunctionBase], node: FunctionBase, recorded: bool, setup: bool) -> None:
        """Open the event of a Function's forward."""
        self.classes_may_change = True
        needed = tuple(map(bool, node.needs_input_grad or ()))
        file, first, last = source_of(function.forward)
        name, number = function.__name__, self._node(node)
        self._emit_span(ev.FunctionEntered, name, number, needed, recorded, setup, file, first, last)

    def function_output(
        self,
        node: FunctionBase,
        position: int,
        returned: Tensor,
        result: Tensor,
        how: ev.OutputHistory,
        marked: ev.OutputMark,
        is_input: bool,
    ) -> None:
        """Record the final form of a tensor that a forward returned."""
        before, after = self._tensor(returned), self._tensor(result)
        meta: ev.CreationMeta | Literal[""] = "" if result._view is None else result._view.creation_meta
        self._emit(ev.FunctionOutput, self._node(node), position, before, after, how, marked, is_input, meta)

    # -- forward mode -------------------------------------------------------------------------------------------------

    def forward_formula_entered(self, formula: str, how: ev.ForwardFormulaKind) -> None:
        """Open the event of the computation of a tangent."""
        self._emit_span(ev.ForwardFormulaEntered, formula, how)

    def tangent_set(self, tensor: Tensor, tangent: Tensor, how: ev.TangentSource) -> None:
        """Record a tensor's tangent, which is already set."""
        self._emit(ev.TangentSet, self._tensor(tensor), self._tensor(tangent), how)
