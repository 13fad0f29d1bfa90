"""The user's lines as a tree: statements, the calls of the user's functions in them, the iterations of loops.

Each row of the tree is a stretch of steps, from where it begins to where the next one on its level does; rows are
within each other or apart. A statement begins at its SourceLine. An iteration of a loop, and a call of a function,
begin at the first statement in them; where a loop has one iteration alone, or a statement calls one function once, that
row is not shown and what is in it stands in its place.

NB: what a generator does from one ``yield`` to the next is a row of its own, with the number ``GOES_ON`` after the
first one; its own loops have no iterations beyond that.

Lines that run inside an event (a hook, the ``forward`` of a Function) are rows within that event.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE, Place
from dispatchviz.explain.outline.loops import Loop, loops_of


class RowKind(IntEnum):
    """What a row stands for."""

    STATEMENT = 0
    ITERATION = 1
    CALL = 2


GOES_ON = 0
"""The number of a row in which a call goes on that had to wait: a generator's."""

STATEMENT, ITERATION, CALL = RowKind  # names of a module are found faster than those of an enumeration


class LineRows:
    """The rows, numbered in the order in which they begin; what begins together, from the outermost inwards."""

    def __init__(self) -> None:
        self.begins, self.ends, self.parents = array("i"), array("i"), array("i")
        self.kinds, self.shown = bytearray(), bytearray()
        self.numbers = array("i")
        """Of an iteration or a call its number, from 1, or ``GOES_ON``."""
        self.counts: dict[int, int] = {}
        """Of a statement that is the head of a loop how many iterations there are."""

    def __len__(self) -> int:
        return len(self.begins)

    def at(self, step: int) -> range:
        """The rows that begin at a step, outermost first."""
        return range(bisect_left(self.begins, step), bisect_right(self.begins, step))

    def kind(self, row: int) -> RowKind:
        """What a row stands for."""
        return RowKind(self.kinds[row])

    def around(self, step: int) -> Iterator[int]:
        """The rows that a step is in, innermost first; those that begin there too."""
        row = bisect_right(self.begins, step) - 1
        while row != NONE:
            if self.ends[row] >= step:
                yield row
            row = self.parents[row]

    def add(self, begin: int, parent: int, kind: RowKind, number: int, shown: bool) -> int:
        """A row that begins; where it ends is told later."""
        self.begins.append(begin)
        self.ends.append(begin)
        self.parents.append(parent)
        self.kinds.append(kind)
        self.numbers.append(number)
        self.shown.append(shown)
        return len(self.begins) - 1


def line_rows(trace: Trace) -> LineRows:
    """The rows of a trace: one pass over its lines, of which no event is read if its file has an index of them."""
    builder = _Builder(trace)
    for seq, place, caller in _lines(trace):
        builder.line(seq, place, caller)
    builder.finish()
    return builder.rows


def _lines(trace: Trace) -> Iterable[tuple[int, Place, int]]:
    """Each SourceLine with its place and the SourceLine from which its function was called."""
    columns, steps = trace.columns, trace.steps_of(SourceLine)
    if len(columns.places) == len(steps) == len(columns.callers):
        texts = columns.line_places
        return zip(steps, map(texts.__getitem__, columns.places), columns.callers, strict=True)
    return _lines_read(trace)


def _lines_read(trace: Trace) -> Iterator[tuple[int, Place, int]]:
    """The same of a file that an earlier version wrote."""
    for seq in trace.steps_of(SourceLine):
        event = trace[seq]
        if isinstance(event, SourceLine):  # of a damaged file it may be unknown
            caller = NONE if event.caller is None else event.caller
            yield seq, Place(event.file, event.line, event.function, event.resumed, event.begins), caller


@dataclass(slots=True)
class _Open:
    """A row that has not ended."""

    row: int
    kind: RowKind
    file: str
    function: str
    begin: int
    line: int
    """Of a statement its own, of an iteration or a call that of the last statement directly in it."""
    last: int
    """Of a statement the last SourceLine of it: it begins once, and is come back to."""
    loop: Loop | None = None
    """Of which a statement is the head."""
    first_call: int = NONE
    """The row of the first call of a function in a statement."""
    calls: int = 0
    statements: int = 0
    """Of an iteration or a call, how many it has had."""
    first_iteration: int = NONE


class _Builder:
    """The pass over the lines, in their order."""

    def __init__(self, trace: Trace) -> None:
        self.rows = LineRows()
        self._trace, self._parents = trace, trace.columns.parents
        self._stacks: dict[int, list[_Open]] = {NONE: []}
        """The event that lines are in, to the rows that are open there, outermost first."""
        self._loops: dict[str, Mapping[int, Loop]] = {}

    def line(self, seq: int, place: Place, caller: int) -> None:
        """The program reaches a line, or comes back to one."""
        scope = self._parents[seq]
        stack = self._stacks.get(scope)
        if stack is None:
            stack = self._stacks[scope] = []
        base = _calling(stack, caller)
        if base + 1 == len(stack) or not _same_function(stack[base + 1], place) or place.begins:
            if place.resumed and not stack:
                return  # within an event the line goes on that the event is in
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
        """The last line is over."""
        for scope, stack in self._stacks.items():
            self._close(stack, 0, (len(self._trace) if scope == NONE else self._trace.ends[scope] + 1))

    def _next_statement(self, stack: list[_Open], scope: int, seq: int, place: Place) -> None:
        """The function goes on with another statement, perhaps in the next iteration of a loop."""
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
        """A function of the user's is called; the top level of the program's file by nobody."""
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
            loop = None  # the condition, asked again
        self._push(stack, scope, seq, place, STATEMENT, 0, shown=True).loop = loop

    def _push(
        self, stack: list[_Open], scope: int, seq: int, place: Place, kind: RowKind, number: int, shown: bool
    ) -> _Open:
        parent = stack[-1].row if stack else self._outside(scope)
        row = self.rows.add(seq, parent, kind, number, shown)
        stack.append(_Open(row, kind, place.file, place.function, seq, place.line, seq))
        return stack[-1]

    def _outside(self, scope: int) -> int:
        """The row that the event is in within which lines run."""
        while scope != NONE:
            scope = self._parents[scope]
            if stack := self._stacks.get(scope):
                return stack[-1].row
        return NONE

    def _close(self, stack: list[_Open], first: int, seq: int, goes_on: bool = False) -> None:
        """Rows end; ``goes_on``: the loop of the iteration that ends has another one."""
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
    """The statement that a function was called from; -1 if it is not open."""
    if caller != NONE:
        for at in range(len(stack) - 1, -1, -1):
            opened = stack[at]
            if opened.kind is STATEMENT and opened.begin <= caller <= opened.last:
                return at
    return -1


def _begun(stack: list[_Open], first: int, line: int) -> int:
    """The innermost statement of a function on a line; -1 if none is open."""
    statements = (at for at in range(len(stack) - 1, first - 1, -1) if stack[at].kind is STATEMENT)
    return next((at for at in statements if stack[at].line == line), -1)


def _is_condition(loop: Loop | None, iteration: _Open) -> bool:
    """Return whether the last iteration of ``while`` is no more than its condition, which was false."""
    return loop is not None and loop.asks and iteration.statements == 1


def _same_function(opened: _Open, place: Place) -> bool:
    return opened.function == place.function and opened.file == place.file


def _end_of_function(stack: list[_Open], first: int) -> int:
    """Behind the rows of a function that begins there: a call of another one, or the end."""
    for at in range(first + 1, len(stack)):
        if stack[at].kind is CALL:
            return at
    return len(stack)
