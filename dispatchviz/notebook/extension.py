"""The magics: ``%%dispatchviz`` runs a cell and shows its trace, ``%dispatchviz`` looks things up as the commands
do.
"""

from __future__ import annotations

import sys
from typing import Any

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shown_text import shown
from dispatchviz.notebook.cell import cell_of
from dispatchviz.notebook.cell_engine import engine_of_cell
from dispatchviz.notebook.cell_run import run_cell
from dispatchviz.notebook.shown import Shown, looked_up
from dispatchviz.outputs.cell.html import key_set_html, key_set_markdown
from dispatchviz.outputs.cell.trace_card import LEVEL
from dispatchviz.running.engine_choice.requested_engine import ENGINES
from dispatchviz.running.engines import engine_named

NAME = "dispatchviz"

USAGE = f"%%{NAME} [NAME] [--engine {'|'.join(ENGINES)}] [--level LEVEL] [--no-picture] [--quiet]"

FORMATTERS = {"text/html": key_set_html, "text/markdown": key_set_markdown}
"""The notebook's views of a key set. The class itself has only the methods that PyTorch's has."""


def load(shell: Any) -> None:
    """Register the magics with an IPython shell."""
    shell.register_magic_function(magic, "line_cell", NAME)
    for mime, formatter in FORMATTERS.items():
        shell.display_formatter.formatters[mime].for_type(DispatchKeySet, formatter)


def unload(shell: Any) -> None:
    """Remove the magics from an IPython shell."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(NAME, None)
    for mime in FORMATTERS:
        shell.display_formatter.formatters[mime].pop(DispatchKeySet, None)


def magic(line: str, cell: str | None = None) -> Shown | None:
    """Run a cell, record it and show its trace: ``%%dispatchviz [NAME] [--engine auto|model|torch] [--level
    LEVEL] [--no-picture] [--quiet]``. NAME becomes a variable with the trace.

    ``%dispatchviz table|why|keys|codegen ...`` prints the output of that command.
    """
    if cell is None:
        return looked_up(line)
    from IPython import get_ipython

    _run(get_ipython(), line, cell)
    return None


def _run(shell: Any, line: str, body: str) -> None:
    from IPython.core.error import UsageError
    from IPython.display import display

    try:
        options = _options(line)
        cell = cell_of(shell, line, body)
        engine = engine_named(*engine_of_cell(options.engine, cell, shell.user_ns))
    except DispatchvizError as error:
        raise UsageError(str(error)) from None
    try:
        ran = run_cell(cell, shell.user_ns, engine)
    except SyntaxError as error:
        raise _syntax_error(shell, error) from None
    if options.name:
        shell.user_ns[options.name] = ran.trace
    if ran.error is None and ran.value is not None:
        sys.displayhook(ran.value)
    if not options.quiet:
        display(Shown.of_trace(ran.trace, options.level, options.picture))
    if ran.error is not None:
        raise _with_own_traceback(shell, ran.error)


def _with_own_traceback(shell: Any, error: BaseException) -> BaseException:
    """Return the error, for which IPython shows the frames of the cell and no frames around it."""
    frames = error.__traceback__

    def rendered() -> list[str]:
        found: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, frames, tb_offset=0)
        return found

    error._render_traceback_ = rendered  # type: ignore[attr-defined]  # IPython calls it
    return error


def _syntax_error(shell: Any, error: SyntaxError) -> Exception:
    """Return an error that IPython shows as a syntax error of a cell. For a real one, raised while a cell runs, it
    would show all frames.
    """

    def rendered(self: Exception) -> list[str]:
        found: list[str] = shell.SyntaxTB.structured_traceback(type(error), error, [])
        return found

    same: type[Exception] = type(type(error).__name__, (Exception,), {"_render_traceback_": rendered})
    return same(*error.args[:1])


def _options(line: str) -> Any:
    """Read the words after the magic. Raise DispatchvizError for words that are not understood."""
    import argparse
    import shlex

    parser = _Parser(prog=f"%%{NAME}", add_help=False, allow_abbrev=False)
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--level", choices=[level.name for level in LEVELS], default=LEVEL)
    parser.add_argument("--picture", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--quiet", action="store_true")
    try:
        options = parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise DispatchvizError(str(error)) from None
    if options.name and not options.name.isidentifier():
        raise DispatchvizError(f"{shown(options.name)} cannot be a variable for the trace: %%{NAME} NAME --options")
    return options


def _parser_class() -> type:
    import argparse

    class Parser(argparse.ArgumentParser):
        """An argument parser that raises an error instead of ending the process."""

        def error(self, message: str) -> Any:
            """Raise DispatchvizError."""
            raise DispatchvizError(f"{message}; {USAGE}")

    return Parser


_Parser = _parser_class()
