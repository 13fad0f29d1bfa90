"""``linspace`` and ``logspace`` with tensors as ends (``aten/src/ATen/native/RangeFactories.cpp``). The tensors are
read as numbers, then ``linspace_eye.py`` computes.

Start, end or both may be 0-dim tensors.
"""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor

Bound = Tensor | Scalar


def _items(name: str, start: Bound, end: Bound) -> tuple[Scalar, Scalar]:
    """Both ends as numbers; the second one is read first. Raise RuntimeError if a tensor has dimensions."""
    given = (("start", start), ("end", end))
    ranks = [(side, len(bound._size)) for side, bound in given if isinstance(bound, Tensor)]
    if any(rank for _, rank in ranks):
        found = " and ".join(f"{side} with {rank} dimension(s)" for side, rank in ranks)
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {found}.")
    last = ops.item.call(end) if isinstance(end, Tensor) else end
    first = ops.item.call(start) if isinstance(start, Tensor) else start
    return first, last


def linspace_Tensor_Tensor(
    start: Tensor,
    end: Tensor,
    steps: int,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``linspace`` between two 0-dim tensors."""
    first, last = _items("linspace", start, end)
    return ops.linspace.call(first, last, steps, dtype, layout, device, pin_memory)


def linspace_out_Tensor_Tensor_out(start: Tensor, end: Tensor, steps: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linspace``."""
    first, last = _items("linspace", start, end)
    return ops.linspace_out.call(first, last, steps, out)


def linspace_Tensor_Scalar(
    start: Tensor,
    end: Scalar,
    steps: int,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``linspace`` from a 0-dim tensor to a number."""
    first, last = _items("linspace", start, end)
    return ops.linspace.call(first, last, steps, dtype, layout, device, pin_memory)


def linspace_out_Tensor_Scalar_out(start: Tensor, end: Scalar, steps: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linspace``."""
    first, last = _items("linspace", start, end)
    return ops.linspace_out.call(first, last, steps, out)


def linspace_Scalar_Tensor(
    start: Scalar,
    end: Tensor,
    steps: int,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``linspace`` from a number to a 0-dim tensor."""
    first, last = _items("linspace", start, end)
    return ops.linspace.call(first, last, steps, dtype, layout, device, pin_memory)


def linspace_out_Scalar_Tensor_out(start: Scalar, end: Tensor, steps: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linspace``."""
    first, last = _items("linspace", start, end)
    return ops.linspace_out.call(first, last, steps, out)


def logspace_Tensor_Tensor(
    start: Tensor,
    end: Tensor,
    steps: int,
    base: float,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``logspace`` between two 0-dim tensors."""
    first, last = _items("logspace", start, end)
    return ops.logspace.call(first, last, steps, base, dtype, layout, device, pin_memory)


def logspace_out_Tensor_Tensor_out(start: Tensor, end: Tensor, steps: int, base: float, out: Tensor) -> Tensor:
    """The ``out=`` version of ``logspace``."""
    first, last = _items("logspace", start, end)
    return ops.logspace_out.call(first, last, steps, base, out)


def logspace_Tensor_Scalar(
    start: Tensor,
    end: Scalar,
    steps: int,
    base: float,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``logspace`` from a 0-dim tensor to a number."""
    first, last = _items("logspace", start, end)
    return ops.logspace.call(first, last, steps, base, dtype, layout, device, pin_memory)


def logspace_out_Tensor_Scalar_out(start: Tensor, end: Scalar, steps: int, base: float, out: Tensor) -> Tensor:
    """The ``out=`` version of ``logspace``."""
    first, last = _items("logspace", start, end)
    return ops.logspace_out.call(first, last, steps, base, out)


def logspace_Scalar_Tensor(
    start: Scalar,
    end: Tensor,
    steps: int,
    base: float,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """``logspace`` from a number to a 0-dim tensor."""
    first, last = _items("logspace", start, end)
    return ops.logspace.call(first, last, steps, base, dtype, layout, device, pin_memory)


def logspace_out_Scalar_Tensor_out(start: Scalar, end: Tensor, steps: int, base: float, out: Tensor) -> Tensor:
    """The ``out=`` version of ``logspace``."""
    first, last = _items("logspace", start, end)
    return ops.logspace_out.call(first, last, steps, base, out)
