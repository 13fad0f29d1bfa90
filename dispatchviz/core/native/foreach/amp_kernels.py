"""``_amp_foreach_non_finite_check_and_unscale_``, ``_amp_update_scale_``: the kernels of ``GradScaler``
(``aten/src/ATen/native/AmpKernels.cpp``, ``cuda/AmpKernels.cu``).

NB: the CUDA kernels follow PyTorch's sources and were not measured on a GPU.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet, store
from dispatchviz.core.tensor.dtype import DType, float32, int32
from dispatchviz.core.tensor.tensor import Tensor, numel


def _check_counts(**named: Tensor) -> None:
    for name, tensor in named.items():
        if numel(tensor._size) != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")


def _check_dtypes(dtype: DType, dtype_name: str, **named: Tensor) -> None:
    for name, tensor in named.items():
        if tensor._dtype is not dtype:
            raise RuntimeError(f"{name} must be {dtype_name} tensor.")


def _number(tensor: Tensor) -> Any:
    return tensor._array.reshape(())


def _amp_foreach_non_finite_check_and_unscale_(self: list[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply the gradients by ``inv_scale`` in place, and set ``found_inf`` to 1 if one of them is not finite.

    Raise RuntimeError for scales that are not single float32 numbers, NotImplementedError for gradients that are not
    floating.
    """
    _check_counts(inv_scale=inv_scale, found_inf=found_inf)
    _check_dtypes(float32, "a float", inv_scale=inv_scale, found_inf=found_inf)
    for gradient in self:
        if not gradient._dtype.is_floating_point:
            name = f"_amp_foreach_non_finite_check_and_unscale_{gradient._device.type}"
            raise not_implemented(name, gradient._dtype)
        xp = array_module(gradient._device.type)
        number = accumulated(gradient._dtype).numpy
        values = gradient._array.astype(number)
        if not xp.all(xp.isfinite(values)):
            found_inf._array[...] = 1.0
        scale = _number(inv_scale).astype(number)
        store(gradient, quiet.run(xp.multiply, values, scale))


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Decrease the scale after an infinity; increase it after enough steps without one. It never becomes infinite.

    Raise RuntimeError for scales, trackers and flags that are not single numbers of their dtype.
    """
    _check_counts(growth_tracker=growth_tracker, current_scale=self, found_inf=found_inf)
    _check_dtypes(int32, "an int", growth_tracker=growth_tracker)
    _check_dtypes(float32, "a float", current_scale=self, found_inf=found_inf)
    xp = array_module(self._device.type)
    found, scale = _number(found_inf) != 0, _number(self)
    count = xp.where(found, 0, _number(growth_tracker) + 1)
    grown = quiet.run(lambda: (scale.astype("float64") * scale_growth_factor).astype(scale.dtype))
    grown = xp.where(xp.isfinite(grown), grown, scale)
    backed_off = (scale.astype("float64") * scale_backoff_factor).astype(scale.dtype)
    full = count == growth_interval
    store(self, xp.where(found, backed_off, xp.where(full, grown, scale)).reshape(self._size))
    store(growth_tracker, xp.where(full, 0, count).reshape(growth_tracker._size))
    return self
