"""Properties of schemas that custom operators need (``torch/_library/utils.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.python_side.ivalue import to_object
from dispatchviz.core.python_side.operator_arguments import default_value
from dispatchviz.core.schema.function_schema import Argument, FunctionSchema

_TENSORS = ("Tensor", "Tensor?")
_TENSOR_LISTS = ("Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor?[]?")


def is_mutable(schema: FunctionSchema) -> bool:
    """Return whether the schema writes to an argument."""
    return any(argument.is_write for argument in schema.arguments)


def is_view(schema: FunctionSchema) -> bool:
    """Return whether an output aliases an argument, and no argument is written to."""
    return not is_mutable(schema) and any(argument.alias is not None for argument in schema.arguments)


def is_functional(schema: FunctionSchema, allow_valid_view: bool = False) -> bool:
    """Return whether the schema writes to nothing and returns something that is not a view.

    If ``allow_valid_view``, one view of the only tensor is allowed.
    """
    if is_mutable(schema):
        return False
    if any(returned.alias is not None for returned in schema.returns):
        tensors = [sum(a.type == "Tensor" for a in declared) for declared in (schema.arguments, schema.returns)]
        return allow_valid_view and tensors == [1, 1]
    return bool(schema.returns)


def takes_tensors(arguments: Sequence[Argument]) -> bool:
    """Return whether one of the arguments may hold a tensor."""
    return any(argument.type in _TENSORS + _TENSOR_LISTS for argument in arguments)


def takes_tensor_lists(arguments: Sequence[Argument]) -> bool:
    """Return whether one of the arguments is a list of tensors."""
    return any(argument.type in _TENSOR_LISTS for argument in arguments)


def has_kwarg_only_tensors(schema: FunctionSchema) -> bool:
    """Return whether a tensor must be passed by keyword."""
    return takes_tensors([argument for argument in schema.arguments if argument.kwarg_only])


def device_position(schema: FunctionSchema) -> int | None:
    """Return the position of the argument ``Device device``, or None."""
    found = (i for i, argument in enumerate(schema.arguments) if (argument.type, argument.name) == ("Device", "device"))
    return next(found, None)


def written(schema: FunctionSchema) -> tuple[list[int], list[str]]:
    """Return the arguments that are written to: positions of positional ones, names of the others."""
    by_position = [i for i, a in enumerate(schema.arguments) if a.is_write and not a.kwarg_only]
    return by_position, [a.name for a in schema.arguments if a.is_write and a.kwarg_only]


def with_defaults(
    schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a Python kernel, with omitted defaults filled in."""
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    all_args = (*args, *map(_default, positional[len(args) :]))
    keyword_only = [argument for argument in schema.arguments if argument.kwarg_only]
    return all_args, {a.name: kwargs[a.name] if a.name in kwargs else _default(a) for a in keyword_only}


def _default(argument: Argument) -> Any:
    value = default_value(argument)
    return value if value is None else to_object(argument.type, value)
