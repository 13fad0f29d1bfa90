"""``Tensor.cpu``, ``cuda``, ``type`` (``tools/autograd/templates/python_variable_methods.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.variables.legacy_type import type_string
from dispatchviz.core.bindings.python_arg_parser import PythonArgParser
from dispatchviz.core.bindings.python_bindings_manual import to_device_and_dtype
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch import legacy_constructors

_FORMAT = "*, torch.memory_format memory_format = None"
_CPU = PythonArgParser((f"cpu({_FORMAT})",))
_CUDA = PythonArgParser((f"cuda(torch.device device = None, bool non_blocking = False, {_FORMAT})",))
_TYPE = PythonArgParser((f"type(object dtype = None, bool non_blocking = False, {_FORMAT})",))


def cpu(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return the tensor on the CPU."""
    _, (memory_format,) = _CPU.parse(args, kwargs)
    return to_device_and_dtype(self, CPU, None, False, False, memory_format)


def cuda(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return the tensor on a CUDA device. Raise RuntimeError for a device of another type."""
    _, (device, non_blocking, memory_format) = _CUDA.parse(args, kwargs)
    device = device or Device("cuda")
    if device.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return to_device_and_dtype(self, device, None, non_blocking, False, memory_format)


def type(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return the name of the legacy type; with a dtype, a type or its name, return the converted tensor."""
    _, (dtype, non_blocking, memory_format) = _TYPE.parse(args, kwargs)
    if dtype is None:
        return type_string(self)
    if isinstance(dtype, dtypes.DType):
        return to_device_and_dtype(self, None, dtype, non_blocking, False, memory_format)
    wanted = legacy_constructors.type_named(dtype)
    device = self._device if wanted.device.type == self._device.type else wanted.device
    return to_device_and_dtype(self, device, wanted.dtype, non_blocking, False, memory_format)


METHODS = {"cpu": cpu, "cuda": cuda, "type": type}
