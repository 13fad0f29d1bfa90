"""The reader's state in a trace, and values derived from it: the listed rows, the next stop."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, overload

from msgspec import Struct

from dispatchviz.core.record.events import ErrorRaised, ProgramRaised, SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.visible_rows import Row, VisibleRows
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.explain.trace_index.lookups import neighbor, next_of_kinds
from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.step_search import Search

ERRORS = (ErrorRaised, ProgramRaised)

ShownStack = Literal["short", "folded", "whole"]
"""The forms of the call stack."""


class CursorState(Struct, frozen=True, dict=True):
    """A position in a trace with at least one event, and the reader's choices for the screen."""

    trace: Trace
    at: int = 0
    came_from: int | None = None
    """The previous step. Differences from it are marked on the screen."""
    past: tuple[int, ...] = ()
    """The starts of moves over more than one event, the latest last."""
    undone: tuple[int, ...] = ()
    """The steps that ``undo`` left and ``redo`` returns to, the next one first."""
    below: tuple[int, ...] = ()
    """The frames that ``caller`` left; ``callee`` returns to them."""
    marks: frozenset[int] = frozenset()
    breakpoints: tuple[Breakpoint, ...] = ()
    """The breakpoints. If there are any, ``resume`` does not stop at every line of the program."""
    shown: Sequence[int] | None = None
    """The steps that a filter shows; moves skip all others. None means every step."""
    filter_text: str = ""
    """The filter, as it was typed."""
    search: Search | None = None
    """The search whose hits are marked in the list. It is mutable: it finds more hits while the cursor stays the
    same.
    """
    outline: Outline | None = None
    """The tree that lists the steps while there is no filter; None for a flat list."""
    opened: frozenset[int] = frozenset()
    """The items of the tree that the reader has unfolded."""
    is_growing: bool = False
    """True while the trace is being recorded: a trace with more events will follow."""
    ahead: Prediction | None = None
    """The next question; events from its answer on are hidden."""
    score: str = ""
    """The score while questions are asked: ``predict: 4 of 6 right``."""
    playing: str = ""
    """The tempo while the trace plays: ``playing ×2``."""
    follows: bool = False
    """True if the reader went to the end of a growing trace, and follows it."""
    stage: int | None = None
    """The sub-step of the key-set card; None means the whole card, as after every move except a walk
    (``tui/commands/moves.py``).
    """
    frames: ShownStack = "short"
    """The form of the call stack in its pane."""
    unfolds_engine: bool = False
    """True if the engine pane shows all of its sections instead of only those of the step."""

    @property
    def last_step(self) -> int:
        return len(self.trace) - 1

    @property
    def places(self) -> tuple[int, ...]:
        """The visited places, oldest first: those before, the current one, and those that ``undo`` left."""
        return (*self.past, self.at, *self.undone)

    @property
    def depth(self) -> int:
        return self.trace.depths[self.at]

    @property
    def hidden(self) -> bool:
        """True if the filter would hide the step of the cursor."""
        return self.shown is not None and not _has(self.shown, self.at)

    def hides(self, step: int) -> bool:
        """Return whether a step is hidden until a question is answered."""
        return self.ahead is not None and step >= self.ahead.first_hidden

    @property
    def tree(self) -> Outline | None:
        """The tree that lists the steps; None for a flat list."""
        return None if self.filter_text else self.outline

    @cached_property
    def rows(self) -> Sequence[int]:
        """The steps to list: the unfolded ones or those that the filter shows, and always the step of the cursor."""
        if self.tree is not None:
            return self.tree.rows(self.opened, self.at)
        if self.shown is None:
            return range(len(self.trace))
        index = bisect_left(self.shown, self.at)
        return WithOne(self.shown, index, self.at) if self.hidden else self.shown

    @cached_property
    def row_number(self) -> int:
        """The index of the cursor's row in ``rows``."""
        return min(bisect_left(self.rows, self.at), len(self.rows) - 1)

    @property
    def row(self) -> Row:
        """The row of the cursor, with the steps that it represents."""
        return self.row_at(self.row_number)

    def row_at(self, number: int) -> Row:
        """The row at an index, with the steps that it represents."""
        if isinstance(self.rows, VisibleRows):
            return self.rows.row(number)
        step = self.rows[number]
        return Row(step, self.trace.depths[step], False)


def next_stop(state: CursorState, forward: bool = True) -> int | None:
    """The next or the previous step at which ``resume`` stops; None if there is none before the end."""
    trace, at = state.trace, state.at
    found = [next_of_kinds(trace, ERRORS, at, forward), neighbor(sorted(state.marks), at, forward)]
    if not state.breakpoints:
        lines = trace.steps_of(SourceLine) if state.outline is None else state.outline.lines.begins
        found.append(neighbor(lines, at, forward))
    found += [each.next(trace, at, forward) for each in state.breakpoints]
    known = [step for step in found if step is not None]
    return (min if forward else max)(known) if known else None


def _has(steps: Sequence[int], step: int) -> bool:
    """Return whether a step is among sorted ones."""
    index = bisect_left(steps, step)
    return index < len(steps) and steps[index] == step


class WithOne(Sequence[int]):
    """A sorted sequence of steps with one more step in it."""

    def __init__(self, steps: Sequence[int], index: int, step: int) -> None:
        self._steps, self._index, self._step = steps, index, step

    def __len__(self) -> int:
        return len(self._steps) + 1

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        if index == self._index:
            return self._step
        return self._steps[index - (index > self._index)]
