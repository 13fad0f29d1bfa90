"""A cell as a program: which lines it has, under which name, and what it leaves to be displayed.

Its lines have the numbers that the notebook shows: the first one is that of the magic. Python's tracebacks, and
IPython's, find the text.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from dispatchviz.running.instrumented_source import Watcher, compile_instrumented, with_constants

MAGIC = "%%dispatchviz"

_DISPLAYED = "\0dispatchviz displayed"
"""A constant that no sane program contains; the code has the function to call in its place."""


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook."""

    text: str
    """As a Python program: what was the magic is a comment."""
    file: str
    """As in code objects."""
    name: str
    """As a reader knows it: ``Cell In[3]``."""

    def compiled(self, watcher: Watcher, display: Callable[[Any], None]) -> CodeType:
        """Code that reports to the watcher, and hands the value of its last expression to ``display``.

        Raises SyntaxError as ``compile`` does.
        """
        code = compile_instrumented(self.text, self.file, watcher, _with_last_displayed)
        return with_constants(code, {_DISPLAYED: display})


def cell_of(shell: Any, line: str, body: str) -> Cell:
    """The cell that a shell is running, with the rest of its first line."""
    text = f"# {MAGIC} {line}".rstrip() + f"\n{shell.transform_cell(body)}"
    number = len(shell.history_manager.input_hist_raw) - 1  # the count is that of the next one already
    return Cell(text, _kept_for_tracebacks(shell, text, number), f"Cell In[{number}]")


def _kept_for_tracebacks(shell: Any, text: str, number: int) -> str:
    """The name under which tracebacks find the text, and call it ``Cell In[3]``.

    As IPython names cells itself. A kernel names them after files that do not exist; of those it shows, once a frame
    has gone on after an error, the line that this has come to.
    """
    from IPython.core.compilerop import code_name

    name: str = code_name(text, number)
    lines = [f"{line}\n" for line in text.splitlines()]
    linecache.cache[name] = len(text), None, lines, name
    shell.compile._filename_map[name] = number
    return name


def _with_last_displayed(tree: ast.Module) -> ast.Module:
    """The same with a call around the last statement, if that is an expression."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        place = ast.Constant(_DISPLAYED)
        last.value = ast.copy_location(ast.Call(ast.copy_location(place, last), [last.value], []), last)
    return tree
