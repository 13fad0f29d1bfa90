"""Names of operators: ``aten::add.Tensor`` is ``aten::add`` with the overload ``Tensor``.

Mirrors ``ATen/core/operator_name.h`` and the first rule of ``function_schema_parser.cpp``.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.schema.schema_lexer import IDENT, SchemaError, Tokens


class OperatorName(NamedTuple):
    """An operator's name and its overload, which may be empty."""

    name: str
    overload: str

    def __str__(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


def read_name(tokens: Tokens) -> OperatorName:
    """The name at the beginning of a schema. SchemaError if there is none, and for a reserved overload."""
    name = tokens.expect(IDENT).text
    if tokens.next_if(":"):
        tokens.expect(":")
        name = f"{name}::{tokens.expect(IDENT).text}"
    if not tokens.next_if("."):
        return OperatorName(name, "")
    overload = tokens.expect(IDENT).text
    if overload == "default" or overload.startswith("__"):
        problem = f"{overload} is not a legal overload name for aten operators"
        raise SchemaError(tokens.source, 0, problem, length=0)
    return OperatorName(name, overload)
