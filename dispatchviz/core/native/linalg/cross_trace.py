"""``cross``, ``trace``, ``tensordot`` (``Cross.cpp``, ``ReduceOps.cpp``, ``Linear.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.call.structured import Structured, broadcast_sizes, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import dim_mask, wrap_dim
from dispatchviz.core.tensor.conj_neg_bits import resolved
from dispatchviz.core.tensor.dtype import bool_, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.core.thread.warning import warn_python_once

# -- cross -------------------------------------------------------------------------------------------------------------


def linalg_cross_meta(op: Structured, self: Tensor, other: Tensor, dim: int) -> None:
    """The common shape, in which ``dim`` must have size 3."""
    ranks = len(self._size), len(other._size)
    if ranks[0] != ranks[1]:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    wrapped = wrap_dim(dim, ranks[0])
    for tensor in (self, other):
        if tensor._size[wrapped] != 3:
            raise RuntimeError(
                f"linalg.cross: inputs dimension {dim} must have length 3. Got {self._size[wrapped]} and "
                f"{other._size[wrapped]}"
            )
    size = broadcast_sizes(self._size, other._size)
    op.set_output_raw_strided(size, contiguous_strides(size), self._dtype, self._device)


def linalg_cross_out(self: Tensor, other: Tensor, dim: int, out: Tensor) -> None:
    """The cross product along a dimension."""
    first = ops.expand.call(self, out._size, False)
    second = ops.expand.call(other, out._size, False)
    if self._dtype is bool_:
        raise not_implemented("cross", self._dtype)
    xp = array_module(out._device.type)
    a, b = (xp.moveaxis(resolved(t), dim, 0) for t in (first, second))
    parts = [quiet.run(lambda i, j: a[i] * b[j] - a[j] * b[i], i, j) for i, j in ((1, 2), (2, 0), (0, 1))]
    store(out, xp.stack(parts, axis=dim))


def cross(self: Tensor, other: Tensor, dim: int | None) -> Tensor:
    """The cross product along ``dim``, by default the first dimension of size 3."""
    return ops.linalg_cross.call(self, other, _cross_dim(dim, self._size))


def cross_out(self: Tensor, other: Tensor, dim: int | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``cross``."""
    return ops.linalg_cross_out.call(self, other, _cross_dim(dim, self._size), out)


def _cross_dim(dim: int | None, size: Size) -> int:
    if dim is not None:
        return dim
    warn_python_once(
        "torch.cross",
        "Using torch.cross without specifying the dim arg is deprecated.\n"
        "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
        "The default value of dim will change to agree with that of linalg.cross in a future release.",
        "aten/src/ATen/native/Cross.cpp:63",
    )
    if 3 not in size:
        raise RuntimeError("no dimension of size 3 in input")
    return size.index(3)


# -- trace -------------------------------------------------------------------------------------------------------------


def trace(self: Tensor) -> Tensor:
    """The sum of the diagonal; int64 for integers. NB: on CUDA PyTorch sums ``diag``."""
    dtype = self._dtype if self._dtype.can_require_grad else int64
    result = ops.empty_memory_format.call((), dtype, "strided", self._device, None, None)
    if len(self._size) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(self._size)}")
    if self._dtype is bool_:
        raise not_implemented("trace", self._dtype)
    diagonal = converted(resolved(self).diagonal(), accumulated(dtype))
    store(result, quiet.run(diagonal.sum))
    return result


