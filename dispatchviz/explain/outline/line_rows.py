"""The user's lines as a tree: statements, the calls of the user's functions in them, the iterations of loops.

Each row of the tree is a range of steps that ends where the next row of its level begins. Rows are nested or disjoint.
A statement begins at its SourceLine. An iteration of a loop, or a call of a function, begins at its first statement. If
a loop has only one iteration, or a statement calls a function only once, that row is not shown, and its contents take
its place.

A generator's code between two ``yield`` expressions is a separate row. Every such row but the first has the number
``GOES_ON``. The loops of a generator have no iterations across rows.

Lines that run inside an event (a hook, the ``forward`` of a Function) are rows within that event.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE, Place
from dispatchviz.explain.outline.loops import Loop, loops_of


class RowKind(IntEnum):
    """The kinds of rows."""

    STATEMENT = 0
    ITERATION = 1
    CALL = 2


GOES_ON = 0
"""The number of a row in which a suspended call continues, which is a generator's."""

STATEMENT, ITERATION, CALL = RowKind  # module names are looked up faster than members of an enumeration


class LineRows:
    """The rows, numbered in the order in which they begin. Rows that begin together are numbered from the outermost."""

    def __init__(self) -> None:
        self.begins, self.ends, self.parents = array("i"), array("i"), array("i")
        self.kinds, self.shown = bytearray(), bytearray()
        self.numbers = array("i")
        """The number of an iteration or a call, from 1, or ``GOES_ON``."""
        self.counts: dict[int, int] = {}
        """The number of iterations of a statement that is the head of a loop."""

    def __len__(self) -> int:
        return len(self.begins)

    def at(self, step: int) -> range:
        """Return the rows that begin at a step, outermost first."""
        return range(bisect_left(self.begins, step), bisect_right(self.begins, step))

    def kind(self, row: int) -> RowKind:
        """Return the kind of a row."""
        return RowKind(self.kinds[row])

    def around(self, step: int) -> Iterator[int]:
        """Yield the rows that contain a step, innermost first, including those that begin there."""
        row = bisect_right(self.begins, step) - 1
        while row != NONE:
            if self.ends[row] >= step:
                yield row
            row = self.parents[row]

    def add(self, begin: int, parent: int, kind: RowKind, number: int, shown: bool) -> int:
        """Open a row; its end is set later."""
        self.begins.append(begin)
        self.ends.append(begin)
        self.parents.append(parent)
        self.kinds.append(kind)
        self.numbers.append(number)
        self.shown.append(shown)
        return len(self.begins) - 1


def line_rows(trace: Trace) -> LineRows:
    """Return the rows of a trace in one pass over its lines. No event is decoded if the file has an index of lines."""
    builder = _Builder(trace)
    for seq, place, caller in _lines(trace):
        builder.line(seq, place, caller)
    builder.finish()
    return builder.rows


def _lines(trace: Trace) -> Iterable[tuple[int, Place, int]]:
    """Yield each SourceLine with its place and the SourceLine from which its function was called."""
    columns, steps = trace.columns, trace.steps_of(SourceLine)
    if len(columns.places) == len(steps) == len(columns.callers):
        texts = columns.line_places
        return zip(steps, map(texts.__getitem__, columns.places), columns.callers, strict=True)
    return _lines_read(trace)


def _lines_read(trace: Trace) -> Iterator[tuple[int, Place, int]]:
    """Yield the same for a file that an earlier version wrote."""
    for seq in trace.steps_of(SourceLine):
        event = trace[seq]
        if isinstance(event, SourceLine):  # may be unknown if the file is damaged
            caller = NONE if event.caller is None else event.caller
            yield seq, Place(event.file, event.line, event.function, event.resumed, event.begins), caller


class _Open:
    """A row that has not ended. There is one for each line that ran, so its usual values are those of the class."""

    loop: Loop | None = None
    """The loop whose head a statement is."""
    first_call = NONE
    """The row of the first call of a function in a statement."""
    calls = 0
    statements = 0
    """The number of statements in an iteration or a call so far."""
    first_iteration = NONE

    def __init__(self, row: int, kind: RowKind, place: Place, begin: int) -> None:
        self.row, self.kind, self.place, self.begin = row, kind, place, begin
        self.line = place.line
        """The line of a statement. For an iteration or a call, the line of the last statement directly in it."""
        self.last = begin
        """The last SourceLine of a statement. A statement begins once and may be returned to."""


