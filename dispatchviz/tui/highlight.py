"""Python text in colours, by Pygments, which is only loaded once the first screen has been painted."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

from dispatchviz.tui.text import Span

ROLES = (
    ("Token.Comment", "code.comment"),
    ("Token.Literal.String", "code.string"),
    ("Token.Literal.Number", "code.number"),
    ("Token.Keyword", "code.keyword"),
    ("Token.Name.Function", "code.name"),
    ("Token.Name.Class", "code.name"),
    ("Token.Name.Decorator", "code.name"),
    ("Token.Operator.Word", "code.keyword"),
)
"""Pygments' kinds of tokens and the roles that show them; other tokens are normal text."""


def load() -> None:
    """Loads Pygments; until then text has no colours."""
    import pygments.lexers.python  # type: ignore[import-untyped]  # noqa: F401


def highlighted(lines: tuple[str, ...]) -> list[tuple[Span, ...]]:
    """The spans of each line."""
    if "pygments.lexers.python" not in sys.modules:
        return [((text, ""),) for text in lines]
    return _highlighted(lines)


@functools.lru_cache(maxsize=128)
def _highlighted(lines: tuple[str, ...]) -> list[tuple[Span, ...]]:
    from pygments.lexers.python import PythonLexer

    rows: list[list[Span]] = [[]]
    for text, role in _tokens(PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines))):
        first, *rest = text.split("\n")
        rows[-1].append((first, role))
        rows += [[(part, role)] for part in rest]
    return [tuple(row) for row in rows]


def _tokens(tokens: Any) -> Iterator[Span]:
    return ((text, _role(str(kind))) for kind, text in tokens)


@functools.cache
def _role(kind: str) -> str:
    return next((role for prefix, role in ROLES if kind.startswith(prefix)), "")
