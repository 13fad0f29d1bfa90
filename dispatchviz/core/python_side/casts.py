"""Conversion of Python objects to IValues of the schema types without type arguments (``pybind_utils.h``).

PyTorch's leniency is pybind11's: any object with an index is an int, None is false, and so on. Each function here is
one rule. A ``CastError`` with pybind11's text reports a value that does not fit.

Not here: tensors, lists, optionals, and the way back (``ivalue.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from dispatchviz.core.device.device import Device
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor import layout
from dispatchviz.core.tensor.dtype import ALL, DType
from dispatchviz.core.tensor.tensor import Storage, Tensor

DTYPE_NUMBERS = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15,
}  # fmt: skip
"""The numbers of dtypes, ``c10::ScalarType``."""

_DTYPE_OF_NUMBER = {DTYPE_NUMBERS[dtype.name]: dtype for dtype in ALL}


class CastError(RuntimeError):
    """The error for a Python object that cannot be cast to the schema's type."""


def cannot_cast(value: Any) -> CastError:
    """The CastError with pybind11's text."""
    return CastError(
        f"Unable to cast Python instance of type {class_name(value)} to C++ type '?' "
        "(#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )


def class_name(value: Any) -> str:
    """The text ``<class 'int'>``. Our types have the names that they have in PyTorch."""
    name = _PYTORCH_NAMES.get(type(value))
    return f"<class '{name}'>" if name else str(type(value))


_PYTORCH_NAMES: dict[type, str] = {
    Tensor: "torch.Tensor",
    DType: "torch.dtype",
    Device: "torch.device",
    Generator: "torch._C.Generator",
    layout.layout: "torch.layout",
    layout.memory_format: "torch.memory_format",
}


def _int(value: Any) -> int:
    if isinstance(value, DType):
        return DTYPE_NUMBERS[value.name]
    if isinstance(value, (float, complex, str)) or value is None:
        raise cannot_cast(value)
    try:
        whole = hasattr(value, "__index__") and not isinstance(value, Tensor)
        number = operator.index(value) if whole else int(_one_element(value))
    except (TypeError, ValueError, RuntimeError) as error:
        if is_from_outside(error):
            raise
        raise cannot_cast(value) from None
    if not -(1 << 63) <= number < 1 << 63:
        raise cannot_cast(value)
    return number


def _one_element(value: Any) -> Any:
    """Return the number in a tensor of one element. Raise RuntimeError if it has more."""
    number: Any = value  # dispatchviz.torch installs the method
    return number.item() if isinstance(value, Tensor) else value


def _float(value: Any) -> float:
    if isinstance(value, (complex, str)) or not hasattr(value, "__float__"):
        raise cannot_cast(value)
    try:
        return float(_one_element(value))
    except (TypeError, ValueError, RuntimeError) as error:
        if is_from_outside(error):
            raise
        raise cannot_cast(value) from None


def _complex(value: Any) -> complex:
    if isinstance(value, (int, float, complex)):
        return complex(value)
    raise cannot_cast(value)


def _bool(value: Any) -> bool:
    """Convert a bool: None is false, and any object with ``__bool__`` is accepted. Strings and lists have no
    ``__bool__``.
    """
    if value is not None and not hasattr(value, "__bool__"):
        raise cannot_cast(value)
    try:
        return bool(_one_element(value))
    except (TypeError, ValueError, RuntimeError) as error:
        if is_from_outside(error):
            raise
        raise cannot_cast(value) from None


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    raise cannot_cast(value)


def _scalar(value: Any) -> Any:
    """Convert a number. Raise OverflowError for an int of more than 64 bits."""
    if not isinstance(value, (bool, int, float, complex)):
        raise CastError(f"Cannot cast {value!s} to number")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("int too big to convert")
    return value


def _dtype(value: Any) -> DType:
    return value if isinstance(value, DType) else _DTYPE_OF_NUMBER[_enumerator(value, _DTYPE_OF_NUMBER)]


def _layout(value: Any) -> str:
    if isinstance(value, layout.layout):
        return layout.text_of(value)
    return layout.LAYOUTS[_enumerator(value, layout.LAYOUTS)].name


def _memory_format(value: Any) -> str:
    if isinstance(value, layout.memory_format):
        return value.name
    return layout.MEMORY_FORMATS[_enumerator(value, layout.MEMORY_FORMATS)].name


def _enumerator(value: Any, known: dict[int, Any]) -> int:
    number = _int(value)
    if number not in known:
        raise cannot_cast(value)
    return number


def _device(value: Any) -> Device:
    """Convert a device. Raise RuntimeError with PyTorch's text for a name that is not a device."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, (str, Device)):
        return Device(value)
    raise cannot_cast(value)


def _generator(value: Any) -> Generator:
    if isinstance(value, Generator):
        return value
    raise cannot_cast(value)


def _storage(value: Any) -> Storage:
    """Return the storage of a ``torch.UntypedStorage``, whose class is not known here."""
    inside = getattr(value, "_storage", value)
    if not isinstance(inside, Storage) or isinstance(value, Tensor):
        raise cannot_cast(value)
    return inside


def _type_variable(value: Any) -> Any:
    raise CastError("toIValue() cannot handle converting to type: t")


PLAIN: dict[str, Callable[[Any], Any]] = {
    "int": _int,
    "SymInt": _int,
    "float": _float,
    "complex": _complex,
    "bool": _bool,
    "str": _str,
    "Scalar": _scalar,
    "ScalarType": _dtype,
    "Layout": _layout,
    "MemoryFormat": _memory_format,
    "Device": _device,
    "Generator": _generator,
    "Storage": _storage,
    "t": _type_variable,
}
"""Converters for types without type arguments. Values of types that are missing here are not converted."""
