"""Schemas as Python sees them: ``OpOverload._schema`` and the result of ``torch._C.parse_schema``.

Mirrors the bindings of ``FunctionSchema`` in ``torch/csrc/jit/python/init.cpp``; the schemas themselves are in
``core/schema/function_schema.py``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dispatchviz.core.python_side.ivalue import to_object
from dispatchviz.core.python_side.operator_arguments import default_value
from dispatchviz.core.schema import function_schema as core
from dispatchviz.core.schema import schema_parser
from dispatchviz.core.schema.schema_types import LIST, OPTIONAL, SchemaType, schema_type


class JitType:
    """The type of an argument. Types compare by value and print as ``Optional[List[int]]``."""

    def __init__(self, kind: SchemaType) -> None:
        self.schema_type = kind

    def kind(self) -> str:
        """Return the kind of type: ``TensorType``, ``ListType``, ``OptionalType`` ..."""
        return f"{self.schema_type.kind}Type"

    def __repr__(self) -> str:
        return self.schema_type.name

    __str__ = __repr__

    def annotation_str(self) -> str:
        """Return the type as an annotation."""
        return self.schema_type.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitType) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class AliasInfo:
    """The alias annotation of an argument, like ``(a! -> b)``."""

    def __init__(self, inside: str) -> None:
        before, _, after = inside.partition(" -> ")
        self.is_write = "!" in before
        self.before_set = set(before.replace("!", "").split("|"))
        self.after_set = set(after.split("|")) if after else set(self.before_set)


class Argument:
    """One argument or one return value."""

    def __init__(self, argument: core.Argument) -> None:
        self._argument = argument
        self.name = argument.name
        self.kwarg_only = argument.kwarg_only

    @cached_property
    def type(self) -> JitType:
        """The type; enumerations and symbolic ints are ints."""
        return JitType(schema_type(self._argument.type))

    @cached_property
    def alias_info(self) -> AliasInfo | None:
        """The alias annotation, or None."""
        return None if self._argument.alias is None else AliasInfo(self._argument.alias)

    @property
    def is_write(self) -> bool:
        """True if the operator writes to the argument."""
        return self._argument.is_write

    @property
    def is_out(self) -> bool:
        """True if the operator writes to the argument and it is keyword-only."""
        return self._argument.is_write and self.kwarg_only

    @property
    def N(self) -> int | None:
        """The length of a list of fixed length, else None."""
        kind = schema_type(self._argument.type)
        kind = kind.inside[0] if kind.kind == OPTIONAL else kind
        return kind.size if kind.kind == LIST else None

    def has_default_value(self) -> bool:
        """Return whether the argument has a default value, which may be None."""
        return self._argument.default is not None

    @property
    def default_value(self) -> Any:
        """The default value, or None if there is none."""
        value = default_value(self._argument)
        return value if value is None else to_object(self._argument.type, value)


class FunctionSchema:
    """The declaration of an operator."""

    def __init__(self, schema: core.FunctionSchema) -> None:
        self.core = schema
        self.name = schema.name
        self.overload_name = schema.overload

    @cached_property
    def arguments(self) -> list[Argument]:
        """The arguments in order; those after the star are ``kwarg_only``."""
        return [Argument(argument) for argument in self.core.arguments]

    @cached_property
    def returns(self) -> list[Argument]:
        """The return values in order."""
        return [Argument(value) for value in self.core.returns]

    @property
    def is_mutable(self) -> bool:
        """True if the operator writes to one of its arguments."""
        return any(argument.is_write for argument in self.core.arguments)

    def _is_view_op(self) -> bool:
        """Return whether an argument has an alias annotation and none is written to."""
        annotated = [argument for argument in self.core.arguments if argument.alias is not None]
        return bool(annotated) and not any(argument.is_write for argument in annotated)

    def __str__(self) -> str:
        return str(self.core)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self.core == other.core

    def __hash__(self) -> int:
        return hash(self.core)


def parse_schema(text: str) -> FunctionSchema:
    """``torch._C.parse_schema``. Raise RuntimeError for an invalid schema."""
    return FunctionSchema(schema_parser.parse_schema(text))
