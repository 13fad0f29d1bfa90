"""``multi_dot``, ``matrix_power``, ``kron``, ``inner``, ``vecdot``, ``tensorinv`` and others that are composed of
products (``LinearAlgebra.cpp``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dispatchviz.core.call.structured import resize_in_order
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.conj import conj
from dispatchviz.core.native.linalg.matrix_checks import (
    check_floating_or_complex,
    check_linalg_compatible_dtype,
    check_same_device,
    square_check_inputs,
)
from dispatchviz.core.tensor.dtype import int64, type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.thread.warning import warn_python_once

# -- aliases -----------------------------------------------------------------------------------------------------------


def linalg_matmul(self: Tensor, other: Tensor) -> Tensor:
    """An alias of ``matmul``."""
    return ops.matmul.call(self, other)


def linalg_matmul_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_matmul``."""
    return ops.matmul_out.call(self, other, out)


def linalg_diagonal(A: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """``diagonal``, by default of the last two dimensions."""
    return ops.diagonal.call(A, offset, dim1, dim2)


# -- matrix_power ------------------------------------------------------------------------------------------------------


def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """The power by repeated squaring; a negative power is that of the inverse."""
    square_check_inputs(self, "linalg.matrix_power")
    if n == 0:
        copy = ops.clone.call(self, "contiguous_format")
        identity = ops.eye.call(self._size[-2], self._dtype, "strided", self._device, None)
        return ops.copy_.call(copy, identity, False)
    if n == 1:
        return ops.clone.call(self, "contiguous_format")
    if n == -1:
        return ops.linalg_inv.call(self)
    base = ops.linalg_inv.call(self) if n < 0 else self
    if abs(n) == 2:
        return ops.matmul.call(base, base)
    if abs(n) == 3:
        return ops.matmul.call(ops.matmul.call(base, base), base)
    product, square = _last_squares(base, abs(n))
    return square if product is None else ops.matmul.call(product, square)


def _last_squares(base: Tensor, n: int) -> tuple[Tensor | None, Tensor]:
    """The factors of the last multiplication: the product for the lower binary digits, or None, and the largest
    square.
    """
    square, product = base, None
    while n > 1:
        n, bit = divmod(n, 2)
        if bit:
            product = square if product is None else ops.matmul.call(product, square)
        square = ops.matmul.call(square, square)
    return product, square


def linalg_matrix_power_out(self: Tensor, n: int, out: Tensor) -> Tensor:
    """Write ``linalg_matrix_power`` into ``out``, which receives the last product directly."""
    square_check_inputs(self, "linalg.matrix_power")
    check_same_device("matrix_power", out, self)
    check_linalg_compatible_dtype("matrix_power", out, self._dtype)
    resize_in_order(out, self._size)
    if n == 0:
        identity = ops.eye.call(self._size[-2], self._dtype, "strided", self._device, None)
        return ops.copy_.call(out, identity, False)
    if n == 1:
        return ops.copy_.call(out, self, False)
    if n == -1:
        return ops.linalg_inv_out.call(self, out)
    base = ops.linalg_inv.call(self) if n < 0 else self
    if abs(n) == 2:
        return ops.matmul_out.call(base, base, out)
    if abs(n) == 3:
        return ops.matmul_out.call(ops.matmul.call(base, base), base, out)
    product, square = _last_squares(base, abs(n))
    return ops.copy_.call(out, square, False) if product is None else ops.matmul_out.call(product, square, out)


def matrix_power(self: Tensor, n: int) -> Tensor:
    """The old name of ``linalg_matrix_power``."""
    return linalg_matrix_power(self, n)


def matrix_power_out(self: Tensor, n: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``matrix_power``."""
    return linalg_matrix_power_out(self, n, out)


# -- multi_dot ---------------------------------------------------------------------------------------------------------


def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """A product of matrices, in the order with the fewest multiplications; the first and the last may be vectors."""
    matrices, size = _as_matrices(tensors)
    if len(matrices) == 2:
        return ops.view.call(ops.mm.call(*matrices), size)
    return ops.view.call(ops.mm.call(*_last_factors(matrices)), size)


def linalg_multi_dot_out(tensors: Sequence[Tensor], out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_multi_dot``."""
    matrices, size = _as_matrices(tensors)
    if out._dtype is not matrices[0]._dtype:
        raise RuntimeError(
            f"multi_dot(): expected out tensor to have dtype {_type_name(matrices[0])} but got {_type_name(out)}"
        )
    if out._device != matrices[0]._device:
        raise RuntimeError(
            f"multi_dot(): expected out tensor to be on device {matrices[0]._device} but got {out._device}"
        )
    resize_in_order(out, size)
    result = ops.view.call(out, (matrices[0]._size[0], matrices[-1]._size[-1]))
    first, second = matrices if len(matrices) == 2 else _last_factors(matrices)
    ops.mm_out.call(first, second, result)
    return out


def _type_name(tensor: Tensor) -> str:
    return type_meta_name(tensor._dtype)


def _as_matrices(tensors: Sequence[Tensor]) -> tuple[list[Tensor], Size]:
    """The factors with a first vector as a row and a last one as a column, and the shape of the result."""
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    matrices, size = list(tensors), []
    for index, name, dim in ((0, "first", 0), (-1, "last", -1)):
        rank = len(tensors[index]._size)
        if rank == 1:
            matrices[index] = ops.unsqueeze.call(tensors[index], dim)
        elif rank == 2:
            size.append(tensors[index]._size[index])
        else:
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {rank}D")
    for i in range(1, count - 1):
        if len(tensors[i]._size) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(tensors[i]._size)}D")
    _check_chain(matrices, tensors)
    return matrices, tuple(size)


def _check_chain(matrices: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    first = matrices[0]
    for i in range(1, len(matrices)):
        if matrices[i]._dtype is not first._dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{_type_name(first)} and tensor {i} {_type_name(matrices[i])}"
            )
        if matrices[i]._device != first._device:
            raise RuntimeError(
                f"multi_dot(): all tensors must be on the same device but tensor 0 is on {first._device} and tensor "
                f"{i} on {matrices[i]._device}"
            )
        if matrices[i - 1]._size[-1] != matrices[i]._size[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1]._size)} and "
                f"{list(tensors[i]._size)} cannot be multiplied"
            )


