"""Function schemas: the one-line declaration of an operator as a value, read from text and printed as PyTorch does.

``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``. Mirrors
``torch/csrc/jit/frontend/function_schema_parser.cpp`` and ``aten/src/ATen/core/function_schema.h``.

Not here: Python signatures made of schemas (``codegen``), matching Python arguments to them (``torch``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, TypeVar

T = TypeVar("T")


class SchemaError(RuntimeError):
    """A text is not a schema: ``problem`` at ``position`` of ``text``; the message shows all three.

    NB: in PyTorch, it is a plain RuntimeError and its words are those of the parser of TorchScript.
    """

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.text = text
        self.position = position
        self.problem = problem
        super().__init__(f"{problem}\n  {text}\n  {' ' * position}^ here")


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter, or one return."""

    name: str
    """Empty for a return without a name."""
    type: str
    """Without alias annotations: ``Tensor``, ``Tensor?[]``, ``SymInt[2]``, ``int[1]?``."""
    default: str | None = None
    """As written; None if there is none."""
    kwarg_only: bool = False
    alias: str | None = None
    """Inside of the annotation: ``a``, ``a!``, ``a -> *``; None without one."""
    annotated: str = ""
    """The type with its annotations in place: ``Tensor(a!)[]``."""

    @property
    def is_write(self) -> bool:
        """The operator writes to it."""
        return self.alias is not None and "!" in self.alias.partition("->")[0]

    @property
    def is_tensor(self) -> bool:
        """Its key sets count for dispatch: Tensor, Tensor?, Tensor[], Tensor[2], Tensor?[] and nothing else."""
        return _TENSOR.fullmatch(self.type) is not None

    def __str__(self) -> str:
        words = f"{self.annotated or self.type} {self.name}".rstrip()
        return words if self.default is None else f"{words}={_canonical_default(self.type, self.default)}"


_TENSOR = re.compile(r"Tensor\??|Tensor\??\[\d*\]")


@dataclass(frozen=True)
class FunctionSchema:
    """The declaration of one operator."""

    name: str
    """``aten::add``, without the overload."""
    overload: str
    """``Tensor``; empty for the operator without one."""
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    """Any further arguments (``...``)."""
    is_varret: bool = False

    @staticmethod
    def parse(text: str) -> FunctionSchema:
        """Reads a schema. SchemaError says where and what was expected."""
        return _Parser(text).schema()

    @cached_property
    def full_name(self) -> str:
        """``aten::add.Tensor``; ``aten::sum`` for the empty overload."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def namespace(self) -> str:
        """``aten``; empty if the name has none."""
        return self.name.rpartition("::")[0]

    @cached_property
    def tensor_positions(self) -> tuple[int, ...]:
        """Positions of the arguments whose key sets count (``DispatchKeyExtractor``)."""
        return tuple(position for position, argument in enumerate(self.arguments) if argument.is_tensor)

    @cached_property
    def returned_arguments(self) -> tuple[int, ...]:
        """Positions of the arguments that an in-place or out= operator writes and returns; empty for all others."""
        writable = {a.alias: position for position, a in enumerate(self.arguments) if a.is_write}
        positions = tuple(writable[r.alias] for r in self.returns if r.alias in writable)
        return positions if len(positions) == len(self.returns) else ()

    @cached_property
    def _text(self) -> str:
        return f"{self.full_name}({', '.join(self._parameters())}) -> {self._result()}"

    def _parameters(self) -> Iterator[str]:
        kwarg_only = False
        for argument in self.arguments:
            if argument.kwarg_only and not kwarg_only:
                kwarg_only = True
                yield "*"
            yield str(argument)
        if self.is_vararg:
            yield "..."

    def _result(self) -> str:
        returns = [str(value) for value in self.returns] + ["..."] * self.is_varret
        return returns[0] if len(returns) == 1 else f"({', '.join(returns)})"

    def __str__(self) -> str:
        return self._text


# -- defaults ---------------------------------------------------------------------------------------------------------

_NAMED_DEFAULTS = {
    "contiguous_format": "0",
    "preserve_format": "1",
    "strided": "0",
    "Mean": "1",
    "Sum": "2",
    "float": "6",
    "long": "4",
    "cpu": '"cpu"',
}
"""Words of yaml files that PyTorch stores, and prints, as values."""


def _canonical_default(type_: str, default: str) -> str:
    """A default as PyTorch prints it: ``1e-5`` is ``1.0000000000000001e-05``, ``SymInt[2] x=1`` has ``[1, 1]``."""
    if default[0] in "\"'":
        return _canonical_string(default[1:-1])
    if default.startswith("["):
        return _canonical_list(type_, [item.strip() for item in default[1:-1].split(",") if item.strip()])
    repeated = re.fullmatch(r".*\[(\d+)\]\??", type_)
    if repeated and default != "None":
        return _canonical_list(type_, [default] * int(repeated[1]))
    if re.fullmatch(r"-?[\d.].*", default):
        return _canonical_number(type_, default)
    return _NAMED_DEFAULTS.get(default, default)


def _canonical_list(type_: str, items: list[str]) -> str:
    """Lists of several equal ints are printed as one int; no other element type is."""
    element = type_.partition("[")[0]
    if element == "int" and len(items) > 1 and len(set(items)) == 1:
        return items[0]
    return f"[{', '.join(_canonical_default(element, item) for item in items)}]"


def _canonical_number(type_: str, default: str) -> str:
    if type_ != "float" and re.fullmatch(r"-?\d+", default):
        return default
    value = float(default)
    if value.is_integer() and abs(value) < 1 << 63:
        return f"{int(value)}."
    return f"{value:.17g}"


def _canonical_string(inside: str) -> str:
    """Double quotes, and a backslash before every quote, as C++ prints it."""
    plain = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inside)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'").replace("\n", "\\n")
    return f'"{escaped.replace(chr(9), chr(92) + "t")}"'


# -- parser -----------------------------------------------------------------------------------------------------------

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
