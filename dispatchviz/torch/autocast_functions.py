"""The functions behind ``torch.autocast`` (``torch/csrc/autograd/init.cpp``): they read and set this thread's autocast
state (enabled, dtype) and its cache. The forms for a single device are deprecated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.core.bindings.python_arg_parser import PythonArgParser
from dispatchviz.core.device.device import Device
from dispatchviz.core.layers.autocast import autocast_mode
from dispatchviz.core.tensor.dtype import DType

_is_enabled = PythonArgParser(("is_autocast_enabled(str device_type)", "is_autocast_enabled()"))
_set_enabled = PythonArgParser(
    ("set_autocast_enabled(str device_type, bool enabled)", "set_autocast_enabled(bool enabled)")
)
_get_dtype = PythonArgParser(("get_autocast_dtype(str device_type)",))
_set_dtype = PythonArgParser(("set_autocast_dtype(str device_type, torch.dtype dtype)",))


def is_autocast_enabled(*args: Any, **kwargs: Any) -> bool:
    """``is_autocast_enabled(device_type)``; without an argument, the answer for cuda."""
    index, values = _is_enabled.parse(args, kwargs)
    return autocast_mode.is_autocast_enabled("cuda" if index else Device(values[0]).type)


def is_any_autocast_enabled() -> bool:
    """Return whether autocast is enabled for any device type."""
    return any(autocast_mode.is_autocast_enabled(kind) for kind in ("cpu", "cuda"))


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """``set_autocast_enabled(device_type, enabled)``; without a device type, for cuda."""
    index, values = _set_enabled.parse(args, kwargs)
    autocast_mode.set_autocast_enabled("cuda" if index else Device(values[0]).type, values[-1])


def get_autocast_dtype(*args: Any, **kwargs: Any) -> DType:
    """``get_autocast_dtype(device_type)``"""
    _, (device_type,) = _get_dtype.parse(args, kwargs)
    return autocast_mode.get_autocast_dtype(Device(device_type).type)


def set_autocast_dtype(*args: Any, **kwargs: Any) -> None:
    """``set_autocast_dtype(device_type, dtype)``"""
    _, (device_type, dtype) = _set_dtype.parse(args, kwargs)
    autocast_mode.set_autocast_dtype(Device(device_type).type, dtype)


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of weights are cached."""
    return autocast_mode.is_autocast_cache_enabled()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of weights are cached. Raise TypeError for anything but a bool."""
    autocast_mode.set_autocast_cache_enabled(_checked("enabled", enabled, bool, "a bool"))


def clear_autocast_cache() -> None:
    """Drop the cached casts of weights."""
    autocast_mode.clear_cache()


def autocast_increment_nesting() -> int:
    """Increment the nesting level of ``with torch.autocast`` and return it."""
    return autocast_mode.increment_nesting()


def autocast_decrement_nesting() -> int:
    """Decrement the nesting level of ``with torch.autocast`` and return it."""
    return autocast_mode.decrement_nesting()


def _checked(name: str, value: Any, kind: type, expected: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected} (got {type(value).__name__})")
    return value


# -- the forms for a single device -------------------------------------------------------------------------------------


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def _is(name: str, device_type: str) -> Callable[[], bool]:
    def is_enabled() -> bool:
        _deprecated(f"is_autocast_{name}_enabled()", f"is_autocast_enabled('{device_type}')")
        return autocast_mode.is_autocast_enabled(device_type)

    return is_enabled


def _set(name: str, device_type: str) -> Callable[[bool], None]:
    def set_enabled(enabled: bool) -> None:
        _checked("enabled", enabled, bool, "a bool")
        _deprecated(f"set_autocast_{name}_enabled(enabled)", f"set_autocast_enabled('{device_type}', enabled)")
        autocast_mode.set_autocast_enabled(device_type, enabled)

    return set_enabled


def _get_dtype_of(name: str, device_type: str) -> Callable[[], DType]:
    def get_dtype() -> DType:
        _deprecated(f"get_autocast_{name}_dtype()", f"get_autocast_dtype('{device_type}')")
        return autocast_mode.get_autocast_dtype(device_type)

    return get_dtype


def _set_dtype_of(name: str, device_type: str) -> Callable[[DType], None]:
    def set_dtype(dtype: DType) -> None:
        _checked("dtype", dtype, DType, "a torch.dtype")
        _deprecated(f"set_autocast_{name}_dtype(dtype)", f"set_autocast_dtype('{device_type}', dtype)")
        autocast_mode.set_autocast_dtype(device_type, dtype)

    return set_dtype


is_autocast_cpu_enabled, set_autocast_cpu_enabled = _is("cpu", "cpu"), _set("cpu", "cpu")
is_autocast_ipu_enabled, set_autocast_ipu_enabled = _is("ipu", "ipu"), _set("ipu", "ipu")
is_autocast_xla_enabled, set_autocast_xla_enabled = _is("xla", "xla"), _set("xla", "xla")
get_autocast_cpu_dtype, set_autocast_cpu_dtype = _get_dtype_of("cpu", "cpu"), _set_dtype_of("cpu", "cpu")
get_autocast_gpu_dtype, set_autocast_gpu_dtype = _get_dtype_of("gpu", "cuda"), _set_dtype_of("gpu", "cuda")
get_autocast_ipu_dtype, set_autocast_ipu_dtype = _get_dtype_of("ipu", "ipu"), _set_dtype_of("ipu", "ipu")
get_autocast_xla_dtype, set_autocast_xla_dtype = _get_dtype_of("xla", "xla"), _set_dtype_of("xla", "xla")

FUNCTIONS = {
    name: function
    for name, function in list(globals().items())
    if "autocast_" in name and callable(function) and not name.startswith("_")
}
"""All functions by their names in ``torch``."""
