"""Forward mode of a Function: its ``jvp`` computes the tangents of its outputs.

This module mirrors ``_process_forward_mode_AD`` of ``torch/csrc/autograd/custom_function.cpp`` and
``jvp_user_function`` of ``python_function.cpp``.

Rule 1: the jvp runs if an input has a tangent, after the outputs have their history, with forward mode off.
Rule 2: the jvp must do to the tangents of inputs what the forward did to the inputs: write in place, or take a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.autograd.forward_mode.forward_ad import forward_formula, fw_grad, set_fw_grad
from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoFwGradMode

_NOT_DIFFERENTIABLE = (
    "Function's jvp returned a gradient at position {}, but  the corresponding forward output is not a differentiable "
    "Tensor.You should return None at that position instead."
)
_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
    "input inplace, then the jvp function must modify the corresponding gradient inplace."
)
_NOT_AS_IS = (
    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying an "
    "input inplace, then the jvp function must modify the gradient inplace and return it as-is."
)
_NO_VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
_OTHER_BASE = (
    "A custom Function is returning a view but the jvp is not returning a view of the same base as the given grad "
    "input."
)
_OTHER_GRAD = "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
_UNDEFINED = (
    "(new_grad_base.is_floating_point() || new_grad_base.is_complex()) && (self_base.is_floating_point() || "
    'self_base.is_complex()) INTERNAL ASSERT FAILED at "torch/csrc/autograd/autograd_meta.cpp":159, please report a '
    "bug to PyTorch."
)
_NOT_AN_INPUT = (
    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it "
    "to mark_dirty()."
)


def process_forward_mode_ad(
    node: FunctionBase,
    inputs: Sequence[Tensor],
    outputs: Sequence[Any],
    wrapped: Sequence[Any],
    non_differentiable: Sequence[Tensor],
    dirty: Sequence[Tensor],
) -> None:
    """Give the outputs their tangents. Raise RuntimeError if the jvp did not do what the forward did.

    ``outputs`` are as the forward returned them, ``wrapped`` as the caller gets them.
    """
    tangents = [fw_grad(tensor) for tensor in inputs]
    if all(tangent is None for tangent in tangents):
        return
    versions = [None if tangent is None else tangent._version_counter.value for tangent in tangents]
    given = _jvp(node, inputs, tangents)
    if len(given) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(given)})"
        )
    for position, (returned, result, tangent) in enumerate(zip(outputs, wrapped, given, strict=True)):
        if not isinstance(returned, Tensor):
            continue
        if returned in non_differentiable or not returned._dtype.can_require_grad:
            if tangent is not None:
                raise RuntimeError(_NOT_DIFFERENTIABLE.format(position))
        elif returned in dirty:
            at = next((i for i, tensor in enumerate(inputs) if tensor is returned), None)
            if at is None:
                raise RuntimeError(_NOT_AN_INPUT)
            _set_written(result, tangent, tangents[at], versions[at])
        elif tangent is None:
            raise RuntimeError(_UNDEFINED)
        else:
            of_plain_tensor = _check_view(inputs, result, tangent)
            set_fw_grad(result, tangent, is_inplace_op=of_plain_tensor)
            if of_plain_tensor:
                return  # later outputs get no tangent, as in PyTorch


def _jvp(node: FunctionBase, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return the results of the user's jvp. It gets None for inputs that are not tensors, and zeros for missing
    tangents.
    """
    pairs = iter(zip(inputs, tangents, strict=True))
    with forward_formula(f"{type(node)._forward_cls.__name__}.jvp", "Function"), AutoFwGradMode(False):
        arguments = [_argument(node, *next(pairs)) if is_tensor else None for is_tensor in node._thp_is_variable_input]
        result = node.apply_jvp(*arguments)  # type: ignore[attr-defined]  # a method of Function's Nodes
    given = list(result) if isinstance(result, tuple) else [result]
    for position, value in enumerate(given):
        if value is not None and not isinstance(value, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(value).__name__}) for grad output {position}.")
    return given


def _argument(node: FunctionBase, tensor: Tensor, tangent: Tensor | None) -> Tensor | None:
    if tangent is not None or not node._thp_materialize or not tensor._dtype.can_require_grad:
        return tangent
    return ops.zeros_like.call(tensor)


def _set_written(result: Tensor, tangent: Tensor | None, before: Tensor | None, version: int | None) -> None:
    """Set the tangent of an input that the forward wrote to. Raise RuntimeError unless the jvp has written to that
    tangent.
    """
    if before is None:
        if tangent is not None:
            set_fw_grad(result, tangent, is_inplace_op=True)
    elif tangent is None or tangent._version_counter.value == version:
        raise RuntimeError(_NOT_IN_PLACE)
    elif tangent is not before:
        raise RuntimeError(_NOT_AS_IS)


def _check_view(inputs: Sequence[Tensor], result: Tensor, tangent: Tensor) -> bool:
    """Check that a view of an input has a view of that input's tangent. Return whether the input has no tangent yet."""
    base = _base(result)
    source = next((tensor for tensor in inputs if base is not None and _own(tensor) is base), None)
    if base is None or source is None:
        return False
    of_source = fw_grad(source)
    if of_source is None:
        return True
    tangent_base = _base(tangent)
    if tangent_base is None:
        raise RuntimeError(_NO_VIEW)
    source_base = _base(of_source)
    if source_base is not None and source_base is not tangent_base:
        raise RuntimeError(_OTHER_BASE)
    if source_base is None and of_source is not tangent_base:
        raise RuntimeError(_OTHER_GRAD)
    return False


def _base(tensor: Tensor) -> Tensor | None:
    return None if tensor._view is None else tensor._view.forward_base


def _own(tensor: Tensor) -> Tensor:
    """The base of a tensor, or the tensor itself."""
    base = _base(tensor)
    return tensor if base is None else base
