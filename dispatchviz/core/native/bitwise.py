"""Elementwise logic on bits and truth values: ``bitwise_not``, ``bitwise_and``, ``bitwise_or``
(``aten/src/ATen/native/UnaryOps.cpp``, ``BinaryOps.cpp``).
"""

from __future__ import annotations

import numpy

from dispatchviz.core.native.iterator import elementwise, elementwise_same, loop, no_instance, result_type
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Tensor


def bitwise_not_meta(op: Structured, self: Tensor) -> None:
    """Same dtype."""
    elementwise_same(op, self)


def bitwise_not_out(self: Tensor, out: Tensor) -> None:
    """Every bit the other way; of a bool, not."""
    dtype = self._dtype
    refused = dtype.can_require_grad
    loop(no_instance("bitwise_not_cpu", dtype) if refused else numpy.invert, out, dtype, self)


def bitwise_and_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype."""
    elementwise(op, self, other)


def bitwise_and_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """Bits that both have; of bools, and."""
    dtype = result_type(self, other)
    refused = dtype.can_require_grad
    loop(no_instance("bitwise_and_cpu", dtype) if refused else numpy.bitwise_and, out, dtype, self, other)


def bitwise_or_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype."""
    elementwise(op, self, other)


def bitwise_or_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """Bits that one of them has; of bools, or."""
    dtype = result_type(self, other)
    refused = dtype.can_require_grad
    loop(no_instance("bitwise_or_cpu", dtype) if refused else numpy.bitwise_or, out, dtype, self, other)
