"""Backward and jvp of ``linalg_matrix_exp`` (``FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.autograd.formulas.functions_manual import conjugated
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.linalg.matrix_exp import block
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like


def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The upper right block of the exponential of [[A, grad], [0, A]]; A is self, or its adjoint for a gradient."""
    A = conjugated(ops.transpose_int.call(self, -2, -1)) if adjoint else self
    n = A._size[-1]
    whole = _joined(A, grad) if any(map(is_tensor_subclass_like, (A, grad))) else _copied(A, grad)
    return block(ops.linalg_matrix_exp.call(whole), 0, n, n)


def _joined(A: Tensor, grad: Tensor) -> Tensor:
    upper = ops.cat.call([A, grad], -1)
    lower = ops.cat.call([ops.zeros_like.call(A, None, None, None, None, None), A], -1)
    return ops.cat.call([upper, lower], -2)


def _copied(A: Tensor, grad: Tensor) -> Tensor:
    n = A._size[-1]
    whole = ops.zeros.call((*A._size[:-2], 2 * n, 2 * n), grad._dtype, "strided", grad._device, None)
    for row, column, part in ((0, 0, A), (n, n, A), (0, n, grad)):
        ops.copy_.call(block(whole, row, column, n), part, False)
    return whole
