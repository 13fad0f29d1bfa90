"""``torch.as_tensor``, ``torch.asarray`` and ``Tensor.new_tensor`` (``torch/csrc/utils/tensor_new.cpp``).

The first two share memory with their argument if dtype and device allow it.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.autograd.variables.requires_grad_flag import change_requires_grad, make_variable
from dispatchviz.core.bindings.default_device import device_or_default
from dispatchviz.core.device.device import Device, concrete
from dispatchviz.core.device.missing_devices import ensure_has_index
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.warning import issue, warn_once
from dispatchviz.torch.tensor_from_numpy import from_numpy
from dispatchviz.torch.tensor_new import COPY, DataBinding, copied_data, new_from_data


def _as_tensor(data: Any, dtype: DType | None, device: Device | None, requires_grad: bool) -> Tensor:
    if isinstance(data, Tensor):
        wanted = device_or_default(device) if device else data._device, dtype or data._dtype
        tensor = ops.to_device.call(data, *wanted, False, False, None)
    elif isinstance(data, numpy.ndarray):
        shared = from_numpy(data)
        tensor = ops.to_device.call(shared, device_or_default(device), dtype or shared._dtype, False, False, None)
    else:
        tensor = new_from_data(data, dtype, ensure_has_index(device_or_default(device)))
    return make_variable(tensor, requires_grad) if requires_grad else tensor


def _asarray(
    obj: Any, dtype: DType | None, device: Device | None, copy: bool | None, requires_grad: bool | None
) -> Tensor:
    """``asarray`` of ``tensor_new.cpp``. Raise ValueError if ``copy`` is False and memory cannot be shared."""
    if requires_grad is None:
        requires_grad = isinstance(obj, Tensor) and variable.requires_grad(obj)
        if requires_grad:
            warn_once("asarray_requires_grad", UNSPECIFIED, "torch/csrc/utils/tensor_new.cpp:1737")
    if not isinstance(obj, (Tensor, numpy.ndarray)):
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        tensor = new_from_data(obj, dtype, ensure_has_index(device_or_default(device)))
        return make_variable(tensor, requires_grad) if requires_grad else tensor
    tensor = obj if isinstance(obj, Tensor) else from_numpy(obj)
    wrong_device = device is not None and concrete(device) != tensor._device
    wrong_dtype = dtype is not None and dtype is not tensor._dtype
    if copy is False and (wrong_device or wrong_dtype):
        found, wanted = (tensor._device, device) if wrong_device else (tensor._dtype, dtype)
        what = f"'{found}' to '{wanted}'" if wrong_device else f"'{found.legacy}' into dtype '{wanted.legacy}'"  # type: ignore[union-attr]
        raise ValueError(f"can't alias tensor {'from device ' if wrong_device else 'with dtype '}{what}.")
    if wrong_device or wrong_dtype:
        tensor = ops.to_device.call(tensor, device or tensor._device, dtype or tensor._dtype, False, False, None)
    elif copy:
        tensor = ops.clone.call(tensor, None)
    if requires_grad == variable.requires_grad(tensor):
        return tensor
    if not variable.is_leaf(tensor):
        return ops.detach.call(tensor)
    return make_variable(tensor, True) if requires_grad else change_requires_grad(tensor, False)


UNSPECIFIED = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
    "requires_grad=False explicitly to get the old behavior and silence this warning."
)


def new_tensor_like(
    self: Tensor,
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``Tensor.new_tensor``: dtype and device default to those of self."""
    if isinstance(data, Tensor):
        issue(COPY.format("tensor.new_tensor"))
    return copied_data(data, dtype or self._dtype, Device(device or self._device), requires_grad)


class _ObjBinding(DataBinding):
    data = "obj"


_AS_TENSOR = "as_tensor(*, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False)"
_ASARRAY = (
    "asarray(*, torch.dtype dtype = None, torch.device device = None, bool copy = None, bool requires_grad = None)"
)

as_tensor = DataBinding("torch.as_tensor", (_AS_TENSOR, _as_tensor, ""))
"""``torch.as_tensor(data, *, dtype=None, device=None)``; it shares memory where it can."""
asarray = _ObjBinding("torch.asarray", (_ASARRAY, _asarray, ""))
"""``torch.asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None)``"""