def _last_factors(matrices: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The factors of the last product. C++ computes the second one first."""
    if len(matrices) == 3:
        (a, b), (c, d) = matrices[0]._size, matrices[2]._size
        if a * c * (b + d) > b * d * (a + c):
            return matrices[0], ops.mm.call(matrices[1], matrices[2])
        return ops.mm.call(matrices[0], matrices[1]), matrices[2]
    order = _chain_order(matrices)
    split = order[0][-1]
    right = _chain(matrices, order, split + 1, len(matrices) - 1)
    return _chain(matrices, order, 0, split), right


def _chain(matrices: Sequence[Tensor], order: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    right = _chain(matrices, order, order[i][j] + 1, j)
    return ops.mm.call(_chain(matrices, order, i, order[i][j]), right)


def _chain_order(matrices: Sequence[Tensor]) -> list[list[int]]:
    """The best split of the product of matrices i to j, for each i and j (dynamic programming)."""
    n = len(matrices)
    sizes = [matrix._size[0] for matrix in matrices] + [matrices[-1]._size[1]]
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(costs)
            split[i][j] = i + costs.index(cost[i][j])
    return split


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The old name of ``linalg_multi_dot``, for matrices only."""
    _check_matrices(matrices, 1102)
    return ops.clone.call(matrices[0], None) if len(matrices) == 1 else linalg_multi_dot(matrices)


def chain_matmul_out(matrices: Sequence[Tensor], out: Tensor) -> Tensor:
    """The ``out=`` version of ``chain_matmul``."""
    _check_matrices(matrices, 1120)
    if len(matrices) == 1:
        resize_in_order(out, matrices[0]._size)
        return ops.copy_.call(out, matrices[0], False)
    return linalg_multi_dot_out(matrices, out)


def _check_matrices(matrices: Sequence[Tensor], line: int) -> None:
    warn_python_once(
        f"torch.chain_matmul {line}",
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        f"aten/src/ATen/native/LinearAlgebra.cpp:{line}",
    )
    for matrix in matrices:
        if len(matrix._size) != 2:
            raise RuntimeError(f"Tensor dimension is {len(matrix._size)}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")


# -- inner, vecdot -----------------------------------------------------------------------------------------------------


def inner(self: Tensor, other: Tensor) -> Tensor:
    """Sums of products along the last dimensions; a 0-dim tensor is multiplied."""
    _check_inner(self, other)
    if not self._size or not other._size:
        return ops.mul_Tensor.call(self, other)
    return ops.tensordot.call(self, other, (-1,), (-1,))


def inner_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``inner``."""
    _check_inner(self, other)
    if not self._size or not other._size:
        return ops.mul_out.call(self, other, out)
    return ops.tensordot_out.call(self, other, (-1,), (-1,), out)


def _check_inner(self: Tensor, other: Tensor) -> None:
    if self._device != other._device:
        raise RuntimeError(f"tensors must all have the same device. Found: {self._device}, {other._device}")
    if self._size and other._size and self._size[-1] != other._size[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(self._size)} and "
            f"{list(other._size)}"
        )


def linalg_vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    """The sum of conj(x) * y along a dimension."""
    _check_vecdot(x, y)
    if len(x._size) == len(y._size) == 1:
        return ops.vdot.call(x, y)
    product = ops.mul_Tensor.call(conj(x), y)
    return ops.sum_dim_IntList.call(product, (dim,), False, None)


def linalg_vecdot_out(x: Tensor, y: Tensor, dim: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_vecdot``."""
    _check_vecdot(x, y)
    if out._dtype is not x._dtype:
        raise RuntimeError(f"linalg.vecdot: Expected out of dtype{x._dtype.legacy} but found {out._dtype.legacy}")
    check_same_device("linalg.vecdot", x, out)
    if len(x._size) == len(y._size) == 1:
        resize_in_order(out, ())
        return ops.vdot_out.call(x, y, out)
    return ops.sum_IntList_out.call(ops.mul_Tensor.call(conj(x), y), (dim,), False, None, out)


def _check_vecdot(x: Tensor, y: Tensor) -> None:
    check_floating_or_complex(x, "linalg.vecdot")
    if x._dtype is not y._dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x._dtype.legacy} and y of "
            f"type {y._dtype.legacy} instead"
        )


