"""Products of matrices and vectors (``aten/src/ATen/native/{LinearAlgebra,Blas}.cpp``); ``matmul.py`` chooses one.

The products themselves are one call into the array library. What PyTorch does around them to hand matrices to BLAS is
kept where it calls operators: on the CPU ``resolve_conj`` or a copy for each matrix, depending on its strides.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import DType, bool_, float16, float32
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import converted, not_implemented, quiet, store
from dispatchviz.core.native.scalars import Scalar, convert, type_meta_name
from dispatchviz.core.structured import Structured, resize
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides, numel

# -- mm ----------------------------------------------------------------------------------------------------------------


def mm_meta(op: Structured, self: Tensor, mat2: Tensor) -> None:
    """[n, m] times [m, p] is [n, p]."""
    if len(self._size) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2._size) != 2:
        raise RuntimeError("mat2 must be a matrix")
    (n, m), (other, p) = self._size, mat2._size
    if m != other:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{m} and {other}x{p})")
    _check_device("mm", self=self, mat2=mat2)
    set_contiguous_output(op, (n, p), self)


def mm_out(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    """self @ mat2"""
    if self._dtype is not mat2._dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {type_meta_name(self._dtype)} != "
            f"{type_meta_name(mat2._dtype)}"
        )
    if 0 in out._size:
        return
    if 0 in self._size:
        ops.zero_.call(out)
    elif out._device.type == "cpu":
        _gemm_cpu(self, mat2, out)
    else:
        _gemm_cuda(self, mat2, out)


def _gemm_cpu(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    """``addmm_impl_cpu_``: BLAS wants column-major matrices; a row-major result is the transposed product."""
    rows, columns = out._size
    if out._stride[0] == 1 and (columns == 1 or out._stride[1] >= max(1, rows)):
        result, swapped = ops.resolve_conj.call(out), False
    elif out._stride[1] == 1 and (rows == 1 or out._stride[0] >= max(1, columns)):
        result, swapped = ops.resolve_conj.call(out), True
    else:
        result, swapped = _column_major(ops.resolve_conj.call(out)), False
    first, second = (mat2, self) if swapped else (self, mat2)
    first, second = _blas_matrix(first, swapped), _blas_matrix(second, swapped)
    if self._dtype is bool_:
        raise not_implemented("addmm_impl_cpu_", self._dtype)
    multiply(*((second, first) if swapped else (first, second)), result)
    if result is not out:
        ops.copy_.call(out, result, False)


def _column_major(out: Tensor) -> Tensor:
    rows_first = ops.contiguous.call(ops.transpose_int.call(out, 0, 1), "contiguous_format")
    return ops.transpose_.call(rows_first, 0, 1)


def _blas_matrix(matrix: Tensor, swapped: bool) -> Tensor:
    """A matrix with unit stride in one dimension and no overlap: itself, or a copy."""
    fast, slow = (1, 0) if swapped else (0, 1)
    if matrix._stride[fast] == 1 and matrix._stride[slow] >= max(1, matrix._size[fast]):
        return ops.resolve_conj.call(matrix)
    if matrix._stride[slow] == 1 and matrix._stride[fast] >= max(1, matrix._size[slow]):
        return matrix
    return ops.clone.call(matrix, "contiguous_format")


def _gemm_cuda(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    """cuBLAS takes row-major matrices by itself; only others are copied."""
    if self._dtype.category <= 1:
        raise not_implemented("addmm_cuda", self._dtype)
    multiply(_cublas_matrix(self), _cublas_matrix(mat2), out)


def _cublas_matrix(matrix: Tensor) -> Tensor:
    (rows, columns), (row_step, column_step) = matrix._size, matrix._stride
    row_major = column_step == 1 and row_step >= max(1, columns)
    column_major = row_step == 1 and column_step >= max(1, rows)
    return matrix if row_major or column_major else ops.clone.call(matrix, "contiguous_format")


def multiply(self: Tensor, other: Tensor, out: Tensor, scale: Any = None) -> None:
    """The product of two tensors' arrays into out; half is added up as float."""
    xp = array_module(out._device.type)
    dtype = float32 if self._dtype is float16 else self._dtype
    product = quiet.run(xp.matmul, converted(self._array, dtype), converted(other._array, dtype))
    store(out, product if scale is None else quiet.run(xp.multiply, product, dtype.numpy.type(scale)))


# -- bmm ---------------------------------------------------------------------------------------------------------------


def bmm_meta(op: Structured, self: Tensor, mat2: Tensor) -> None:
    """[b, n, m] times [b, m, p] is [b, n, p]."""
    if len(self._size) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(mat2._size) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    batch, n, m = self._size
    if mat2._size[:2] != (batch, m):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {m}] but got: "
            f"[{mat2._size[0]}, {mat2._size[1]}]."
        )
    _check_device("bmm", self=self, mat2=mat2)
    set_contiguous_output(op, (batch, n, mat2._size[2]), mat2)


