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

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from dispatchviz.core.record.events import (
    BackwardStarted,
    BindingEntered,
    Dispatched,
    KernelEntered,
    NodeStarted,
    SourceLine,
)
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.explain.trace_index.lookups import next_of_kinds
from dispatchviz.views.cursor.stepping_cursor import REMEMBERED, SteppingCursor

FRAMES = (SourceLine, BindingEntered, Dispatched, KernelEntered, BackwardStarted, NodeStarted)
"""Events that are calls: what ``caller`` and ``callee`` move between."""


class Cursor(SteppingCursor):
    """A position in a trace, with all moves."""

    def down(self) -> Self:
        return self._by_rows(1)

    def up(self) -> Self:
        return self._by_rows(-1)

    def unfold(self) -> Self:
        """Into what the row stands for, which stays unfolded; where nothing is in it, to the next step."""
        tree, item = self.tree, self.row.item
        if tree is None or not tree.has_children(item):
            return self.into()
        opened = replace(self, opened=self.opened | {item})
        return opened if tree.is_merged(item) else opened.toward(tree.begin(tree.children(item)[0]))

    def fold(self) -> Self:
        """Fold the row; one that is folded already is left for the row around it."""
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

    def _by_rows(self, rows: int) -> Self:
        row = max(0, min(self.row_number + rows, len(self.rows) - 1))
        return self.toward(self.rows[row])

    def page(self, rows: int) -> Self:
        """Down or up by so many rows of the list."""
        return self._by_rows(rows)

    def first(self) -> Self:
        return self.toward(0)

    def last(self) -> Self:
        """To the last step; of a trace that grows, to each new row."""
        return replace(self.toward(self.last_step), follows=True) if self.is_growing else self._to_end()

    def caller(self) -> Self:
        """To the call around this event; ``callee`` comes back."""
        frame = next((around.seq for around in self.trace.ancestors(self.at) if isinstance(around, FRAMES)), self.at)
        return self if frame == self.at else replace(self.goto(frame), below=(*self.below, self.at))

    def callee(self) -> Self:
        """To where ``caller`` came from, else to the first call within this event."""
        if self.below:
            return replace(self.goto(self.below[-1]), below=self.below[:-1])
        within = (next_of_kinds(self.trace, FRAMES, self.at), self.trace.ends[self.at])
        return self.goto(self.at if within[0] is None or within[0] > within[1] else within[0])

    def undo(self) -> Self:
        """To where the last move of more than one event started."""
        return self.revisit(len(self.past) - 1) if self.past else self

    def redo(self) -> Self:
        """To where the last ``undo`` came from."""
        return self.revisit(len(self.past) + 1) if self.undone else self

    def revisit(self, place: int) -> Self:
        """To one of the places, by its number among them; the others stay before and behind it."""
        places = self.places
        past, undone = places[:place][-REMEMBERED:], places[place + 1 :][:REMEMBERED]
        return replace(self._at(places[place]), past=past, undone=undone)

    def toggle_mark(self) -> Self:
        """Set a mark at this event, or take it away."""
        return replace(self, marks=self.marks ^ {self.at})

    def filtered(self, shown: Sequence[int] | None, filter_text: str = "") -> Self:
        """With a filter, or without; at the next step that it lets through, else on the last one."""
        if not shown:
            return replace(self, shown=self.outline.steps if self.outline else None, filter_text="")
        index = min(bisect_left(shown, self.at), len(shown) - 1)
        return replace(self.goto(shown[index]), shown=shown, filter_text=filter_text)

    def outlined(self, outline: Outline) -> Self:
        """With the tree of another level."""
        return replace(self, outline=outline, shown=self.shown if self.filter_text else outline.steps)

    def grown(self, outline: Outline, shown: Sequence[int], filter_text: str, is_growing: bool) -> Self:
        """In a trace that has the same events and more, which a tree and a filter are given for."""
        cursor = replace(
            self, trace=outline.trace, outline=outline, shown=shown, filter_text=filter_text, is_growing=is_growing
        )
        return cursor.last() if self.follows else cursor

    def asked_ahead(self, ahead: Prediction | None, score: str) -> Self:
        """With a question that comes before what follows, or with none."""
        return self if (ahead, score) == (self.ahead, self.score) else replace(self, ahead=ahead, score=score)

    def played(self, playing: str) -> Self:
        """With steps that come by themselves, so fast; the same object if nothing changes, for that is not painted."""
        return self if playing == self.playing else replace(self, playing=playing)
