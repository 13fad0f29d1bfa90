"""Backward of ``scatter_reduce``, ``index_reduce`` (``torch/csrc/autograd/FunctionsManual.cpp``).

Both share one implementation. They differ in how indices are read (``gather``, ``index_select``) and added to
(``scatter_add``, ``index_add``), and in the gradient of self where self does not count. Lines are in the order of C++,
which evaluates the operands of a call from right to left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dispatchviz.core.autograd.graph.basic_nodes import DelayedError
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

Both = tuple[Tensor | None, Tensor | None]


class _IndexedOps(NamedTuple):
    """The reads and writes of one of the two operators at its indices."""

    read: Callable[[Tensor], Tensor]
    add: Callable[[Tensor, Tensor], Tensor]
    reduce: Callable[[Tensor, Tensor], Tensor]
    clear: Callable[[Tensor], Tensor]
    operator: str
    source: str


def scatter_reduce_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Both:
    """The gradients of self and src"""
    indexed = _IndexedOps(
        lambda tensor: ops.gather.call(tensor, dim, index),
        lambda tensor, values: ops.scatter_add.call(tensor, dim, index, values),
        lambda tensor, values: ops.scatter_reduce_two.call(tensor, dim, index, values, reduce, include_self),
        lambda tensor: ops.scatter_value.call(tensor, dim, index, 0),
        "scatter_reduce",
        "src",
    )
    return _reduce_backward(indexed, grad, self, src, reduce, include_self, result)


def index_reduce_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Both:
    """The gradients of self and source"""
    indexed = _IndexedOps(
        lambda tensor: ops.index_select.call(tensor, dim, index),
        lambda tensor, values: ops.index_add.call(tensor, dim, index, values),
        lambda tensor, values: ops.index_reduce.call(tensor, dim, index, values, reduce, include_self),
        lambda tensor: ops.index_fill_int_Scalar.call(tensor, dim, index, 0),
        "index_reduce",
        "source",
    )
    return _reduce_backward(indexed, grad, self, source, reduce, include_self, result)


def _reduce_backward(
    indexed: _IndexedOps, grad: Tensor, self: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Both:
    if reduce == "sum":
        grad_self, grad_src = grad, indexed.read(grad)
    elif reduce == "prod":
        grad_self, grad_src = _prod_backward(indexed, grad, self, src, result)
    elif reduce == "mean":
        grad_self, grad_src = _mean_backward(indexed, grad, src, include_self)
    elif reduce in ("max", "min"):
        raise RuntimeError(f"Expected 'reduce' to be one of 'sum', 'prod', 'mean', 'amax', 'amin' but got {reduce}.")
    else:
        grad_self, grad_src = _amin_amax_backward(indexed, grad, self, src, result)
    return (grad_self if include_self else indexed.clear(grad_self)), grad_src


def _prod_backward(
    indexed: _IndexedOps, grad: Tensor, self: Tensor, src: Tensor, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The product of the other elements. If that cannot be computed by division, a single zero is replaced by one."""
    masked_self = ops.masked_fill_Scalar.call(self, ops.eq_Scalar.call(self, 0), 1)
    product = ops.mul_Tensor.call(grad, indexed.reduce(masked_self, src))
    grad_self = ops.div_Tensor.call(product, masked_self)
    src_zero = ops.eq_Scalar.call(src, 0)
    zeros = _zeros_like(self)
    count = indexed.read(indexed.add(zeros, _cast(src_zero, self._dtype)))
    single = ops.bitwise_and_Tensor.call(src_zero, ops.eq_Scalar.call(count, 1))
    with_ones = indexed.reduce(self, ops.masked_fill_Scalar.call(src, single, 1))
    divisor = ops.masked_fill_Scalar.call(src, src_zero, 1)
    divided = ops.div_Tensor.call(indexed.read(ops.mul_Tensor.call(grad, result)), divisor)
    alone = indexed.read(ops.mul_Tensor.call(grad, with_ones))
    grad_src = ops.where_self.call(single, alone, divided)
    if thread.state.grad_mode and ops.item.call(ops.any.call(ops.gt_Scalar.call(count, 1))):
        return grad_self, _double_backward_error(indexed, grad_src)
    return grad_self, grad_src


def _double_backward_error(indexed: _IndexedOps, grad_src: Tensor) -> Tensor:
    message = (
        f"{indexed.operator}(): Double backward is unsupported for {indexed.source} when >1 zeros in {indexed.source} "
        "are scattered to the same position in self"
    )
    (delayed,) = DelayedError(message, 1).apply([grad_src])
    assert delayed is not None
    return delayed


def _mean_backward(indexed: _IndexedOps, grad: Tensor, src: Tensor, include_self: bool) -> tuple[Tensor, Tensor]:
    """The gradients divided by the number of elements."""
    start = _ones_like(grad) if include_self else _zeros_like(grad)
    count = indexed.add(start, _ones_like(src))
    ops.masked_fill__Scalar.call(count, ops.eq_Scalar.call(count, 0), 1)
    grad_self = ops.div_Tensor.call(grad, count)
    count_there = indexed.read(count)
    return grad_self, ops.div_Tensor.call(indexed.read(grad), count_there)


def _amin_amax_backward(
    indexed: _IndexedOps, grad: Tensor, self: Tensor, src: Tensor, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients shared by all elements that are equal to the result."""
    value = indexed.read(result)
    self_is_result = _cast(ops.eq_Tensor.call(self, result), self._dtype)
    src_is_result = _cast(ops.eq_Tensor.call(src, value), self._dtype)
    distributed = ops.div_Tensor.call(grad, indexed.add(self_is_result, src_is_result))
    if indexed.operator == "scatter_reduce":
        self_is_result = ops.eq_Tensor.call(self, result)
    grad_self = ops.mul_Tensor.call(self_is_result, distributed)
    there = indexed.read(distributed)
    if indexed.operator == "scatter_reduce":
        src_is_result = ops.eq_Tensor.call(src, value)
    return grad_self, ops.mul_Tensor.call(src_is_result, there)


def _cast(tensor: Tensor, dtype: DType) -> Tensor:
    return ops.to_dtype.call(tensor, dtype, False, False, None)


def _zeros_like(tensor: Tensor) -> Tensor:
    return ops.zeros_like.call(tensor, None, None, None, None, None)


def _ones_like(tensor: Tensor) -> Tensor:
    return ops.ones_like.call(tensor, None, None, None, None, None)
