"""Root gradients of a backward pass: checks of given ones, and ones for a scalar without a gradient (``_make_grads``).

This module mirrors ``_make_grads`` and ``_calculate_shape`` of ``torch/autograd/__init__.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dispatchviz.core.autograd.graph.gradient_edge import GradientEdge
from dispatchviz.core.autograd.variables.requires_grad_flag import new_variable
from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView

Root = Tensor | GradientEdge
OptionalTensors = Tensor | Iterable[Tensor | None] | None


class _Expected(NamedTuple):
    """The requirements for a root's gradient."""

    size: Size
    dtype: DType
    device: Device
    requires_grad: bool


def as_tuple(gradients: OptionalTensors, count: int) -> tuple[Tensor | None, ...]:
    """The gradients as a tuple, with one None per root if none is given."""
    if gradients is None:
        return (None,) * count
    return (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)


def make(roots: Sequence[Root], gradients: Sequence[Tensor | None], batched: bool) -> tuple[Tensor | None, ...]:
    """Return the gradients to start with. ``batched`` ones have one more dimension in front.

    Raise RuntimeError or TypeError for a gradient that does not fit, or a missing one that is needed.
    """
    pairs = enumerate(zip(roots, gradients, strict=False))
    return tuple([_gradient(index, root, gradient, batched) for index, (root, gradient) in pairs])


def _gradient(index: int, root: Root, gradient: Tensor | None, batched: bool) -> Tensor | None:
    if (
        isinstance(root, Tensor)
        and isinstance(gradient, Tensor)
        and not batched
        and gradient._size == root._size
        and gradient._dtype is root._dtype
    ):
        return gradient  # the usual case
    expected = _expected(root)
    if isinstance(gradient, Tensor):
        _check(index, root, expected, gradient, batched)
        return gradient
    if gradient is not None:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    return _ones(root, expected) if expected.requires_grad else None


def _expected(root: Root) -> _Expected:
    if isinstance(root, GradientEdge):
        entry = root.node._input_metadata[root.output_nr]
        return _Expected(tuple(entry.shape), entry.dtype, entry.device, True)
    if not isinstance(root, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    return _Expected(root._size, root._dtype, root._device, requires_grad(root))


def _ones(root: Root, expected: _Expected) -> Tensor:
    if math.prod(expected.size) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not expected.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {expected.dtype!r}")
    with AutoDispatchBelowADInplaceOrView():  # as for every binding of a factory function
        if isinstance(root, Tensor):
            ones = ops.ones_like.call(root, None, None, None, False, "preserve_format")
        else:
            ones = ops.ones.call(expected.size, expected.dtype, None, expected.device, False)
    return new_variable(ones, False)


def _check(index: int, root: Root, expected: _Expected, gradient: Tensor, batched: bool) -> None:
    first = gradient
    if batched:
        if not gradient._size:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        first = ops.select_int.call(gradient, 0, 0)
    if first._size != expected.size:
        raise _mismatch(index, root, expected.size, first._size, batched)
    if gradient._dtype.is_complex != expected.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {gradient._dtype!r} and output[{index}] has a dtype of "
            f"{expected.dtype!r}."
        )


def _mismatch(index: int, root: Root, wanted: Size, found: Size, batched: bool) -> RuntimeError:
    if not batched:
        return RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {_torch_size(found)} and output[{index}] has a "
            f"shape of {_torch_size(wanted)}."
        )
    if isinstance(root, GradientEdge):
        return RuntimeError("Batched grads are not supported with GradientEdge")
    return RuntimeError(  # the batch dimension is removed already, and yet PyTorch leaves another one out
        "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
        "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch "
        f"was detected: grad_output[{index}] has a shape of {_torch_size(found[1:])} and output[{index}] has a shape "
        f"of {_torch_size(wanted)}. If you only want some tensors in `grad_output` to be considered batched, consider "
        "using vmap."
    )


def _torch_size(size: Size) -> str:
    return f"torch.Size({list(size)})"
