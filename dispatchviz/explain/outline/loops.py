"""The loops of a source file, and the lines of an iteration."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

_LOOPS = ast.For | ast.AsyncFor | ast.While

_MAY_LOOP = re.compile(r"^\s*(async\s+for|for|while)\b", re.MULTILINE)


class Loop(NamedTuple):
    """The lines of a loop, counted from 1. ``else`` is not part of an iteration."""

    head: int
    first: int
    """The first line that an iteration reaches: the head of ``while``, whose condition is evaluated each time."""
    last: int
    asks: bool = False
    """True if the condition is evaluated in each iteration, as in ``while``."""

    def has(self, line: int) -> bool:
        """Return whether a line belongs to an iteration."""
        return self.first <= line <= self.last


@lru_cache(maxsize=64)
def loops_of(text: str) -> Mapping[int, Loop]:
    """Return the loops of a file's text by the line of their head; empty if the text is not Python."""
    return {loop.head: loop for loop in _loops(text)} if _MAY_LOOP.search(text) else {}


def _loops(text: str) -> Iterator[Loop]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, _LOOPS):
            asks = isinstance(node, ast.While)
            first = node.lineno if asks else _begin(node.body[0])
            yield Loop(node.lineno, first, node.body[-1].end_lineno or first, asks)


def _begin(statement: ast.stmt) -> int:
    """Return the line where a statement begins. A decorated definition begins at its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
