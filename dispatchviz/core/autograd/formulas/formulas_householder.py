"""Backward of ``householder_product``, ``ormqr`` (``FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.formulas_linalg import Gradients, diagonal, matmul, mH, sub
from dispatchviz.core.autograd.formulas.functions_manual import conjugated
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.thread_state import thread


def _column(tensor: Tensor, i: int) -> Tensor:
    return ops.narrow.call(tensor, -1, i, 1)


def _from_row(tensor: Tensor, k: int) -> Tensor:
    return ops.narrow.call(tensor, -2, k, tensor._size[-2] - k)


def _from_column(tensor: Tensor, k: int) -> Tensor:
    return ops.narrow.call(tensor, -1, k, tensor._size[-1] - k)


def _scaled(t: Tensor, v: Tensor) -> Tensor:
    return ops.mul_Tensor.call(ops.unsqueeze.call(t, -1), v)


def _unit_lower(input: Tensor) -> Tensor:
    """The directions of the reflectors, with 1 on the diagonal."""
    lower = ops.tril.call(input, -1)
    ops.fill__Scalar.call(diagonal(lower), 1.0)
    return lower


def _inverse_factors(directions: Tensor, tau: Tensor) -> Tensor:
    """The factors of the inverse reflectors."""
    first = ops.narrow.call(directions, -1, 0, tau._size[-1])
    norms = ops.sum_dim_IntList.call(ops.mul_Tensor.call(first, conjugated(first)), (-2,), False, None)
    return ops.div_Tensor.call(tau, ops.sub_Scalar.call(ops.mul_Tensor.call(tau, norms), 1.0, 1))


def _reflect_in_place(k: int, v_full: Tensor, t: Tensor, K: Tensor, left: bool) -> Tensor:
    """(I - t v v^H) K, or K (I - t v v^H); v has zeros before position k."""
    v = _from_row(v_full, k)
    if left:
        u = matmul(mH(_from_row(v_full, k)), _from_row(K, k))
        target = _from_row(K, k)
        ops.sub__Tensor.call(target, ops.mul_Tensor.call(_scaled(t, v), u), 1)
        return K
    columns = _from_column(K, k)
    scaled = _scaled(t, _from_row(v_full, k))
    u = matmul(columns, scaled)
    target = _from_column(K, k)
    ops.sub__Tensor.call(target, ops.mul_Tensor.call(u, mH(v)), 1)
    return K


def _reflector_product(u: Tensor, v: Tensor, t: Tensor, K: Tensor, left: bool) -> Tensor:
    """t u v^H K, or K t u v^H."""
    if left:
        product = matmul(mH(v), K)
        return ops.mul_Tensor.call(_scaled(t, u), product)
    adjoint = mH(v)
    return ops.mul_Tensor.call(matmul(K, _scaled(t, u)), adjoint)


def _reflect(k: int, v: Tensor, t: Tensor, K: Tensor, left: bool, in_place: bool) -> Tensor:
    return _reflect_in_place(k, v, t, K, left) if in_place else sub(K, _reflector_product(v, v, t, K, left))


def _gradients_of(k: int, v_full: Tensor, t: Tensor, K: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of one direction and of its factor."""
    v = _from_row(v_full, k)
    vHK = matmul(mH(v), _from_row(K, k))
    Kv = matmul(_from_column(K, k), v)
    factor = ops.unsqueeze.call(t, -1)
    second = ops.squeeze_dim.call(ops.mul_Tensor.call(factor, Kv), -1)
    first = ops.squeeze_dim.call(conjugated(ops.mul_Tensor.call(ops.neg.call(factor), vHK)), -2)
    v_grad = sub(first, second)
    tau_grad = ops.neg.call(conjugated(matmul(_from_column(vHK, k), v)))
    tau_grad = ops.squeeze_dim.call(tau_grad, -1)
    return ops.unsqueeze.call(v_grad, -1), tau_grad


