"""Code in colors: spans of text with role names, from Pygments. Commands print Python, yaml and C++ with it.

Elsewhere: the color of a role (``tui/terminal/palette.py``, ``cards/codegen_text.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from dispatchviz.views.text.console import Console

Span = tuple[str, str]
"""A text and the name of its role; an empty role is normal text."""

ROLES = (
    ("Token.Comment", "code.comment"),
    ("Token.Literal.String", "code.string"),
    ("Token.Literal.Number", "code.number"),
    ("Token.Keyword", "code.keyword"),
    ("Token.Name.Function", "code.name"),
    ("Token.Name.Class", "code.name"),
    ("Token.Name.Decorator", "code.name"),
    ("Token.Name.Tag", "code.keyword"),
    ("Token.Operator.Word", "code.keyword"),
)
"""The roles for Pygments' kinds of tokens; other tokens are normal text."""

LEXERS = {"python": ("python", "PythonLexer"), "yaml": ("data", "YamlLexer"), "cpp": ("c_cpp", "CppLexer")}
"""Pygments' module and class for each language."""


@functools.lru_cache(maxsize=128)
def highlighted(lines: tuple[str, ...], language: str = "python") -> list[tuple[Span, ...]]:
    """The spans of each line."""
    rows: list[list[Span]] = [[]]
    for kind, text in _lexer(language).get_tokens("\n".join(lines)):
        first, *rest = text.split("\n")
        role = _role(str(kind))
        rows[-1].append((first, role))
        rows += [[(part, role)] for part in rest]
    return [tuple(row) for row in rows]


@functools.cache
def _lexer(language: str) -> Any:
    import importlib

    module, name = LEXERS[language]
    return getattr(importlib.import_module(f"pygments.lexers.{module}"), name)(stripnl=False, ensurenl=False)


@functools.cache
def _role(kind: str) -> str:
    return next((role for prefix, role in ROLES if kind.startswith(prefix)), "")


CODE_STYLES = {
    "code.comment": ("dim",),
    "code.string": ("green",),
    "code.number": ("yellow",),
    "code.keyword": ("cyan", "bold"),
    "code.name": ("bold",),
}
"""The styles of each role of code."""


def code(text: str, language: str, console: Console, indent: int = 4) -> Iterator[str]:
    """Yield lines of code, in colors if the console has them. They are never wrapped."""
    lines = text.splitlines()
    if not console.colors:
        yield from (f"{'':{indent}}{line}".rstrip() for line in lines)
        return

    for spans in highlighted(tuple(lines), language):
        yield f"{'':{indent}}" + "".join(console.styled(part, *CODE_STYLES.get(role, ())) for part, role in spans)
