"""Argument checks of linear algebra, and ``_linalg_check_errors``, which raises LinAlgError for LAPACK's ``info``.

Mirrors ``aten/src/ATen/native/LinearAlgebraUtils.h`` and ``_linalg_check_errors`` of ``BatchLinearAlgebra.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatchviz.core.call.structured import broadcast_sizes
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.tensor.dtype import DType, can_cast, complex64, complex128, float32, float64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides


class LinAlgError(RuntimeError):
    """The error for a matrix that cannot be decomposed, inverted or solved: ``torch.linalg.LinAlgError``."""


LinAlgError.__module__ = "torch._C"
LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"

LAPACK_DTYPES = (float32, float64, complex64, complex128)

# -- arguments ---------------------------------------------------------------------------------------------------------


def check_is_matrix(tensor: Tensor, function: str, name: str = "A") -> None:
    """Raise RuntimeError for fewer than two dimensions."""
    if len(tensor._size) < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")


def square_check_inputs(tensor: Tensor, function: str, name: str = "A") -> None:
    """Raise RuntimeError unless the matrices are square."""
    check_is_matrix(tensor, function, name)
    rows, columns = tensor._size[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{function}: {name} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_inputs_solver(a: Tensor, b: Tensor, left: bool, function: str) -> None:
    """Raise RuntimeError unless A is square and B has its length on the side where they are multiplied."""
    square_check_inputs(a, function, "A")
    check_is_matrix(b, function, "B")
    index = -2 if left else -1
    if a._size[index] != b._size[index]:
        sizes = " and ".join(f"{t._size[-2]}x{t._size[-1]}" for t in (a, b))
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{function}: Incompatible shapes of A and B for the equation {equation} ({sizes})")


def check_floating_or_complex(tensor: Tensor, function: str, low_precision: bool = True) -> None:
    """Raise RuntimeError for integers, and for half and bfloat16 where they are not allowed."""
    dtype = tensor._dtype
    if not dtype.can_require_grad:
        raise RuntimeError(f"{function}: Expected a floating point or complex tensor as input. Got {dtype.legacy}")
    if not low_precision and dtype not in LAPACK_DTYPES:
        raise RuntimeError(f"{function}: Low precision dtypes not supported. Got {dtype.legacy}")


def check_lapack_dtype(kernel: str, dtype: DType) -> None:
    """Raise NotImplementedError for a dtype that LAPACK does not have."""
    if dtype not in LAPACK_DTYPES:
        raise not_implemented(kernel, dtype)


def check_same_device(function: str, result: Tensor, input: Tensor, name: str = "result") -> None:
    """Raise RuntimeError if an output is on another device."""
    if result._device != input._device:
        raise RuntimeError(
            f"{function}: Expected {name} and input tensors to be on the same device, but got {name} on "
            f"{result._device} and input on {input._device}"
        )


def check_linalg_compatible_dtype(function: str, result: Tensor, dtype: DType, name: str = "result") -> None:
    """Raise RuntimeError if an output cannot hold the dtype."""
    if not can_cast(dtype, result._dtype):
        raise RuntimeError(
            f"{function}: Expected {name} to be safely castable from {dtype.legacy} dtype, but got {name} with dtype "
            f"{result._dtype.legacy}"
        )


def linear_solve_check_inputs(self: Tensor, a: Tensor, name: str) -> None:
    """Raise RuntimeError unless A is square and has the length of b."""
    if self._device != a._device:
        raise RuntimeError(
            f"Expected b and A to be on the same device, but found b on {self._device} and A on {a._device} instead."
        )
    rows, columns = a._size[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if columns != self._size[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {columns} by {columns} but each b matrix is "
            f"{self._size[-2]} by {self._size[-1]}"
        )


def is_vector_rhs(a: Tensor, b: Tensor) -> bool:
    """Return whether b is a vector, or one vector for each matrix (``linalg_solve_is_vector_rhs``)."""
    return len(b._size) == 1 or (len(a._size) - 1 == len(b._size) and b._size == a._size[:-1])


# -- geometry ----------------------------------------------------------------------------------------------------------


def column_major_strides(size: Size) -> Size:
    """The strides of matrices with contiguous columns, as LAPACK requires (``batched_matrix_contiguous_strides``)."""
    strides = contiguous_strides(size)
    return (*strides[:-2], 1, max(size[-2], 1)) if len(size) > 1 else strides


def clone_batched_column_major(source: Tensor) -> Tensor:
    """A copy whose matrices are column-major."""
    copy = ops.clone.call(ops.mT.call(source), "contiguous_format")
    return ops.transpose_.call(copy, -2, -1)


def broadcast_batch_sizes(one: Tensor, other: Tensor) -> tuple[Size, Size]:
    """Both sizes with broadcast batch dimensions. Raise RuntimeError if they cannot be broadcast."""
    batch = broadcast_sizes(one._size[:-2], other._size[:-2])
    return (*batch, *one._size[-2:]), (*batch, *other._size[-2:])


def broadcast_batch_dims(one: Tensor, other: Tensor, name: str | None) -> tuple[Tensor, Tensor]:
    """Both tensors with broadcast batch dimensions (``_linalg_broadcast_batch_dims``); with a name they are checked
    first.
    """
    if name is not None:
        linear_solve_check_inputs(one, other, name)
    sizes = broadcast_batch_sizes(one, other)
    first = one if one._size == sizes[0] else ops.expand.call(one, sizes[0], False)
    return first, other if other._size == sizes[1] else ops.expand.call(other, sizes[1], False)


# -- failures ----------------------------------------------------------------------------------------------------------


def _linalg_check_errors(info: Tensor, api_name: str, is_matrix: bool) -> None:
    """Raise LinAlgError, or RuntimeError for a singular LU factorization, for the first matrix that failed."""
    if info._device.type == "meta" or not ops.item.call(ops.any.call(info)):
        return
    code, where = _first_failure(info, is_matrix)
    name = api_name + where
    if code < 0 and "svd" in api_name:
        why = "the input matrix contained non-finite values."
        raise LinAlgError(f"{name}: The algorithm failed to converge because {why}")
    assert code > 0, "no kernel calls LAPACK with a wrong argument"
    for substring, error in _FAILURES:
        if substring in api_name:
            raise error(name, code)
    raise AssertionError(f"{api_name}: Unknown error code: {code}.")


def _first_failure(info: Tensor, is_matrix: bool) -> tuple[int, str]:
    if is_matrix:
        return int(ops.item.call(info).real), ""
    codes = ops.to_dtype_layout.call(info, None, None, info._device, None, False, False, None)._array.reshape(-1)
    index = next(i for i, code in enumerate(codes) if code)
    return int(codes[index]), f": (Batch element {index})"


def _singular_inverse(name: str, code: int) -> Exception:
    return LinAlgError(
        f"{name}: The diagonal element {code} is zero, the inversion could not be completed because the input matrix "
        "is singular."
    )


def _singular_solve(name: str, code: int) -> Exception:
    return LinAlgError(f"{name}: The solver failed because the input matrix is singular.")


def _not_positive(name: str, code: int) -> Exception:
    return LinAlgError(
        f"{name}: The factorization could not be completed because the input is not positive-definite (the leading "
        f"minor of order {code} is not positive-definite)."
    )


def _not_converged(values: str) -> Callable[[str, int], Exception]:
    def error(name: str, code: int) -> Exception:
        why = f"the input matrix is ill-conditioned or has too many repeated {values} (error code: {code})."
        return LinAlgError(f"{name}: The algorithm failed to converge because {why}")

    return error


def _no_full_rank(name: str, code: int) -> Exception:
    return LinAlgError(
        f"{name}: The least squares solution could not be computed because the input matrix does not have full rank "
        f"(error code: {code})."
    )


def _zero_pivot(name: str, code: int) -> Exception:
    return RuntimeError(
        f"{name}: U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. If you still "
        "want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


_FAILURES: tuple[tuple[str, Callable[[str, int], Exception]], ...] = (
    ("inv", _singular_inverse),
    ("solve", _singular_solve),
    ("cholesky", _not_positive),
    ("svd", _not_converged("singular values")),
    ("eig", _not_converged("eigenvalues")),
    ("syevd", _not_converged("eigenvalues")),
    ("lstsq", _no_full_rank),
    ("lu_factor", _zero_pivot),
)
"""The meaning of a positive ``info``, by a part of the function's name; the first match counts."""
