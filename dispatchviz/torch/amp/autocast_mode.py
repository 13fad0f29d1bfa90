"""``torch.autocast`` (``torch/amp/autocast_mode.py``): a context manager and decorator around the functions of
``autocast_functions.py``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal

from dispatchviz.core.device.device import Device
from dispatchviz.core.layers.autocast import autocast_mode as core
from dispatchviz.core.tensor.dtype import DType, bfloat16, float16
from dispatchviz.core.thread.restoring_state import restores_state_at_exit
from dispatchviz.torch._namespace import torch

_SUPPORTED = (bfloat16, float16)


def is_autocast_available(device_type: str) -> bool:
    """Return whether a device type has autocast. Raise RuntimeError if there is no such device type."""
    return core.is_autocast_available(Device(device_type).type)


@restores_state_at_exit
class autocast:
    """Run operators in the dtypes that autocast chooses for the tensors of one device type."""

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        """Create the context. A dtype that is not supported gives a warning, and autocast stays off.

        Raise ValueError for a device type that is not a string, RuntimeError for one without autocast.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kind = Device(device_type).type
        self.fast_dtype = core.get_autocast_dtype(kind) if dtype is None else dtype
        self.device = device_type
        if not core.is_autocast_available(kind):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._kind = kind
        self._cache_enabled = core.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled and (self._has_cuda() if device_type == "cuda" else self._supported())

    def _has_cuda(self) -> bool:
        available = torch.cuda.is_available()
        if not available:
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
        return bool(available)

    def _supported(self) -> bool:
        if self.fast_dtype in _SUPPORTED:
            return True
        name = self.device.upper()
        warnings.warn(
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of {', '.join(map(str, _SUPPORTED))} currently.",
            stacklevel=3,
        )
        return False

    def __enter__(self) -> autocast:
        self._before = (
            core.is_autocast_enabled(self._kind),
            core.get_autocast_dtype(self._kind),
            core.is_autocast_cache_enabled(),
        )
        core.set_autocast_enabled(self._kind, self._enabled)
        core.set_autocast_dtype(self._kind, self.fast_dtype)
        core.increment_nesting()
        core.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *error: object) -> Literal[False]:
        enabled, dtype, cache_enabled = self._before
        if core.decrement_nesting() == 0:
            core.clear_cache()
        core.set_autocast_enabled(self._kind, enabled)
        core.set_autocast_dtype(self._kind, dtype)
        core.set_autocast_cache_enabled(cache_enabled)
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, run inside the context. Raise TypeError unless it is callable."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @functools.wraps(func)
        def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorate_autocast
