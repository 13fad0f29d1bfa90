"""``custom_fwd`` and ``custom_bwd`` (``torch/amp/autocast_mode.py``): autocast in custom Functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.amp.autocast_mode import autocast


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Cast floating tensors on the device to another dtype, also inside lists and dicts; float64 is kept."""
    kind: Any = type(value)
    if isinstance(value, torch.Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not torch.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes)) or kind.__module__ == "numpy":
        return value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(part, device_type, dtype) for key, part in value.items()}
    if isinstance(value, Iterable):
        parts = (_cast(part, device_type, dtype) for part in value)
        return kind(parts) if isinstance(value, (list, tuple)) else parts
    return value


def _check(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Return a forward that saves the autocast state, or that runs with autocast off on cast inputs.

    Raise ValueError for a device type that is not a string.
    """
    _check(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = torch.get_autocast_dtype(device_type)
        enabled = torch.is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Return a backward that runs under the autocast state of its forward. Raise ValueError for a device type that is
    not a string.
    """
    _check(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
