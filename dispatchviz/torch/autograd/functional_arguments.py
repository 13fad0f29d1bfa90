"""The steps of ``torch.autograd.functional`` before and after ``grad``: tuples, checks, strict mode.

Mirrors the private half of ``torch/autograd/functional.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.engine import backward_grad
from dispatchviz.core.autograd.variables.requires_grad_flag import new_variable, requires_grad_
from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView

Tensors = tuple[Tensor, ...]
OptionalTensors = Sequence[Tensor | None]

Function = Callable[..., Any]

OUTPUTS = "outputs of the user-provided function"

_INDEPENDENT = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
        "allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
        "function for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of the input. This is not "
        "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian "
        "depends on the inputs."
    ),
}
"""The errors of strict mode, by the kind of tensor that is checked."""

_OUTPUT_INDEPENDENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_MISSING = {
    "back": _OUTPUT_INDEPENDENT,
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}
"""The errors of strict mode, by the backward whose result is missing."""
_CONSTANT = (
    "The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)


# -- tuples ------------------------------------------------------------------------------------------------------------


def as_tuple(value: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """Return whether the value was a tuple, and the tuple. Raise TypeError for anything but tensors."""
    was_tuple = isinstance(value, tuple)
    values = value if isinstance(value, tuple) else (value,)
    for index, one in enumerate(values):
        if not isinstance(one, Tensor):
            which = f"value at index {index}" if was_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has "
                f"type {type(one)}."
            )
    return was_tuple, values


def tuple_postprocess(result: Any, was_tuple: bool) -> Any:
    """Return the only element unless the user passed a tuple."""
    return result if was_tuple else result[0]


def nested_tuple_postprocess(rows: Any, outer: bool, inner: bool) -> Any:
    """Return a tuple of tuples in the structure that the user passed."""
    return tuple_postprocess(tuple([tuple_postprocess(row, inner) for row in rows]), outer)


# -- history -----------------------------------------------------------------------------------------------------------


def grad_preprocess(inputs: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """Return tensors that are not the user's: views with history if the result needs one, else new leaves."""

    def one(tensor: Tensor) -> Tensor:
        if create_graph and requires_grad(tensor):
            view: Tensor = ops.view_as.call(tensor, tensor)
            return view
        return requires_grad_(ops.detach.call(tensor), need_graph)

    return tuple([one(tensor) for tensor in inputs])


def grad_postprocess(tensors: Any, create_graph: bool) -> Any:
    """Detach the tensors unless ``create_graph`` was requested; also in nested tuples."""
    if create_graph:
        return tensors
    return tuple([ops.detach.call(t) if isinstance(t, Tensor) else grad_postprocess(t, create_graph) for t in tensors])


def zeros_like(tensor: Tensor, flag: bool = False) -> Tensor:
    """``torch.zeros_like(tensor, requires_grad=flag)``"""
    with AutoDispatchBelowADInplaceOrView():
        zeros = ops.zeros_like.call(tensor, None, None, None, False, None)
    return new_variable(zeros, flag)


def grad(
    outputs: OptionalTensors, inputs: Tensors, grad_outputs: OptionalTensors | None, **how: Any
) -> tuple[Tensor | None, ...]:
    """``torch.autograd.grad`` of the outputs that require grad, or None for all inputs if no output does."""
    gradients = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    wanted = [(o, g) for o, g in zip(outputs, gradients, strict=True) if o is not None and requires_grad(o)]
    if not wanted:
        return (None,) * len(inputs)
    roots, given = zip(*wanted, strict=True)
    found: tuple[Tensor | None, ...] = backward_grad.grad(roots, inputs, given, allow_unused=True, **how)
    return found


# -- checks ------------------------------------------------------------------------------------------------------------


def check_v(v: Tensors, other: Tensors, other_was_tuple: bool) -> None:
    """Raise RuntimeError unless the vector has the sizes of ``other``."""
    if len(other) != len(v):
        if other_was_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (one, wanted) in enumerate(zip(v, other, strict=True)):
        if one._size != wanted._size:
            entry = f"Entry {index} in " if other_was_tuple else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {_shown(wanted._size)} but got {_shown(one._size)}."
            )


def _shown(size: Size) -> str:
    return f"torch.Size({list(size)})"


def is_one_number(tensors: Tensors) -> bool:
    """Return whether there is a single tensor with a single element."""
    return len(tensors) == 1 and numel(tensors[0]._size) == 1


def check_single_number(function: str, was_tuple: bool, outputs: Tensors) -> None:
    """Raise RuntimeError unless the user's function returned a single tensor with a single element."""
    if was_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if numel(outputs[0]._size) != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")


def check_requires_grad(tensors: OptionalTensors, kind: str, strict: bool) -> None:
    """Raise RuntimeError in strict mode for the first tensor that does not require grad."""
    for index, tensor in enumerate(tensors if strict else ()):
        if tensor is None:
            raise RuntimeError(_OUTPUT_INDEPENDENT.format(index))
        if not requires_grad(tensor):
            raise RuntimeError(_INDEPENDENT[kind].format(index))


def fill_in_zeros(
    grads: OptionalTensors, like: OptionalTensors, strict: bool, create_graph: bool, stage: str
) -> Tensors:
    """Replace missing gradients by zeros. In strict mode, raise RuntimeError, also for constants if
    ``create_graph``.
    """
    return tuple(
        [_filled(i, g, t, strict, create_graph, stage) for i, (g, t) in enumerate(zip(grads, like, strict=True))]
    )


def _filled(
    index: int, gradient: Tensor | None, like: Tensor | None, strict: bool, create_graph: bool, stage: str
) -> Tensor:
    if gradient is None:
        if strict:
            raise RuntimeError(_MISSING[stage].format(index))
        assert like is not None
        return zeros_like(like)
    if strict and create_graph and not requires_grad(gradient):
        raise RuntimeError(_CONSTANT.format("hessian" if "double" in stage else "jacobian", index))
    return gradient
