"""``scaled_dot_product_attention``: the math backend and flash attention on the CPU
(``aten/src/ATen/native/transformers/attention.cpp``, ``FlashAttentionKernel.cpp``).

NB: PyTorch's flash kernel processes the keys in blocks. Here each head is one matrix product. On CUDA, PyTorch chooses
between several fused kernels. Here the math backend runs, as it does in PyTorch without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.attention.sdp_backends import SDPBackend, fused_sdp_choice
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import REDUCED, DType, bfloat16, bool_, float16, float32
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.context import context


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """softmax(query key^T scale + mask) value. Raise RuntimeError if shapes, dtypes or masks do not fit together."""
    _validate(query, key, value, attn_mask, is_causal)
    rest = (dropout_p, is_causal, scale, enable_gqa)
    if any(len(tensor._size) != 3 for tensor in (query, key, value)):
        return _attention(query, key, value, attn_mask, *rest)
    query, key, value = (ops.unsqueeze.call(tensor, 0) for tensor in (query, key, value))
    while attn_mask is not None and len(attn_mask._size) < 4:
        attn_mask = ops.unsqueeze.call(attn_mask, 0)
    return ops.squeeze_dim.call(_attention(query, key, value, attn_mask, *rest), 0)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """The attention by the backend that the inputs allow."""
    if 0 in (numel(tensor._size) for tensor in (query, key, value)):
        return _empty_attention(query, key, value)
    backend = fused_sdp_choice(query, key, value, attn_mask, dropout_p, enable_gqa)
    mask = _as_float(attn_mask, query)
    if backend is SDPBackend.FLASH_ATTENTION:
        rest = (dropout_p, is_causal, mask, scale)
        return ops._scaled_dot_product_flash_attention_for_cpu.call(query, key, value, *rest)[0]
    return ops._scaled_dot_product_attention_math.call(
        query, key, value, mask, dropout_p, is_causal, None, scale, enable_gqa
    )[0]


def _empty_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Zeros of the result's shape with an autograd graph that leads to all three inputs."""
    size = (*query._size[:-1], value._size[-1])
    zeros = ops.zeros.call(size, query._dtype, None, query._device, None)
    values, keys, queries = (ops.sum.call(tensor, None) for tensor in (value, key, query))
    total = ops.add_Tensor.call(ops.add_Tensor.call(queries, keys, 1), values, 1)
    return ops.add_Tensor.call(zeros, ops.mul_Scalar.call(total, 0), 1)


def _validate(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    if not query._dtype is key._dtype is value._dtype:
        found = [f"{name}.dtype: {_name(t)}" for name, t in (("query", query), ("key", key), ("value", value))]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            f"{found[0]} {found[1]} and {found[2]} instead."
        )
    if not query._device == key._device == value._device:
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query._device} key.device: {key._device} and value.device: {value._device} instead."
        )
    counts = [len(t._size) for t in (query, key, value)]
    if min(counts) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and "
            "value.dim: {} instead.".format(*counts)
        )
    if mask is not None and mask._dtype is not bool_ and mask._dtype not in (query._dtype, float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{_name(mask)} and  query.dtype: {_name(query)} instead."
        )
    if mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def _name(tensor: Tensor) -> str:
    return tensor._dtype.name.removesuffix("32") if tensor._dtype is float32 else tensor._dtype.name


