"""``torch._C._nn``: bindings of operators that only ``torch.nn`` uses, and ``_parse_to``."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.bindings.binding import Binding
from dispatchviz.core.bindings.python_arg_parser import PythonArgParser
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import nn_functions
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.layout import MEMORY_FORMATS, memory_format
from dispatchviz.core.tensor.tensor import Tensor

globals().update({b.__name__: b for b in vars(nn_functions).values() if isinstance(b, Binding)})

_COPY = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)"
_TO = PythonArgParser(
    [
        f"to(torch.device device = None, torch.dtype dtype = None, {_COPY}",
        f"to(torch.dtype dtype, {_COPY}",
        f"to(Tensor tensor, {_COPY}",
    ]
)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Device | None, DType | None, bool, Any]:
    """Parse the arguments of ``Tensor.to`` and ``Module.to``: device, dtype, non_blocking, memory format."""
    index, values = _TO.parse(args, kwargs)
    if index == 0:
        device, dtype, non_blocking, _, name = values
        return device, dtype, non_blocking, _format(name)
    first, non_blocking, _, name = values
    if isinstance(first, Tensor):
        return first._device, first._dtype, non_blocking, _format(name)
    return None, first, non_blocking, _format(name)


def _format(name: str | None) -> memory_format | None:
    return next((known for known in MEMORY_FORMATS.values() if known.name == name), None)
