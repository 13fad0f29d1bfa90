"""``linear``, ``layer_norm``, ``embedding`` (``aten/src/ATen/native/Linear.cpp``, ``layer_norm.cpp``,
``Embedding.cpp``). ``dropout`` is in ``dropout.py``."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.autograd.variables.legacy_type import legacy_type
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, quiet
from dispatchviz.core.native.norm.mixed_data_type import check_accessible, param_scalar_type
from dispatchviz.core.tensor.dtype import DType, int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, is_contiguous, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

# -- linear ------------------------------------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """input @ weight^T + bias"""
    if bias is not None and len(weight._size) == 2:
        if len(input._size) == 2:
            return ops.addmm.call(bias, input, ops.t.call(weight), 1, 1)
        if is_contiguous(input._size, input._stride):
            return _flat_linear(input, weight, bias)
    product = ops.matmul.call(input, ops.t.call(weight))
    if bias is None:
        return product
    if bias._fw_grad is not None or is_tensor_subclass_like(bias):
        return ops.add_Tensor.call(product, bias, 1)
    return ops.add__Tensor.call(product, bias, 1)


def _flat_linear(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``linear`` of all rows as one matrix (``_flatten_nd_linear``)."""
    flat = ops.view.call(input, (math.prod(input._size[:-1]), input._size[-1]))
    result = ops.addmm.call(bias, flat, ops.t.call(weight), 1, 1)
    return ops.view.call(result, (*input._size[:-1], result._size[1]))


def linear_out(input: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linear``."""
    if len(input._size) == 2 and bias is not None:
        return ops.addmm_out.call(bias, input, ops.t.call(weight), 1, 1, out)
    ops.matmul_out.call(input, ops.t.call(weight), out)
    if bias is not None:
        ops.add__Tensor.call(out, bias, 1)
    return out


# -- layer_norm --------------------------------------------------------------------------------------------------------


def layer_norm_symint(
    input: Tensor, normalized_shape: Size, weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enable: bool
) -> Tensor:
    """The first result of ``native_layer_norm``."""
    return ops.native_layer_norm.call(input, normalized_shape, weight, bias, eps)[0]


def layer_norm(
    input: Tensor, normalized_shape: Size, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Each example minus its mean, divided by its standard deviation; also the mean and 1 / std."""
    check_layer_norm_inputs(normalized_shape, weight=weight, bias=bias)
    check_last_dimensions(input, tuple(normalized_shape), "*, ")
    rows, length = _rows(input, normalized_shape)
    kept = _check_mixed(input, weight, bias)
    input = _expect_contiguous(input)
    weight, bias = (None if each is None else _expect_contiguous(each) for each in (weight, bias))
    outer = len(input._size) - len(normalized_shape)
    out = ops.empty_memory_format.call(input._size, input._dtype, "strided", input._device, None, None)
    mean = ops.empty_memory_format.call((rows,), kept, "strided", input._device, None, None)
    rstd = ops.empty_memory_format.call((rows,), kept, "strided", input._device, None, None)
    if out._array is not None and rows:
        quiet.run(_normalized, input, weight, bias, eps, (rows, length), (out, mean, rstd))
    stat = (*input._size[:outer], *(1 for _ in normalized_shape))
    return out, ops.view.call(mean, stat), ops.view.call(rstd, stat)


def _expect_contiguous(tensor: Tensor) -> Tensor:
    """The tensor, or a contiguous copy (``expect_contiguous``)."""
    return tensor if tensor._is_contiguous else ops.contiguous.call(tensor, "contiguous_format")


def _check_mixed(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> DType:
    """The dtype of mean and rstd. Raise RuntimeError for dtypes that do not fit together (``mixed_data_type.h``)."""
    dtype = param_scalar_type(input, weight, bias)
    check_accessible((weight, bias), dtype)
    return dtype


def check_layer_norm_inputs(normalized_shape: Size, **parameters: Tensor | None) -> None:
    """Raise RuntimeError unless ``normalized_shape`` is not empty and weight and bias have that shape."""
    shape = list(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, parameter in parameters.items():
        if parameter is not None and list(parameter._size) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter._size)} and normalized_shape = {shape}"
            )


def check_last_dimensions(input: Tensor, shape: Size, others: str) -> None:
    """Raise RuntimeError unless the input ends in the given shape; ``others`` stands for the leading dimensions in the
    message.
    """
    if input._size[-len(shape) :] != shape:
        listed = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape=[{listed}], expected input with shape [{others}{listed}], but got input of size"
            f"{list(input._size)}"
        )


def _rows(input: Tensor, normalized_shape: Size) -> tuple[int, int]:
    """The number of examples and the number of elements of each."""
    length = math.prod(normalized_shape)
    return numel(input._size) // max(length, 1), length


