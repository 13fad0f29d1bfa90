"""Reading a function schema: PyTorch's grammar, by recursive descent.

Mirrors ``torch/csrc/jit/frontend/function_schema_parser.cpp`` and ``schema_type_parser.cpp``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

from dispatchviz.core.schema import Argument, FunctionSchema, SchemaError

T = TypeVar("T")

_TOKEN = re.compile(
    r"""\s*(?P<token>
        ->|::|\.\.\.
        |"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'
        |-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?
        |[A-Za-z_]\w*
        |[^\s]
    )""",
    re.VERBOSE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_GENERIC = ("Dict", "Future", "Await", "RRef", "Union")
"""Types that take types in parentheses; behind all others a parenthesis opens an alias annotation."""

_KNOWN_TYPES = re.compile(
    "Tensor|SymInt|SymBool|SymFloat|int|float|bool|str|complex|number|Scalar|ScalarType|Layout|MemoryFormat|Device|"
    "DeviceIndex|Generator|Stream|Storage|Dimname|QScheme|Quantizer|ConstQuantizerPtr|Capsule|Any|AnyEnumType|"
    "AnyListType|AnyTupleType|AnyClassType|None|NoneType|t[A-Z]?|t[kv]"
)
"""Plain types; the last two are type variables of TorchScript."""


def parse_schema(text: str) -> FunctionSchema:
    """The schema that a text declares. SchemaError says where the text is none, and what is allowed there."""
    return _Parser(text).schema()


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._tokens = [(m["token"], m.start("token")) for m in _TOKEN.finditer(text)]
        self._at = 0

    # -- tokens

    @property
    def _next(self) -> str:
        """The token ahead; empty at the end."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _fail(self, problem: str, back: int = 0) -> NoReturn:
        index = self._at - back
        position = self._tokens[index][1] if index < len(self._tokens) else len(self._source)
        raise SchemaError(self._source, position, problem)

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next != token:
            self._fail(f"expected {token!r}, found {self._found()}")
        self._at += 1

    def _accept(self, token: str) -> bool:
        if self._next != token:
            return False
        self._at += 1
        return True

    def _found(self) -> str:
        return repr(self._next) if self._next else "the end"

    def _identifier(self, what: str) -> str:
        if not _IDENTIFIER.fullmatch(self._next):
            self._fail(f"expected {what}, found {self._found()}")
        return self._take()

    def _separated(self, end: str, item: Callable[[], T]) -> list[T]:
        """``item, item, ... end``; none at all is fine."""
        items: list[T] = []
        if self._accept(end):
            return items
        items.append(item())
        while not self._accept(end):
            if self._next != ",":
                self._fail(f"expected ',' or {end!r}, found {self._found()}")
            self._at += 1
            items.append(item())
        return items

    # -- schema

    def schema(self) -> FunctionSchema:
        name = self._identifier("the operator's name")
        if self._next == "::" or self._next == ":":
            self._expect("::")
            name = f"{name}::{self._identifier('the name after the namespace')}"
        overload = self._overload(name)
        if not self._next:
            self._fail("only an operator name is here; a schema goes on with '(' and its arguments")
        self._expect("(")
        arguments, vararg = self._arguments()
        self._expect("->")
        returns, varret = self._returns()
        if self._next:
            self._fail(f"the schema is complete, but {self._found()} follows")
        return FunctionSchema(name, overload, tuple(arguments), tuple(returns), vararg, varret)

    def _overload(self, name: str) -> str:
        if not self._accept("."):
            return ""
        overload = self._identifier("an overload name")
        if overload == "default":
            self._fail("'default' is not a legal overload name; leave the overload out", back=1)
        return overload

    def _arguments(self) -> tuple[list[Argument], bool]:
        """Up to and including the closing parenthesis."""
        self._kwarg_only = self._vararg = False
        found = self._separated(")", self._argument)
        arguments = [argument for argument in found if argument is not None]
        return arguments, self._vararg

    def _argument(self) -> Argument | None:
        """None for the star and the dots, which are no arguments."""
        if self._vararg:
            self._fail("'...' must be the last argument")
        if self._next == "*":
            if self._kwarg_only:
                self._fail("a second '*': keyword-only arguments began already")
            self._at += 1
            self._kwarg_only = True
            return None
        if self._accept("..."):
            self._vararg = True
            return None
        annotated = self._type()
        name = self._identifier(f"a name for the argument of type {annotated}")
        default = self._default() if self._accept("=") else None
        return _argument(name, annotated, default, self._kwarg_only)

    def _returns(self) -> tuple[list[Argument], bool]:
        if self._accept("..."):
            return [], True
        if self._next == "(":
            self._at += 1
            return self._separated(")", self._return), False
        return [self._return()], False

    def _return(self) -> Argument:
        annotated = self._type()
        name = self._take() if _IDENTIFIER.fullmatch(self._next) else ""
        return _argument(name, annotated)

    # -- types

    def _type(self) -> str:
        """With its annotations, in PyTorch's spacing."""
        if self._accept("("):
            written = f"({', '.join(self._separated(')', self._type))})"
        else:
            written = self._base_type()
        return written + "".join(self._suffixes())

    def _base_type(self) -> str:
        start = self._at
        name = self._identifier("a type")
        while self._accept("."):
            name = f"{name}.{self._identifier('a type name')}"
        if name in _GENERIC:
            self._expect("(")
            return f"{name}({', '.join(self._separated(')', self._type))})"
        if "." not in name and not _KNOWN_TYPES.fullmatch(name):
            self._fail(f"unknown type {name!r}; common ones are {_COMMON_TYPES}", back=self._at - start)
        return name

    def _suffixes(self) -> Iterator[str]:
        while True:
            if self._accept("?"):
                yield "?"
            elif self._accept("["):
                yield f"[{self._take() if self._next.isdigit() else ''}]"
                self._expect("]")
            elif self._next == "(":
                yield self._annotation()
            else:
                return

    def _annotation(self) -> str:
        """``(a!)``, ``(a -> *)``, ``(a|b!)``"""
        self._expect("(")
        before = self._alias_set()
        write = "!" if self._accept("!") else ""
        after = f" -> {self._alias_set()}" if self._accept("->") else ""
        self._expect(")")
        return f"({before}{write}{after})"

    def _alias_set(self) -> str:
        if self._accept("*"):
            return "*"
        names = [self._identifier("an alias set, like a or *")]
        while self._accept("|"):
            names.append("*" if self._accept("*") else self._identifier("an alias set, like a or *"))
        return "|".join(names)

    # -- defaults

    def _default(self) -> str:
        if self._accept("["):
            return f"[{', '.join(self._separated(']', self._default))}]"
        token = self._next
        if _NUMBER.fullmatch(token) or _IDENTIFIER.fullmatch(token) or (token[:1] in ('"', "'") and len(token) > 1):
            return self._take()
        return self._fail(
            f"expected a default (a number, a text, a list, None, True, False, a name), found {self._found()}"
        )


_COMMON_TYPES = "Tensor, SymInt, int, float, bool, Scalar, str, ScalarType, Layout, Device, MemoryFormat, Generator"


def _argument(name: str, annotated: str, default: str | None = None, kwarg_only: bool = False) -> Argument:
    found = _ANNOTATION.search(annotated)
    plain = _ANNOTATION.sub("", annotated)
    return Argument(name, plain, default, kwarg_only, found["inside"] if found else None, annotated)


_ANNOTATION = re.compile(r"(?<=[\w\]?])\((?P<inside>[a-z*]\w*(?:\|[\w*]+)*!?(?: -> [^)]*)?)\)(?!\w)")
