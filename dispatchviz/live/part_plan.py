"""The kind of condition that opens the part of a program to record (``looking.py``)."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import Literal, NamedTuple

from dispatchviz.core.record.event_filter import Only, is_file
from dispatchviz.running.program_source import Source
from dispatchviz.running.recorded_part import RecordedPart, loops_of

Opener = Literal["", "iteration", "line", "module", "op", "call"]


class Plan(NamedTuple):
    """The conditions of a recording, and the kind that opens the part; empty if everything is recorded."""

    only: Only
    opener: Opener
    lines: tuple[tuple[int, int], ...] = ()
    """The lines of the script that open the part."""

    @property
    def filtered(self) -> Only:
        """The conditions that recorded events must still fulfill."""
        only = self.only
        if not self.opener:
            return only
        return Only(op=only.op if self.opener != "call" else (), line=only.line, module=only.module)

    def part(self) -> RecordedPart:
        """Return the part of the script to instrument, without its gate."""
        return RecordedPart(lines=self.lines if self.opener else (), loops=loops_of(self.only))


def plan(only: Only, script: Source | None) -> Plan:
    """Choose the kind of condition that opens the part. ``script`` is None for code that is not instrumented."""
    if only.step or (only.call and (only.line or only.module or only.iteration)):
        return Plan(only, "")
    if only.call:
        return Plan(only, "op" if only.op else "call")
    if script is None and (only.line or only.iteration):
        return Plan(only, "")
    if only.line:
        in_script = script is not None and all(is_file(script.shown, file) for file, _, _ in only.line)
        return Plan(only, "line" if in_script else "", tuple((first, last) for _, first, last in only.line))
    if only.module:
        names_file = any(_names_file(name, script) for name in only.module)
        return Plan(only, "" if names_file else "module", tuple(_methods(only, script)))
    return Plan(only, "op" if only.op else "iteration")


def _names_file(name: str, script: Source | None) -> bool:
    """Return whether a name means a file of the program."""
    if script is None:
        return "/" in name or name.endswith(".py")
    path = os.path.join(script.folder, *name.removesuffix(".py").split("/"))
    return is_file(script.shown, name) or name.endswith(".py") or os.path.exists(f"{path}.py")


def _methods(only: Only, script: Source | None) -> Iterator[tuple[int, int]]:
    """Yield first and last line of the methods of the script's classes that have a selected name."""
    tree = ast.parse(script.text) if script is not None and script.text is not None else ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in only.module:
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield method.body[0].lineno, method.end_lineno or method.body[0].lineno