# -- kron --------------------------------------------------------------------------------------------------------------


def kron(self: Tensor, other: Tensor) -> Tensor:
    """Each element of self times the whole of other."""
    first, second, size = _kron_views(self, other)
    return ops._unsafe_view.call(ops.mul_Tensor.call(first, second), size)


def kron_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``kron``."""
    first, second, size = _kron_views(self, other)
    resize_in_order(out, size)
    rank = len(size)
    shape = tuple(first._size[i] * second._size[i] for i in range(2 * rank))
    ops.mul_out.call(first, second, ops._unsafe_view.call(out, shape))
    return out


def _kron_views(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Size]:
    """Views of both factors in which each dimension of the result is a pair, with one dimension from each factor; and
    the shape.
    """
    rank = max(len(self._size), len(other._size))
    own, others = ((1,) * (rank - len(t._size)) + t._size for t in (self, other))
    first = ops._unsafe_view.call(self, tuple(length for one in own for length in (one, 1)))
    second = ops._unsafe_view.call(other, tuple(length for one in others for length in (1, one)))
    return first, second, tuple(a * b for a, b in zip(own, others, strict=True))


# -- tensorinv, tensorsolve --------------------------------------------------------------------------------------------


def linalg_tensorinv(self: Tensor, ind: int) -> Tensor:
    """The inverse of a matrix whose rows and columns are indexed by several dimensions."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    start, end = self._size[:ind], self._size[ind:]
    if numel(start) != numel(end):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{numel(end)} != {numel(start)}"
        )
    matrix = ops.reshape.call(self, (numel(end), numel(end)))
    result, info = ops.linalg_inv_ex.call(matrix, False)
    ops._linalg_check_errors.call(info, "inv", True)
    return ops.reshape.call(result, (*end, *start))


def linalg_tensorinv_out(self: Tensor, ind: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_tensorinv``, which copies the result."""
    return _copied("tensorinv", self, out, lambda: ops.linalg_tensorinv.call(self, ind))


def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Size | None) -> Tensor:
    """The X for which the tensor product of self and X is other."""
    rank = len(self._size)
    if dims is not None:
        self = ops.movedim_intlist.call(self, tuple(dims), tuple(range(rank - len(dims), rank)))
    size = self._size[len(other._size) :]
    if numel(size) != numel(other._size):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {numel(size)} != {numel(other._size)}"
        )
    matrix = ops.reshape.call(self, (numel(size), numel(size)))
    result = ops.linalg_solve.call(matrix, ops.flatten_using_ints.call(other, 0, -1), True)
    return ops.reshape.call(result, size)


def linalg_tensorsolve_out(self: Tensor, other: Tensor, dims: Size | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_tensorsolve``, which copies the result."""
    return _copied("tensorsolve", self, out, lambda: ops.linalg_tensorsolve.call(self, other, dims))


def _copied(function: str, self: Tensor, out: Tensor, compute: Callable[[], Tensor]) -> Tensor:
    check_same_device(function, out, self)
    check_linalg_compatible_dtype(function, out, self._dtype)
    result = compute()
    resize_in_order(out, result._size)
    return ops.copy_.call(out, result, False)


# -- vander ------------------------------------------------------------------------------------------------------------


def linalg_vander_symint(x: Tensor, N: int | None) -> Tensor:
    """The powers of each element, starting at 0."""
    if x._dtype.name in ("bool", "float16", "bfloat16"):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x._dtype.legacy}"
        )
    row = x if x._size else ops.unsqueeze.call(x, -1)
    count = row._size[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    repeated = ops.expand.call(ops.unsqueeze.call(row, -1), (*row._size, count - 1), False)
    powers = ops.cumprod.call(repeated, -1, None)
    ones = ops.new_ones.call(powers, (*row._size, 1), None, None, None, None)
    return ops.cat.call([ones, powers], -1)


def vander(x: Tensor, N: int | None, increasing: bool) -> Tensor:
    """The powers of each element of a vector, by default the highest first."""
    if len(x._size) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._size[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    dtype = x._dtype if x._dtype.can_require_grad else int64
    result = ops.empty_memory_format.call((x._size[0], count), dtype, "strided", x._device, None, None)
    if count > 0:
        ops.fill__Scalar.call(ops.select_int.call(result, 1, 0), 1)
    if count > 1:
        first = ops.slice_Tensor.call(result, 1, 1, 2**63 - 1, 1)
        ops.copy_.call(first, ops.unsqueeze.call(x, 1), False)
        rest = ops.slice_Tensor.call(result, 1, 1, 2**63 - 1, 1)
        powers = ops.cumprod.call(ops.slice_Tensor.call(result, 1, 1, 2**63 - 1, 1), 1, None)
        ops.copy_.call(rest, powers, False)
    return result if increasing else ops.flip.call(result, (1,))
