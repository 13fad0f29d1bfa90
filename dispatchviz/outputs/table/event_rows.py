"""The events of a trace as columns of numbers and texts, some thousands of rows at a time.

What rows are about is read from the trace's columns; of the events only those are decoded that begin a line of the
program. Not here: a file of them (``parquet.py``).
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class Texts:
    """A column of texts: of each row a number, -1 for none, that stands for one of ``values``."""

    numbers: Numbers
    values: Sequence[str]


@dataclass(frozen=True)
class Rows:
    """Some rows; every column has as many entries. A number below 0 says that there is none."""

    first: int
    """The ``seq`` of the first row; the others follow."""
    kinds: Texts
    parents: Numbers
    depths: Numbers
    ends: Numbers
    source_lines: Numbers
    """``seq`` of the SourceLine on which each happened."""
    files: Texts
    lines: Numbers
    functions: Texts
    operators: Texts
    keys: Texts
    nodes: Numbers
    tensors: Numbers


class _Names(dict[str, int]):
    """Texts to their numbers."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


class _Places:
    """Where in the program's files the steps of a trace are: what its SourceLines say, read as far as rows ask."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._steps = trace, _array(trace.steps_of(SourceLine))
        self._read = 0
        self._told = np.full((len(self._steps) + 1, 3), NONE, np.int32)
        """File, line and function of each SourceLine; the last row says that there is none."""
        self.files, self.functions = _Names(), _Names()

    def of(self, source_lines: Numbers, end: int) -> Numbers:
        """File, line and function for each number of a SourceLine; all of them are before ``end``."""
        until = int(np.searchsorted(self._steps, end))
        for at in range(self._read, until):
            self._read_one(at)
        self._read = max(self._read, until)
        found = np.searchsorted(self._steps, source_lines)
        is_there = np.append(self._steps, NONE)[found] == source_lines  # -1 is found at the front
        found[~is_there] = len(self._steps)
        told: Numbers = self._told[found]
        return told

    def _read_one(self, at: int) -> None:
        event = self._trace[int(self._steps[at])]
        if isinstance(event, SourceLine):  # not if that part of the file is damaged
            self._told[at] = self.files[event.file], event.line, self.functions[event.function]


class EventRows:
    """The rows of a trace, asked for from the first one on."""

    def __init__(self, trace: Trace) -> None:
        self._columns, self._places = trace.columns, _Places(trace)

    def rows(self, first: int, end: int) -> Rows:
        """Those of the events from ``first`` to before ``end``."""

        def some(column: Sequence[int]) -> Numbers:
            return _array(column[first:end])

        def texts(column: Sequence[int], names: Sequence[str]) -> Texts:
            numbers = some(column)
            return Texts(np.where(numbers < len(names), numbers, NONE), names)

        columns, source_lines = self._columns, some(self._columns.lines)
        files, lines, functions = self._places.of(source_lines, end).T
        return Rows(
            first,
            kinds=texts(columns.kinds, columns.kind_names),
            parents=some(columns.parents),
            depths=some(columns.depths),
            ends=some(columns.ends),
            source_lines=source_lines,
            files=Texts(files, list(self._places.files)),
            lines=lines,
            functions=Texts(functions, list(self._places.functions)),
            operators=texts(columns.operators, columns.operator_names),
            keys=texts(columns.keys, columns.key_names),
            nodes=some(columns.nodes),
            tensors=some(columns.tensors),
        )

    def let_go(self) -> None:
        """Let go of the parts of the file that stand in memory: rows are asked for once."""
        mapped = getattr(self._columns.kinds, "obj", None)
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _array(column: Any) -> Numbers:
    return np.array(column, np.int32)
