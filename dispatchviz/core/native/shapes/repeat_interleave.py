"""``repeat_interleave``, ``unfold``, ``tile`` (``Repeat.cpp``, ``TensorShape.cpp``, ``UnfoldBackward.cpp`` in
``aten/src/ATen/native``)."""

from __future__ import annotations

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import int8, int16, int32, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

# -- repeat_interleave -------------------------------------------------------------------------------------------------


_COUNTS = (uint8, int8, int16, int32, int64)
_COUNTS_OF_A_GPU = (int32, int64)  # known of PyTorch 2.11


def repeat_interleave(repeats: Tensor, output_size: int | None) -> Tensor:
    """Each index of ``repeats``, repeated as often as its element says."""
    if repeats._dtype not in (_COUNTS if repeats._device.type == "cpu" else _COUNTS_OF_A_GPU):
        raise not_implemented(f"repeat_interleave_{repeats._device.type}", repeats._dtype)
    if len(repeats._size) != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if not repeats._size[0]:
        return ops.empty_like.call(repeats, None, None, None, None, "contiguous_format")
    if not repeats._is_contiguous:
        ops.contiguous.call(repeats, "contiguous_format")  # PyTorch reads the counts from it
    sums = ops.cumsum.call(repeats, 0, None)
    total = output_size
    if total is None:
        total = int(ops.item.call(ops.select_int.call(sums, 0, -1)))  # type: ignore[arg-type]
        if not ops.item.call(ops.all.call(ops.ge_Scalar.call(repeats, 0))):
            raise RuntimeError("repeats can not be negative")
    result = ops.empty_memory_format.call((total,), repeats._dtype, "strided", repeats._device, None, None)
    xp = array_module(repeats._device.type)
    result._array[...] = xp.repeat(xp.arange(repeats._size[0]), repeats._array.tolist())
    return result


def repeat_interleave_symint_self_Tensor(
    self: Tensor, repeats: Tensor, dim: int | None, output_size: int | None
) -> Tensor:
    """Repeat each index of a dimension by its count in a tensor."""
    source = ops.flatten_using_ints.call(self, 0, -1) if dim is None else self
    dim = dim or 0
    length = source._size[wrap_dim(dim, len(source._size))] if source._size else 1
    if numel(repeats._size) == 1 and len(repeats._size) <= 1:
        repeats = ops.expand.call(ops.reshape.call(repeats, (1,)), (length,), False)
    elif len(repeats._size) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    elif repeats._size[0] != length:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats._size[0]} and "
            f"input.size({dim}) = {length}"
        )
    indices = ops.repeat_interleave_Tensor.call(repeats, output_size)
    if indices._dtype not in (int32, int64):
        indices = ops.to_dtype.call(indices, int64, False, False, None)
    return ops.index_select.call(source, dim, indices)


def repeat_interleave_symint_self_int(self: Tensor, repeats: int, dim: int | None, output_size: int | None) -> Tensor:
    """Repeat each index of a dimension equally often."""
    source = ops.flatten_using_ints.call(self, 0, -1) if dim is None else self
    dim = wrap_dim(dim or 0, len(self._size))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    source = ops.unsqueeze.call(source, dim + 1)
    shape = (*source._size[: dim + 1], repeats, *source._size[dim + 2 :])
    expanded = ops.expand.call(source, shape, False)
    expected = shape[dim] * repeats
    if output_size is not None and output_size != expected:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {expected} but got {output_size}")
    return ops.flatten_using_ints.call(ops.clone.call(expanded, "contiguous_format"), dim, dim + 1)


# -- unfold ------------------------------------------------------------------------------------------------------------


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` indices, ``step`` apart, as a last dimension."""
    dim = wrap_dim(dimension, len(self._size))
    length = self._size[dim] if self._size else 1
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    sizes, strides = list(self._size), list(self._stride)
    if self._size:
        sizes[dim] = (length - size) // step + 1
        strides[dim] *= step
    last = self._stride[dim] if self._size else 1
    return ops.as_strided.call(self, (*sizes, size), (*strides, last), None)


def unfold_backward(grad_in: Tensor, input_sizes: Size, dim: int, size: int, step: int) -> Tensor:
    """Zeros with the gradient of each window added to its elements."""
    grad = ops.zeros.call(input_sizes, grad_in._dtype, "strided", grad_in._device, None)
    if step >= size:
        ops.copy_.call(ops.unfold.call(grad, dim, size, step), grad_in, False)
        return grad
    if grad._device.type == "cpu":
        _prepare(grad, grad_in, dim, size, step)
    if grad._array is not None and numel(grad_in._size):
        dim = wrap_dim(dim, len(input_sizes))
        xp = array_module(grad._device.type)
        target = xp.moveaxis(grad._array, dim, -1)
        windows = xp.moveaxis(grad_in._array, dim, -2)
        for window in range(windows.shape[-2]):
            target[..., window * step : window * step + size] += windows[..., window, :]
    return grad


def _prepare(grad: Tensor, grad_in: Tensor, dim: int, size: int, step: int) -> None:
    """Create the views in which one loop goes over the elements of the input
    (``_make_unfold_backward_iter_over_grad_out``).
    """
    dim = wrap_dim(dim, len(grad._size))
    count = min(grad._size[dim], (grad_in._size[dim] - 1) * step + size)
    ops.as_strided.call(grad, (*grad._size[:dim], count, *grad._size[dim + 1 :]), grad._stride, None)
    rank = len(grad_in._size) - 1
    flat = [1 if d == dim else n for d, n in enumerate(grad_in._size[:rank])]
    still = [0 if d == dim else s for d, s in enumerate(grad_in._stride[:rank])]
    ops.as_strided.call(ops.squeeze_dim.call(grad_in, -1), tuple(flat), tuple(still), None)
    indices = ops.arange_start.call(0, count, int64, "strided", grad._device, None)
    along = tuple(count if d == dim else 1 for d in range(rank))
    ops.as_strided.call(indices, along, tuple(int(d == dim) for d in range(rank)), None)


# -- tile --------------------------------------------------------------------------------------------------------------


def tile_symint(self: Tensor, dims: Size) -> Tensor:
    """``repeat``, with repeats of 1 for leading dimensions that are not listed."""
    missing = max(len(self._size) - len(dims), 0)
    return ops.repeat.call(self, ((1,) * missing + tuple(dims)))
