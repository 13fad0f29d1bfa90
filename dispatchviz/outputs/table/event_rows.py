"""The events of a trace as columns of numbers and texts, some thousands of rows at a time.

The contents of rows are read from the trace's columns; only events that begin a line of the program are decoded. Not
here: the file (``parquet.py``).
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

Numbers = NDArray[np.int32]


class Texts(Struct, frozen=True):
    """A column of texts: for each row the number of one of ``values``, or -1 for none."""

    numbers: Numbers
    values: Sequence[str]


class Rows(Struct, frozen=True):
    """Some rows. Each column has the same number of entries. A number below 0 means that there is no value."""

    first: int
    """The ``seq`` of the first row. The others follow."""
    kinds: Texts
    parents: Numbers
    depths: Numbers
    ends: Numbers
    source_lines: Numbers
    """The ``seq`` of the SourceLine around each row."""
    files: Texts
    lines: Numbers
    functions: Texts
    operators: Texts
    keys: Texts
    nodes: Numbers
    tensors: Numbers


class _Names(dict[str, int]):
    """The numbers of texts."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


class _Places:
    """The places of a trace's steps in the program's files, from its SourceLine events. They are read only as far as
    rows need them.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace, self._steps = trace, _array(trace.steps_of(SourceLine))
        self._read = 0
        self._found = np.full((len(self._steps) + 1, 3), NONE, np.int32)
        """File, line and function of each SourceLine. The last row means that there is none."""
        self.files, self.functions = _Names(), _Names()

    def of(self, source_lines: Numbers, end: int) -> Numbers:
        """Return file, line and function for each number of a SourceLine. All numbers are below ``end``."""
        until = int(np.searchsorted(self._steps, end))
        for at in range(self._read, until):
            self._read_one(at)
        self._read = max(self._read, until)
        found = np.searchsorted(self._steps, source_lines)
        is_there = np.append(self._steps, NONE)[found] == source_lines  # -1 is found at the front
        found[~is_there] = len(self._steps)
        numbers: Numbers = self._found[found]
        return numbers

    def _read_one(self, at: int) -> None:
        event = self._trace[int(self._steps[at])]
        if isinstance(event, SourceLine):  # not if that part of the file is damaged
            self._found[at] = self.files[event.file], event.line, self.functions[event.function]


class EventRows:
    """The rows of a trace, which are requested from the first one on."""

    def __init__(self, trace: Trace) -> None:
        self._columns, self._places = trace.columns, _Places(trace)

    def rows(self, first: int, end: int) -> Rows:
        """Return the rows of the events from ``first`` to before ``end``."""

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
        """Release the parts of the file that are in memory. Rows are requested only once."""
        mapped = getattr(self._columns.kinds, "obj", None)
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _array(column: Any) -> Numbers:
    return np.array(column, np.int32)
