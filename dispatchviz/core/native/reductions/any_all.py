"""``any``, ``all`` (``aten/src/ATen/native/ReduceOps.cpp``).

Both are reductions like sums (``sum_mean.py``): they write into a view of the output in which the reduced dimensions
have a stride of 0.
"""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.iterator.wrap_dim import dim_mask
from dispatchviz.core.native.reductions.sum_mean import reduced_size, set_reduced, with_reduced_dims
from dispatchviz.core.tensor.dtype import DType, bool_, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel


def any_meta(op: Structured, self: Tensor) -> None:
    """A single bool."""
    op.set_output_raw_strided((), (), _checked_dtype("any", op, self), self._device)


def all_meta(op: Structured, self: Tensor) -> None:
    """A single bool."""
    op.set_output_raw_strided((), (), _checked_dtype("all", op, self), self._device)


def any_dim_meta(op: Structured, self: Tensor, dim: int, keepdim: bool) -> None:
    """The shape of self without the reduced dimension."""
    set_reduced(op, self, (dim,), keepdim, _checked_dtype("any", op, self))


def all_dim_meta(op: Structured, self: Tensor, dim: int, keepdim: bool) -> None:
    """The shape of self without the reduced dimension."""
    set_reduced(op, self, (dim,), keepdim, _checked_dtype("all", op, self))


def any_dims_meta(op: Structured, self: Tensor, dim: Size | None, keepdim: bool) -> None:
    """The shape of self without the reduced dimensions; None means all of them, an empty list none."""
    _set_output(op, self, dim, keepdim, _checked_dtype("any", op, self))


def all_dims_meta(op: Structured, self: Tensor, dim: Size | None, keepdim: bool) -> None:
    """The shape of self without the reduced dimensions; None means all of them, an empty list none."""
    _set_output(op, self, dim, keepdim, _checked_dtype("all", op, self))


def _set_output(op: Structured, self: Tensor, dim: Size | None, keepdim: bool, dtype: DType) -> None:
    size = reduced_size(self._size, _mask(self, dim), keepdim)
    op.set_output_raw_strided(size, contiguous_strides(size), dtype, self._device)


def _mask(self: Tensor, dim: Size | None) -> list[bool]:
    rank = len(self._size)
    return [True] * rank if dim is None else dim_mask(dim, rank)


def _checked_dtype(name: str, op: Structured, self: Tensor) -> DType:
    """The dtype of the result: bool, or uint8 for uint8, for backward compatibility.

    An ``out=`` tensor may have either.
    """
    if op.variant != "out":
        return uint8 if self._dtype is uint8 else bool_
    if op.output._dtype not in (bool_, uint8):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {op.output._dtype.legacy}")
    return op.output._dtype


def any_all_out(self: Tensor, out: Tensor) -> None:
    """True if an element is not zero"""
    _allany("any", self, out)


def all_all_out(self: Tensor, out: Tensor) -> None:
    """True if no element is zero"""
    _allany("all", self, out)


def any_out(self: Tensor, dim: int, keepdim: bool, out: Tensor) -> None:
    """True if an element along the dimension is not zero"""
    _allany("any", self, out, (dim,), keepdim)


def all_out(self: Tensor, dim: int, keepdim: bool, out: Tensor) -> None:
    """True if no element along the dimension is zero"""
    _allany("all", self, out, (dim,), keepdim)


def any_dims_out(self: Tensor, dim: Size | None, keepdim: bool, out: Tensor) -> None:
    """True if an element along the dimensions is not zero"""
    _allany("any", self, out, dim, keepdim)


def all_dims_out(self: Tensor, dim: Size | None, keepdim: bool, out: Tensor) -> None:
    """True if no element along the dimensions is zero"""
    _allany("all", self, out, dim, keepdim)


def _allany(name: str, self: Tensor, out: Tensor, dim: Size | None = None, keepdim: bool = False) -> None:
    """Write the result (``allany_impl``).

    Without elements it is that of an empty reduction; a single element is cast.
    """
    if not numel(self._size):
        ops.fill__Scalar.call(out, int(name == "all"))
    elif numel(self._size) == 1:
        ops.copy_.call(out, ops.to_dtype.call(ops.view_as.call(self, out), bool_, False, False, None), False)
    else:
        _reduce(name, self, out, dim, keepdim)


def _reduce(name: str, self: Tensor, out: Tensor, dim: Size | None, keepdim: bool) -> None:
    mask = _mask(self, dim)
    viewed = with_reduced_dims(out, self, mask, keepdim)
    source = self
    if out._device.type == "cpu":
        if self._dtype is not out._dtype:
            source = ops.to_dtype.call(self, out._dtype, False, False, None)
        ops.fill__Scalar.call(viewed, int(name == "all"))
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    loop = getattr(array_module(out._device.type), name)
    store(viewed, loop(source._array, axes, None, True) if axes else source._array.astype(bool))


def _is_any_true(self: Tensor) -> Tensor:
    """``any`` of a bool tensor. Raise RuntimeError for any other dtype."""
    if self._dtype is not bool_:
        raise RuntimeError(
            'self.scalar_type() == at::kBool INTERNAL ASSERT FAILED at "aten/src/ATen/native/ReduceOps.cpp":2148, '
            "please report a bug to PyTorch. "
        )
    result: Tensor = ops.any.call(self)
    return result


# -- _is_any_true, _is_all_true ----------------------------------------------------------------------------------------


def _is_all_true(self: Tensor) -> Tensor:
    """``all`` of a bool tensor. Raise RuntimeError for any other dtype."""
    _check_bools(self)
    return ops.all.call(self)


def _check_bools(self: Tensor) -> None:
    if self._dtype is not bool_:
        raise RuntimeError("self.scalar_type() == at::kBool INTERNAL ASSERT FAILED: please report a bug to PyTorch.")
