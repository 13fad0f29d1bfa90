"""Products with vectors: ``mv``, ``addmv``, ``outer``, ``ger``, ``dot``, ``vdot``
(``aten/src/ATen/native/Blas.cpp``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import check_same_device
from dispatchviz.core.native.iterator.scalar import Scalar, convert, element
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.native.linalg.mm_bmm import multiply, set_contiguous
from dispatchviz.core.tensor.conj_neg_bits import is_conj, is_zerotensor
from dispatchviz.core.tensor.dtype import REDUCED, Category, DType, bool_, float32
from dispatchviz.core.tensor.tensor import Tensor, numel

# -- mv, addmv ---------------------------------------------------------------------------------------------------------


def mv(self: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector, by ``addmv_`` on new memory."""
    result = ops.empty_memory_format.call(self._size[:1], vec._dtype, None, vec._device, None, None)
    return ops.addmv_.call(result, self, vec, 0, 1)


def mv_out(self: Tensor, vec: Tensor, out: Tensor) -> Tensor:
    """Write a matrix times a vector into ``out``."""
    added = out
    if out._size != self._size[:1]:
        added = ops.empty_memory_format.call(self._size[:1], vec._dtype, None, vec._device, None, None)
    return ops.addmv_out.call(added, self, vec, 0, 1, out)


def addmv_meta(op: Structured, self: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar) -> None:
    """The shape [n] of [n] + [n, m] @ [m]; self may have one element or be 0-dim."""
    ranks = (len(self._size), len(mat._size), len(vec._size))
    if ranks[0] > 1 or ranks[1:] != (2, 1):
        raise RuntimeError(f"vector + matrix @ vector expected, got {ranks[0]}, {ranks[1]}, {ranks[2]}")
    count = numel(self._size)
    if mat._size[1] != vec._size[0] or count not in (1, mat._size[0]):
        raise RuntimeError(
            f"size mismatch, got input ({count}), mat ({mat._size[0]}x{mat._size[1]}), vec ({vec._size[0]})"
        )
    if not self._dtype is mat._dtype is vec._dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{self._dtype.legacy}, {mat._dtype.legacy}, and {vec._dtype.legacy}"
        )
    check_same_device(mat, vec)
    if beta != 0:
        check_same_device(mat, self)
    set_contiguous(op, mat._size[:1], vec)


