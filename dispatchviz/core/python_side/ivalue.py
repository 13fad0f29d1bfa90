"""Conversion between Python objects and IValues, the values on a stack, by the types of the schema.

This module mirrors ``torch/csrc/jit/python/pybind_utils.h``. On a stack, an int list is a tuple, a tensor list a list,
a dtype a ``DType``; layouts and memory formats are texts, and None is also the undefined tensor. PyTorch converts
leniently (it accepts a tensor with one element as an int). A ``CastError`` with PyTorch's text reports a value that
does not fit, and ``torch.ops`` puts it into a longer text.

Not here: types without type arguments (``casts.py``), binding positional and keyword arguments
(``operator_arguments.py``), the signatures of ``torch.add`` and other functions, which have rules of their own
(``python_arg_parser.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dispatchviz.core.bindings.parameter_values import number_as_tensor
from dispatchviz.core.python_side.casts import DTYPE_NUMBERS as DTYPE_NUMBERS
from dispatchviz.core.python_side.casts import PLAIN, cannot_cast
from dispatchviz.core.python_side.casts import CastError as CastError
from dispatchviz.core.schema.schema_types import LIST, OPTIONAL, SchemaType, schema_type
from dispatchviz.core.tensor import layout
from dispatchviz.core.tensor.tensor import Tensor

Convert = Callable[[Any], Any]


def to_ivalue(type_: str, value: Any, numbers_as_tensors: bool = False) -> Any:
    """Return the value on the stack for ``value`` as an argument of a schema's type (``toIValue``).

    Raise CastError if it does not fit, TypeError if it should be iterable and is not. With ``numbers_as_tensors`` a
    Python number is accepted for a Tensor, as the arithmetic operators of ``aten`` allow.
    """
    return _to_stack(schema_type(type_), numbers_as_tensors)(value)


def to_object(type_: str, value: Any) -> Any:
    """Return the Python object for a value on the stack (``toPyObject``). A wrapped number becomes a plain number."""
    return _to_python(schema_type(type_))(value)


# -- to the stack -----------------------------------------------------------------------------------------------------


@cache
def _to_stack(kind: SchemaType, numbers_as_tensors: bool) -> Convert:
    if kind.kind == "Tensor":
        return _tensor_or_number if numbers_as_tensors else _tensor
    if not kind.inside:
        return PLAIN.get(kind.kind, _as_it_is)
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
        """Cast a whole list. The CastError names the list, as in PyTorch."""
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
    return next((known for known in layout.LAYOUTS.values() if known.name == value), value)


def _format_seen(value: Any) -> Any:
    return next((known for known in layout.MEMORY_FORMATS.values() if known.name == value), value)
