"""Python objects to what stands on a stack and back, by the types of the schema.

Mirrors ``torch/csrc/jit/python/pybind_utils.h``. On a stack, an int list is a tuple, a tensor list a list, a dtype a
``DType``, layouts and memory formats are texts, and None is also the undefined tensor. PyTorch converts leniently (a
tensor with one element will do for an int), and what does not fit is a ``CastError`` in PyTorch's words; ``torch.ops``
puts them into a longer text.

Not here: binding positional and keyword arguments (``operator_arguments.py``), the signatures of ``torch.add`` and its
like, which have rules of their own (``python_arg_parser.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dispatchviz.core import formats
from dispatchviz.core.device import Device
from dispatchviz.core.dtype import ALL, DType
from dispatchviz.core.native.random import Generator
from dispatchviz.core.python_arg_parser import number_as_tensor
from dispatchviz.core.schema_types import LIST, OPTIONAL, SchemaType, schema_type
from dispatchviz.core.tensor import Tensor

Convert = Callable[[Any], Any]

DTYPE_NUMBERS = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15,
}  # fmt: skip
"""``c10::ScalarType``."""

_DTYPE_OF_NUMBER = {DTYPE_NUMBERS[dtype.name]: dtype for dtype in ALL}


class CastError(RuntimeError):
    """A Python object is not of the type that a schema asks for."""


def to_ivalue(type_: str, value: Any, numbers_as_tensors: bool = False) -> Any:
    """What stands on the stack for ``value`` as an argument of a schema's type.

    CastError if it does not fit; TypeError for what should be iterable and is not. ``numbers_as_tensors``: a Python
    number will do for a Tensor, as it does for the arithmetic operators of ``aten``.
    """
    return _to_stack(schema_type(type_), numbers_as_tensors)(value)


def to_object(type_: str, value: Any) -> Any:
    """What Python sees of a value on the stack; a wrapped number is a plain number again."""
    return _to_python(schema_type(type_))(value)


def cannot_cast(value: Any) -> CastError:
    """pybind11's words."""
    return CastError(
        f"Unable to cast Python instance of type {class_name(value)} to C++ type '?' "
        "(#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )


def class_name(value: Any) -> str:
    """``<class 'int'>``; our types under the names that they have in PyTorch."""
    name = _PYTORCH_NAMES.get(type(value))
    return f"<class '{name}'>" if name else str(type(value))


_PYTORCH_NAMES: dict[type, str] = {
    Tensor: "torch.Tensor",
    DType: "torch.dtype",
    Device: "torch.device",
    Generator: "torch._C.Generator",
    formats.layout: "torch.layout",
    formats.memory_format: "torch.memory_format",
}


# -- to the stack -----------------------------------------------------------------------------------------------------


@cache
def _to_stack(kind: SchemaType, numbers_as_tensors: bool) -> Convert:
    if kind.kind == "Tensor":
        return _tensor_or_number if numbers_as_tensors else _tensor
    if not kind.inside:
        return _PLAIN.get(kind.kind, _as_it_is)
    inside = [_to_stack(part, numbers_as_tensors) for part in kind.inside]
    match kind.kind:
        case "Optional":
            return _optional(inside[0])
        case "List":
            return _list(kind, inside[0])
        case "Tuple":
            return _tuple(kind, inside)
        case "Dict":
            return lambda value: {inside[0](key): inside[1](value[key]) for key in value}
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _tensor(value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    raise CastError(f"Unable to cast {value!s} to Tensor")


def _tensor_or_number(value: Any) -> Any:
    return number_as_tensor(value) if isinstance(value, (int, float, complex)) else _tensor(value)


def _optional(inner: Convert) -> Convert:
    return lambda value: None if value is None else inner(value)


def _list(kind: SchemaType, inner: Convert) -> Convert:
    element = kind.inside[0].kind
    make = list if element in ("Tensor", OPTIONAL) else tuple
    if element not in ("Tensor", "int", "float", "bool", "complex"):
        return lambda value: make([inner(item) for item in value])
    if element == "Tensor":
        inner = _defined_tensor

    def convert(value: Any) -> Any:
        """PyTorch reads lists of these at one go, and then says that the list does not fit."""
        if element == "int" and kind.size is not None and isinstance(value, int):
            return (int(value),) * kind.size
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise cannot_cast(value)
        try:
            return make([inner(item) for item in value])
        except CastError:
            raise cannot_cast(value) from None

    return convert


def _defined_tensor(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    raise cannot_cast(value)


def _tuple(kind: SchemaType, inside: list[Convert]) -> Convert:
    def convert(value: Any) -> Any:
        items = tuple(value)
        if len(items) != len(inside):
            raise CastError(f"Object {value} had a different number of elements than type {kind.name}")
        return tuple(part(item) for part, item in zip(inside, items, strict=True))

    return convert


def _int(value: Any) -> int:
    if isinstance(value, DType):
        return DTYPE_NUMBERS[value.name]
    if isinstance(value, (float, complex, str)) or value is None:
        raise cannot_cast(value)
    try:
        whole = hasattr(value, "__index__") and not isinstance(value, Tensor)
        number = operator.index(value) if whole else int(_one_element(value))
    except (TypeError, ValueError, RuntimeError):
        raise cannot_cast(value) from None
    if not -(1 << 63) <= number < 1 << 63:
        raise cannot_cast(value)
    return number


def _one_element(value: Any) -> Any:
    """The number in a tensor of one element. RuntimeError if it has more."""
    number: Any = value  # the method is installed by the face
    return number.item() if isinstance(value, Tensor) else value


def _float(value: Any) -> float:
    if isinstance(value, (complex, str)) or not hasattr(value, "__float__"):
        raise cannot_cast(value)
    try:
        return float(_one_element(value))
    except (TypeError, ValueError, RuntimeError):
        raise cannot_cast(value) from None


def _complex(value: Any) -> complex:
    if isinstance(value, (int, float, complex)):
        return complex(value)
    raise cannot_cast(value)


def _bool(value: Any) -> bool:
    """None is false; whatever knows whether it is true will do, which texts and lists do not."""
    if value is not None and not hasattr(value, "__bool__"):
        raise cannot_cast(value)
    try:
        return bool(_one_element(value))
    except (TypeError, ValueError, RuntimeError):
        raise cannot_cast(value) from None


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    raise cannot_cast(value)


def _scalar(value: Any) -> Any:
    """OverflowError for an int of more than 64 bits."""
    if not isinstance(value, (bool, int, float, complex)):
        raise CastError(f"Cannot cast {value!s} to number")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("int too big to convert")
    return value


def _dtype(value: Any) -> DType:
    return value if isinstance(value, DType) else _DTYPE_OF_NUMBER[_enumerator(value, _DTYPE_OF_NUMBER)]


def _layout(value: Any) -> str:
    if isinstance(value, formats.layout):
        return value.name
    return formats.LAYOUTS[_enumerator(value, formats.LAYOUTS)].name


def _memory_format(value: Any) -> str:
    if isinstance(value, formats.memory_format):
        return value.name
    return formats.MEMORY_FORMATS[_enumerator(value, formats.MEMORY_FORMATS)].name


def _enumerator(value: Any, known: dict[int, Any]) -> int:
    number = _int(value)
    if number not in known:
        raise cannot_cast(value)
    return number


def _device(value: Any) -> Device:
    """RuntimeError with PyTorch's text for a name that is no device."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, (str, Device)):
        return Device(value)
    raise cannot_cast(value)


def _generator(value: Any) -> Generator:
    if isinstance(value, Generator):
        return value
    raise cannot_cast(value)


def _type_variable(value: Any) -> Any:
    raise CastError("toIValue() cannot handle converting to type: t")


_PLAIN: dict[str, Convert] = {
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
    "t": _type_variable,
}
"""Types that have nothing inside; those that are not here are taken as they are."""


# -- from the stack ---------------------------------------------------------------------------------------------------


@cache
def _to_python(kind: SchemaType) -> Convert:
    if kind.kind == LIST:
        return _listed(_to_python(kind.inside[0]))
    if kind.kind == OPTIONAL:
        return _optional(_to_python(kind.inside[0]))
    return {"Tensor": _seen, "Layout": _layout_seen, "MemoryFormat": _format_seen}.get(kind.kind, _as_it_is)


def _listed(inner: Convert) -> Convert:
    return lambda value: [inner(item) for item in value]


def _seen(value: Any) -> Any:
    return value._array.item() if value is not None and value._wrapped_number else value


def _layout_seen(value: Any) -> Any:
    return next((known for known in formats.LAYOUTS.values() if known.name == value), value)


def _format_seen(value: Any) -> Any:
    return next((known for known in formats.MEMORY_FORMATS.values() if known.name == value), value)
