"""The lexer of schemas and operator names, and PyTorch's error for a text that is neither.

This module mirrors ``torch/csrc/jit/frontend/lexer.h`` and ``source_range.cpp``. PyTorch reads schemas with
TorchScript's lexer, so TorchScript's keywords are not names here either.

NB: in PyTorch, the indentation of a line outside of parentheses is a token; here line ends are spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")

IDENT, NUMBER, TEXT, EOF = "ident", "number", "string_literal", "eof"
ARROW, DOTS = "arrow", "dots"

KEYWORDS = frozenset(
    (
        *("True", "False", "None", "def", "class", "if", "elif", "else", "for", "while", "in", "is", "not", "and"),
        *("or", "return", "raise", "assert", "pass", "break", "continue", "import", "global", "with", "as", "del"),
    )
)

_TWO = {"->": ARROW, "...": DOTS, "<=": "le", ">=": "ge", "==": "eq", "!=": "ne"}
_TWO |= {"**": "pow operator", "//": "floordiv", "+=": "+=", "-=": "-=", "*=": "*=", "/=": "/="}
"""Tokens of several characters and what PyTorch calls them."""

_TOKEN = re.compile(
    r"""\#[^\n]*
    |(?P<string_literal>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<several>->|\.\.\.|<=|>=|==|!=|\*\*|//|[-+*/]=)
    |(?P<number>0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)
    |(?P<ident>[A-Za-z_]\w*)
    |(?P<other>\S)""",
    re.VERBOSE | re.ASCII,
)
_SINGLE = frozenset("+-*/%@()[]{}:,.?<>=!|&^~")


class Token(NamedTuple):
    """A piece of a text."""

    kind: str
    """The kind: ``ident``, ``number``, ...; for keywords and single characters it is their text."""
    text: str
    start: int


class SchemaError(RuntimeError):
    """The error for a text that is not a schema or name. The message shows ``problem``, ``text`` and ``position``."""

    def __init__(self, text: str, position: int, problem: str, length: int = 1) -> None:
        self.text = text
        self.position = position
        self.problem = problem
        super().__init__(f"{problem}:\n{_highlighted(text, position, position + length)}" if length else problem)


def _highlighted(text: str, start: int, end: int) -> str:
    """The lines around a range, underlined unless it is the whole text or its end."""
    if start >= len(text) or end - start == len(text):
        return text
    before, inside = text[:start].split("\n"), text[start:].split("\n")
    shown = [*before[-_CONTEXT:-1], before[-1] + inside[0]]
    column = len(before[-1])
    mark = f"{' ' * column}{'~' * (end - start)} <--- HERE"
    return "".join(f"{line}\n" for line in (*shown, mark, *(line for line in inside[1:_CONTEXT] if line)))


_CONTEXT = 3


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens, the last of kind ``eof``. Raise SchemaError for a character that cannot be in a schema."""
    for found in _TOKEN.finditer(text):
        kind, written, start = found.lastgroup, found[0], found.start()
        if kind == "several":
            yield Token(_TWO[written], written, start)
        elif kind == "other":
            if written not in _SINGLE:
                raise SchemaError(text, start, f"expected a valid token but found '{written}' here")
            yield Token(written, written, start)
        elif kind is not None:
            yield Token(written if written in KEYWORDS else kind, written, start)
    yield Token(EOF, "", len(text))


class Tokens:
    """A text that is read token by token."""

    def __init__(self, text: str) -> None:
        """Split a text. Raise SchemaError for a character that cannot be in a schema."""
        self.source = text
        self._tokens = list(tokens(text))
        self._at = 0

    @property
    def cur(self) -> Token:
        """The current token."""
        return self._tokens[self._at]

    def next(self) -> Token:
        """Return the current token and advance."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def next_if(self, kind: str) -> bool:
        """Advance if the current token has a kind. Return whether it had."""
        if self.cur.kind != kind:
            return False
        self.next()
        return True

    def expect(self, kind: str) -> Token:
        """Return the current token and advance. Raise SchemaError if it does not have this kind."""
        if self.cur.kind != kind:
            raise self.error(f"expected {kind} but found '{self.cur.kind}' here")
        return self.next()

    def lookahead(self, ahead: int) -> Token:
        """The token ``ahead`` tokens after the current one."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def error(self, problem: str, at: Token | None = None) -> SchemaError:
        """Return the SchemaError at a token, by default the current one."""
        token = at or self.cur
        return SchemaError(self.source, token.start, problem, max(len(token.text), 1))

    def separated(self, begin: str, end: str, item: Callable[[], T]) -> list[T]:
        """Read ``( item, item, ... )``, which may be empty."""
        self.expect(begin)
        items: list[T] = []
        if self.cur.kind != end:
            items.append(item())
            while self.next_if(","):
                items.append(item())
        self.expect(end)
        return items
