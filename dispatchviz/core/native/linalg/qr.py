"""QR factorization: ``linalg.qr``, ``geqrf`` (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.cholesky import copied, fits_column_major
from dispatchviz.core.native.linalg.matrix_checks import (
    check_floating_or_complex,
    check_is_matrix,
    check_lapack_dtype,
    check_linalg_compatible_dtype,
    check_same_device,
    clone_batched_column_major,
    column_major_strides,
)
from dispatchviz.core.tensor.tensor import Tensor

# -- qr ----------------------------------------------------------------------------------------------------------------


def parse_qr_mode(mode: str) -> tuple[bool, bool]:
    """Return whether to compute Q, and whether in its reduced form. Raise RuntimeError for an unknown mode."""
    modes = {"reduced": (True, True), "complete": (True, False), "r": (False, True)}
    if mode not in modes:
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return modes[mode]


def linalg_qr_meta(op: tuple[Structured, ...], A: Tensor, mode: str) -> None:
    """Q and R, column-major; Q has the size [0] if it is not computed."""
    check_is_matrix(A, "linalg.qr")
    check_floating_or_complex(A, "linalg.qr")
    compute_q, reduced = parse_qr_mode(mode)
    *batch, m, n = A._size
    k = min(m, n)
    if compute_q:
        size = (*batch, m, k if reduced else m)
        op[0].set_output_strided(size, column_major_strides(size), A._dtype, A._device)
    else:
        op[0].set_output_raw_strided((0,), (1,), A._dtype, A._device)
    size = (*batch, k if reduced or not compute_q else m, n)
    op[1].set_output_strided(size, column_major_strides(size), A._dtype, A._device)


def linalg_qr_out(A: Tensor, mode: str, Q: Tensor, R: Tensor) -> None:
    """Factorize in Q or R, depending on which has the size of A, and copy the other one's part."""
    m, n = A._size[-2:]
    compute_q = parse_qr_mode(mode)[0]
    tau = ops.new_empty.call(A, (*A._size[:-2], min(m, n)), None, None, None, None)
    if compute_q and Q._size[-1] == n:
        packed = ops.copy_.call(Q, A, False)
    elif R._size[-2] == m:
        packed = ops.copy_.call(R, A, False)
    else:
        packed = clone_batched_column_major(A)
    _geqrf(packed, tau)
    if packed is R:
        if compute_q:
            _fill_q(Q, packed)
        ops.triu_.call(R, 0)
    else:
        ops.triu_out.call(ops.slice_Tensor.call(packed, -2, 0, n, 1), 0, R)
    if compute_q:
        workspace(Q)
        store(Q, lapack.xorgqr(Q._array, tau._array))


def _geqrf(packed: Tensor, tau: Tensor) -> None:
    """Factorize in place (``geqrf_stub``)."""
    check_lapack_dtype("geqrf_cpu", packed._dtype)
    workspace(packed)
    reflectors, factors = lapack.xgeqrf(packed._array)
    store(packed, reflectors)
    store(tau, factors)


def _fill_q(Q: Tensor, packed: Tensor) -> None:
    m, n = packed._size[-2:]
    if m < n:
        ops.copy_.call(Q, ops.slice_Tensor.call(packed, -1, 0, m, 1), False)
    else:
        ops.copy_.call(ops.slice_Tensor.call(Q, -1, 0, n, 1), packed, False)


# -- geqrf -------------------------------------------------------------------------------------------------------------


def geqrf(self: Tensor) -> tuple[Tensor, Tensor]:
    """R and the reflectors in one matrix, and the reflectors' factors."""
    a = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    tau = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.geqrf_a.call(self, a, tau)


def geqrf_out(self: Tensor, a: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """Compute ``geqrf`` in the outputs if LAPACK can work there, otherwise in copies."""
    if len(self._size) < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    for name, output in (("a", a), ("tau", tau)):
        check_same_device("torch.geqrf", output, self, name)
    for name, output in (("a", a), ("tau", tau)):
        check_linalg_compatible_dtype("torch.geqrf", output, self._dtype, name)
    size = (*self._size[:-2], min(self._size[-2:]))
    tau_fits = tau._dtype is self._dtype and (0 in tau._size or (tau._is_contiguous and tau._size == size))
    if fits_column_major(a, self) and tau_fits:
        _geqrf_helper(self, a, tau)
        return a, tau
    made = [ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None) for _ in "at"]
    _geqrf_helper(self, *made)
    return copied(a, made[0]), copied(tau, made[1])


def _geqrf_helper(self: Tensor, a: Tensor, tau: Tensor) -> None:
    size = (*self._size[:-2], min(self._size[-2:]))
    if 0 in a._size:
        ops.resize_as_.call(a, ops.mT.call(self), "contiguous_format")
        ops.transpose_.call(a, -2, -1)
    if 0 in tau._size:
        ops.resize_.call(tau, size, None)
    assert ops.mT.call(a)._is_contiguous, "LAPACK wants columns"
    ops.copy_.call(a, self, False)
    _geqrf(a, tau)


def workspace(like: Tensor) -> None:
    """The memory in which LAPACK works."""
    ops.empty_memory_format.call((1,), like._dtype, "strided", like._device, None, None)
