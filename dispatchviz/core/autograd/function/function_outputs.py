"""Outputs and saved tensors of a ``torch.autograd.Function``: ``mark_dirty``, ``mark_non_differentiable``,
``save_for_backward``.

This module mirrors ``process_outputs`` of ``torch/csrc/autograd/python_function.cpp`` and ``_wrap_outputs`` of
``custom_function.cpp``.

Rule 1: identity decides whether an output is an input, or was marked.
Rule 2: an input that is returned unchanged becomes a view of itself. A returned view must not be written to, unless the
Function declares it a pure view, since its backward would be lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dispatchviz.core.autograd.forward_mode.forward_grad import levels
from dispatchviz.core.autograd.forward_mode.function_jvp import process_forward_mode_ad
from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.input_metadata import UNDEFINED, InputMetadata
from dispatchviz.core.autograd.graph.saved_variable import save
from dispatchviz.core.autograd.variables import creation_meta
from dispatchviz.core.autograd.variables.grad_attribute import set_grad
from dispatchviz.core.autograd.variables.variable import (
    increment_version,
    requires_grad,
    set_gradient_edge,
    try_get_grad_accumulator,
)
from dispatchviz.core.autograd.variables.view_info import rebase_history_at
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoFwGradMode, AutoGradMode

if TYPE_CHECKING:
    from dispatchviz.core.record.events.function_events import OutputHistory, OutputMark

_RETURNED_AND_SAVED = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup "
    "ctx inside the forward function itself."
)
_PURE_VIEW = (
    "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you need to "
    "support more."
)
_LEAF = "a leaf Variable that requires grad has been used in an in-place operation."
_NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
_VIEW_AMONG_SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)


class Tensors(list[Tensor]):
    """A list of tensors in which membership is decided by identity, not by equality."""

    def __contains__(self, value: object) -> bool:
        return any(value is tensor for tensor in self)


class Call(Struct):
    """A forward that has returned."""

    node: FunctionBase
    executable: bool
    """True if an input requires grad and grad mode is on."""
    inputs: list[Tensor]
    outputs: tuple[Any, ...]
    own_setup: bool
    how: list[OutputHistory] = field(default_factory=list)
    """The treatment of each tensor among the outputs."""


class _Marks(Struct):
    """The marks that the forward gave its tensors."""

    inputs: Tensors
    non_differentiable: Tensors
    dirty: Tensors
    saved_by_setup: Tensors


def process_outputs(call: Call) -> list[Any]:
    """Give the outputs their history and save the tensors. Return the outputs in their final form."""
    node = call.node
    node.input_metadata = ()
    if call.executable:
        node._thp_input_info = [_info(tensor) for tensor in call.inputs]
    to_save, saved_by_setup = _to_save(call)
    non_differentiable = _parse_non_differentiable(node)
    marks = _Marks(Tensors(call.inputs), non_differentiable, _mark_dirty(node), saved_by_setup)
    wrapped = _wrap_outputs(call, marks)
    if levels:
        process_forward_mode_ad(node, call.inputs, call.outputs, wrapped, marks.non_differentiable, marks.dirty)
    if recorder.active is not None:
        _record_outputs(call, marks, wrapped)
    if call.executable:
        node._thp_output_info = [_info(value) for value in wrapped]
        outputs = Tensors(value for value in wrapped if isinstance(value, Tensor))
        node._thp_saved = [
            save(node, f"saved_tensors[{i}]", tensor, is_output=tensor in outputs) for i, tensor in enumerate(to_save)
        ]
    node.saved_for_forward = None
    return wrapped


def _record_outputs(call: Call, marks: _Marks, wrapped: list[Any]) -> None:
    how = iter(call.how)
    for position, (returned, result) in enumerate(zip(call.outputs, wrapped, strict=True)):
        if isinstance(returned, Tensor) and recorder.active is not None:
            marked = _mark_of(returned, marks)
            is_input = returned in marks.inputs
            recorder.active.function_output(call.node, position, returned, result, next(how), marked, is_input)


def _mark_of(returned: Tensor, marks: _Marks) -> OutputMark:
    if returned in marks.dirty:
        return "dirty"
    return "non-differentiable" if returned in marks.non_differentiable else ""


def _info(value: Any) -> InputMetadata:
    """Return the metadata of a value (``VariableInfo``)."""
    if not isinstance(value, Tensor):
        return UNDEFINED[0]
    return InputMetadata(value._size, value._dtype, value._device)


def _check_tuple(value: Any, name: str) -> tuple[Any, ...]:
    """Return the value of a ``ctx`` attribute."""
    if value is None:
        return ()
    if not isinstance(value, tuple):
        found = type(value).__name__
        raise RuntimeError(f"autograd internal error: {name} attribute is expected to be a tuple but is {found}")
    return value


def _to_save(call: Call) -> tuple[list[Tensor | None], Tensors]:
    """Return the arguments of ``save_for_backward``, and those tensors that an input returned unchanged must not be
    among.
    """
    node = call.node
    by_setup = Tensors()
    if call.own_setup:
        by_setup += [t for t in _check_tuple(node.saved_for_forward, "saved_for_forward") if isinstance(t, Tensor)]
    given, node.to_save = _check_tuple(node.to_save, "to_save"), None
    for position, value in enumerate(given):
        if value is not None and not isinstance(value, Tensor) and call.executable:
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type {type(value).__name__}"
            )
    if call.own_setup:
        by_setup += [tensor for tensor in given if isinstance(tensor, Tensor)]
    return list(given), by_setup


def _parse_non_differentiable(node: FunctionBase) -> Tensors:
    marked, node.non_differentiable = _check_tuple(node.non_differentiable, "non_differentiable"), None
    for value in marked:
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"mark_non_differentiable only accepts variable arguments, but got {type(value).__name__}"
            )
    return Tensors(marked)


def _mark_dirty(node: FunctionBase) -> Tensors:
    """Return the tensors that the forward wrote to, after incrementing their versions."""
    marked, node.dirty_tensors = _check_tuple(node.dirty_tensors, "dirty_tensors"), None
    for position, value in enumerate(marked):
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {position} is of type {type(value).__name__}"
            )
        increment_version(value)
    return Tensors(marked)


def _wrap_outputs(call: Call, marks: _Marks) -> list[Any]:
    """Give the outputs their history (``_process_backward_mode_ad``). A non-tensor output keeps its index among the
    Node's inputs.
    """
    if call.node._thp_pure_view and (len(call.inputs), len(call.outputs)) != (1, 1):
        raise RuntimeError(_PURE_VIEW)
    wrapped: list[Any] = []
    differentiable = 0
    for position, output in enumerate(call.outputs):
        if not isinstance(output, Tensor):
            if call.executable:
                call.node.add_input_metadata(None)
            wrapped.append(output)
            continue
        follows = call.executable and output._dtype.can_require_grad and output not in marks.non_differentiable
        differentiable += follows
        if call.executable:
            call.node.add_input_metadata(output if follows else None)
        wrapped.append(_with_history(call, marks, position, output, follows))
        _set_creation_meta(call.node, wrapped[-1], written=output in marks.inputs and output in marks.dirty)
    if differentiable > 1:
        _forbid_writing_to_views(wrapped)
    if not all(tensor in Tensors(t for t in call.outputs if isinstance(t, Tensor)) for tensor in marks.dirty):
        raise RuntimeError(_NOT_RETURNED)
    return wrapped


def _with_history(call: Call, marks: _Marks, position: int, output: Tensor, differentiable: bool) -> Tensor:
    """Return the output with its history, or its replacement (``set_history``)."""
    how: OutputHistory
    is_input, is_dirty = output in marks.inputs, output in marks.dirty
    if is_input and not is_dirty and output in marks.saved_by_setup and (differentiable or not requires_grad(output)):
        raise RuntimeError(_RETURNED_AND_SAVED)
    if not differentiable:
        result, how = _without_history(output, is_input, is_dirty)
    elif is_dirty:
        _written(call, output, is_input, position)
        result, how = output, "rebased"
    else:
        result = _view_of_itself(output) if is_input else output
        set_gradient_edge(result, call.node, position)
        if recorder.active is not None:
            recorder.active.history_set(result, call.node, position)
        how = "viewed" if is_input else "set"
    call.how.append(how)
    return result


def _without_history(output: Tensor, is_input: bool, is_dirty: bool) -> tuple[Tensor, OutputHistory]:
    if not requires_grad(output):
        return (_view_of_itself(output), "viewed") if is_input and not is_dirty else (output, "plain")
    if is_input:
        return ops.detach.call(output), "detached"
    if output._view is None:
        return ops.detach_.call(output), "detached in place"
    return output, "plain"  # like a view made under no_grad, which requires grad if its base does


def _written(call: Call, output: Tensor, is_input: bool, position: int) -> None:
    """Change the history of an input that was written to and returned, as any in-place operation does."""
    if output._grad_fn is None and requires_grad(output):  # the stored one: a stale view's history is not read
        raise RuntimeError(_LEAF)
    if not is_input:
        warnings.warn(_NOT_AN_INPUT, UserWarning, stacklevel=5)
    if output._view is not None and len(call.outputs) > 1:
        raise RuntimeError(_VIEW_AMONG_SEVERAL)
    set_grad(output, None)
    if output._hooks is not None:
        output._hooks.backward = None
    accumulator = try_get_grad_accumulator(output)
    if accumulator is not None:
        accumulator.variable = None  # type: ignore[attr-defined]  # this AccumulateGrad has no variable any more
    rebase_history_at(output, call.node, position)


def _view_of_itself(tensor: Tensor) -> Tensor:
    with AutoFwGradMode(False), AutoGradMode(False, "a view of an input that is returned"):
        view: Tensor = tensor.view_as(tensor)  # type: ignore[attr-defined]  # the method that users see, as in PyTorch
    return view


def _set_creation_meta(node: FunctionBase, output: Tensor, written: bool) -> None:
    if output._view is not None and not written:
        output._view.creation_meta = creation_meta.DEFAULT if node._thp_pure_view else creation_meta.IN_CUSTOM_FUNCTION


def _forbid_writing_to_views(outputs: Sequence[Any]) -> None:
    for output in outputs:
        if isinstance(output, Tensor) and output._view is not None:
            output._view.creation_meta = creation_meta.MULTI_OUTPUT_NODE
