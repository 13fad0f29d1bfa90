"""The parser of function schemas: PyTorch's grammar, by recursive descent, with PyTorch's error messages.

This module mirrors ``torch/csrc/jit/frontend/function_schema_parser.cpp`` and ``schema_type_parser.cpp``.

Not here: tokens (``schema_lexer.py``), types and texts (``schema_grammar.py``).

NB: in PyTorch, custom classes have to be registered, elements of a list have to be of its type, and numbers have to fit
into 64 bits.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dispatchviz.core.schema.function_schema import Argument, FunctionSchema
from dispatchviz.core.schema.schema_grammar import (
    DEFAULT_BEFORE,
    DOTS_NOT_LAST,
    DTYPES,
    ELEMENTS,
    GENERIC,
    KNOWN_TYPES,
    NAMED_VALUES,
    NO_DEFAULTS_OF_TYPE,
    NO_LIST_OF_TYPE,
    NONE_ALONE,
    NOT_A_DEFAULT,
    ONLY_A_NAME,
    ONLY_PYTORCHS,
    SYNONYMS,
    UNKNOWN_TYPE,
    VALUES,
)
from dispatchviz.core.schema.schema_lexer import ARROW, DOTS, EOF, IDENT, NUMBER, TEXT, SchemaError, Token, Tokens


def parse_schema(text: str, trusted: bool = True) -> FunctionSchema:
    """Return the schema that a text declares. Raise SchemaError with PyTorch's text if it declares none.

    ``trusted`` schemas may have types that only PyTorch's own have.
    """
    return _Parser(text, trusted).schema()


def parse_name(text: str) -> OperatorName:
    """Return the name that a text contains (``torch::jit::parseName``). Raise SchemaError (a RuntimeError) with
    PyTorch's text for anything else.
    """
    tokens = Tokens(text)
    found = read_name(tokens)
    if tokens.cur.kind == "(":
        parse_schema(text)
        raise RuntimeError("Tried to parse an operator name but function schema was given")
    tokens.expect(EOF)
    return found


class _Parser:
    """A recursive-descent parser over the tokens of one text."""

    def __init__(self, text: str, trusted: bool) -> None:
        self._tokens = Tokens(text)
        self._trusted = trusted

    def schema(self) -> FunctionSchema:
        tokens = self._tokens
        name = read_name(tokens)
        if tokens.cur.kind != "(":
            tokens.expect(EOF)
            raise SchemaError(tokens.source, tokens.cur.start, ONLY_A_NAME, length=0)
        arguments, vararg = self._arguments()
        tokens.expect(ARROW)
        returns, varret = self._returns()
        tokens.expect(EOF)
        schema = FunctionSchema(*name, tuple(arguments), tuple(returns), vararg, varret)
        self._check_defaults(schema)
        return schema

    def _arguments(self) -> tuple[list[Argument], bool]:
        self._kwarg_only = self._dots = False
        found = self._tokens.separated("(", ")", self._argument)
        return [argument for argument in found if argument is not None], self._dots

    def _argument(self) -> Argument | None:
        """Read an argument. Return None for the star and the dots, which are not arguments."""
        tokens = self._tokens
        if self._dots:
            raise tokens.error(DOTS_NOT_LAST.format("argument"))
        if tokens.next_if("*"):
            self._kwarg_only = True
            return None
        if tokens.next_if(DOTS):
            self._dots = True
            return None
        annotated = self._sized_type()
        name = tokens.expect(IDENT).text
        default = self._default(annotated) if tokens.next_if("=") else None
        return _argument(name, annotated, default, self._kwarg_only)

    def _returns(self) -> tuple[list[Argument], bool]:
        self._dots = False
        if self._tokens.next_if(DOTS):
            return [], True
        if self._tokens.cur.kind != "(":
            return [self._one_return()], False
        found = self._tokens.separated("(", ")", self._return)
        return [value for value in found if value is not None], self._dots

    def _return(self) -> Argument | None:
        if self._dots:
            raise self._tokens.error(DOTS_NOT_LAST.format("return"))
        if self._tokens.next_if(DOTS):
            self._dots = True
            return None
        return self._one_return()

    def _one_return(self) -> Argument:
        annotated = self._sized_type()
        return _argument(self._tokens.next().text if self._tokens.cur.kind == IDENT else "", annotated)

    def _check_defaults(self, schema: FunctionSchema) -> None:
        seen = False
        for argument in schema.arguments:
            if seen and argument.default is None and not argument.kwarg_only:
                problem = DEFAULT_BEFORE.format(argument.name, schema)
                raise SchemaError(self._tokens.source, 0, problem, length=0)
            seen = seen or argument.default is not None

    # -- types

    def _sized_type(self) -> str:
        """Read a type with annotations, in PyTorch's spacing. Only here may a list have a length."""
        written = self._type()
        if self._tokens.next_if("["):
            written += f"[{self._tokens.expect(NUMBER).text}]"
            self._tokens.expect("]")
            written += self._annotation() + ("?" if self._tokens.next_if("?") else "")
        return written

    def _type(self) -> str:
        tokens = self._tokens
        if tokens.cur.kind == "(":
            written = f"({', '.join(tokens.separated('(', ')', self._type))})"
        else:
            written = self._base_type()
        while True:
            if tokens.cur.kind == "[" and tokens.lookahead(1).kind == "]":
                tokens.next()
                tokens.next()
                written += f"[]{self._annotation()}"
            elif tokens.next_if("?"):
                written += "" if written.endswith("?") else "?"
            else:
                return written

    def _base_type(self) -> str:
        tokens = self._tokens
        start = tokens.cur
        name = tokens.next().text if start.kind == "None" else tokens.expect(IDENT).text
        if name == "Union":
            return f"Union({', '.join(tokens.separated('(', ')', self._type))})"
        if name in GENERIC:
            return f"{name}({', '.join(self._type_arguments(GENERIC[name]))})" + self._annotation()
        if name == "__torch__":
            return name + self._class_name()
        if name not in KNOWN_TYPES and not (self._trusted and ONLY_PYTORCHS.fullmatch(name)):
            raise tokens.error(UNKNOWN_TYPE, start)
        return SYNONYMS.get(name, name) + self._annotation()

    def _type_arguments(self, count: int) -> list[str]:
        self._tokens.expect("(")
        types = [self._type()]
        while len(types) < count:
            self._tokens.expect(",")
            types.append(self._type())
        self._tokens.expect(")")
        return types

    def _class_name(self) -> str:
        """Read a class name, ``.torch.classes.rnn.CellParamsBase``."""
        self._tokens.expect(".")
        written = f".{self._tokens.expect(IDENT).text}"
        while self._tokens.next_if("."):
            written += f".{self._tokens.expect(IDENT).text}"
        return written

    def _annotation(self) -> str:
        """Read an alias annotation, ``(a!)``, ``(a -> *)``, ``(a|b!)``; empty if there is none."""
        if not self._tokens.next_if("("):
            return ""
        before = self._alias_set()
        write = "!" if self._tokens.next_if("!") else ""
        after = f" -> {self._alias_set()}" if self._tokens.next_if(ARROW) else ""
        self._tokens.expect(")")
        return f"({before}{write}{after})"

    def _alias_set(self) -> str:
        names = [self._alias()]
        while self._tokens.next_if("|"):
            names.append(self._alias())
        return "|".join(names)

    def _alias(self) -> str:
        return "*" if self._tokens.next_if("*") else self._tokens.expect(IDENT).text

    # -- defaults

    def _default(self, annotated: str) -> str:
        """Read a default as it is written. Its type decides which defaults are allowed."""
        type_ = _ANNOTATION.sub("", annotated)
        if type_.endswith("?"):
            return self._constant(type_.removesuffix("?"))
        sized = re.search(r"\[\d+\]$", type_)
        if type_.endswith("]") and not (sized and self._tokens.cur.kind != "["):
            return self._constants(type_.rpartition("[")[0])
        if sized:
            return self._constant(type_.rpartition("[")[0])
        if type_ in NONE_ALONE:
            return self._tokens.expect("None").text
        if type_ == "Device":
            return self._tokens.expect(TEXT).text
        if type_ not in VALUES and not (self._trusted and ONLY_PYTORCHS.fullmatch(type_)):
            raise self._tokens.error(NO_DEFAULTS_OF_TYPE)
        return self._constant(type_)

    def _constants(self, element: str) -> str:
        opening = self._tokens.cur
        values = self._tokens.separated("[", "]", lambda: self._constant(element))
        if element not in ELEMENTS:
            raise self._tokens.error(NO_LIST_OF_TYPE, opening)
        return f"[{', '.join(values)}]"

    def _constant(self, type_: str) -> str:
        tokens = self._tokens
        if tokens.cur.kind in ("True", "False", "None", TEXT):
            return tokens.next().text
        if tokens.cur.kind == IDENT:
            return self._named(tokens.next(), type_)
        sign = "-" if tokens.next_if("-") else ""
        return sign + tokens.expect(NUMBER).text

    def _named(self, token: Token, type_: str) -> str:
        dtype = type_ == "ScalarType" and token.text in DTYPES
        if token.text not in NAMED_VALUES and not dtype:
            raise self._tokens.error(NOT_A_DEFAULT)
        return token.text


def _argument(name: str, annotated: str, default: str | None = None, kwarg_only: bool = False) -> Argument:
    found = _ANNOTATION.search(annotated)
    plain = _ANNOTATION.sub("", annotated)
    return Argument(name, plain, default, kwarg_only, found["inside"] if found else None, annotated)


_ANNOTATION = re.compile(r"(?<=[\w\]?])\((?P<inside>[a-z*]\w*(?:\|[\w*]+)*!?(?: -> [^)]*)?)\)(?!\w)")


class OperatorName(NamedTuple):
    """An operator's name and its overload, which may be empty."""

    name: str
    overload: str

    def __str__(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


def read_name(tokens: Tokens) -> OperatorName:
    """Read the name at the beginning of a schema. Raise SchemaError if there is none, or for a reserved overload."""
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
