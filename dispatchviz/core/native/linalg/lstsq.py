"""``linalg.lstsq``: least squares (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.call.structured import broadcast_sizes
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg.cholesky import copied
from dispatchviz.core.native.linalg.lapack_least_squares import least_squares
from dispatchviz.core.native.linalg.matrix_checks import (
    check_lapack_dtype,
    check_linalg_compatible_dtype,
    check_same_device,
    column_major_strides,
    is_vector_rhs,
)
from dispatchviz.core.tensor.conj_neg_bits import resolved
from dispatchviz.core.tensor.dtype import bool_, int32, int64, real_type
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Results = tuple[Tensor, Tensor, Tensor, Tensor]
"""The solution [*, n, k] or [*, n], residuals [*, k], rank [*], singular values [*, min(m, n)]; empty if not
computed.
"""

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
"""LAPACK's drivers. ``gels`` assumes full rank; ``gelss`` and ``gelsd`` return singular values."""

WITH_VALUES = ("gelsd", "gelss")


def linalg_lstsq(self: Tensor, b: Tensor, rcond: float | None, driver: str | None) -> Results:
    """The X for which self @ X is closest to b."""
    outputs = _empty_results(self)
    return ops.linalg_lstsq_out.call(self, b, rcond, driver, *outputs)


def _empty_results(self: Tensor) -> Results:
    real = real_type(self._dtype)
    solution, residuals, rank, values = (
        ops.empty_memory_format.call((0,), dtype, "strided", self._device, None, None)
        for dtype in (self._dtype, real, int64, real)
    )
    return solution, residuals, rank, values


def linalg_lstsq_out(
    self: Tensor,
    b: Tensor,
    rcond: float | None,
    driver: str | None,
    solution: Tensor,
    residuals: Tensor,
    rank: Tensor,
    singular_values: Tensor,
) -> Results:
    """Compute ``linalg_lstsq`` in the outputs if they are empty or have the right shapes and strides, otherwise in
    copies.
    """
    outputs = solution, residuals, rank, singular_values
    matrix = _checked(self, b)
    _check_outputs(self, b, outputs)
    name = _driver(driver, self)
    limit = float(numpy.finfo(self._dtype.numpy).eps) * max(self._size[-2:]) if rcond is None else rcond
    info = ops.zeros.call((max(1, numel(self._size[:-2])),), int32, "strided", self._device, None)
    if _usable(self, b, matrix, outputs, name):
        _solve(self, b, limit, name, outputs, info)
    else:
        made = _empty_results(self)
        _solve(self, b, limit, name, made, info)
        for output, part in zip(outputs, made, strict=True):
            copied(output, part)
    ops._linalg_check_errors.call(info, "torch.linalg.lstsq", numel(info._size) <= 1)
    return outputs


# -- checks ------------------------------------------------------------------------------------------------------------


