"""Backward of arithmetic, ``pow``, ``sum``, ``mean``, ``mm``, ``as_strided`` and others: functions that formulas of
derivatives.yaml call (``torch/csrc/autograd/FunctionsManual.cpp``).

They call operators in PyTorch's order and with its overloads. Lines are in the order of C++, which evaluates the
arguments of a call from right to left.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import overload

from dispatchviz.core.autograd.formulas.complex_gradients import conjugated as conjugated
from dispatchviz.core.autograd.formulas.complex_gradients import conjugated_number as conjugated_number
from dispatchviz.core.autograd.formulas.complex_gradients import handle_r_to_c as handle_r_to_c
from dispatchviz.core.autograd.formulas.sum_to_size import sum_to as sum_to
from dispatchviz.core.autograd.graph.copy_nodes import Geometry
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import call_of_node as call_of_node
from dispatchviz.core.native.iterator.memory_formats import in_format as in_format
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import dim_mask, wrap_dim
from dispatchviz.core.tensor.dtype import DType, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, TensorOptions

# -- shared ------------------------------------------------------------------------------------------------------------


def undefined() -> Tensor | None:
    """An undefined tensor (``Tensor()``)."""
    return None


def not_implemented(name: str) -> Tensor:
    """Raise NotImplementedError when the gradient is requested."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


def maybe_multiply(tensor: Tensor, factor: Scalar) -> Tensor:
    """The tensor times a number; the tensor itself for a real 1."""
    is_one = factor == 1 and not isinstance(factor, complex)
    return tensor if is_one else ops.mul_Scalar.call(tensor, factor)


def number_sub(number: Scalar, tensor: Tensor) -> Tensor:
    """``number - tensor`` as C++ computes it: a tensor is filled with the number"""
    filled = ops.empty_like.call(tensor, None, None, None, None, "preserve_format")
    return ops.sub__Tensor.call(ops.fill__Scalar.call(filled, number), tensor, 1)


def number_div(number: Scalar, tensor: Tensor) -> Tensor:
    """``number / tensor``, as ``number_sub``"""
    filled = ops.empty_like.call(tensor, None, None, None, None, "preserve_format")
    return ops.div__Tensor.call(ops.fill__Scalar.call(filled, number), tensor)


def _zero(like: Tensor) -> Tensor:
    return ops.scalar_tensor.call(0.0, like._dtype, "strided", like._device, None)


# -- mul, div, clamp_min -----------------------------------------------------------------------------------------------


def mul_tensor_backward(grad: Tensor, other: Tensor | Scalar, self_scalar_type: DType) -> Tensor:
    """grad * other"""
    if isinstance(other, Tensor):
        product = ops.mul_Tensor.call(grad, conjugated(other))
    else:
        product = ops.mul_Scalar.call(grad, conjugated_number(other))
    return handle_r_to_c(self_scalar_type, product)


def div_tensor_self_backward(
    grad: Tensor, other: Tensor | Scalar, self_scalar_type: DType, rounding_mode: str | None = None
) -> Tensor:
    """grad / other; 0 for a rounded quotient"""
    if rounding_mode is not None:
        return ops.zeros_like.call(grad, self_scalar_type, "strided", grad._device, None, None)
    if isinstance(other, Tensor):
        quotient = ops.div_Tensor.call(grad, conjugated(other))
    else:
        quotient = ops.div_Scalar.call(grad, conjugated_number(other))
    return handle_r_to_c(self_scalar_type, quotient)


def div_tensor_other_backward(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: str | None = None) -> Tensor:
    """-grad * ((self / other) / other); 0 for a rounded quotient"""
    if rounding_mode is not None:
        return ops.zeros_like.call(grad, other._dtype, "strided", grad._device, None, None)
    factor = conjugated(ops.div_Tensor.call(ops.div_Tensor.call(self, other), other))
    return handle_r_to_c(other._dtype, ops.mul_Tensor.call(ops.neg.call(grad), factor))