def householder_product_backward(
    grad: Tensor, result: Tensor, input: Tensor, tau: Tensor, flip_order: bool = False
) -> Gradients:
    """The gradients, reflector by reflector: the product before it is removed, and the product after it is added.

    NB: in PyTorch, the gradients of tensor subclasses are assembled with ``cat``.
    """
    if not numel(input._size) or not numel(tau._size):
        return None, None
    count, left = tau._size[-1], not flip_order
    directions = _unit_lower(input)
    sigma = _inverse_factors(directions, tau)
    K = matmul(result, mH(grad))
    in_place = not thread.state.grad_mode
    order = list(reversed(range(count))) if flip_order else list(range(count))
    factor = _column(sigma, order[0])
    K = _reflect(order[0], _column(directions, order[0]), factor, K, left, in_place)
    input_grad = ops.zeros_like.call(input, None, None, None, None, None)
    tau_grad = ops.zeros_like.call(tau, None, None, None, None, None)
    for index, i in enumerate(order):
        v, t = _column(directions, i), _column(tau, i)
        v_grad, t_grad = _gradients_of(i, v, t, K)
        target = ops.select_int.call(input_grad, -1, i)
        ops.copy_.call(target, ops.squeeze_dim.call(v_grad, -1), False)
        ops.copy_.call(ops.select_int.call(tau_grad, -1, i), ops.squeeze_dim.call(t_grad, -1), False)
        if index + 1 < count:
            following = order[index + 1]
            v_next, s_next = _column(directions, following), _column(sigma, following)
            K = _reflect(following, v_next, s_next, K, left, in_place)
            K = _reflect(i, v, t, K, not left, in_place)
    return ops.tril_.call(input_grad, -1), tau_grad


def ormqr_backward(
    grad: Tensor,
    result: Tensor,
    self: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool,
    transpose: bool,
    mask: Sequence[bool],
) -> Gradients:
    """The gradient of the matrix by the adjoint product, those of the reflectors by
    ``householder_product_backward``.
    """
    of_self = of_tau = None
    of_other = ops.ormqr.call(self, tau, grad, left, not transpose) if mask[2] else None
    if mask[0] or mask[1]:
        if left != transpose:
            first = mH(grad) if transpose else grad
            second = mH(result) if transpose else result
            of_self, of_tau = householder_product_backward(first, second, self, tau)
        else:
            first = result if transpose else mH(result)
            second = grad if transpose else mH(grad)
            of_self, of_tau = householder_product_backward(first, second, self, tau, True)
    return of_self, of_tau, of_other


def householder_product_jvp(dV_full: Tensor, dtau: Tensor, prod: Tensor, V_full: Tensor, tau: Tensor) -> Tensor:
    """The sum over reflectors of the tangent between the products before and after it."""
    V = _unit_lower(V_full)
    dV = ops.tril.call(dV_full, -1)
    sigma = _inverse_factors(V, tau)
    after = ops.clone.call(ops.detach.call(prod), None)
    ones = ops.ones.call((1,), V._dtype, "strided", V._device, None)
    before = ops.diag_embed.call(ops.expand.call(ones, V._size[:-1], False), 0, -2, -1)
    tangent = ops.zeros_like.call(prod, None, None, None, None, None)
    for i in range(tau._size[-1]):
        v, dv = _column(V, i), _column(dV, i)
        t, dt = _column(tau, i), _column(dtau, i)
        after = _reflect(0, v, _column(sigma, i), after, True, False)
        third = ops.neg.call(_reflector_product(v, dv, t, after, True))
        second = ops.neg.call(_reflector_product(dv, v, t, after, True))
        first = ops.neg.call(_reflector_product(v, v, dt, after, True))
        inner = ops.add_Tensor.call(ops.add_Tensor.call(first, second, 1), third, 1)
        tangent = ops.add__Tensor.call(tangent, matmul(before, inner), 1)
        before = _reflect(0, v, t, before, False, False)
    return tangent
