"""The choice of the steps in a log: those of a level, of a line, of an operator, or outside of backward.

The columns of the trace decide. Of its events only lines are decoded, and only to find one. The log also contains the
lines and the steps around the chosen ones, so that a reader sees their context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE
from dispatchviz.explain.cells.operator_names import every_operator
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.explain.trace_index.enclosing_steps import source_lines
from dispatchviz.explain.trace_index.folded_steps import shown_ranges
from dispatchviz.foundation.errors import DispatchvizError

Mask = NDArray[np.bool_]
"""An array that says for each step whether it is chosen."""

KINDS = {level.name: level.kinds for level in LEVELS}
"""The kinds of events of each level, by its name; None for all kinds."""

EVERYTHING = "all"
"""The level that contains every kind."""


class LogFilter(Struct, frozen=True):
    """The filter of a log. Each field leaves out the steps that it does not choose."""

    level: str = EVERYTHING
    line: str = ""
    """``6``, ``6-9``, ``forum.py:6``. Steps in functions that the line calls are chosen too."""
    operator: str = ""
    """An operator by one of the names that people type. Steps within its calls are chosen too."""
    backward: bool = True
    """True if the steps within a backward are chosen. The start of the backward is always in the log."""

    @property
    def chooses(self) -> bool:
        """True if the filter leaves anything out."""
        return self != ALL_STEPS


ALL_STEPS = LogFilter()


def chosen_steps(trace: Trace, wanted: LogFilter) -> Sequence[int]:
    """Return the chosen steps in order. If there are none, raise DispatchvizError, which lists the possible choices."""
    chosen = np.zeros(len(trace), np.bool_)
    for steps in shown_ranges(trace, profiler=bool(wanted.operator)):
        chosen[steps.start : steps.stop] = True
    if wanted.line:
        chosen &= _on_line(trace, wanted.line)
    if wanted.operator:
        chosen &= _within_calls(trace, wanted.operator)
    if not wanted.backward:
        chosen &= ~_within(trace, trace.steps_of(ev.BackwardStarted))
    if (wanted.line or wanted.operator) and not chosen.any():
        raise DispatchvizError(f"no step of {trace.header.program} matches all of these: {_words(wanted)}")
    if wanted.operator or wanted.line:
        chosen |= _around(trace, chosen)
    return np.flatnonzero(chosen & _of_level(trace, wanted.level)).tolist()


def _words(wanted: LogFilter) -> str:
    parts = (("--line ", wanted.line), ("--op ", wanted.operator), ("--no-backward", "" if wanted.backward else " "))
    return ", ".join(f"{option}{value}".strip() for option, value in parts if value)


def _of_level(trace: Trace, level: str) -> Mask:
    kinds, columns = KINDS[level], trace.columns
    if kinds is None:
        return np.ones(len(trace), np.bool_)
    codes = [code for code in map(columns.code, kinds) if code != NONE]
    return np.isin(_array(columns.kinds), codes)


def _array(column: Sequence[int]) -> NDArray[np.int_]:
    return np.asarray(column)


def _within(trace: Trace, steps: Iterable[int], itself: bool = False) -> Mask:
    """Return the mask of the steps within some steps."""
    changes, ends = np.zeros(len(trace) + 1, np.int32), trace.ends
    for step in steps:
        changes[step if itself else step + 1] += 1
        changes[ends[step] + 1] -= 1
    return np.cumsum(changes[:-1]) > 0


def _around(trace: Trace, chosen: Mask) -> Mask:
    """Return the mask of the steps and lines that contain the chosen steps, with the lines that called these lines."""
    columns = trace.columns
    parents, lines = _array(columns.parents), _array(columns.lines)
    around = np.zeros(len(trace) + 1, np.bool_)  # the last place is that of NONE
    further = np.flatnonzero(chosen)
    while len(further):
        outer = np.unique(np.concatenate((parents[further], lines[further], _callers(trace, further))))
        further = outer[(outer != NONE) & ~around[outer]]
        around[further] = True
    return around[:-1]


def _callers(trace: Trace, steps: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the lines from which the lines among some steps were called."""
    columns = trace.columns
    found = steps[_array(columns.kinds)[steps] == columns.code(ev.SourceLine)]
    events = (trace[step] for step in found.tolist())
    callers = [event.caller for event in events if isinstance(event, ev.SourceLine) and event.caller is not None]
    return np.array(callers, np.int64)


# -- operators --------------------------------------------------------------------------------------------------------


def _within_calls(trace: Trace, text: str) -> Mask:
    """Return the mask of the calls of an operator and of the steps within them."""
    calls = trace.columns.calls()
    names = dict.fromkeys(operator for operator, _, _ in calls)
    if not names:
        raise DispatchvizError(f"--op {text}: {trace.header.program} calls no operator")
    wanted = set(every_operator(text, tuple(names)))
    return _within(trace, (step for operator, _, steps in calls if operator in wanted for step in steps), itself=True)


# -- lines ------------------------------------------------------------------------------------------------------------

LINE = re.compile(r"(?:(?P<file>.+):)?(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
"""``6``, ``6-9``, ``forum.py:6``."""


def line_range(text: str) -> tuple[str, int, int]:
    """Return file, first line and last line. Raise DispatchvizError for a text that no line can have."""
    match = LINE.fullmatch(text)
    first, last = (int(match["first"]), int(match["last"] or match["first"])) if match else (0, 0)
    if match is None:
        raise DispatchvizError(f"--line {text}: write a line such as 6, 6-9 or forum.py:6")
    return match["file"] or "", first, last


def _on_line(trace: Trace, text: str) -> Mask:
    """Return the mask of the steps on a line and on the lines of the functions that it called."""
    name, first, last = line_range(text)
    chosen: set[int] = set()
    places: dict[str, set[int]] = {}
    for event in _lines(trace):
        there = is_in_file(event.file, name)
        if (there and first <= event.line <= last) or event.caller in chosen:
            chosen.add(event.seq)
        if there:
            places.setdefault(event.file, set()).add(event.line)
    if not chosen:
        raise DispatchvizError(f"--line {text}: {_no_step_reason(trace, name, first, places)}")
    on_line = np.zeros(len(trace) + 1, np.bool_)
    on_line[list(chosen)] = True
    return on_line[_array(trace.columns.lines)]


def _lines(trace: Trace) -> Iterator[ev.SourceLine]:
    events = map(trace.__getitem__, trace.steps_of(ev.SourceLine))
    return (event for event in events if isinstance(event, ev.SourceLine))


def is_in_file(file: str, name: str) -> bool:
    """Return whether a name refers to a file. The name may be empty or leave out folders."""
    return not name or file == name or file.endswith(f"/{name}")


def _no_step_reason(trace: Trace, name: str, line: int, places: dict[str, set[int]]) -> str:
    """Return the reason why no step is on a line, and the lines that have steps."""
    if not places:
        files = ", ".join(dict.fromkeys(event.file for event in _lines(trace)))
        return f"no step is in a file with that name; there are steps in {files or 'none'}"
    file = trace.header.program if trace.header.program in places else next(iter(places))
    length = len(source_lines(trace, file))
    why = f"{file} has {length} lines" if length and not 0 < line <= length else f"nothing happens there in {file}"
    return f"{why}; there are steps on lines {_ranges(sorted(places[file]))}"


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as ranges: ``1-4, 7``."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join([*texts[:MOST], *(["..."] if len(texts) > MOST else [])])


MOST = 20
"""The number of lines, or of runs of lines, that the error lists."""
