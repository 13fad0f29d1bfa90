"""Run a cell on the model or on the installed PyTorch, and record it.

A cell is a part of the notebook: it reads and sets the notebook's variables, and its numbers continue from cell to cell
as in one process. While it runs, ``torch`` is the chosen engine, both when imported and in the notebook's variables.
Afterward both are as before.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dispatchviz.core.seam import recorder
from dispatchviz.notebook.cell import Cell
from dispatchviz.running.call_sites import count_as_users
from dispatchviz.running.engine_choice.used_torch import meanings
from dispatchviz.running.engines import Engine
from dispatchviz.running.process.children import in_family
from dispatchviz.running.process.standard_output import reporting_writes
from dispatchviz.running.process.tracebacks import traceback_of, users_part
from dispatchviz.running.process.warnings_shown import reporting_warnings
from dispatchviz.running.recording import Recording
from dispatchviz.trace import Trace


class Ran(NamedTuple):
    """The result of a cell."""

    trace: Trace
    value: Any
    """The value of its last expression; None if there is none."""
    error: BaseException | None
    """The exception that it raised. Its traceback has the user's own frames."""


def run_cell(cell: Cell, variables: dict[str, Any], engine: Engine) -> Ran:
    """Run a cell in the notebook's namespace. Raise SyntaxError as ``compile`` does."""
    watcher = engine.recorder()
    watcher.base = id(sys._getframe()), sys._getframe().f_code
    trace = Recording(cell.name, watcher, about=engine.header)
    values: list[Any] = []
    code = cell.compiled(watcher, values.append)
    count_as_users(code)
    watcher.announced[cell.file] = cell.name
    watcher.sources[cell.name] = cell.text
    engine.prepare()
    error: BaseException | None = None
    try:
        with (
            engine.imports(),
            _torch_is_the_engines(variables, engine),
            in_family(trace.family(lambda: None)),
            reporting_writes(sys.stdout, watcher.wrote),
            reporting_warnings(watcher.warning_shown),
            engine.watching(watcher),
        ):
            recorder.start(watcher)
            try:
                exec(code, variables)
            except BaseException as raised:
                error = raised
                raised.__traceback__ = users_part(raised.__traceback__)
                watcher.correct(raised)
                watcher.raised(raised, traceback_of(raised))
            finally:
                watcher.all_written()
                if recorder.listening is watcher:
                    watcher.settle()
                recorder.stop(watcher)
    finally:
        trace.finish()
    return Ran(trace, values[-1] if values else None, error)


@contextmanager
def _torch_is_the_engines(variables: dict[str, Any], engine: Engine) -> Iterator[None]:
    """Replace the variables that are modules of torch by the engine's modules while the block runs."""
    meant = {name: importlib.import_module(module) for name, module in meanings(variables).items()}
    before = {name: variables[name] for name in meant}
    variables.update(meant)
    try:
        yield
    finally:
        again = {name: value for name, value in before.items() if variables.get(name) is meant[name]}
        variables.update(again)
