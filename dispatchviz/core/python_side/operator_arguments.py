"""The arguments of an operator by its schema: binding Python arguments, defaults, and the way back to Python.

This module mirrors ``createStackForSchema`` and ``argumentToIValue`` of ``torch/csrc/jit/python/pybind_utils.h``,
``checkAndNormalizeInputs`` of ``aten/src/ATen/core/function_schema_inl.h`` and ``parseIValuesToPyArgsKwargs`` of
``torch/csrc/PyInterpreter.cpp``.

Not here: converting a single value (``ivalue.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dispatchviz.core.device.device import Device
from dispatchviz.core.python_side.ivalue import CastError, to_ivalue, to_object
from dispatchviz.core.python_side.py_interpreter import interpreter
from dispatchviz.core.schema.function_schema import Argument, FunctionSchema
from dispatchviz.core.schema.schema_types import LIST, OPTIONAL, SchemaType, schema_type
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Storage, Tensor

_ARITHMETIC = ("add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "floor_divide", "copy")
NUMBERS_AS_TENSORS = frozenset(
    [f"aten::{name}{underscore}" for name in _ARITHMETIC for underscore in ("", "_")]
    + ["aten::to", "aten::_to_copy", "aten::_conj"]
)
"""Operators whose Tensor arguments accept Python numbers (``should_allow_numbers_as_tensors``)."""


_OBJECTS = ("Tensor", "Tensor[]")
"""The types of all arguments of a call that is dispatched with Python objects."""


class SchemaMatchError(RuntimeError):
    """The error for arguments that do not fit a schema. If there are several overloads, the next one is tried."""


def stack_for(
    schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any], numbers_as_tensors: bool = False
) -> list[Any]:
    """Return the stack of a call from Python. Raise RuntimeError with PyTorch's text if the arguments do not fit the
    schema.

    ``numbers_as_tensors``: a number is accepted for a tensor where the operator allows it. Calls may do that,
    redispatches may not.
    """
    try:
        return matching_stack(schema, args, kwargs, numbers_as_tensors)
    except SchemaMatchError as error:
        raise RuntimeError(str(error)) from None


def tensors_for(schema: FunctionSchema, args: Sequence[Any]) -> list[Any] | None:
    """Return the arguments of a call that is dispatched with Python objects; lists are new. Return None if one is
    missing, has another type than Tensor or list of Tensors, or does not fit.
    """
    declared = schema.arguments
    if len(args) != len(declared) or any(value is None for value in args):
        return None
    if not all(each.type in _OBJECTS and not each.kwarg_only for each in declared):
        return None
    try:
        return [to_ivalue(each.type, value) for each, value in zip(declared, args, strict=True)]
    except (CastError, TypeError):
        return None


def matching_stack(
    schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any], numbers_as_tensors: bool = True
) -> list[Any]:
    """Return the stack for one of several overloads. Raise SchemaMatchError if the arguments do not fit it."""
    _check_count(schema, len(args), len(kwargs))
    numbers = numbers_as_tensors and schema.name in NUMBERS_AS_TENSORS
    stack = [_converted(schema, position, value, numbers) for position, value in enumerate(args)]
    used = 0
    for position, argument in enumerate(schema.arguments[len(args) :], len(args)):
        if argument.name in kwargs:
            stack.append(_converted(schema, position, kwargs[argument.name], numbers))
            used += 1
        elif argument.default is not None:
            stack.append(default_value(argument))
        else:
            raise SchemaMatchError(
                f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
    if used < len(kwargs):
        raise _unused_keyword(schema, args, kwargs)
    return stack


def _check_count(schema: FunctionSchema, positional: int, named: int) -> None:
    allowed = sum(not argument.kwarg_only for argument in schema.arguments)
    if positional + named > len(schema.arguments):
        raise SchemaMatchError(
            f"{schema.name}() expected at most {len(schema.arguments)} argument(s) but received {positional + named} "
            f"argument(s). Declaration: {schema}"
        )
    if positional > allowed:
        raise SchemaMatchError(
            f"{schema.name}() takes {allowed} positional argument(s) but {positional} was/were given.  "
            f"Declaration: {schema}"
        )


def _unused_keyword(schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any]) -> SchemaMatchError:
    names = [argument.name for argument in schema.arguments]
    for name in kwargs:
        if name not in names:
            return SchemaMatchError(f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}")
    twice = next(name for name in kwargs if names.index(name) < len(args))
    return SchemaMatchError(f"Argument '{twice}' specified both as positional and keyword argument. Schema: {schema}")


def _converted(schema: FunctionSchema, position: int, value: Any, numbers_as_tensors: bool) -> Any:
    argument = schema.arguments[position]
    try:
        return to_ivalue(argument.type, value, numbers_as_tensors)
    except CastError as error:
        details = f"Cast error details: {error}"
    except TypeError as error:
        details = f" Python error details: TypeError: {error}"
    raise SchemaMatchError(
        f"{schema.name}() Expected a value of type '{schema_type(argument.type).name}' for argument '{argument.name}' "
        f"but instead found type '{_type_name(value)}'.\nPosition: {position}\nValue: {value!r}\n"
        f"Declaration: {schema}\n{details}"
    )


def _type_name(value: Any) -> str:
    known: dict[type, str] = {DType: "dtype", Device: "device"}
    return known.get(type(value), type(value).__name__)


# -- defaults ---------------------------------------------------------------------------------------------------------


@cache
def default_value(argument: Argument) -> Any:
    """The default value of an argument on the stack. None also if there is no default."""
    return None if argument.default is None else _value(schema_type(argument.type), argument.default)


def _value(kind: SchemaType, text: str) -> Any:
    if text == "None":
        return None
    if kind.kind == OPTIONAL:
        return _value(kind.inside[0], text)
    if kind.kind == LIST:
        return _list_value(kind, text)
    if text[0] in "\"'":
        return Device(text[1:-1]) if kind.kind == "Device" else text[1:-1]
    if text in _LITERALS:
        return _LITERALS[text]
    if kind.kind in _ENUMERATIONS and text.isdigit():
        return to_ivalue(kind.kind, int(text))
    if kind.kind == "ScalarType":
        return getattr(dtypes, _DTYPE_LITERALS.get(text, text), text)
    if kind.kind == "float":
        return float(text)
    try:
        return int(text)
    except ValueError:
        return float(text) if text[0] in "-.0123456789" else text


def _list_value(kind: SchemaType, text: str) -> tuple[Any, ...]:
    if not text.startswith("["):
        return (_value(kind.inside[0], text),) * (kind.size or 1)
    items = [item.strip() for item in text[1:-1].split(",")]
    return tuple(_value(kind.inside[0], item) for item in items if item)


_LITERALS = {"True": True, "False": False, "Mean": 1, "Sum": 2, "cpu": Device("cpu")}
_ENUMERATIONS = ("ScalarType", "Layout", "MemoryFormat")
_DTYPE_LITERALS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "bool": "bool_",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
"""Dtypes by their names in schemas."""


# -- to Python --------------------------------------------------------------------------------------------------------


def python_arguments(schema: FunctionSchema, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the values of a stack as args and kwargs of a Python function (``parseIValuesToPyArgsKwargs``).

    Trailing positional arguments that have their default are left out, and so are all keyword arguments that have
    theirs.
    """
    positional = sum(not argument.kwarg_only for argument in schema.arguments)
    while positional and _is_default(schema.arguments[positional - 1], values[positional - 1]):
        positional -= 1
    args = [_object(a, v, values) for a, v in zip(schema.arguments[:positional], values[:positional], strict=True)]
    kwargs = {
        argument.name: _object(argument, value, values)
        for argument, value in zip(schema.arguments, values, strict=True)
        if argument.kwarg_only and not _is_default(argument, value)
    }
    return args, kwargs


def _object(argument: Argument, value: Any, values: Sequence[Any]) -> Any:
    """Return the Python object of a value. A storage does not know its device here, so it gets that of the call's first
    tensor.
    """
    if isinstance(value, Storage):
        return interpreter.storage(value, next(one._device for one in values if isinstance(one, Tensor)))
    return to_object(argument.type, value)


def _is_default(argument: Argument, value: Any) -> bool:
    return argument.default is not None and _same(default_value(argument), value)


def _same(a: Any, b: Any) -> bool:
    """Return whether two values have the same type and are equal. To PyTorch, 1 and 1.0 are two values."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)
