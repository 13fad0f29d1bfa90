"""``_assert_async``: assertions about a tensor's value (``aten/src/ATen/native/TensorCompare.cpp``,
``cuda/TensorCompare.cu``)."""

from __future__ import annotations

from dispatchviz.core.native.memory.item import is_nonzero
from dispatchviz.core.tensor.tensor import Tensor

_ZERO = "Expected Tensor with single nonzero value, but got zero"


def _assert_async_cpu(self: Tensor) -> None:
    """Raise RuntimeError if the only element is zero."""
    if not is_nonzero(self):
        raise RuntimeError(_ZERO)


def _assert_async_msg_cpu(self: Tensor, assert_msg: str) -> None:
    """Raise RuntimeError with the given message if the only element is zero."""
    if not is_nonzero(self):
        raise RuntimeError(assert_msg or "Assertion is failed")


def _assert_async_cuda(self: Tensor) -> None:
    """Raise RuntimeError if the only element is zero. NB: in PyTorch, the device raises it later."""
    _assert_async_msg_cuda(self, _ZERO)


def _assert_async_msg_cuda(self: Tensor, assert_msg: str) -> None:
    """Raise RuntimeError with the given message if the only element is zero.

    NB: in PyTorch, the device raises it later.
    """
    if not bool(self._array.all()):
        raise RuntimeError(assert_msg)
