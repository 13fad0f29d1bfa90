"""Options that no run of the program can satisfy. They are refused before the program runs.

A program may define operators that PyTorch does not have. So an unknown operator is refused only if the program's whole
text is known and defines none. A line is refused only if no file of the program has that many lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from dispatchviz.cli.input_source import standard_input
from dispatchviz.cli.program_text import whole_program
from dispatchviz.core.record.event_filter import Only, is_file, names_operator
from dispatchviz.core.table.registry import process
from dispatchviz.explain.cells.operator_names import close_operators, means_one
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.log.log_filter import is_in_file, line_range
from dispatchviz.running.program_source import STANDARD_INPUT, Script, Source, read_source
from dispatchviz.running.recording import EngineName

OPERATOR = re.compile(r"[\w.:]+\(?")
"""A pattern for every name that an operator can have."""

DEFINES_OPERATORS = re.compile(r"\b(library|custom_op|triton_op|load_library)\b")
"""Words with which a program defines operators."""


def _operators() -> list[str]:
    """Return the names of the operators of this process, without creating any operator."""
    from dispatchviz.core.wiring import native_library  # noqa: F401  makes PyTorch's operators known

    return process.names()


def check_filters(log: Mapping[str, str], source: Script, engine: EngineName) -> None:
    """Check ``--op`` and ``--line`` of a log. Raise DispatchvizError for one that no log of the program can match."""
    operator, line = log.get("operator"), log.get("line")
    if operator is not None and not OPERATOR.fullmatch(operator.strip()):
        raise DispatchvizError(f"--op {operator!r}: write an operator such as add, torch.add or aten::add.Tensor")
    lines = [] if line is None else [line_range(line)]
    if any(not 0 < first <= last for _, first, last in lines):
        raise DispatchvizError(f"--line {line}: lines start at 1, and a range ends with the higher number")
    if not operator and not lines:
        return
    program = _read(source)
    if operator and engine == "model":
        program.check_operator(f"--op {operator}", operator, means_one(operator, _operators()))
    if lines:
        program.check_line(f"--line {line}", lines, is_in_file)


def check_only(only: Only, source: Script, engine: EngineName) -> None:
    """Check ``--only``: at least one of its operators and one of its lines must exist."""
    if not only.op and not only.line:
        return
    program = _read(source)
    if only.op and engine == "model":
        there = any(names_operator(name, operator) for operator in _operators() for name in only.op)
        program.check_operator(f"--only op={only.op[0]}", only.op[0], there)
    if only.line:
        option = next(text for text in only.texts if text.startswith("line="))
        program.check_line(f"--only {option}", only.line, is_file)


class _Program(NamedTuple):
    """A program that was read but has not run."""

    source: Source
    texts: dict[str, str] | None
    """The text of each file; None if the files are not known."""

    def check_operator(self, option: str, name: str, there: bool) -> None:
        """Raise DispatchvizError for an operator that neither PyTorch nor the program has."""
        if there or self.texts is None or any(map(DEFINES_OPERATORS.search, self.texts.values())):
            return
        close = close_operators(name, _operators())
        meant = f"; did you mean {' or '.join(close)}?" if close else ""
        shown = self.source.shown
        raise DispatchvizError(f"{option}: neither PyTorch nor {shown} has this operator; {shown} was not run{meant}")

    def check_line(
        self, option: str, lines: Iterable[tuple[str, int, int]], is_called: Callable[[str, str], bool]
    ) -> None:
        """Raise DispatchvizError for lines that none of the program's files has."""
        shown, path, text = self.source.shown, self.source.path, self.source.text or ""
        if self.texts is not None and not any(
            first <= len(text.splitlines()) and (is_called(file, name) or (file == path and is_called(shown, name)))
            for name, first, _ in lines
            for file, text in self.texts.items()
        ):
            has = f"{shown} has {len(text.splitlines())} lines"
            raise DispatchvizError(f"{option}: no file of the program has this line ({has}); it was not run")


def _read(source: Script) -> _Program:
    program = read_source(source, standard_input() if source == STANDARD_INPUT else b"")
    return _Program(program, whole_program(program))
