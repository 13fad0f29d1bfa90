"""``_make_dual``, ``_fw_primal``, ``_unpack_dual``, ``_new_zeros_with_same_feature_meta`` without autograd's kernels
(``aten/src/ATen/native/AutogradComposite.cpp``).

Autograd's own kernels of ``_make_dual`` and ``_fw_primal`` are in ``autograd/kernels/variable_type_manual.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.forward_mode.forward_ad import fw_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor, extent, numel
from dispatchviz.core.thread.thread_state import thread


def _make_dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """An alias of the primal: inference tensors have no tangents. Raise RuntimeError outside of inference mode."""
    _only_in_inference_mode(primal, "function", "_make_dual")
    return ops.alias.call(primal)


def _fw_primal(self: Tensor, level: int) -> Tensor:
    """An alias: inference tensors have no tangents. Raise RuntimeError outside of inference mode."""
    _only_in_inference_mode(self, "method", "_fw_primal")
    return ops.alias.call(self)


def _unpack_dual(dual: Tensor, level: int) -> tuple[Tensor, Any]:
    """The tensor without its tangent, and the tangent. C++ evaluates the tangent first."""
    tangent = fw_grad(dual, level)
    return ops._fw_primal.call(dual, level), tangent


def _new_zeros_with_same_feature_meta(self: Tensor, other: Tensor, self_num_batch_dims: int = 0) -> Tensor:
    """Zeros with the memory layout of ``other``, repeated for every index of the first dimensions of ``self``."""
    batch, each = self._size[:self_num_batch_dims], _storage_numel(other)
    zeros = ops.zeros.call((each * numel(batch),), other._dtype, "strided", other._device, None)
    steps = (each * numel(batch[i + 1 :]) for i in range(len(batch)))
    return ops.as_strided.call(zeros, (*batch, *other._size), (*steps, *other._stride), other._offset)


def _has_same_storage_numel(self: Tensor, other: Tensor) -> bool:
    """Return whether the storages hold the same number of elements."""
    return _storage_numel(self) == _storage_numel(other)


def is_distributed(self: Tensor) -> bool:
    """Return False: there are no distributed tensors."""
    return False


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Return whether the sizes are equal."""
    return self._size == other._size


def _storage_numel(tensor: Tensor) -> int:
    """The number of elements of the dtype that the whole storage holds.

    NB: in PyTorch, tensors without memory also have a storage, which views share. Here it ends where the tensor ends.
    """
    buffer = tensor._storage.buffer
    if buffer is None:
        return tensor._offset + extent(tensor._size, tensor._stride)
    return int(buffer.nbytes) // tensor._dtype.itemsize


def _only_in_inference_mode(tensor: Tensor, what: str, name: str) -> None:
    if thread.state.inference_mode:
        return
    raise RuntimeError(
        f"please report a bug to PyTorch. Expected this {what} to only be reached in inference mode and when all the "
        f"inputs are inference tensors. You should NOT call this {what} directly as native::{name}. Please use the "
        f"dispatcher, i.e., at::{name}. Please file an issue if you come across this error otherwise."
    )
