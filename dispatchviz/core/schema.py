"""Function schemas: ``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.

Mirrors ``aten/src/ATen/core/function_schema.h`` and its parser. ``str()`` of a schema is PyTorch's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


class SchemaError(ValueError):
    """A schema that cannot be parsed: the text, where, what is allowed there."""


@dataclass(frozen=True)
class Argument:
    """An argument or a return of a schema."""

    name: str
    """Empty for an unnamed return."""
    type: str
    """Without its alias annotation: ``Tensor``, ``Tensor?``, ``int[1]?``, ``SymInt[]``."""
    default: str | None = None
    """As written; None without one."""
    kwarg_only: bool = False
    alias: str | None = None
    """``a``, ``a!``, ``a -> *``: the sets it may alias, with ``!`` if it is written."""

    def __str__(self) -> str:
        kind = self.type
        if self.alias is not None:
            base = re.match(r"\w+", kind)
            assert base is not None
            kind = f"{base[0]}({self.alias}){kind[base.end() :]}"
        default = "" if self.default is None else f"={self.default}"
        return f"{kind} {self.name}{default}".rstrip()


@dataclass(frozen=True)
class FunctionSchema:
    """Name, overload, arguments and returns of an operator."""

    name: str
    """``aten::add``"""
    overload: str
    """``Tensor``, or empty."""
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]

    @classmethod
    def parse(cls, text: str) -> FunctionSchema:
        """Parses PyTorch's notation. SchemaError with the place if it is not well formed."""
        head = re.match(r"\s*([\w:]+)(?:\.(\w+))?\s*\(", text)
        if head is None:
            raise SchemaError(f"schema {text!r}: it must start with a name such as aten::add.Tensor and '('")
        inside, rest = _bracketed(text, head.end() - 1)
        arrow = re.match(r"\s*->\s*", rest)
        if arrow is None:
            raise SchemaError(f"schema {text!r}: '->' and the returns must follow the arguments, not {rest.strip()!r}")
        return cls(head[1], head[2] or "", tuple(_arguments(inside, text)), tuple(_returns(rest[arrow.end() :], text)))

    @property
    def full_name(self) -> str:
        """``aten::add.Tensor``; without an overload no dot."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @cached_property
    def tensor_positions(self) -> tuple[int, ...]:
        """Positions of the arguments whose key sets count: Tensor, Tensor?, Tensor[], Tensor?[]."""
        return tuple(i for i, a in enumerate(self.arguments) if re.fullmatch(r"Tensor\??(\[\d*\])?", a.type))

    def __str__(self) -> str:
        words: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in words:
                words.append("*")
            words.append(str(argument))
        returns = ", ".join(map(str, self.returns))
        single = len(self.returns) == 1 and not self.returns[0].name
        return f"{self.full_name}({', '.join(words)}) -> {returns if single else f'({returns})'}"


def _bracketed(text: str, start: int) -> tuple[str, str]:
    """What is inside the bracket that opens at ``start``, and what follows it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at], text[at + 1 :]
    raise SchemaError(f"schema {text!r}: the bracket at position {start} is never closed")


def _split(text: str) -> Iterator[str]:
    """Parts between the commas that are in no bracket."""
    depth = begin = 0
    for at, character in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    if text[begin:].strip():
        yield text[begin:].strip()


_ARGUMENT = re.compile(
    r"(?P<base>\w+)(?:\((?P<alias>[^)]*)\))?(?P<suffix>[\[\]\d?]*)(?:\s+(?P<name>\w+))?(?:\s*=\s*(?P<default>.+))?"
)


def _argument(text: str, schema: str, kwarg_only: bool) -> Argument:
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise SchemaError(f"schema {schema!r}: {text!r} is no argument; one looks like 'Tensor(a!) self' or 'int[] dim=[]'")
    kind = match["base"] + match["suffix"]
    return Argument(match["name"] or "", kind, match["default"], kwarg_only, match["alias"])


def _arguments(inside: str, schema: str) -> Iterator[Argument]:
    kwarg_only = False
    for part in _split(inside):
        if part == "*":
            kwarg_only = True
            continue
        argument = _argument(part, schema, kwarg_only)
        if not argument.name:
            raise SchemaError(f"schema {schema!r}: the argument {part!r} has no name")
        yield argument


def _returns(text: str, schema: str) -> Iterator[Argument]:
    text = text.strip()
    if text.startswith("("):
        inside, rest = _bracketed(text, 0)
        if rest.strip():
            raise SchemaError(f"schema {schema!r}: nothing may follow the returns, not {rest.strip()!r}")
        text = inside
    return (_argument(part, schema, False) for part in _split(text))