def clamp_min_backward(grad: Tensor, self: Tensor, min: Scalar) -> Tensor:
    """grad where self > min, else 0"""
    zero = _zero(grad)
    return ops.where_self.call(ops.gt_Scalar.call(self, min), grad, zero)


# -- pow ---------------------------------------------------------------------------------------------------------------


def pow_backward(grad: Tensor, self: Tensor, exponent: Scalar) -> Tensor:
    """grad * (exponent * self ** (exponent - 1)); 0 for the exponent 0"""
    if exponent == 0:
        return ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    number = exponent if isinstance(exponent, complex) else float(exponent)
    derivative = ops.mul_Scalar.call(ops.pow_Tensor_Scalar.call(self, number - 1), number)
    return handle_r_to_c(self._dtype, ops.mul_Tensor.call(grad, conjugated(derivative)))


def pow_backward_self(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    """grad * (exponent * self ** (exponent - 1)); 0 where the exponent is 0"""
    power = ops.pow_Tensor_Tensor.call(self, ops.sub_Scalar.call(exponent, 1))
    product = ops.mul_Tensor.call(grad, conjugated(ops.mul_Tensor.call(exponent, power)))
    zero = _zero(grad)
    out = ops.where_self.call(ops.eq_Scalar.call(exponent, 0.0), zero, product)
    return handle_r_to_c(self._dtype, out)


def pow_backward_exponent(grad: Tensor, self: Tensor | Scalar, exponent: Tensor, result: Tensor) -> Tensor:
    """grad * (result * log(self)); 0 where a base of 0 has an exponent >= 0"""
    out = (
        _exponent_of_tensor(grad, self, exponent, result)
        if isinstance(self, Tensor)
        else _exponent_of_number(grad, self, exponent, result)
    )
    return handle_r_to_c(exponent._dtype, out)


def _exponent_of_tensor(grad: Tensor, self: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    not_negative = _is_not_negative(exponent)
    flat = ops.logical_and.call(ops.eq_Scalar.call(self, 0), not_negative)
    promoted = ops.result_type_Tensor.call(self, exponent)
    base = ops.to_dtype.call(self, promoted, False, False, None)
    derivative = conjugated(ops.mul_Tensor.call(result, ops.log.call(base)))
    zero = _zero(grad)
    return ops.mul_Tensor.call(grad, ops.where_self.call(flat, zero, derivative))


def _is_not_negative(exponent: Tensor) -> Tensor:
    """A mask that is true where a number is real and not negative."""
    if not exponent._dtype.is_complex:
        return ops.ge_Scalar.call(exponent, 0)
    not_negative = ops.ge_Scalar.call(ops.real.call(exponent), 0)
    return ops.logical_and.call(ops.eq_Scalar.call(ops.imag.call(exponent), 0), not_negative)


def _exponent_of_number(grad: Tensor, base: Scalar, exponent: Tensor, result: Tensor) -> Tensor:
    ops.result_type_Scalar_Tensor.call(base, exponent)
    derivative = conjugated(ops.mul_Scalar.call(result, _log(complex(base) if exponent._dtype.is_complex else base)))
    if base == 0:
        zero = ops.zeros.call((), grad._dtype, "strided", grad._device, None)
        derivative = ops.where_self.call(_is_not_negative(exponent), zero, derivative)
    return ops.mul_Tensor.call(grad, derivative)


def _log(number: Scalar) -> Scalar:
    """The logarithm as C++ computes it: -inf for 0, nan for a negative number."""
    if isinstance(number, complex):
        return cmath.log(number) if number else complex(-math.inf)
    return math.log(number) if number > 0 else -math.inf if number == 0 else math.nan


# -- reductions --------------------------------------------------------------------------------------------------------


def sum_backward(grad: Tensor, sizes: Size, dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """grad for every element that was added"""
    if not keepdim and sizes and dims:
        grad = unsqueeze_multiple(grad, dims, len(sizes))
    return ops.expand.call(grad, sizes, False)


def mean_backward(grad: Tensor, shape: Size, dims: Sequence[int] | None, numel: int, keepdim: bool) -> Tensor:
    """grad for every element, divided by the number of elements"""
    count = math.prod(shape[wrap_dim(dim, len(shape))] for dim in dims) if dims and shape else numel
    return ops.div_Scalar.call(sum_backward(grad, shape, dims, keepdim), count)


def unsqueeze_multiple(tensor: Tensor, dims: Sequence[int], rank: int) -> Tensor:
    """The tensor with dimensions of size 1 restored."""
    if len(dims) == 1:
        return ops.unsqueeze.call(tensor, dims[0])
    for dim, put_back in enumerate(dim_mask(dims, rank)):
        if put_back:
            tensor = ops.unsqueeze.call(tensor, dim)
    return tensor


@overload
def unsqueeze_to(tensor: Tensor, sizes: Size, /) -> Tensor: ...
@overload
def unsqueeze_to(tensor: Tensor, dims: int | Sequence[int], sizes: Size, /) -> Tensor: ...
def unsqueeze_to(tensor: Tensor, first: int | Sequence[int], second: Size | None = None, /) -> Tensor:
    """The tensor with the dimensions restored that squeeze removed: those of size 1, among ``dims`` if given."""
    sizes = tuple(first) if second is None and not isinstance(first, int) else second or ()
    dims = range(len(sizes)) if second is None else (first,) if isinstance(first, int) else first
    for dim, squeezed in enumerate(dim_mask(dims, len(sizes))):
        if squeezed and sizes[dim] == 1:
            tensor = ops.unsqueeze.call(tensor, dim)
    return tensor


# -- mm ----------------------------------------------------------------------------------------------------------------


def mm_mat1_backward(grad: Tensor, mat2: Tensor, sizes: Size, strides: Size, alpha: Scalar) -> Tensor:
    """grad @ mat2^T, computed transposed if mat1 was column-major, so that the gradient is too"""
    if _column_major(sizes, strides):
        product = ops.t.call(ops.mm.call(conjugated(mat2), ops.t.call(grad)))
    else:
        product = ops.mm.call(grad, conjugated(ops.t.call(mat2)))
    return maybe_multiply(product, conjugated_number(alpha))


def mm_mat2_backward(grad: Tensor, mat1: Tensor, sizes: Size, strides: Size, alpha: Scalar) -> Tensor:
    """mat1^T @ grad, computed transposed if mat2 was column-major, so that the gradient is too"""
    if _column_major(sizes, strides):
        product = ops.t.call(ops.mm.call(ops.t.call(grad), conjugated(mat1)))
    else:
        product = ops.mm.call(conjugated(ops.t.call(mat1)), grad)
    return maybe_multiply(product, conjugated_number(alpha))


def _column_major(sizes: Size, strides: Size) -> bool:
    return strides[0] == 1 and strides[1] == sizes[0]


# -- copies and views --------------------------------------------------------------------------------------------------


def _to_copy_backward(grad: Tensor, options: TensorOptions) -> Tensor:
    """grad with the dtype and device of the input; no copy if it has them"""
    grad = handle_r_to_c(options.dtype, grad)
    return ops.to_dtype_layout.call(grad, options.dtype, "strided", options.device, None, False, False, None)


def as_strided_backward(
    grad: Tensor, geometry: Geometry, size: Size, stride: Size, storage_offset: int | None
) -> Tensor:
    """Scatter grad into zeros that represent the storage, and read them back with the geometry of the input.

    Elements that the result has several times get the sum. Elements that the input has several times share it.
    """
    in_size, in_stride, in_offset = geometry
    if 0 in size or 0 in in_size:
        return ops.zeros.call(in_size, grad._dtype, "strided", grad._device, None)
    out_offset = in_offset if storage_offset is None else storage_offset
    grad, out_size, out_stride = _without_flat_dims(grad, list(size), list(stride))
    seen = [(length, step) for length, step in zip(in_size, in_stride, strict=True) if length != 1]
    own_size, own_stride = tuple(length for length, _ in seen), tuple(step for _, step in seen)
    is_output_overlapping, is_input_overlapping = _overlaps(out_size, out_stride), _overlaps(own_size, own_stride)
    base_offset = min(in_offset, out_offset)
    count = max(_extent(own_size, own_stride) + in_offset, _extent(out_size, out_stride) + out_offset) - base_offset
    storage = ops.new_zeros.call(grad, (count,), None, None, None, None)
    indices = _storage_indices(count, grad) if is_output_overlapping or is_input_overlapping else None
    if is_output_overlapping and indices is not None:
        read = ops.as_strided.call(indices, tuple(out_size), tuple(out_stride), out_offset - base_offset)
        flat = ops.reshape.call(grad, (-1,))
        ops.index_add_.call(storage, 0, ops.reshape.call(read, (-1,)), flat, 1)
    else:
        part = ops.as_strided.call(storage, tuple(out_size), tuple(out_stride), out_offset - base_offset)
        ops.copy_.call(part, grad, False)
    if is_input_overlapping and indices is not None:
        _divide_by_count(storage, indices, (own_size, own_stride, in_offset - base_offset), grad)
    return ops.as_strided.call(storage, in_size, in_stride, in_offset - base_offset)


def _storage_indices(count: int, grad: Tensor) -> Tensor:
    """The indices of the storage's elements."""
    return ops.arange_start.call(0, count, int64, "strided", grad._device, None)


def _divide_by_count(storage: Tensor, indices: Tensor, geometry: Geometry, grad: Tensor) -> None:
    """Divide each element by the number of times that a geometry has it; nan where it does not."""
    count = ops.zeros_like.call(storage, None, None, None, None, "contiguous_format")
    indices = ops.reshape.call(ops.as_strided.call(indices, *geometry), (-1,))
    one = ops.ones.call((1,), grad._dtype, "strided", grad._device, None)
    ops.index_add_.call(count, 0, indices, ops.expand_as.call(one, indices), 1)
    ops.div__Tensor.call(storage, count)


def _without_flat_dims(grad: Tensor, size: list[int], stride: list[int]) -> tuple[Tensor, list[int], list[int]]:
    """Squeeze dimensions of size 1 and sum expanded ones."""
    for dim in reversed(range(len(size))):
        if size[dim] == 1:
            grad = ops.squeeze_dim.call(grad, dim)
        elif stride[dim] == 0:
            grad = ops.sum_dim_IntList.call(grad, (dim,), False, None)
        else:
            continue
        del size[dim], stride[dim]
    return grad, size, stride


def _overlaps(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether elements of a geometry may share memory (``_maybe_overlapping_memory``)."""
    reached = 0
    for step, length in sorted(zip(stride, size, strict=True)):
        if step <= reached:
            return True
        reached += step * (length - 1)
    return False


def _extent(size: Sequence[int], stride: Sequence[int]) -> int:
    return 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


# -- permute, slice ----------------------------------------------------------------------------------------------------


def permute_backwards(grad: Tensor, fwd_dims: Size) -> Tensor:
    """The dimensions in their original order"""
    rank = len(fwd_dims)
    back = [0] * rank
    for index, dim in enumerate(fwd_dims):
        back[wrap_dim(dim, rank)] = index
    return ops.permute.call(grad, tuple(back))


def slice_backward_wrapper(
    grad: Tensor, input_sizes: Size, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """Zeros with the gradient in the slice; a missing end means the last element"""
    begin, stop = (0 if start is None else start), (2**63 - 1 if end is None else end)
    return ops.slice_backward.call(grad, input_sizes, dim, begin, stop, step)


# -- random numbers ----------------------------------------------------------------------------------------------------


def zeros_like_options(sizes: Size, grad: Tensor) -> Tensor:
    """``at::zeros(sizes, grad.options())``: random numbers do not depend on the tensor."""
    return ops.zeros.call(sizes, grad._dtype, "strided", grad._device, None)


def zeros_info(geometry: Geometry, options: TensorOptions) -> Tensor:
    """Zeros like an argument whose shape and options alone were saved (``TypeAndSize``)."""
    return ops.zeros.call(geometry[0], options.dtype, "strided", options.device, None)