def addmv_out(self: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> None:
    """beta * self + alpha * (mat @ vec); if beta is 0, the contents of self are ignored"""
    if self._size != mat._size[:1]:
        self = ops.expand.call(self, mat._size[:1], False)
    if 0 in mat._size:
        if beta == 0:
            ops.zero_.call(out)
        else:
            store(out, _scaled(self._array, beta, self._dtype))
        return
    if mat._dtype is bool_ or (mat._device.type == "cuda" and mat._dtype.category <= Category.INTEGRAL):
        raise not_implemented(f"addmv_impl_{mat._device.type}", mat._dtype)
    if vec._device.type == "cuda" and vec._stride[0] == 0:  # cuda/Blas.cpp
        vec = ops.contiguous.call(vec, "contiguous_format")
    mat = _blas_operand(mat)
    if mat._dtype in REDUCED and mat._stride[1] == 1:
        _add_rounding_once(self, mat, vec, beta, convert(alpha, mat._dtype), out)
        return
    added = None if beta == 0 else _scaled(self._array, beta, self._dtype).copy()
    multiply(mat, vec, out, None if alpha == 1 else convert(alpha, mat._dtype))
    if added is not None:
        store(out, quiet.run(lambda: out._array + added))


def _add_rounding_once(self: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> None:
    """Compute row-major half and bfloat16: each row is one sum in float32."""
    product = array_module(out._device.type).matmul(*(converted(t._array, float32) for t in (mat, vec)))
    factor, old_factor = mat._dtype.numpy.type(alpha), float32.numpy.type(beta)
    old = 0 if beta == 0 else converted(self._array, float32) * old_factor
    store(out, quiet.run(lambda: product * factor + old))


def _scaled(array: Any, factor: Scalar, dtype: DType) -> Any:
    return quiet.run(lambda: array * element(factor, dtype))


def _blas_operand(mat: Tensor) -> Tensor:
    (rows, columns), (row_step, column_step) = mat._size, mat._stride
    column_major = row_step == 1 and (columns == 1 or column_step >= max(1, rows))
    row_major = column_step == 1 and (rows == 1 or row_step >= max(1, columns))
    if column_major or row_major or mat._is_contiguous:
        return mat
    return ops.contiguous.call(mat, "contiguous_format")


def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """Each element of one vector times each element of the other."""
    _check_outer(self, vec2)
    return ops.mul_Tensor.call(ops.reshape.call(self, (self._size[0], 1)), vec2)


def outer_out(self: Tensor, vec2: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``outer``."""
    _check_outer(self, vec2)
    return ops.mul_out.call(ops.reshape.call(self, (self._size[0], 1)), vec2, out)


def _check_outer(self: Tensor, vec2: Tensor) -> None:
    for name, vector in (("self", self), ("vec2", vec2)):
        if len(vector._size) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(vector._size)}-D")


def ger(self: Tensor, vec2: Tensor) -> Tensor:
    """The old name of ``outer``."""
    return ops.outer.call(self, vec2)


# -- dot ---------------------------------------------------------------------------------------------------------------


def dot(self: Tensor, tensor: Tensor) -> Tensor:
    """The dot product of two vectors. If a conj bit is set, it is applied to the result or ``vdot`` is called."""
    if self._dtype.is_complex and (is_conj(self) or is_conj(tensor)):
        return _dot_of_conjugates(self, tensor)
    _check_dot("dot", self, tensor)
    if is_zerotensor(self) or is_zerotensor(tensor):
        return ops._efficientzerotensor.call((), self._dtype, None, self._device, None)
    if self._dtype is bool_ or (self._device.type == "cuda" and self._dtype.category <= Category.INTEGRAL):
        raise not_implemented("dot", self._dtype)
    xp = array_module(self._device.type)
    dtype = accumulated(self._dtype)
    return _product(quiet.run(xp.dot, converted(self._array, dtype), converted(tensor._array, dtype)), self)


def _product(value: Any, like: Tensor) -> Tensor:
    """A number as a 0-dim tensor."""
    result = ops.empty_memory_format.call((), like._dtype, None, like._device, None, None)
    if like._device.type == "cpu":  # BLAS returns a number; cuBLAS writes it into the tensor's memory
        return ops.fill__Scalar.call(result, converted(value, like._dtype).item())
    store(result, value)
    return result


def dot_out(self: Tensor, tensor: Tensor, out: Tensor) -> Tensor:
    """Write ``dot`` into ``out``, by ``fill_``."""
    return _filled(out, self, lambda: ops.dot.call(self, tensor))


def _filled(out: Tensor, self: Tensor, product: Callable[[], Tensor]) -> Tensor:
    if out._dtype is not self._dtype:
        raise RuntimeError(f"result dtype {out._dtype.legacy} does not match input dtype {self._dtype.legacy}")
    if out._size:
        resize_output(out, (), ())
    return ops.fill__Tensor.call(out, product())


def _dot_of_conjugates(self: Tensor, tensor: Tensor) -> Tensor:
    if not is_conj(self):
        return vdot(ops._conj.call(tensor), self)
    if is_conj(tensor):
        second = ops._conj.call(tensor)  # C++ evaluates the last argument first
        return ops._conj.call(dot(ops._conj.call(self), second))
    return vdot(ops._conj.call(self), tensor)


def vdot(self: Tensor, other: Tensor) -> Tensor:
    """The dot product of conj(self) and other."""
    if not self._dtype.is_complex:
        return ops.dot.call(self, other)
    if is_conj(self):
        plain = ops._conj.call(self)
        return vdot(ops._conj.call(other), plain) if is_conj(other) else dot(plain, other)
    if is_conj(other):
        return ops._conj.call(dot(self, ops._conj.call(other)))
    _check_dot("vdot", self, other)
    if is_zerotensor(self) or is_zerotensor(other):
        return ops._efficientzerotensor.call((), self._dtype, None, self._device, None)
    return _product(quiet.run(array_module(self._device.type).vdot, self._array, other._array), self)


def vdot_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write ``vdot`` into ``out``, by ``fill_``."""
    return _filled(out, self, lambda: ops.vdot.call(self, other))


def _check_dot(function: str, self: Tensor, tensor: Tensor) -> None:
    ranks = (len(self._size), len(tensor._size))
    if ranks != (1, 1):
        raise RuntimeError(f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    if self._dtype is not tensor._dtype:
        raise RuntimeError(
            f"{function} : expected both vectors to have same dtype, but found {self._dtype.legacy} and "
            f"{tensor._dtype.legacy}"
        )
    (a,), (b,) = self._size, tensor._size
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, "
            f"but got {a} and {b} elements respectively"
        )
