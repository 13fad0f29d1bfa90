"""``isin`` (``aten/src/ATen/native/TensorCompare.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.binary_ops import wrapped_scalar_tensor
from dispatchviz.core.native.indexing.tensor_indexing import scalar_to_tensor
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import result_type
from dispatchviz.core.tensor.dtype import DType, bool_
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel


def isin_Tensor_Tensor_meta(
    op: Structured, elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool
) -> None:
    """A bool result of the shape of ``elements``. Raise RuntimeError for bool and complex."""
    _check(elements._dtype)
    _check(test_elements._dtype)
    op.set_output_raw_strided(elements._size, contiguous_strides(elements._size), bool_, elements._device)


def isin_Tensor_Scalar_meta(
    op: Structured, elements: Tensor, test_element: Scalar, assume_unique: bool, invert: bool
) -> None:
    """A bool result of the shape of ``elements``. Raise RuntimeError for bool and complex."""
    _check(elements._dtype)
    _check(wrapped_scalar_tensor(test_element)._dtype)
    op.set_output_raw_strided(elements._size, contiguous_strides(elements._size), bool_, elements._device)


def isin_Scalar_Tensor_meta(
    op: Structured, element: Scalar, test_elements: Tensor, assume_unique: bool, invert: bool
) -> None:
    """A bool result without elements; the Tensor overload resizes it to 0-dim.

    Raise RuntimeError for bool and complex.
    """
    _check(wrapped_scalar_tensor(element)._dtype)
    _check(test_elements._dtype)
    op.set_output_raw_strided((0,), (1,), bool_, test_elements._device)


def _check(dtype: DType) -> None:
    if dtype is bool_ or dtype.is_complex:
        raise RuntimeError(f"Unsupported input type encountered for isin(): {dtype.legacy}")


def isin_Tensor_Tensor_out(
    elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool, out: Tensor
) -> None:
    """True where an element is among the others: few are compared with each other, many are sorted"""
    count = numel(elements._size)
    if not count:
        return
    if numel(test_elements._size) < int(10.0 * count**0.145):
        _by_comparing(elements, test_elements, invert, out)
    else:
        _by_sorting(elements, test_elements, assume_unique, invert, out)


def isin_Tensor_Scalar_out(
    elements: Tensor, test_element: Scalar, assume_unique: bool, invert: bool, out: Tensor
) -> None:
    """True where an element is the number"""
    (ops.ne_Scalar_out if invert else ops.eq_Scalar_out).call(elements, test_element, out)


def isin_Scalar_Tensor_out(
    element: Scalar, test_elements: Tensor, assume_unique: bool, invert: bool, out: Tensor
) -> None:
    """True if the number is among the elements"""
    number = wrapped_scalar_tensor(element)
    ops.isin_Tensor_Tensor_out.call(number, test_elements, assume_unique, invert, out)


def _by_comparing(elements: Tensor, test_elements: Tensor, invert: bool, out: Tensor) -> None:
    """Search by comparing each element with each other (``isin_default_kernel``)."""
    ops.fill__Scalar.call(out, invert)
    dtype = result_type(elements, test_elements)
    values = ops.to_dtype.call(elements, dtype, False, False, None)
    tests = ops.view.call(ops.to_dtype.call(test_elements, dtype, False, False, None), (-1,))
    if out._array is not None:
        xp: Any = array_module(out._device.type)
        found = (values._array[..., None] == tests._array).any(-1)
        out._array[...] = xp.logical_not(found) if invert else found


def _by_sorting(elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool, out: Tensor) -> None:
    """Search by sorting (``isin_sorting``): an element that is among the others has its equal next to it."""
    if assume_unique:
        values, tests = ops.ravel.call(elements), ops.ravel.call(test_elements)
    else:
        values, indices = ops._unique.call(elements, False, True)
        tests, _ = ops._unique.call(test_elements, False, False)
    ordered, order = ops.sort_stable.call(ops.cat.call([values, tests], 0), True, 0, False)
    repeated = ops.empty_like.call(ordered, bool_, None, None, None, None)
    after = ops.slice_Tensor.call(ordered, 0, 1, None, 1)
    before = ops.slice_Tensor.call(ordered, 0, 0, -1, 1)
    compare = ops.ne_Tensor if invert else ops.eq_Tensor
    all_but_last = ops.slice_Tensor.call(repeated, 0, 0, -1, 1)
    ops.copy_.call(all_but_last, compare.call(after, before), False)
    last = ops.select_int.call(repeated, 0, -1)
    ops.copy_.call(last, scalar_to_tensor(invert, bool_, repeated._device), False)
    mask = ops.empty_like.call(repeated, None, None, None, None, None)
    ops.index_copy_.call(mask, 0, order, repeated)
    if assume_unique:
        selected = ops.view_as.call(ops.slice_Tensor.call(mask, 0, 0, numel(elements._size), 1), out)
    else:
        selected = ops.index_Tensor.call(mask, [indices])
    ops.copy_.call(out, selected, False)
