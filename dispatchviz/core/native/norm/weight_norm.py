"""``_weight_norm``, ``_weight_norm_interface``, ``norm_except_dim``: weight as magnitude and direction
(``aten/src/ATen/native/WeightNorm.cpp``, ``cpu/WeightNormKernel.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet, store
from dispatchviz.core.tensor.dtype import bfloat16, float16, float32
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, empty_strided, numel


def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    """The norm of each slice along a dimension, in a shape that broadcasts; for -1 the norm of all elements."""
    rank = len(v._size)
    if dim == -1:
        return ops.norm_Scalar.call(v, pow)
    if dim not in (0, rank - 1):
        transposed = ops.norm_except_dim.call(ops.transpose_int.call(v, 0, dim), pow, 0)
        return ops.transpose_int.call(transposed, 0, dim)
    count = v._size[dim]
    flat, summed = ((count, -1), 1) if dim == 0 else ((-1, count), 0)
    norms = ops.norm_ScalarOpt_dim.call(ops.view.call(in_format(v), flat), pow, (summed,), False)
    return ops.view.call(norms, _broadcast(v, dim))


def _broadcast(v: Tensor, dim: int) -> tuple[int, ...]:
    return tuple(size if index == dim else 1 for index, size in enumerate(v._size))


def _weight_norm(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """v * g / (norm of v). Raise RuntimeError for tensors on two devices."""
    if v._device != g._device:
        raise RuntimeError(
            f"weight_norm: expected v_in and g_in to be on the same device, but v_in is on {v._device} and g_in is on "
            f"{g._device}"
        )
    v, g = in_format(v), in_format(g)
    if dim in (0, len(v._size) - 1):
        return ops._weight_norm_interface.call(v, g, dim)[0]
    return ops.mul_Tensor.call(v, ops.div_Tensor.call(g, ops.norm_except_dim.call(v, 2, dim)))


def _summed(v: Tensor, dim: int) -> tuple[int, ...]:
    """The dimensions over which a norm is taken."""
    return tuple(index for index in range(len(v._size)) if index != dim)


def weight_norm(v: Tensor, g: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The weight, and the norms, which are float32 for half precision."""
    weight = ops.empty_like.call(v, None, None, None, None, "contiguous_format")
    dtype = float32 if g._dtype in (float16, bfloat16) else g._dtype
    norm = ops.empty_strided.call(g._size, g._stride, dtype, "strided", g._device, None)
    if numel(v._size) == 0:
        ops.zero_.call(norm)
        return weight, norm
    if not v._dtype.is_floating_point:
        raise not_implemented("weight_norm_kernel", v._dtype)
    _zero_buffer(v, dim)
    xp: Any = array_module(v._device.type)
    values, lengths = (t._array.astype(accumulated(t._dtype).numpy) for t in (v, g))
    norms = xp.sqrt(xp.sum(values * values, axis=_summed(v, dim), keepdims=True)).reshape(g._size)
    store(norm, norms)
    store(weight, quiet.run(lambda: values * (lengths / norms)))
    return weight, norm


def _zero_buffer(v: Tensor, dim: int, rows: int = 1) -> None:
    """Allocate the buffer in which the CPU's threads sum along the last dimension, with ``rows`` rows."""
    if v._device.type == "cpu" and dim != 0:
        size = (rows, v._size[-1])
        ops.zero_.call(empty_strided(size, contiguous_strides(size), float32, v._device))


def _check_contiguous(**named: Tensor) -> None:
    for name, tensor in named.items():
        if not tensor._is_contiguous:
            raise RuntimeError(f"{name} must be contiguous")


def weight_norm_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norm: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """The gradients of v and g. Raise RuntimeError if a tensor is not contiguous."""
    _check_contiguous(saved_v=saved_v, saved_g=saved_g, saved_norm=saved_norm)
    grad_v = ops.empty_like.call(saved_v, None, None, None, None, "contiguous_format")
    grad_g = ops.empty_like.call(saved_g, None, None, None, None, "contiguous_format")
    if numel(saved_v._size) == 0:
        ops.zero_.call(grad_g)
        return grad_v, grad_g
    _zero_buffer(saved_v, dim, 3)
    xp: Any = array_module(saved_v._device.type)
    tensors = (grad_w, saved_v, saved_g, saved_norm)
    grad, v, g, norm = (t._array.astype(accumulated(t._dtype).numpy) for t in tensors)
    sums = xp.sum(grad * v, axis=_summed(saved_v, dim), keepdims=True).reshape(g.shape)
    store(grad_v, quiet.run(lambda: (g / norm) * grad - (g * sums / (norm * norm * norm)) * v))
    store(grad_g, quiet.run(lambda: sums / norm))
    return grad_v, grad_g


def _weight_norm_differentiable_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """``_weight_norm_interface_backward`` composed of differentiable operators.

    Raise RuntimeError unless ``dim`` is the first or last one.
    """
    _check_contiguous(grad_w=grad_w, saved_v=saved_v, saved_g=saved_g, saved_norms=saved_norms)
    if dim not in (0, len(saved_v._size) - 1):
        raise RuntimeError("Expected dim to be the first or last dimension")
    norms = ops.to_dtype.call(saved_norms, saved_g._dtype, False, False, None)
    count = saved_v._size[dim]
    flat, summed = ((count, -1), 1) if dim == 0 else ((-1, count), 0)
    products = ops.view.call(ops.mul_Tensor.call(grad_w, saved_v), flat)
    sums = ops.view.call(ops.sum_dim_IntList.call(products, (summed,), False, None), _broadcast(saved_v, dim))
    projection = ops.mul_Tensor.call(saved_v, ops.div_Tensor.call(sums, ops.mul_Tensor.call(norms, norms)))
    rest = ops.sub_Tensor.call(grad_w, projection, 1)
    grad_v = ops.mul_Tensor.call(ops.div_Tensor.call(saved_g, norms), rest)
    return grad_v, ops.div_Tensor.call(sums, norms)
