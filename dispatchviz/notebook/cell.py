"""A cell as a program: its lines, its name, and the value that it displays.

Lines have the numbers that the notebook shows; the first one is the magic. The tracebacks of Python and IPython find
the text.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

from msgspec import Struct

from dispatchviz.running.instrumented_source import Watcher, compile_instrumented, with_constants

MAGIC = "%%dispatchviz"

_DISPLAYED = "\0dispatchviz displayed"
"""A placeholder constant that no sane program contains. The compiled code has the display function in its place."""


class Cell(Struct, frozen=True):
    """A cell of a notebook."""

    text: str
    """The cell as a Python program; the magic is a comment."""
    file: str
    """The file name in code objects."""
    name: str
    """The name for readers: ``Cell In[3]``."""

    def compiled(self, watcher: Watcher, display: Callable[[Any], None]) -> CodeType:
        """Compile the cell. The code reports to the watcher and passes the value of its last expression to ``display``.

        Raise SyntaxError as ``compile`` does.
        """
        code = compile_instrumented(self.text, self.file, watcher, _with_last_displayed)
        return with_constants(code, {_DISPLAYED: display})


def cell_of(shell: Any, line: str, body: str) -> Cell:
    """Return the cell that a shell is running. ``line`` is the rest of its first line."""
    text = f"# {MAGIC} {line}".rstrip() + f"\n{shell.transform_cell(body)}"
    number = len(shell.history_manager.input_hist_raw) - 1  # the counter is already that of the next cell
    return Cell(text, _kept_for_tracebacks(shell, text, number), f"Cell In[{number}]")


def _kept_for_tracebacks(shell: Any, text: str, number: int) -> str:
    """Register the text for tracebacks, which call it ``Cell In[3]``; return its file name.

    IPython names cells the same way. A kernel uses names of files that do not exist. For those, a traceback of a frame
    that went on after an error shows the frame's current line.
    """
    from IPython.core.compilerop import code_name

    name: str = code_name(text, number)
    lines = [f"{line}\n" for line in text.splitlines()]
    linecache.cache[name] = len(text), None, lines, name
    shell.compile._filename_map[name] = number
    return name


def _with_last_displayed(tree: ast.Module) -> ast.Module:
    """Wrap the last statement in a call to the display function, if it is an expression."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        place = ast.Constant(_DISPLAYED)
        last.value = ast.copy_location(ast.Call(ast.copy_location(place, last), [last.value], []), last)
    return tree
