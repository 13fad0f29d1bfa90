"""The cursor: a position in a trace with all moves, as an immutable value.

A move returns a new cursor and never leaves the trace. Each step move has a twin that goes backwards:

* ``into``, ``into_back``: the next step, the previous one. They are exact opposites.
* ``over``, ``over_back``: skip what happens within this step; go back to the previous step on this level.
* ``out``, ``out_back``: go to the step after the enclosing step; go back to the enclosing step itself.
* ``resume``, ``resume_back``: the next or the previous stop, which is a program line, a mark or an error. With
  breakpoints set, it stops at them instead of at lines.

Steps are listed as a tree (``explain/outline``). The level of detail decides which steps are in it. Unfolded steps show
their rows, and so does the step with the cursor. ``down`` and ``up`` move by rows. ``unfold`` goes into a row and keeps
it unfolded. ``fold`` folds a row, or else goes to the enclosing row. The hits of a filter are a flat list.

A filter or the level of detail hides steps. These moves, and moves to an end, continue to the next visible step. A
request for one step (by its number, as a mark, a hit, a breakpoint or the caller) goes there even if it is hidden.

Every move that can skip events remembers where it started, so that ``undo`` can go back.

Elsewhere: keys (``keymap.py``), the text that is searched (``step_search.py``), screens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Self

from msgspec.structs import replace

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
"""Events that are calls; ``caller`` and ``callee`` move between them."""


class Cursor(SteppingCursor, frozen=True):
    """A position in a trace, with all moves."""

    def down(self) -> Self:
        return self._by_rows(1)

    def up(self) -> Self:
        return self._by_rows(-1)

    def unfold(self) -> Self:
        """Go into the row and keep it unfolded. If the row contains nothing, go to the next step."""
        tree, item = self.tree, self.row.item
        if tree is None or not tree.has_children(item):
            return self.into()
        opened = replace(self, opened=self.opened | {item})
        return opened if tree.is_merged(item) else opened.toward(tree.begin(tree.children(item)[0]))

    def fold(self) -> Self:
        """Fold the row. If it is folded already, go to the enclosing row."""
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
        """Move by a number of rows in the list; negative numbers move up."""
        return self._by_rows(rows)

    def first(self) -> Self:
        return self.toward(0)

    def last(self) -> Self:
        """Go to the last step. In a growing trace, follow each new row."""
        return replace(self.toward(self.last_step), follows=True) if self.is_growing else self._to_end()

    def caller(self) -> Self:
        """Go to the call that encloses this event; ``callee`` returns."""
        frame = next((around.seq for around in self.trace.ancestors(self.at) if isinstance(around, FRAMES)), self.at)
        return self if frame == self.at else replace(self.goto(frame), below=(*self.below, self.at))

    def callee(self) -> Self:
        """Go back to where ``caller`` started, or else to the first call within this event."""
        if self.below:
            return replace(self.goto(self.below[-1]), below=self.below[:-1])
        within = (next_of_kinds(self.trace, FRAMES, self.at), self.trace.ends[self.at])
        return self.goto(self.at if within[0] is None or within[0] > within[1] else within[0])

    def undo(self) -> Self:
        """Go back to where the last move of more than one event started."""
        return self.revisit(len(self.past) - 1) if self.past else self

    def redo(self) -> Self:
        """Go to where the last ``undo`` started."""
        return self.revisit(len(self.past) + 1) if self.undone else self

    def revisit(self, place: int) -> Self:
        """Go to one of the visited places, by its number. The other places keep their order before and after it."""
        places = self.places
        past, undone = places[:place][-REMEMBERED:], places[place + 1 :][:REMEMBERED]
        return replace(self._at(places[place]), past=past, undone=undone)

    def toggle_mark(self) -> Self:
        """Set a mark at this event, or remove it."""
        return replace(self, marks=self.marks ^ {self.at})

    def filtered(self, shown: Sequence[int] | None, filter_text: str = "") -> Self:
        """Set or clear a filter. Go to the next step that it shows, or else to the last one."""
        if not shown:
            return replace(self, shown=self.outline.steps if self.outline else None, filter_text="")
        index = min(bisect_left(shown, self.at), len(shown) - 1)
        return replace(self.goto(shown[index]), shown=shown, filter_text=filter_text)

    def outlined(self, outline: Outline) -> Self:
        """List the steps in the tree of another level."""
        return replace(self, outline=outline, shown=self.shown if self.filter_text else outline.steps)

    def grown(self, outline: Outline, shown: Sequence[int], filter_text: str, is_growing: bool) -> Self:
        """Move into a longer version of the trace, with its tree and its filter."""
        cursor = replace(
            self, trace=outline.trace, outline=outline, shown=shown, filter_text=filter_text, is_growing=is_growing
        )
        return cursor.last() if self.follows else cursor

    def asked_ahead(self, ahead: Prediction | None, score: str) -> Self:
        """Set the question whose answer is hidden, or none."""
        return self if (ahead, score) == (self.ahead, self.score) else replace(self, ahead=ahead, score=score)

    def played(self, playing: str) -> Self:
        """Set the text for automatic playing. Return the same object if nothing changes, so that nothing is painted."""
        return self if playing == self.playing else replace(self, playing=playing)
