"""The cursor: a position in a trace, and every move there is, as an immutable value.

A move returns a new cursor and never leaves the trace. Each step has a twin that goes the same way backwards:

* ``into``, ``into_back``: the next step, the one before. Exact opposites.
* ``over``, ``over_back``: past what happens within this step; back to the step before on this level.
* ``out``, ``out_back``: to what follows the step around this one; back to that step itself.
* ``resume``, ``resume_back``: the next, the last stop: a program line, a mark, an error; with breakpoints set, one of
  these instead of a line.

Steps are listed as a tree (``explain/outline``): a step has what the level of detail lets through, and what is
unfolded has rows, and so has what the cursor is in. ``down``, ``up`` move by rows; ``unfold`` goes in and keeps the row
unfolded, ``fold`` folds it, else goes to the row around. Of a filter's hits the list is flat.

A filter, or the level, hides steps: these moves, and those to an end, then go on to the next one that it lets through.
A request for one step (by its number, as a mark, a hit, a breakpoint, the caller) leads to that one, hidden or not.

Every move that can go further than one event notes where it started, so that ``undo`` can go back there.

Not here: keys (``keymap.py``), the text an event is searched by (``step_search.py``), anything about screens.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from dispatchviz.core.record.events import (
    BackwardStarted,
    BindingEntered,
    Dispatched,
    ErrorRaised,
    KernelEntered,
    NodeStarted,
    ProgramRaised,
    SourceLine,
)
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.visible_rows import Row, VisibleRows
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.listed_steps import WithOne
from dispatchviz.views.cursor.near_steps import neighbour, next_of_kinds
from dispatchviz.views.cursor.step_search import Search

FRAMES = (SourceLine, BindingEntered, Dispatched, KernelEntered, BackwardStarted, NodeStarted)
"""Events that are calls: what ``caller`` and ``callee`` move between."""

ERRORS = (ErrorRaised, ProgramRaised)

ShownStack = Literal["short", "folded", "whole"]
"""How much of the call stack is shown."""

REMEMBERED = 200
"""How many moves can be undone."""


@dataclass(frozen=True)
class Cursor:
    """A position in a trace that has at least one event."""

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
    """The sub-step of the key-set card (``key_set_walk.py``); None: all of it, as after every other move."""
    frames: ShownStack = "short"
    """How much of the call stack its pane shows."""
    unfolds_engine: bool = False
    """The pane of the engine shows all of its sections, not those alone that the step is about."""

    # -- steps --------------------------------------------------------------------------------------------------------

    def into(self) -> Cursor:
        return self._step(self.at + 1)

    def into_back(self) -> Cursor:
        return self._step(self.at - 1)

    def over(self) -> Cursor:
        if self.tree is None:
            return self.toward(self.trace.ends[self.at] + 1)
        return self._behind(self.row.item)

    def over_back(self) -> Cursor:
        if self.tree is None:
            return self.toward(self._before_on_level())
        before = self.tree.before(self.row.item)
        return self if before is None else self.toward(self.tree.begin(before))

    def out(self) -> Cursor:
        if self.tree is None:
            around = self._parent(self.at)
            return self.toward(self.trace.ends[around] + 1 if around >= 0 else self.last_step)
        item = self.tree.around(self.row.item)
        return self._to_end() if item is None else self._behind(item)

    def out_back(self) -> Cursor:
        if self.tree is None:
            return self.toward(self._parent(self.at))
        item = self.tree.around(self.row.item)
        while item is not None and self.tree.begin(item) == self.at:
            item = self.tree.around(item)
        return self if item is None else self.toward(self.tree.begin(item))

    def _behind(self, item: int) -> Cursor:
        """To what follows an item; nowhere if nothing does."""
        assert self.tree is not None
        after = bisect_right(self.tree.steps, self.tree.end(item))
        return self.toward(self.tree.steps[after]) if after < len(self.tree.steps) else self

    def _before_on_level(self) -> int:
        depths = self.trace.depths
        before = self.at - 1
        while before > 0 and depths[before] > depths[self.at]:
            before = self._parent(before)
        return before

    def resume(self) -> Cursor:
        stop = self.stop()
        return self._to_end() if stop is None else self._stopped(stop)

    def resume_back(self) -> Cursor:
        stop = self.stop(forward=False)
        return self.toward(0) if stop is None else self._stopped(stop)

    # -- rows ---------------------------------------------------------------------------------------------------------

    def down(self) -> Cursor:
        return self._by_rows(1)

    def up(self) -> Cursor:
        return self._by_rows(-1)

    def unfold(self) -> Cursor:
        """Into what the row stands for, which stays unfolded; where nothing is in it, to the next step."""
        tree, item = self.tree, self.row.item
        if tree is None or not tree.has_children(item):
            return self.into()
        opened = replace(self, opened=self.opened | {item})
        return opened if tree.is_merged(item) else opened.toward(tree.begin(tree.children(item)[0]))

    def fold(self) -> Cursor:
        """Folds the row; one that is folded already is left for the row around it."""
        if self.tree is None:
            return self.out_back()
        here = [item for item in self.tree.at(self.at) if item in self.opened]
        if here:
            return replace(self, opened=self.opened - {here[-1]})
        around = self.tree.around(self.row.item)
        if around is None:
            return self
        opened = self.opened - {around} if self.tree.is_merged(around) else self.opened
        return replace(self, opened=opened).toward(self.tree.begin(around))

    def _by_rows(self, rows: int) -> Cursor:
        row = max(0, min(self.row_number + rows, len(self.rows) - 1))
        return self.toward(self.rows[row])

    # -- jumps --------------------------------------------------------------------------------------------------------

    def goto(self, at: int) -> Cursor:
        """To a step by its number, hidden or not; one that is outside goes to the nearer end."""
        return self._noted(self._at(self._inside(at)))

    def toward(self, at: int) -> Cursor:
        """To a step, or if a filter hides it to the next one in that direction that it lets through."""
        return self._noted(self._step(at))

    def page(self, rows: int) -> Cursor:
        """Down or up by so many rows of the list."""
        return self._by_rows(rows)

    def first(self) -> Cursor:
        return self.toward(0)

    def last(self) -> Cursor:
        """To the last step; of a trace that grows, to each new row."""
        return replace(self.toward(self.last_step), follows=True) if self.is_growing else self._to_end()

    def caller(self) -> Cursor:
        """To the call around this event; ``callee`` comes back."""
        frame = next((around.seq for around in self.trace.ancestors(self.at) if isinstance(around, FRAMES)), self.at)
        return self if frame == self.at else replace(self.goto(frame), below=(*self.below, self.at))

    def callee(self) -> Cursor:
        """To where ``caller`` came from, else to the first call within this event."""
        if self.below:
            return replace(self.goto(self.below[-1]), below=self.below[:-1])
        within = (next_of_kinds(self.trace, FRAMES, self.at), self.trace.ends[self.at])
        return self.goto(self.at if within[0] is None or within[0] > within[1] else within[0])

    def undo(self) -> Cursor:
        """To where the last move of more than one event started."""
        return self.revisit(len(self.past) - 1) if self.past else self

    def redo(self) -> Cursor:
        """To where the last ``undo`` came from."""
        return self.revisit(len(self.past) + 1) if self.undone else self

    def revisit(self, place: int) -> Cursor:
        """To one of the places, by its number among them; the others stay before and behind it."""
        places = self.places
        past, undone = places[:place][-REMEMBERED:], places[place + 1 :][:REMEMBERED]
        return replace(self._at(places[place]), past=past, undone=undone)

    def toggle_mark(self) -> Cursor:
        """Sets a mark at this event, or takes it away."""
        return replace(self, marks=self.marks ^ {self.at})

    def filtered(self, shown: Sequence[int] | None, filter_text: str = "") -> Cursor:
        """With a filter, or without; at the next step that it lets through, else on the last one."""
        if not shown:
            return replace(self, shown=self.outline.steps if self.outline else None, filter_text="")
        index = min(bisect_left(shown, self.at), len(shown) - 1)
        return replace(self.goto(shown[index]), shown=shown, filter_text=filter_text)

    def outlined(self, outline: Outline) -> Cursor:
        """With the tree of another level."""
        return replace(self, outline=outline, shown=self.shown if self.filter_text else outline.steps)

    def grown(self, outline: Outline, shown: Sequence[int], filter_text: str, is_growing: bool) -> Cursor:
        """In a trace that has the same events and more, which a tree and a filter are given for."""
        cursor = replace(
            self, trace=outline.trace, outline=outline, shown=shown, filter_text=filter_text, is_growing=is_growing
        )
        return cursor.last() if self.follows else cursor

    def asked_ahead(self, ahead: Prediction | None, score: str) -> Cursor:
        """With a question that comes before what follows, or with none."""
        return self if (ahead, score) == (self.ahead, self.score) else replace(self, ahead=ahead, score=score)

    def played(self, playing: str) -> Cursor:
        """With steps that come by themselves, so fast; the same object if nothing changes, for that is not painted."""
        return self if playing == self.playing else replace(self, playing=playing)

    # -- facts --------------------------------------------------------------------------------------------------------

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
        """Whether the filter would hide the step of the cursor."""
        return self.shown is not None and not _has(self.shown, self.at)

    def hides(self, step: int) -> bool:
        """Whether a step is hidden until a question is answered."""
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

    def stop(self, forward: bool = True) -> int | None:
        """The next, or the last, step at which ``resume`` stops; None if there is none before the end."""
        found = [next_of_kinds(self.trace, ERRORS, self.at, forward), neighbour(sorted(self.marks), self.at, forward)]
        found += [] if self.breakpoints else [neighbour(self._lines, self.at, forward)]
        found += [each.next(self.trace, self.at, forward) for each in self.breakpoints]
        known = [step for step in found if step is not None]
        return (min if forward else max)(known) if known else None

    @property
    def _lines(self) -> Sequence[int]:
        """Where lines of the program begin."""
        return self.trace.steps_of(SourceLine) if self.outline is None else self.outline.lines.begins

    def _to_end(self) -> Cursor:
        """To the last step, listed at this level or not; of a filter, to the last step that it lets through."""
        return self.toward(self.last_step) if self.tree is None else self.goto(self.last_step)

    def _stopped(self, stop: int) -> Cursor:
        """At a stop. A line that the filter hides is no more than a point to go on from."""
        is_line = isinstance(self.trace[stop], SourceLine) and not self.breakpoints and stop not in self.marks
        return self.toward(stop) if is_line else self.goto(stop)

    def _noted(self, after: Cursor) -> Cursor:
        return self if after is self else replace(after, past=(*self.past, self.at)[-REMEMBERED:], undone=())

    def _step(self, to: int) -> Cursor:
        return self._at(self._let_through(self._inside(to)))

    def _at(self, to: int) -> Cursor:
        if to == self.at:
            return self if self.stage is None else replace(self, stage=None)
        return replace(self, at=to, came_from=self.at, below=(), follows=False, stage=None)

    def _let_through(self, to: int) -> int:
        """The next step in the direction of a move that the filter does not hide, or the last one before its end."""
        if self.shown is None or not len(self.shown):
            return to
        if to >= self.at:
            return max(self.shown[min(bisect_left(self.shown, to), len(self.shown) - 1)], self.at)
        return min(self.shown[max(bisect_right(self.shown, to) - 1, 0)], self.at)

    def _inside(self, at: int) -> int:
        return max(0, min(at, self.last_step))

    def _parent(self, at: int) -> int:
        return self.trace.columns.parents[at]


def _has(steps: Sequence[int], step: int) -> bool:
    """Whether a step is among sorted ones."""
    index = bisect_left(steps, step)
    return index < len(steps) and steps[index] == step
