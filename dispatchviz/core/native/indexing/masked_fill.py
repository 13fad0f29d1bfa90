"""``masked_fill``, ``masked_select``, ``masked_scatter`` (``aten/src/ATen/native/TensorAdvancedIndexing.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import (
    broadcast_sizes,
    check_no_internal_overlap,
    resize_in_order,
    resize_output,
)
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.index_put import index_out, make_info
from dispatchviz.core.native.iterator.memory_overlap import check_no_overlap
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.dtype import bool_, int64, type_meta_name, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.warning import warn_python


def masked_fill_Scalar(self: Tensor, mask: Tensor, value: Scalar) -> Tensor:
    """self with a number where the mask is true."""
    return ops.masked_fill__Scalar.call(_fresh(self, mask)[0], mask, value)


def masked_fill_Tensor(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """self with the number of a 0-dim tensor where the mask is true."""
    return ops.masked_fill__Tensor.call(_fresh(self, mask)[0], mask, value)


def _fresh(self: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """A copy of the tensor in the common shape, and the mask in that shape (``expand_outplace``)."""
    if self._size != mask._size:
        size = broadcast_sizes(mask._size, self._size)
        self, mask = ops.expand.call(self, size, False), ops.expand.call(mask, size, False)
    return ops.clone.call(self, "contiguous_format"), mask


def masked_fill__Scalar(self: Tensor, mask: Tensor, value: Scalar) -> Tensor:
    """Fill in place where the mask is true.

    Raise RuntimeError if the mask is not bool, is larger than self, or is on another device.
    """
    if "cuda" in (self._device.type, mask._device.type):
        _check_on_cuda(self, mask)
    if mask._dtype is not bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {type_meta_name(mask._dtype)}"
        )
    number = convert(value, self._dtype)
    size = broadcast_sizes(self._size, mask._size)
    if size != self._size:
        raise RuntimeError(f"output with shape {list(self._size)} doesn't match the broadcast shape {list(size)}")
    if any(step == 0 and length > 1 for step, length in zip(self._stride, self._size, strict=True)):
        _warn_of_expanded()
    if self._device.type == "cuda" and mask._size != size:  # cuda/IndexKernel.cpp
        mask = ops.expand.call(mask, size, False)
    if self._array is not None:
        xp = array_module(self._device.type)
        self._array[xp.broadcast_to(mask._array, size)] = number
    return self


def _check_on_cuda(self: Tensor, mask: Tensor) -> None:
    """The first checks of CUDA's kernel: device and dtype of the mask."""
    if self._device is not mask._device:
        raise RuntimeError(
            f"expected self and mask to be on the same device, but got mask on {mask._device} and self on "
            f"{self._device}"
        )
    if mask._dtype is not bool_:
        raise RuntimeError(f"masked_fill only supports boolean masks, but got dtype {mask._dtype.legacy}")


def _warn_of_expanded() -> None:
    warn_python(
        "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
        "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar",
        "aten/src/ATen/native/TensorAdvancedIndexing.cpp:2450",
    )


def masked_fill__Tensor(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """The in-place version of ``masked_fill``. Raise RuntimeError if ``value`` has dimensions."""
    if value._size:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(value._size)} dimension(s)."
        )
    if self._device.type == "cpu" and "cuda" in (mask._device.type, value._device.type):
        raise RuntimeError("masked_fill_: Expected inputs to be on same device")
    return masked_fill__Scalar(self, mask, ops.item.call(value))


# -- masked_select -----------------------------------------------------------------------------------------------------


def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, in one dimension."""
    out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return masked_select_out(self, mask, out)


def masked_select_out(self: Tensor, mask: Tensor, out: Tensor) -> Tensor:
    """Write ``masked_select`` into ``out``, which is resized. Raise RuntimeError if the mask is not bool."""
    if mask._dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if self._dtype is not out._dtype:
        raise RuntimeError("masked_select(): self and result must have the same scalar type")
    check_no_overlap(out, (self, mask))
    if self._size != mask._size:
        size = broadcast_sizes(mask._size, self._size)
        self, mask = ops.expand.call(self, size, False), ops.expand.call(mask, size, False)
    if self._device.type == "cuda":
        return _select_by_index(self, mask, out)
    count = int(ops.item.call(ops.sum.call(mask, None)))  # type: ignore[arg-type]
    resize_output(out, (count,), (1,))
    if count:
        _prepare(self, mask, out)
        out._array[...] = self._array[mask._array]
    return out


def _select_by_index(self: Tensor, mask: Tensor, out: Tensor) -> Tensor:
    """Select by calling the function ``index`` with the mask, as CUDA does (``cuda/IndexKernel.cpp``)."""
    if not self._size:
        mask, self = ops.unsqueeze.call(mask, 0), ops.unsqueeze.call(self, 0)
    info = make_info(self, [mask])
    resize_in_order(out, info.source._size)
    index_out(self, info, out)
    return out


def _prepare(self: Tensor, mask: Tensor, out: Tensor) -> None:
    """View the result in the shape of the mask.

    If the loop is not serial, allocate the cumulative sum that counts the elements.
    """
    ops.as_strided.call(out, self._size, (0,) * len(self._size), None)
    if not (self._is_contiguous and mask._is_contiguous):
        indices = ops.empty_memory_format.call(mask._size, int64, "strided", self._device, None, None)
        ops.copy_.call(indices, mask, False)
        ops.empty_memory_format.call(mask._size, int64, "strided", self._device, None, None)


def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    """Zeros in the common shape, with ``grad`` where the mask is true."""
    whole = ops.expand.call(input, broadcast_sizes(input._size, mask._size), False)
    zeros = ops.zeros_like.call(whole, None, None, None, None, "preserve_format")
    if is_tensor_subclass_like(grad) or is_tensor_subclass_like(mask):
        return ops.masked_scatter.call(zeros, mask, grad)
    return ops.masked_scatter_.call(zeros, mask, grad)


# -- masked_scatter ----------------------------------------------------------------------------------------------------


def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """self with consecutive elements of source where the mask is true."""
    fresh, where = _fresh(self, mask)
    return ops.masked_scatter_.call(fresh, where, source)


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write consecutive elements of source where the mask is true.

    Raise RuntimeError for another dtype, or, after writing all of source, if it has too few elements.
    """
    check_no_internal_overlap(self)
    if self._dtype is not source._dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{self._dtype.legacy} and {source._dtype.legacy}"
        )
    if mask._size != self._size:
        mask = ops.expand.call(mask, self._size, False)
    if mask._dtype is uint8:
        warn_python(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,"
            "please use a mask with dtype torch.bool instead.",
            "aten/src/ATen/native/TensorAdvancedIndexing.cpp:3130",
        )
    if mask._dtype is not bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask._dtype.legacy}")
    given = as_contiguous(source)._array.reshape(-1)
    wanted = int(mask._array.sum())
    where = mask._array & (mask._array.cumsum().reshape(mask._size) <= given.size)
    self._array[where] = given[: min(wanted, given.size)]
    if wanted > given.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return self


def masked_scatter_backward_symint(grad_output: Tensor, mask: Tensor, sizes: Size) -> Tensor:
    """The gradient of source: ``grad`` where the mask is true, padded with zeros."""
    picked = ops.masked_select.call(grad_output, mask)
    missing = numel(sizes) - picked._size[0]
    if missing > 0:
        zeros = ops.zeros.call((missing,), grad_output._dtype, "strided", grad_output._device, None)
        picked = ops.cat.call([picked, zeros], 0)
    return ops.view.call(picked, sizes)
