"""The engine for a cell: ``auto`` also looks at the notebook's variables, because a cell works with their tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.notebook.cell import MAGIC, Cell
from dispatchviz.running.engine_choice.choice import ON_MODEL, Choice, NeedsTorchError, automatic_choice
from dispatchviz.running.engine_choice.requested_engine import RequestedEngine, requested_engine
from dispatchviz.running.engine_choice.used_torch import belongs_to, meanings
from dispatchviz.running.program_source import Source, working_folder


def engine_of_cell(option: RequestedEngine | None, cell: Cell, variables: Mapping[str, Any]) -> Choice:
    """Return the engine for a cell. ``option`` is the value of ``--engine``, None if it is not given.

    Raise DispatchvizError for a setting that names no engine, and for a cell that needs an installed PyTorch and cannot
    have it.
    """
    folder = working_folder()
    wanted = requested_engine(option, folder)
    if wanted != "auto":
        return Choice(wanted)
    owners = {name: belongs_to(variables[name]) for name in _names(cell.text) if name in variables}
    if "model" in owners.values():
        return ON_MODEL
    if real := next((name for name, owner in owners.items() if owner == "torch"), ""):
        return Choice("torch", f"{real} belongs to the installed PyTorch, so the cell was recorded there")
    program = Source(cell.name, cell.file, cell.text, "", folder)
    try:
        return automatic_choice(program, known=meanings(variables))
    except NeedsTorchError as error:
        raise DispatchvizError(f"{error}. To run it on the model up to that line: {MAGIC} --engine model") from None


def _names(text: str) -> list[str]:
    """Return the variables that a cell reads, in the order of the text; none if Python cannot read it."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