def _as_float(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A bool mask as numbers that are added to the scores: 0 or minus infinity."""
    if mask is None or mask._dtype is not bool_:
        return mask
    infinity = ops.scalar_tensor.call(-math.inf, query._dtype, None, query._device, None)
    return ops.where_ScalarSelf.call(mask, 0.0, infinity)


# -- the math backend --------------------------------------------------------------------------------------------------


def _scaled_dot_product_attention_math(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    dropout_mask: Tensor | None,
    scale: float | None,
    enable_gqa: bool,
) -> tuple[Tensor, Tensor]:
    """The result and the attention weights, composed of operators that have derivatives."""
    if dropout_mask is not None:
        raise NotImplementedError("attention with a dropout mask is not part of the model")
    origin = query._dtype
    if origin in REDUCED:
        query, key, value = (ops.to_dtype.call(t, float32, False, False, None) for t in (query, key, value))
    factor = math.sqrt(1.0 / math.sqrt(query._size[-1]) if scale is None else abs(scale))
    sign = -1.0 if scale is not None and scale < 0 else 1.0
    scaled = ops.mul_Scalar.call(query, sign * factor)
    if is_causal:
        shape = (query._size[-2], key._size[-2])
        ones = ops.ones.call(shape, bool_, None, query._device, None)
        attn_mask = _as_float(ops.tril.call(ones, 0), scaled)
    if enable_gqa:
        key, value = _repeated_for_groups(query, key, value)
    keys = ops.mul_Scalar.call(ops.transpose_int.call(key, -2, -1), factor)
    weights = ops.matmul.call(scaled, keys)
    if attn_mask is not None:
        watched = is_tensor_subclass_like(weights) or is_tensor_subclass_like(attn_mask)
        weights = (ops.add_Tensor if watched else ops.add__Tensor).call(weights, attn_mask, 1)
    weights = ops._safe_softmax.call(weights, -1, None)
    if dropout_p > 0.0:
        weights = ops.dropout.call(weights, dropout_p, True)
    shown = ops.to_dtype.call(weights, origin, False, False, None)
    result = ops.matmul.call(weights, value)
    return ops.to_dtype.call(result, origin, False, False, None), shown


def _repeated_for_groups(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values with each head repeated for the queries of its group.

    Raise RuntimeError if the heads cannot be divided evenly.
    """
    heads = [t._size[wrap_dim(-3, len(t._size))] for t in (query, key, value)]
    if heads[0] == heads[1] == heads[2]:
        return key, value
    if 0 in heads[1:] or heads[0] % heads[1] or heads[0] % heads[2]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    times = (heads[0] // heads[1], heads[0] // heads[2])
    key, value = (
        ops.repeat_interleave_self_int.call(t, count, -3, None) for t, count in zip((key, value), times, strict=True)
    )
    return key, value


def _safe_softmax(self: Tensor, dim: int, dtype: Any) -> Tensor:
    """softmax that is 0 in rows where every element is minus infinity."""
    out = ops.softmax_int.call(self, dim, dtype)
    masked = ops.all_dim.call(ops.isneginf.call(self), dim, True)
    zero = ops.scalar_tensor.call(0.0, out._dtype, None, out._device, None)
    return ops.where_self_out.call(masked, zero, out, out)


# -- flash attention ---------------------------------------------------------------------------------------------------


def _scaled_dot_product_flash_attention_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    """The result, laid out like the query, and the logsumexp of every row."""
    batch, rows, heads, _ = (query._size[i] for i in (0, 2, 1, 3))
    output = ops.transpose_int.call(ops.empty_like.call(query, None, None, None, None, None), 1, 2)
    wide = _wide(query)
    logsumexp = ops.empty_memory_format.call((batch, rows, heads), wide, None, query._device, None, None)
    for tensor in (query, key, value):
        ops.transpose_int.call(tensor, 1, 2)
    mask = None if attn_mask is None else _reshape_attn_mask_to_4d(attn_mask, query, key)
    _buffers_forward(query, key, wide)
    powers, total, sums = _powers(query, key, is_causal, mask, scale, wide.numpy)
    kept = powers.astype(query._array.dtype).astype(wide.numpy)  # rounded to the dtype of the values
    xp = array_module(query._device.type)
    values = _repeated_heads(value, query).astype(wide.numpy)
    output._array[...] = xp.swapaxes(kept @ values / total, 1, 2)
    logsumexp._array[...] = xp.swapaxes(sums, 1, 2)
    return ops.transpose_int.call(output, 1, 2), ops.transpose_int.call(logsumexp, 1, 2)


def _buffers_forward(query: Tensor, key: Tensor, wide: DType) -> None:
    """Allocate the buffers of the kernel's threads (``cpu_flash_attention``).

    They hold scores, the maximum and sum of each row, and the rows of the result. For a query of half precision there
    is a second buffer of scores in its dtype.
    """
    rows, columns = _block(query, key)
    reduced = columns if wide is not query._dtype else 0
    _buffer((context.num_threads, rows * (columns + 2 + query._size[-1])), wide, query)
    _buffer((context.num_threads, rows, reduced), query._dtype, query)


def _buffers_backward(query: Tensor, key: Tensor) -> None:
    """Allocate the buffers of the backward kernel's threads (``cpu_flash_attention_backward``).

    They hold scores and their gradients, twice for half precision, and the sums of the rows of a block. Each of
    PyTorch's threads allocates the sums.
    """
    wide = _wide(query)
    rows, columns = _block(query, key)
    _buffer((context.num_threads, 2 * rows * columns), wide, query)
    _buffer((context.num_threads, 2 * rows * columns if wide is not query._dtype else 0), query._dtype, query)
    _buffer((rows,), wide, query)


def _buffer(size: tuple[int, ...], dtype: DType, like: Tensor) -> None:
    ops.empty_memory_format.call(size, dtype, None, like._device, None, None)


def _wide(query: Tensor) -> DType:
    return float32 if query._dtype in (float16, bfloat16) else query._dtype


def _block(query: Tensor, key: Tensor) -> tuple[int, int]:
    """The number of rows and columns of the scores that the kernel computes at once."""
    count = query._size[2]
    rows = 256 if count >= 768 else 64 if count >= 192 else 32
    return min(rows, count), min(512, key._size[2])


def _reshape_attn_mask_to_4d(mask: Tensor, query: Tensor, key: Tensor) -> Tensor:
    size = (1, 1, *mask._size) if len(mask._size) == 2 else mask._size
    mask = ops.view.call(mask, size)
    return ops.expand.call(mask, (size[0], size[1], query._size[2], key._size[2]), False)


def _powers(
    query: Tensor, key: Tensor, is_causal: bool, mask: Tensor | None, scale: float | None, dtype: Any
) -> tuple[Any, Any, Any]:
    """The exponentials of the scores, the sum of each row, and its logsumexp; fully masked rows are 0."""
    xp = array_module(query._device.type)
    factor = dtype.type(1.0 / math.sqrt(query._size[-1]) if scale is None else scale)
    scores = query._array.astype(dtype) @ xp.swapaxes(_repeated_heads(key, query).astype(dtype), -2, -1) * factor
    if is_causal:
        causal = xp.tril(xp.ones(scores.shape[-2:], bool))
        scores = xp.where(causal, scores, dtype.type(-math.inf))
    if mask is not None:
        scores = scores + mask._array.astype(dtype)
    maximum = scores.max(axis=-1, keepdims=True)
    maximum = xp.where(xp.isfinite(maximum), maximum, dtype.type(0))
    powers = xp.exp(scores - maximum)
    total = powers.sum(axis=-1, keepdims=True)
    safe = xp.where(total == 0, dtype.type(1), total)
    return powers, safe, xp.log(safe)[..., 0] + maximum[..., 0]


def _scaled_dot_product_flash_attention_cpu_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, with the heads laid out after the rows."""
    grad = ops.transpose_int.call(grad_out, 1, 2)
    for tensor in (query, key, value, out, logsumexp):
        ops.transpose_int.call(tensor, 1, 2)
    mask = None if attn_mask is None else _reshape_attn_mask_to_4d(attn_mask, query, key)
    swapped = [_swapped(tensor._size) for tensor in (query, key, value)]
    grads = [ops.zeros.call(size, query._dtype, None, query._device, None) for size in swapped]
    if not grad._is_contiguous:
        ops.contiguous.call(grad, "contiguous_format")
    _buffers_backward(query, key)
    for result, values in zip(grads, _gradients(grad_out, query, key, value, out, is_causal, mask, scale), strict=True):
        result._array[...] = array_module(query._device.type).swapaxes(values, 1, 2)
    first, second, third = (ops.transpose_int.call(result, 1, 2) for result in grads)
    return first, second, third


def _swapped(size: Sequence[int]) -> tuple[int, ...]:
    return (size[0], size[2], size[1], size[3])


def _gradients(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    is_causal: bool,
    mask: Tensor | None,
    scale: float | None,
) -> tuple[Any, Any, Any]:
    """The gradients. Factors of matrix products are rounded to the dtype of the query."""
    xp = array_module(query._device.type)
    narrow = query._dtype.numpy
    wide = (float32 if query._dtype in (float16, bfloat16) else query._dtype).numpy
    powers, total, _ = _powers(query, key, is_causal, mask, scale, wide)
    weights = powers / total
    arrays = (grad_out._array, query._array, _repeated_heads(key, query), _repeated_heads(value, query))
    grad, q, k, v = (array.astype(wide) for array in arrays)
    factor = wide.type(1.0 / math.sqrt(query._size[-1]) if scale is None else scale)
    grad_weights = grad @ xp.swapaxes(v, -2, -1)
    grad_sums = (out._array.astype(wide) * grad).sum(axis=-1, keepdims=True)
    grad_scores = (weights * (grad_weights - grad_sums)).astype(narrow).astype(wide)
    kept = weights.astype(narrow).astype(wide)
    grad_keys, grad_values = xp.swapaxes(grad_scores, -2, -1) @ q * factor, xp.swapaxes(kept, -2, -1) @ grad
    return grad_scores @ k * factor, _summed_over_groups(grad_keys, key), _summed_over_groups(grad_values, value)


def _repeated_heads(tensor: Tensor, query: Tensor) -> Any:
    """The array of keys or values, in which each head is repeated for every query head of its group."""
    times = query._size[1] // tensor._size[1]
    return tensor._array if times == 1 else tensor._array.repeat(times, axis=1)


def _summed_over_groups(grad: Any, tensor: Tensor) -> Any:
    """The gradients of keys or values, summed over the query heads of each group."""
    batch, heads, length, width = tensor._size
    return grad if grad.shape[1] == heads else grad.reshape(batch, heads, -1, length, width).sum(axis=2)
