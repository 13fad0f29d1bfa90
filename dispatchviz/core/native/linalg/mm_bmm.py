"""Matrix multiplication: ``mm``, ``addmm``, ``bmm``, ``baddbmm`` (``aten/src/ATen/native/LinearAlgebra.cpp``). Products
with vectors are in ``mv_dot.py``.

Each product is one call into the array library. The operators that PyTorch calls to prepare matrices for BLAS are
called here too: on the CPU ``resolve_conj`` or a copy for each matrix, depending on its strides.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import check_same_device
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.tensor.conj_neg_bits import resolved
from dispatchviz.core.tensor.dtype import Category, bool_, type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides

# -- mm ----------------------------------------------------------------------------------------------------------------


def mm_meta(op: Structured, self: Tensor, mat2: Tensor) -> None:
    """The shape [n, p] of a product of [n, m] and [m, p]."""
    if len(self._size) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2._size) != 2:
        raise RuntimeError("mat2 must be a matrix")
    (n, m), (other, p) = self._size, mat2._size
    if m != other:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{m} and {other}x{p})")
    set_contiguous(op, (n, p), self)


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


def _gemm_cpu(self: Tensor, mat2: Tensor, out: Tensor, beta: Scalar = 0, alpha: Scalar = 1) -> None:
    """The product on the CPU (``addmm_impl_cpu_``).

    BLAS requires column-major matrices; a row-major result is the transposed product.
    """
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
    multiply(*((second, first) if swapped else (first, second)), result, None if alpha == 1 else alpha, beta)
    if result is not out:
        ops.copy_.call(out, result, False)


def _column_major(out: Tensor) -> Tensor:
    rows_first = ops.contiguous.call(ops.transpose_int.call(out, 0, 1), "contiguous_format")
    return ops.transpose_.call(rows_first, 0, 1)


def _blas_matrix(matrix: Tensor, swapped: bool) -> Tensor:
    """A matrix with unit stride in one dimension and no overlap: the given one, or a copy."""
    fast, slow = (1, 0) if swapped else (0, 1)
    if matrix._stride[fast] == 1 and matrix._stride[slow] >= max(1, matrix._size[fast]):
        return ops.resolve_conj.call(matrix)
    if matrix._stride[slow] == 1 and matrix._stride[fast] >= max(1, matrix._size[slow]):
        return matrix
    return ops.clone.call(matrix, "contiguous_format")


def _gemm_cuda(self: Tensor, mat2: Tensor, out: Tensor, beta: Scalar = 0, alpha: Scalar = 1) -> None:
    """The product on CUDA. cuBLAS accepts row-major matrices; only other layouts are copied."""
    if self._dtype.category <= Category.INTEGRAL:
        raise not_implemented("addmm_cuda", self._dtype)
    multiply(_cublas_matrix(self), _cublas_matrix(mat2), out, None if alpha == 1 else alpha, beta)


def _cublas_matrix(matrix: Tensor) -> Tensor:
    (rows, columns), (row_step, column_step) = matrix._size, matrix._stride
    row_major = column_step == 1 and row_step >= max(1, columns)
    column_major = row_step == 1 and column_step >= max(1, rows)
    return matrix if row_major or column_major else ops.clone.call(matrix, "contiguous_format")


def multiply(self: Tensor, other: Tensor, out: Tensor, scale: Any = None, beta: Scalar = 0) -> None:
    """Write beta * out + scale * (self @ other) into ``out``; half and bfloat16 are summed as float32."""
    xp = array_module(out._device.type)
    dtype = accumulated(self._dtype)
    product = quiet.run(xp.matmul, converted(resolved(self), dtype), converted(resolved(other), dtype))
    if scale is not None:
        product = quiet.run(xp.multiply, product, dtype.numpy.type(scale))
    if beta != 0:
        old = converted(out._array, dtype)
        product = quiet.run(lambda: product + (old if beta == 1 else old * dtype.numpy.type(beta)))
    store(out, product)


# -- addmm -------------------------------------------------------------------------------------------------------------


def addmm_meta(op: Structured, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar) -> None:
    """The shape [n, p], to which self can be expanded, plus [n, m] times [m, p]."""
    for name, tensor in (("self", self), ("mat1", mat1)):
        if tensor._dtype is not mat2._dtype:
            found = f"{tensor._dtype.legacy} and {mat2._dtype.legacy}"
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {found}")
    for name, tensor in (("mat1", mat1), ("mat2", mat2)):
        if len(tensor._size) != 2:
            raise RuntimeError(f"{name} must be a matrix, got {len(tensor._size)}-D tensor")
    (n, m), (other, p) = mat1._size, mat2._size
    if m != other:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{m} and {other}x{p})")
    if beta != 0:
        check_same_device(mat1, self)
    set_contiguous(op, (n, p), mat1)


def addmm_out(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> None:
    """beta * self + alpha * (mat1 @ mat2); if beta is 0, the contents of self are ignored

    CUDA copies by a function that is not an operator, and passes a vector to cuBLASLt as it is (``cuda/Blas.cpp``).
    """
    on_cuda = out._device.type == "cuda"
    by_lt = on_cuda and _takes_bias(self, mat2, beta, out)
    added = self if self._size == out._size or by_lt else ops.expand.call(self, out._size, True)
    if 0 in out._size:
        return
    if beta != 0 and self is not out:
        if on_cuda:
            store(out, array_module("cuda").broadcast_to(added._array, out._size))
        else:
            ops.copy_.call(out, added, False)
    if 0 in mat1._size:
        if beta == 0:
            ops.zero_.call(out)
        else:
            ops.mul__Scalar.call(out, beta)
        return
    gemm = _gemm_cpu if out._device.type == "cpu" else _gemm_cuda
    gemm(mat1, mat2, out, convert(beta, mat1._dtype), convert(alpha, mat1._dtype))


def _takes_bias(self: Tensor, mat2: Tensor, beta: Scalar, out: Tensor) -> bool:
    """Return whether cuBLASLt adds self as a bias with one number per column (``isInputCompliesAddmmCudaLt``)."""
    return (
        beta == 1
        and self._size == mat2._size[1:]
        and self._is_contiguous
        and out._is_contiguous
        and self._dtype.is_floating_point
        and min(mat2._size) > 1
    )


def _addmm_activation_meta(
    op: Structured, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar, use_gelu: bool
) -> None:
    """The shape and dtype of ``addmm``."""
    addmm_meta(op, self, mat1, mat2, beta, alpha)


def addmm_activation_out(
    self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar, use_gelu: bool, out: Tensor
) -> None:
    """``addmm``, then gelu or relu in place. On CUDA, cuBLAS computes gelu by its tanh approximation."""
    addmm_out(self, mat1, mat2, beta, alpha, out)
    if use_gelu:
        ops.gelu_.call(out, approximate="none" if out._device.type == "cpu" else "tanh")
    else:
        ops.relu_.call(out)


# -- bmm ---------------------------------------------------------------------------------------------------------------


def bmm_meta(op: Structured, self: Tensor, mat2: Tensor) -> None:
    """The shape [b, n, p] of a product of [b, n, m] and [b, m, p]."""
    set_contiguous(op, _batches(self, mat2), mat2)


def _batches(self: Tensor, mat2: Tensor) -> Size:
    """The size of the product. Raise RuntimeError if the shapes do not fit."""
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
    return batch, n, mat2._size[2]


def bmm_out(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    """A matrix product for each member of the batch.

    NB: in PyTorch, products of 400 multiplications and more that MKL cannot compute directly (integers, half, irregular
    strides) go through ``select`` and ``mm`` one by one. Here all members are multiplied in one call.
    """
    if out._device.type == "cpu":
        mat2 = ops.resolve_conj.call(mat2)  # C++ evaluates arguments from right to left
        self = ops.resolve_conj.call(self)
    if 0 in out._size:
        return
    if 0 in self._size:
        ops.zero_.call(out)
        return
    if self._dtype is not mat2._dtype:
        raise RuntimeError(f"expected scalar type {self._dtype.legacy} but found {mat2._dtype.legacy}")
    if self._dtype is bool_ or (out._device.type == "cuda" and self._dtype.category <= Category.INTEGRAL):
        raise not_implemented("bmm" if out._device.type == "cpu" else "baddbmm_cuda", self._dtype)
    if out._device.type == "cuda":
        self, mat2 = _cublas_batches(self, mat2, out)
    multiply(self, mat2, out)


def _cublas_batches(self: Tensor, mat2: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """Both batches prepared for cuBLAS (``prepare_batch_matrix_for_cublas`` of ``cuda/Blas.cpp``); a row-major result
    is the transposed product.

    NB: in PyTorch, a result that is neither row-major nor column-major is computed in a copy.
    """
    rows, columns = out._size[1:]
    if out._stride[1] == 1 and (columns == 1 or out._stride[2] >= max(1, rows)):
        inner = self._size[2]
        return _cublas_batch(self, 1, (rows, inner)), _cublas_batch(mat2, 1, (inner, columns))
    inner = mat2._size[1]
    mat2 = _cublas_batch(mat2, 2, (columns, inner))
    return _cublas_batch(self, 2, (inner, rows)), mat2


def _cublas_batch(batch: Tensor, fast: int, least: tuple[int, int]) -> Tensor:
    """A batch whose matrices have unit stride in one dimension and no overlap: the given one, or a copy."""
    slow = 3 - fast
    for unit, other, length in ((fast, slow, least[0]), (slow, fast, least[1])):
        if batch._stride[unit] == 1 and batch._stride[other] >= max(1, length):
            return batch
    if batch._is_contiguous and 0 not in batch._stride[1:]:
        return batch
    return ops.clone.call(batch, "contiguous_format")


# -- baddbmm -----------------------------------------------------------------------------------------------------------


def baddbmm_meta(op: Structured, self: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar) -> None:
    """The shape [b, n, p], to which self can be expanded, plus [b, n, m] times [b, m, p]."""
    set_contiguous(op, _batches(batch1, batch2), self)
    if self._dtype is not batch1._dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {self._dtype.legacy.lower()}, batch1: "
            f"{batch1._dtype.legacy.lower()}, batch2: {batch2._dtype.legacy.lower()}"
        )


def baddbmm_out(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> None:
    """beta * self + alpha * (batch1 @ batch2); if beta is 0, the contents of self are ignored"""
    added = self if self._size == out._size else ops.expand.call(self, out._size, True)
    if beta != 0 and self is not out:
        ops.copy_.call(out, added, False)
    if out._device.type == "cpu":
        batch2 = ops.resolve_conj.call(batch2)
        batch1 = ops.resolve_conj.call(batch1)
    if 0 in out._size:
        return
    scale = None if alpha == 1 else convert(alpha, batch1._dtype)
    multiply(batch1, batch2, out, scale, convert(beta, batch1._dtype))


# -- shared ------------------------------------------------------------------------------------------------------------


def set_contiguous(op: Structured, size: Size, like: Tensor) -> None:
    """Set a contiguous output with the dtype and device of an input."""
    op.set_output_raw_strided(size, contiguous_strides(size), like._dtype, like._device)