class _Builder:
    """The pass over the lines, in order."""

    def __init__(self, trace: Trace) -> None:
        self.rows = LineRows()
        self._trace, self._parents = trace, trace.columns.parents
        self._stacks: dict[int, list[_Open]] = {NONE: []}
        """The open rows, outermost first, by the event that the lines are in."""
        self._loops: dict[str, Mapping[int, Loop]] = {}

    def line(self, seq: int, place: Place, caller: int) -> None:
        """Process a line that the program reaches or returns to."""
        scope = self._parents[seq]
        stack = self._stacks.get(scope)
        if stack is None:
            stack = self._stacks[scope] = []
        base = _calling(stack, caller) if caller != NONE else -1
        if base + 1 == len(stack) or not _same_function(stack[base + 1], place) or place.begins:
            if place.resumed and not stack:
                return  # within an event, the line around the event continues
            self._close(stack, base + 1, seq)
            self._begin_function(stack, scope, seq, place)
            return
        self._close(stack, _end_of_function(stack, base + 1), seq)
        if place.resumed and (known := _begun(stack, base + 1, place.line)) != NONE:
            self._close(stack, known + 1, seq)
            stack[known].last = seq
        elif (loop := stack[-1].loop) is not None and loop.has(place.line):
            self._begin_turn(stack, scope, seq, place)
        else:
            self._next_statement(stack, scope, seq, place)

    def finish(self) -> None:
        """Close the rows after the last line."""
        for scope, stack in self._stacks.items():
            self._close(stack, 0, (len(self._trace) if scope == NONE else self._trace.ends[scope] + 1))

    def _next_statement(self, stack: list[_Open], scope: int, seq: int, place: Place) -> None:
        """Continue a function with another statement, possibly in the next iteration of a loop."""
        self._close(stack, len(stack) - 1, seq)
        while stack and stack[-1].kind is ITERATION:
            iteration, loop = stack[-1], stack[-2].loop
            if loop is not None and loop.has(place.line):
                if place.line <= iteration.line and not place.resumed:
                    self._close(stack, len(stack) - 1, seq, goes_on=True)
                    self._begin_turn(stack, scope, seq, place)
                    return
                break
            self._close(stack, len(stack) - 2, seq)
        if stack and stack[-1].kind is CALL and place.line <= stack[-1].line and not place.resumed:
            self._close(stack, len(stack) - 1, seq)
            self._begin_function(stack, scope, seq, place)
        else:
            self._statement(stack, scope, seq, place)

    def _begin_turn(self, stack: list[_Open], scope: int, seq: int, place: Place) -> None:
        head = stack[-1]
        number = self.rows.counts[head.row] = self.rows.counts.get(head.row, 0) + 1
        row = self._push(stack, scope, seq, place, ITERATION, number, shown=number > 1).row
        if number == 1:
            head.first_iteration = row
        elif number == 2:
            self.rows.shown[head.first_iteration] = True
        self._statement(stack, scope, seq, place)

    def _begin_function(self, stack: list[_Open], scope: int, seq: int, place: Place) -> None:
        """Open the rows of a function of the user. The top level of the program's file has no caller."""
        if place.function or stack:
            number = 1
            if stack and place.resumed:
                number = GOES_ON
            elif stack:
                caller = stack[-1]
                caller.calls = number = caller.calls + 1
            row = self._push(stack, scope, seq, place, CALL, number, shown=number != 1).row
            if number == 1 and len(stack) > 1:
                stack[-2].first_call = row
            elif len(stack) > 1 and stack[-2].first_call != NONE:
                self.rows.shown[stack[-2].first_call] = True
        self._statement(stack, scope, seq, place)

    def _statement(self, stack: list[_Open], scope: int, seq: int, place: Place) -> None:
        if stack and stack[-1].kind is not STATEMENT:
            stack[-1].line = place.line
            stack[-1].statements += 1
        loop = self._loop(place)
        if stack and stack[-1].kind is ITERATION and stack[-2].loop == loop:
            loop = None  # the condition, evaluated again
        self._push(stack, scope, seq, place, STATEMENT, 0, shown=True).loop = loop

    def _push(
        self, stack: list[_Open], scope: int, seq: int, place: Place, kind: RowKind, number: int, shown: bool
    ) -> _Open:
        parent = stack[-1].row if stack else self._outside(scope)
        row = self.rows.add(seq, parent, kind, number, shown)
        opened = _Open(row, kind, place, seq)
        stack.append(opened)
        return opened

    def _outside(self, scope: int) -> int:
        """Return the row of the event within which lines run."""
        while scope != NONE:
            scope = self._parents[scope]
            if stack := self._stacks.get(scope):
                return stack[-1].row
        return NONE

    def _close(self, stack: list[_Open], first: int, seq: int, goes_on: bool = False) -> None:
        """Close rows. ``goes_on`` means that the loop of the closed iteration has another iteration."""
        ends = self.rows.ends
        while len(stack) > first:
            opened = stack.pop()
            ends[opened.row] = seq - 1
            if opened.kind is ITERATION and not goes_on and _is_condition(stack[-1].loop, opened):
                self.rows.counts[stack[-1].row] -= 1

    def _loop(self, place: Place) -> Loop | None:
        loops = self._loops.get(place.file)
        if loops is None:
            loops = self._loops[place.file] = loops_of(self._trace.header.sources.get(place.file, ""))
        return loops.get(place.line)


def _calling(stack: list[_Open], caller: int) -> int:
    """Return the statement that a function was called from, or -1 if it is not open."""
    for at in range(len(stack) - 1, -1, -1):
        opened = stack[at]
        if opened.kind is STATEMENT and opened.begin <= caller <= opened.last:
            return at
    return -1


def _begun(stack: list[_Open], first: int, line: int) -> int:
    """Return the innermost statement of a function on a line, or -1 if none is open."""
    statements = (at for at in range(len(stack) - 1, first - 1, -1) if stack[at].kind is STATEMENT)
    return next((at for at in statements if stack[at].line == line), -1)


def _is_condition(loop: Loop | None, iteration: _Open) -> bool:
    """Return whether the last iteration of ``while`` consists only of its condition, which was false."""
    return loop is not None and loop.asks and iteration.statements == 1


def _same_function(opened: _Open, place: Place) -> bool:
    same = opened.place
    return same is place or (same.function == place.function and same.file == place.file)


def _end_of_function(stack: list[_Open], first: int) -> int:
    """Return the end of the rows of a function that begins at ``first``: a call of another function, or the end of the
    stack.
    """
    for at in range(first + 1, len(stack)):
        if stack[at].kind is CALL:
            return at
    return len(stack)