def _checked(self: Tensor, b: Tensor) -> Tensor:
    """b as matrices. Raise RuntimeError if the arguments do not fit."""
    function = "torch.linalg.lstsq"
    if len(self._size) < 2:
        raise RuntimeError(f"{function}: input must have at least 2 dimensions.")
    if not b._size:
        raise RuntimeError(f"{function}: other must have at least 1 dimension.")
    if self._dtype is not b._dtype:
        raise RuntimeError(
            f"{function}: Expected input and other to have the same dtype, but got input's dtype "
            f"{self._dtype.legacy} and other's dtype {b._dtype.legacy}"
        )
    apart = len(self._size) - len(b._size)
    if apart not in (0, 1):
        raise RuntimeError(
            f"{function}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    matrix = ops.unsqueeze.call(b, -1) if apart else b
    if self._size[-2] != matrix._size[-2]:
        raise RuntimeError(f"{function}: input.size(-2) should match other.size({-1 if apart else -2})")
    return matrix


def _check_outputs(self: Tensor, b: Tensor, outputs: Results) -> None:
    function, real = "torch.linalg.lstsq", real_type(self._dtype)
    names = ("solution", "residuals", "rank", "singular_values")
    for name, tensor in (("other", b), *zip(names, outputs, strict=True)):
        check_same_device(function, tensor, self, name)
    shown = ("solution", "solution", "rank", "singular_values")
    for name, dtype, tensor in zip(shown, (self._dtype, real, int64, real), outputs, strict=True):
        check_linalg_compatible_dtype(function, tensor, dtype, name)


def _driver(driver: str | None, self: Tensor) -> str:
    on_cpu = self._device.type == "cpu"
    if driver is None:
        return "gelsy" if on_cpu else "gels"
    name = driver.lower()
    if on_cpu and name not in DRIVERS:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if not on_cpu and name != "gels":
        raise RuntimeError("torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA")
    return name


def _usable(self: Tensor, b: Tensor, matrix: Tensor, outputs: Results, driver: str) -> bool:
    """Return whether LAPACK may write to the outputs."""
    solution, _, rank, values = outputs
    expected = (*broadcast_sizes(self._size[:-2], matrix._size[:-2]), max(self._size[-2:]))
    vectors = is_vector_rhs(self, b)
    if vectors:
        ordered = solution._is_contiguous
    else:
        ordered = len(solution._size) >= 2 and ops.mT.call(solution)._is_contiguous
        expected += (b._size[-1],) if len(b._size) > 2 else ()
    fit = solution._dtype is self._dtype and _empty_or(solution, expected, ordered)
    if driver != "gels":
        fit = fit and rank._dtype is int64 and _empty_or(rank, self._size[:-2], rank._is_contiguous)
    if driver in WITH_VALUES:
        wanted = (*self._size[:-2], min(self._size[-2:]))
        right = values._dtype is real_type(self._dtype)
        fit = fit and right and _empty_or(values, wanted, values._is_contiguous)
    return fit


def _empty_or(output: Tensor, size: Size, ordered: bool) -> bool:
    return 0 in output._size or (ordered and output._size == size)


# -- the solution ------------------------------------------------------------------------------------------------------


def _solve(self: Tensor, b: Tensor, rcond: float, driver: str, outputs: Results, info: Tensor) -> None:
    """Solve, and write all results (``linalg_lstsq_out_info``)."""
    solution, residuals, rank, values = outputs
    (m, n), vectors = self._size[-2:], is_vector_rhs(self, b)
    matrix = ops.unsqueeze.call(b, -1) if vectors else b
    _resize_solution(solution, self, matrix, vectors)
    if not vectors:
        ops.mT.call(solution)  # PyTorch asserts that it is column-major
    else:
        ops.unsqueeze_.call(solution, -1)
    ops.copy_.call(ops.narrow.call(solution, -2, 0, m), matrix, False)
    if 0 in rank._size and driver != "gels":
        ops.resize_.call(rank, self._size[:-2], "contiguous_format")
    if 0 in values._size and driver in WITH_VALUES:
        ops.resize_.call(values, (*self._size[:-2], min(m, n)), "contiguous_format")
    _call_driver(self, rcond, driver, solution, rank, values, info)
    if m > n and driver != "gelsy" and _is_full_rank(self, driver, rank):
        _write_residuals(solution, residuals, m, n)
    _shorten(solution, n)
    if m == 0:
        ops.zero_.call(solution)
    if vectors:
        ops.squeeze__dim.call(solution, -1)


def _resize_solution(solution: Tensor, self: Tensor, matrix: Tensor, vectors: bool) -> None:
    """Resize the solution column-major, with space for the residuals."""
    if 0 not in solution._size:
        return
    batch = broadcast_sizes(self._size[:-2], matrix._size[:-2])
    rows, columns = max(self._size[-2:]), matrix._size[-1]
    ops.resize_.call(solution, (*batch, rows) if vectors else (*batch, columns, rows), "contiguous_format")
    if not vectors:
        ops.transpose_.call(solution, -2, -1)


def _call_driver(
    self: Tensor, rcond: float, driver: str, solution: Tensor, rank: Tensor, values: Tensor, info: Tensor
) -> None:
    """Call the driver on a column-major copy, one system after the other (``lstsq_stub``)."""
    strides = column_major_strides(self._size)
    copy = ops.empty_strided.call(self._size, strides, self._dtype, "strided", self._device, None)
    ops.copy_.call(ops.narrow.call(copy, -2, 0, self._size[-2]), self, False)
    check_lapack_dtype("linalg_lstsq_cpu", self._dtype)
    _walk(copy, solution, _workspaces(self, driver))
    found = least_squares(resolved(copy), resolved(solution), rcond, driver)
    store(solution, found.solution)
    store(info, found.info.reshape(-1) if found.info.size else info._array)
    if driver != "gels":
        store(rank, found.rank)
    if driver in WITH_VALUES:
        store(values, found.singular_values)


def _workspaces(self: Tensor, driver: str) -> Tensor | None:
    """Allocate the workspaces of LAPACK, and return the column permutation (``jpvt``), which only ``gelsy`` has.

    NB: each workspace has one element, where LAPACK would report the size that it needs.
    """
    permutation = None
    if driver == "gelsy":
        permutation = ops.zeros.call((max(1, self._size[-1]),), int32, "strided", self._device, None)
    kinds: list[Any] = [self._dtype]
    if self._dtype.is_complex and driver != "gels":
        kinds.append(real_type(self._dtype))
    kinds += [int32] if driver == "gelsd" else []
    for dtype in kinds:
        ops.empty_memory_format.call((1,), dtype, "strided", self._device, None, None)
    return permutation


def _walk(a: Tensor, b: Tensor, permutation: Tensor | None) -> None:
    """Go through the systems of a batch; a matrix that several systems share is restored before each use but the first
    (``batch_iterator_with_broadcasting``). Each system begins with a permutation of zeros.
    """
    counts = numel(a._size[:-2]), numel(b._size[:-2])
    for tensor, count in zip((a, b), counts, strict=True):
        ops.view.call(ops.arange.call(count, None, "strided", None, None), tensor._size[:-2])
    matrices = [ops.view.call(t, (count, *t._size[-2:])) for t, count in zip((a, b), counts, strict=True)]
    kept = modified = None
    if a._size[:-2] != b._size[:-2]:
        buffer = ops.empty_strided.call(a._size, a._stride, a._dtype, "strided", a._device, None)
        ops.copy_.call(buffer, a, False)
        modified = ops.zeros.call((counts[0],), bool_, "strided", None, None)
        kept = ops.view.call(buffer, (counts[0], *a._size[-2:]))
    seen: set[int] = set()
    for index in range(counts[1]):
        own = _broadcast_batch_index(a._size[:-2], b._size[:-2], index)
        if modified is not None:
            ops.select_int.call(modified, 0, own)
        if kept is not None and own in seen:
            working = ops.select_int.call(matrices[0], 0, own)
            ops.copy_.call(working, ops.select_int.call(kept, 0, own), False)
        seen.add(own)
        ops.select_int.call(matrices[0], 0, own)
        ops.select_int.call(matrices[1], 0, index)
        if permutation is not None:
            ops.zero_.call(permutation)


def _broadcast_batch_index(batch: Size, whole: Size, position: int) -> int:
    """The index of the matrix that a position in the broadcast batch uses."""
    result, step = 0, 1
    padded = (1,) * (len(whole) - len(batch)) + tuple(batch)
    for length, own in zip(reversed(whole), reversed(padded), strict=True):
        position, index = divmod(position, length)
        if own != 1:
            result += index * step
        step *= own
    return result


def _is_full_rank(self: Tensor, driver: str, rank: Tensor) -> bool:
    if driver == "gels":
        return True
    if len(self._size) == 2:
        return int(ops.item.call(rank).real) == self._size[-1]
    return bool(ops.item.call(ops.all.call(ops.eq_Scalar.call(rank, self._size[-1]))))


def _write_residuals(solution: Tensor, residuals: Tensor, m: int, n: int) -> None:
    """Write the sums of squares of the residuals."""
    raw = ops.narrow.call(solution, -2, n, m - n)
    if raw._dtype.is_complex:
        ops.mul__Tensor.call(raw, ops.conj.call(raw))
        raw = ops.real.call(raw)
    else:
        ops.pow__Scalar.call(raw, 2)
    ops.sum_IntList_out.call(raw, (-2,), False, real_type(solution._dtype), residuals)


def _shorten(solution: Tensor, rows: int) -> None:
    """Shorten the solution to its first rows, on the same storage."""
    view = ops.narrow.call(solution, -2, 0, rows)
    geometry = view._storage, view._offset, view._size, view._stride
    ops.set__source_Storage_storage_offset.call(solution, *geometry)
