"""``nan_to_num``: numbers in place of nan and infinities (``aten/src/ATen/native/UnaryOps.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import compute
from dispatchviz.core.structured import resize_output
from dispatchviz.core.tensor import Tensor


def nan_to_num(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
    """Into fresh memory."""
    result = ops.empty_like.call(self, None, None, None, None, None)
    return ops.nan_to_num_out.call(self, nan, posinf, neginf, result)


def nan_to_num_(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
    """In place."""
    return ops.nan_to_num_out.call(self, nan, posinf, neginf, self)


def nan_to_num_out(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None, out: Tensor) -> Tensor:
    """By default 0 and the largest and smallest finite number. Integers are copied."""
    if self._dtype is not out._dtype:
        raise RuntimeError(
            f"nan_to_num: dtype of out: {out._dtype.legacy} should be same as input: {self._dtype.legacy}"
        )
    if out._size != self._size:
        resize_output(out, self._size, self._stride)
    if not self._dtype.can_require_grad:
        return ops.copy_.call(out, self, False)
    xp = array_module(out._device.type)

    def replaced(array: Any) -> Any:
        limits = xp.finfo(self._dtype.numpy)
        high = float(limits.max) if posinf is None else posinf
        low = float(limits.min) if neginf is None else neginf
        return xp.nan_to_num(array, nan=nan or 0.0, posinf=high, neginf=low)

    compute(out, self._dtype, replaced, self)
    return out