def trace_backward_symint(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """Zeros with ``grad`` on the diagonal."""
    if len(sizes) != 2:
        raise RuntimeError("expected matrix input")
    grad_input = ops.zeros.call((sizes[0] * sizes[1],), grad._dtype, "strided", grad._device, None)
    end = min(grad_input._size[0], sizes[1] * (sizes[1] + 1))
    indices = ops.arange_start_step.call(0, end, sizes[1] + 1, int64, "strided", grad._device, None)
    filled = ops.index_fill__int_Tensor.call(grad_input, 0, indices, grad)
    return ops.view.call(filled, tuple(sizes))


# -- tensordot ---------------------------------------------------------------------------------------------------------


def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sums of products along pairs of dimensions, by one matrix product."""
    _check_pairs(self, other, dims_self, dims_other)
    first, second, contracted = self, other, 1
    rows = dim_mask(dims_self, len(self._size))
    columns = dim_mask(dims_other, len(other._size))
    for one, two in zip(dims_self, dims_other, strict=True):
        first, second, length = _contracted_together(first, second, one, two, (self, other))
        contracted *= length
    return _as_product((first, second), rows, columns, (dims_self, dims_other), contracted)


def _check_pairs(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> None:
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self._dtype is not other._dtype:
        raise RuntimeError("both inputs should have same dtype")


def _contracted_together(
    first: Tensor, second: Tensor, one: int, two: int, given: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, int]:
    """Sum the longer factor over a contracted dimension in which the other one has size 1."""
    lengths = given[0]._size[one], given[1]._size[two]
    if lengths[1] == 1:
        return ops.sum_dim_IntList.call(first, (one,), True, first._dtype), second, 1
    if lengths[0] == 1:
        return first, ops.sum_dim_IntList.call(second, (two,), True, second._dtype), 1
    if lengths[0] != lengths[1]:
        raise RuntimeError(
            f"contracted dimensions need to match, but first has size {lengths[0]} in dim {one} and second has size "
            f"{lengths[1]} in dim {two}"
        )
    return first, second, lengths[0]


def _as_product(
    factors: tuple[Tensor, Tensor],
    rows: list[bool],
    columns: list[bool],
    dims: tuple[Sequence[int], Sequence[int]],
    contracted: int,
) -> Tensor:
    first, second = factors
    kept = [i for i, taken in enumerate(rows) if not taken], [i for i, taken in enumerate(columns) if not taken]
    sizes = tuple(first._size[i] for i in kept[0]), tuple(second._size[i] for i in kept[1])
    if numel(sizes[0]) == numel(sizes[1]) == 1:
        orders = (*kept[0], *dims[0]), (*dims[1], *kept[1])
        permuted = [ops.permute.call(t, order) for t, order in zip(factors, orders, strict=True)]
        return ops.reshape.call(_number(permuted[0], permuted[1]), (*sizes[0], *sizes[1]))
    left = ops.reshape.call(ops.permute.call(first, (*kept[0], *dims[0])), (numel(sizes[0]), contracted))
    right = ops.reshape.call(ops.permute.call(second, (*dims[1], *kept[1])), (contracted, numel(sizes[1])))
    return ops.reshape.call(ops.mm.call(left, right), (*sizes[0], *sizes[1]))


def _number(left: Tensor, right: Tensor) -> Tensor:
    """The only number of the result: ``dot`` of two contiguous factors, else the sum of their product, to avoid a
    copy.
    """
    if left._is_contiguous and right._is_contiguous:
        second = ops.flatten_using_ints.call(right, 0, -1)
        return ops.dot.call(ops.flatten_using_ints.call(left, 0, -1), second)
    second = ops.squeeze.call(right)
    return ops.sum.call(ops.mul_Tensor.call(ops.squeeze.call(left), second), left._dtype)


def tensordot_out(self: Tensor, other: Tensor, dims_self: Size, dims_other: Size, out: Tensor) -> Tensor:
    """The ``out=`` version of ``tensordot``, which copies the result."""
    result = ops.tensordot.call(self, other, dims_self, dims_other)
    if requires_grad(out) and thread.state.grad_mode and out._size != result._size:
        raise RuntimeError(
            "tensordot(): the 'out' tensor was specified and requires gradients, and its shape does not match the "
            "expected result. Either remove the 'out' argument, ensure it does not require gradients, or make sure its "
            "shape matches the expected output."
        )
    if not out._device == self._device == other._device:
        raise RuntimeError(
            "tensordot: Expected the output and input tensors to be on the same device, but got the output tensor on "
            f"{out._device}, input tensor a on {self._device}, and input tensor b on {other._device}"
        )
    if result._dtype is not out._dtype:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {result._dtype.legacy}, but got an output tensor "
            f"with dtype {out._dtype.legacy}"
        )
    if out._size != result._size:
        resize_output(out, result._size, contiguous_strides(result._size))
    return ops.copy_.call(out, result, False)