def bmm_out(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    """A matrix product for each member of the batch.

    NB: in PyTorch, products of 400 multiplications and more that MKL cannot take as they are (integers, half, odd
    strides) go through ``select`` and ``mm`` one by one; here all members are multiplied in one call.
    """
    if out._device.type == "cpu":
        self, mat2 = ops.resolve_conj.call(self), ops.resolve_conj.call(mat2)
    if 0 in out._size:
        return
    if 0 in self._size:
        ops.zero_.call(out)
        return
    if self._dtype is not mat2._dtype:
        raise RuntimeError(f"expected scalar type {self._dtype.legacy} but found {mat2._dtype.legacy}")
    if self._dtype is bool_:
        raise not_implemented("bmm", self._dtype)
    multiply(self, mat2, out)


# -- mv, addmv ---------------------------------------------------------------------------------------------------------


def mv(self: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector, by ``addmv_`` on fresh memory."""
    result = ops.empty_memory_format.call(self._size[:1], vec._dtype, None, vec._device, None, None)
    return ops.addmv_.call(result, self, vec, 0, 1)


def mv_out(self: Tensor, vec: Tensor, out: Tensor) -> Tensor:
    """A matrix times a vector, into out."""
    added = out
    if out._size != self._size[:1]:
        added = ops.empty_memory_format.call(self._size[:1], vec._dtype, None, vec._device, None, None)
    return ops.addmv_out.call(added, self, vec, 0, 1, out)


def addmv_meta(op: Structured, self: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar) -> None:
    """[n] + [n, m] @ [m] is [n]; self may have one element or be 0-dim."""
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
    _check_device("addmv", self=self, mat=mat, vec=vec)
    set_contiguous_output(op, mat._size[:1], vec)


def addmv_out(self: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> None:
    """beta * self + alpha * (mat @ vec); with beta 0 what self holds does not matter"""
    if self._size != mat._size[:1]:
        self = ops.expand.call(self, mat._size[:1], False)
    if 0 in mat._size:
        if beta == 0:
            ops.zero_.call(out)
        else:
            store(out, _scaled(self._array, beta, self._dtype))
        return
    if mat._dtype is bool_ or (mat._device.type == "cuda" and mat._dtype.category <= 1):
        raise not_implemented(f"addmv_impl_{mat._device.type}", mat._dtype)
    added = None if beta == 0 else _scaled(self._array, beta, self._dtype).copy()
    multiply(_blas_operand(mat), vec, out, None if alpha == 1 else convert(alpha, mat._dtype))
    if added is not None:
        store(out, quiet.run(lambda: out._array + added))


def _scaled(array: Any, factor: Scalar, dtype: DType) -> Any:
    return quiet.run(lambda: array * dtype.numpy.type(convert(factor, dtype)))


def _blas_operand(mat: Tensor) -> Tensor:
    (rows, columns), (row_step, column_step) = mat._size, mat._stride
    column_major = row_step == 1 and (columns == 1 or column_step >= max(1, rows))
    row_major = column_step == 1 and (rows == 1 or row_step >= max(1, columns))
    if column_major or row_major or mat._is_contiguous:
        return mat
    return ops.contiguous.call(mat, "contiguous_format")


def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """Every element of one vector times every element of the other."""
    for name, vector in (("self", self), ("vec2", vec2)):
        if len(vector._size) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(vector._size)}-D")
    return ops.mul_Tensor.call(ops.reshape.call(self, (self._size[0], 1)), vec2)


def ger(self: Tensor, vec2: Tensor) -> Tensor:
    """The old name of ``outer``."""
    return ops.outer.call(self, vec2)


# -- dot ---------------------------------------------------------------------------------------------------------------


def dot(self: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements."""
    _check_dot(self, tensor)
    if self._dtype is bool_:
        raise not_implemented("dot", self._dtype)
    xp = array_module(self._device.type)
    dtype = float32 if self._dtype is float16 else self._dtype
    value = quiet.run(xp.dot, converted(self._array, dtype), converted(tensor._array, dtype))
    result = ops.empty_memory_format.call((), self._dtype, None, self._device, None, None)
    if self._device.type == "cpu":  # BLAS returns a number; cuBLAS writes it into the tensor's memory
        return ops.fill__Scalar.call(result, converted(value, self._dtype).item())
    store(result, value)
    return result


def dot_out(self: Tensor, tensor: Tensor, out: Tensor) -> Tensor:
    """Into out, by ``dot`` and ``fill_``."""
    if out._dtype is not self._dtype:
        raise RuntimeError(f"result dtype {out._dtype.legacy} does not match input dtype {self._dtype.legacy}")
    if out._size:
        resize(out, (), ())
    return ops.fill__Tensor.call(out, ops.dot.call(self, tensor))


def _check_dot(self: Tensor, tensor: Tensor) -> None:
    ranks = (len(self._size), len(tensor._size))
    if ranks != (1, 1):
        raise RuntimeError(f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    if self._dtype is not tensor._dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {self._dtype.legacy} and {tensor._dtype.legacy}"
        )
    (a,), (b,) = self._size, tensor._size
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, but got "
            f"{a} and {b} elements respectively"
        )
    _check_device("dot", self=self, tensor=tensor)


# -- shared ------------------------------------------------------------------------------------------------------------


def set_contiguous_output(op: Structured, size: Size, like: Tensor) -> None:
    """A contiguous output of the dtype and device of an input. RuntimeError if an out= tensor has another dtype."""
    if op.variant != "functional" and op.output._dtype is not like._dtype:
        found, expected = type_meta_name(op.output._dtype), type_meta_name(like._dtype)
        raise RuntimeError(f"Expected out tensor to have dtype {expected}, but got {found} instead")
    op.set_output_raw_strided(size, contiguous_strides(size), like._dtype, like._device)


def _check_device(function: str, **tensors: Tensor) -> None:
    """``common_device_check``: the wrappers of kernels that have no TensorIterator check it for them.

    NB: in PyTorch, a CPU-only build has no such check in its CPU wrappers.
    """
    common = next(iter(tensors.values()))._device
    for name, tensor in tensors.items():
        if tensor._device != common:
            key = "CUDA" if "cuda" in (common.type, tensor._device.type) else "Meta"
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got {name} is on {tensor._device}, different from "
                f"other tensors on {common} (when checking argument in method wrapper_{key}_{function})"
            )