def _normalized(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, shape: Size, outputs: tuple[Tensor, ...]
) -> None:
    out = outputs[0]
    within = accumulated(input._dtype)
    values = input._array.astype(within.numpy).reshape(shape)
    center = values.mean(1, keepdims=True)
    variance = ((values - center) ** 2).mean(1, keepdims=True)
    scale = 1 / array_module(input._device.type).sqrt(variance + eps)
    if within is input._dtype:
        result = (values - center) * scale
    else:  # one multiplication with an addition, rounded once
        result = (values.astype("float64") * scale - center * scale).astype(values.dtype)
    if weight is not None:
        result = result * weight._array.reshape(-1).astype(result.dtype)
    if bias is not None:
        result = result + bias._array.reshape(-1).astype(result.dtype)
    for target, numbers in zip(outputs, (result.reshape(out._size), center[:, 0], scale[:, 0]), strict=True):
        target._array[...] = numbers


def math_native_layer_norm(
    input: Tensor, normalized_shape: Size, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The shapes of the results, for devices without a kernel of their own.

    NB: in PyTorch, it is composed of other operators.
    """
    return layer_norm(input, normalized_shape, weight, bias, eps)


def layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Size,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: tuple[bool, ...],
) -> tuple[Any, Any, Any]:
    """The requested gradients of input, weight and bias."""
    shape = _rows(input, normalized_shape)

    def empty(like: Size) -> Tensor:
        return ops.empty_memory_format.call(like, input._dtype, "strided", input._device, None, None)

    input = _expect_contiguous(input)
    weight = None if weight is None else _expect_contiguous(weight)
    grad_input = empty(input._size) if output_mask[0] else None
    grad_weight = empty(tuple(normalized_shape)) if output_mask[1] else None
    grad_bias = empty(tuple(normalized_shape)) if output_mask[2] else None
    grad_out = _expect_contiguous(grad_out)
    if input._device.type != "cuda":  # layer_norm_kernel.cu adds up in shared memory
        buffer = empty((0,))
        if grad_weight is not None or grad_bias is not None:
            ops.zero_.call(ops.resize_.call(buffer, (2, 1, shape[1]), None))
    quiet.run(_put_gradients, grad_out, input, (mean, rstd), weight, shape, (grad_input, grad_weight, grad_bias))
    return grad_input, grad_weight, grad_bias


def _put_gradients(
    grad_out: Tensor, input: Tensor, stats: tuple[Tensor, Tensor], weight: Tensor | None, shape: Size, grads: Any
) -> None:
    """Write the gradients, computed in float32 for half and bfloat16.

    The sums over the examples are kept in the dtype itself.
    """
    wide = accumulated(input._dtype).numpy
    grad, values = (tensor._array.reshape(shape).astype(wide) for tensor in (grad_out, input))
    mean, scale = (tensor._array.reshape(-1, 1).astype(wide) for tensor in stats)
    grad_input, grad_weight, grad_bias = grads
    normal = (values - mean) * scale
    if grad_input is not None:
        scaled = grad if weight is None else grad * weight._array.reshape(-1).astype(wide)
        centered = scaled - scaled.mean(1, keepdims=True) - normal * (scaled * normal).mean(1, keepdims=True)
        grad_input._array[...] = (centered * scale).reshape(input._size)
    if grad_weight is not None:
        grad_weight._array[...] = _added_up(input._array.dtype, grad * normal).reshape(grad_weight._size)
    if grad_bias is not None:
        grad_bias._array[...] = _added_up(input._array.dtype, grad).reshape(grad_bias._size)


def _added_up(kept: Any, rows: Any) -> Any:
    if rows.dtype == kept:
        return rows.sum(0)
    total = rows[0].astype(kept) if len(rows) else rows.sum(0)
    for row in rows[1:]:
        total = (total.astype(rows.dtype) + row).astype(kept)
    return total


# -- embedding ---------------------------------------------------------------------------------------------------------


def embedding_symint(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """The rows of the weight that the indices select."""
    if len(weight._size) != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices._dtype not in (int32, int64):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{legacy_type(indices)} instead (while checking arguments for embedding)"
        )
    if len(indices._size) == 1:
        return ops.index_select.call(weight, 0, indices)
    size = (*indices._size, *weight._size[1:])
    rows = ops.index_select.call(weight, 0, ops.reshape.call(indices, (-1,)))
    return ops.view.call(rows, size)


def embedding_backward_symint(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """The dense gradient of the weight. Raise NotImplementedError for sparse gradients."""
    if sparse:
        raise NotImplementedError("sparse gradients are not part of the model")
    return ops.embedding_dense_backward.call(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Zeros with each gradient added to the row that it came from, except the padding row.

    On CUDA the zeros are created last (``cuda/Embedding.cu``).
    """
    length, on_cuda = grad_output._size[-1], grad_output._device.type == "cuda"
    options = (grad_output._dtype, "strided", grad_output._device, None)
    zeros = None if on_cuda else ops.zeros.call((num_weights, length), *options)
    positions = in_format(indices)._array.reshape(-1)
    grad_output = in_format(grad_output)
    grad: Any = ops.view.call(grad_output, (positions.size, length))._array
    if zeros is None:
        zeros = ops.zeros.call((num_weights, length), *options)
    if scale_grad_by_freq:
        grad = grad / (positions[:, None] == positions[None, :]).sum(1)[:, None]
    kept = positions != padding_idx
    add_at(zeros._array, positions[kept], grad[kept])
    return zeros
