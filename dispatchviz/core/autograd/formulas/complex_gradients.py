"""``handle_r_to_c``, ``conj``: gradients of complex operands (``torch/csrc/autograd/FunctionsManual.cpp``,
``c10/core/Scalar.h``).

The gradient of a real loss points where the loss grows: it is the derivative by the conjugate. So the formulas
conjugate the other factors, and a real input keeps the real part of its gradient.
"""

from __future__ import annotations

from typing import overload

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor


@overload
def handle_r_to_c(target: DType, grad: Tensor) -> Tensor: ...
@overload
def handle_r_to_c(target: DType, grad: None) -> None: ...
def handle_r_to_c(target: DType, grad: Tensor | None) -> Tensor | None:
    """The gradient, real for a real tensor. It may be None, since a handler may have returned nothing."""
    if grad is not None and grad._dtype is not target and grad._dtype.is_complex and not target.is_complex:
        return ops.real.call(grad)
    return grad


def conjugated(tensor: Tensor) -> Tensor:
    """A view with the conj bit; a real tensor itself, without a call (``Tensor::conj``)."""
    return ops._conj.call(tensor) if tensor._dtype.is_complex else tensor


def conjugated_number(number: Scalar) -> Scalar:
    """The conjugate of a number (``Scalar::conj``)."""
    return number.conjugate() if isinstance(number, complex) else number
