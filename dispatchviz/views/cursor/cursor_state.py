"""The state of a reader in a trace, and what follows from it: the rows to list, the next stop."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, overload

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
"""How much of the call stack is shown."""


@dataclass(frozen=True)
class CursorState:
    """A position in a trace that has at least one event, and what the reader has chosen to see."""

    trace: Trace
    at: int = 0
    came_from: int | None = None
    """The step before; what differs from there is marked on the screen."""
    past: tuple[int, ...] = ()
    """Where moves of more than one event started, the latest last."""
    undone: tuple[int, ...] = ()
    """What ``undo`` left and ``redo`` goes to, the next one first."""
    below: tuple[int, ...] = ()
    """Frames left by ``caller``, to which ``callee`` returns."""
    marks: frozenset[int] = frozenset()
    breakpoints: tuple[Breakpoint, ...] = ()
    """While there are some, ``resume`` does not stop at every line of the program."""
    shown: Sequence[int] | None = None
    """The steps that a filter lets through; moves pass over all others. None: every step."""
    filter_text: str = ""
    """The filter, as it was typed."""
    search: Search | None = None
    """Whose hits are marked in the list. It is no value: it finds more while the cursor stays."""
    outline: Outline | None = None
    """The tree that the steps are listed in as long as there is no filter; None: a flat list."""
    opened: frozenset[int] = frozenset()
    """Its items that the reader has unfolded."""
    is_growing: bool = False
    """The trace is being recorded: there will be another one with more events."""
    ahead: Prediction | None = None
    """The question that is asked next: what happens from its answer on is hidden."""
    score: str = ""
    """While questions are asked how many were answered right: ``predict: 4 of 6 right``."""
    playing: str = ""
    """While steps come by themselves how fast: ``playing ×2``."""
    follows: bool = False
    """The reader wanted to be at the end, and goes on to each new one."""
    stage: int | None = None
    """The sub-step of the key-set card; None: all of it, as after every move but a walk (``tui/commands/moves.py``)."""
    frames: ShownStack = "short"
    """How much of the call stack its pane shows."""
    unfolds_engine: bool = False
    """The pane of the engine shows all of its sections, not those alone that the step is about."""

    @property
    def last_step(self) -> int:
        return len(self.trace) - 1

    @property
    def places(self) -> tuple[int, ...]:
        """Where the reader has been, the first one first: before, here, and what ``undo`` left."""
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
        return self.ahead is not None and step >= self.ahead.reveals

    @property
    def tree(self) -> Outline | None:
        """The tree that the steps are listed in; None if they are a flat list."""
        return None if self.filter_text else self.outline

    @cached_property
    def rows(self) -> Sequence[int]:
        """The steps to list: what is unfolded, or what the filter lets through; the one of the cursor always."""
        if self.tree is not None:
            return self.tree.rows(self.opened, self.at)
        if self.shown is None:
            return range(len(self.trace))
        index = bisect_left(self.shown, self.at)
        return WithOne(self.shown, index, self.at) if self.hidden else self.shown

    @cached_property
    def row_number(self) -> int:
        """The row of the cursor, among ``rows``."""
        return min(bisect_left(self.rows, self.at), len(self.rows) - 1)

    @property
    def row(self) -> Row:
        """What the row of the cursor stands for."""
        return self.row_at(self.row_number)

    def row_at(self, number: int) -> Row:
        """What a row stands for."""
        if isinstance(self.rows, VisibleRows):
            return self.rows.row(number)
        step = self.rows[number]
        return Row(step, self.trace.depths[step], False)


def next_stop(state: CursorState, forward: bool = True) -> int | None:
    """The next, or the last, step at which ``resume`` stops; None if there is none before the end."""
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
    """Sorted steps and one more among them."""

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
