"""How tensors print (``torch/_tensor_str.py``).

NB: in PyTorch printing follows finer rules (scientific notation, sliced forms of large tensors); here numbers get four
digits and large tensors NumPy's own summary.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.autograd import variable
from dispatchviz.core.dtype import bool_, default_dtype, int64
from dispatchviz.core.tensor import Tensor

_options: dict[str, Any] = {"precision": 4}


def set_printoptions(precision: int = 4) -> None:
    """Digits after the point."""
    _options["precision"] = precision


def text(tensor: Tensor) -> str:
    """``tensor([1., 2.], grad_fn=<AddBackward0>)``"""
    parts = [_numbers(tensor)]
    if tensor._device.type != "cpu":
        parts.append(f"device='{tensor._device}'")
    if tensor._dtype not in (default_dtype, int64, bool_):
        parts.append(f"dtype={tensor._dtype}")
    if tensor._grad_fn is not None or tensor._view is not None:
        function = variable.grad_fn(tensor)
        if function is not None:
            parts.append(f"grad_fn=<{function.name().rpartition('::')[2]}>")
    elif variable.requires_grad(tensor):
        parts.append("requires_grad=True")
    return f"tensor({', '.join(parts)})"


def _numbers(tensor: Tensor) -> str:
    if tensor._array is None:
        return f"..., size={tensor._size}"
    array = tensor._array if isinstance(tensor._array, numpy.ndarray) else tensor._array.get()
    whole = tensor._dtype.can_require_grad and bool(numpy.all(numpy.isfinite(array) & (array == numpy.trunc(array.real))))
    formatter = {"float_kind": (lambda x: f"{x:.0f}.") if whole else (lambda x: f"{x:.{_options['precision']}f}")}
    if not tensor._dtype.is_floating_point:
        formatter = {}
    return numpy.array2string(array, separator=", ", prefix="tensor(", formatter=formatter)  # type: ignore[arg-type]
