"""What PyTorch's Python kernels do at Meta for the factories that fill: they only allocate.

Mirrors ``torch/_refs/__init__.py`` and ``torch/_meta_registrations.py``.

NB: in PyTorch, most operators have such a kernel at Meta; for all but these the C++ rules run here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.device import Device
from dispatchviz.core.dtype import DType, default_dtype
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.factories import full_dtype
from dispatchviz.core.native.scalars import Scalar
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides


def allocated(
    ks: int, size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """``ones``, ``zeros``, ``rand``."""
    return ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None)


def full(
    ks: int,
    size: Size,
    fill_value: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Of the number's dtype if none is given."""
    return allocated(ks, size, dtype or full_dtype(fill_value), layout, device, pin_memory)


def randn(
    ks: int, size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """With strides of its own. RuntimeError for a negative size and for a dtype without fractions."""
    if any(length < 0 for length in size):
        raise RuntimeError(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    kind = dtype or default_dtype()
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"expected a floating-point or complex dtype, but got dtype={kind}")
    return ops.empty_strided.call(size, contiguous_strides(tuple(size)), kind, layout, device, pin_memory)


KERNELS: dict[str, Callable[..., Any]] = {
    "ones": allocated,
    "zeros": allocated,
    "rand": allocated,
    "full": full,
    "randn": randn,
}
"""By operator, without ``aten::``."""
