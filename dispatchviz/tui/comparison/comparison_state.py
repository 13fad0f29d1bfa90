"""The state of the comparison screen: its keys, unfolded rows, the cursor, the side that Enter opens, and a note.

Consecutive equal rows are shown as one row until they are unfolded. So are registrations that only one run has.

Elsewhere: the text of rows (``comparison_rows.py``), Textual.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.aligned_rows import AlignedRows, Pair
from dispatchviz.explain.comparison.divergences import Divergence
from dispatchviz.explain.outline.levels import DEFAULT, LEVELS
from dispatchviz.tui.comparison.two_runs import Place, TwoRuns
from dispatchviz.views.keymap import Key
from dispatchviz.views.text.styled_line import Line, line

FEWEST = 3
"""The minimum number of consecutive similar rows that are folded into one."""


REGISTRATIONS = frozenset(kind.__name__ for kind in (ev.OperatorDefined, ev.KernelRegistered, ev.CellsRecomputed))


class Several(NamedTuple):
    """Consecutive rows shown as one: equal rows, or registrations of one run."""

    pairs: tuple[Pair, ...]


class Row(NamedTuple):
    """A visible row."""

    item: Pair | Several
    depth: int
    unfolded: bool = False

    @property
    def pair(self) -> Pair:
        """The pair of the row; for folded rows, the first pair."""
        return self.item.pairs[0] if isinstance(self.item, Several) else self.item


class Compared(Struct, frozen=True):
    """The state of the screen."""

    choices: tuple[TwoRuns, ...]
    """The comparisons to choose from."""
    which: int = 0
    level: int = DEFAULT
    rows: tuple[Row, ...] = ()
    at: int = 0
    side: int = 0
    """The run that Enter opens: 0 is the left one, 1 the right one."""
    note: Line | None = None
    """A note, shown until the next key."""

    @property
    def two(self) -> TwoRuns:
        """The comparison that is shown."""
        return self.choices[self.which]

    @property
    def tree(self) -> AlignedRows:
        """The aligned rows of the comparison."""
        return self.two.aligned(self.level)

    @property
    def row(self) -> Row | None:
        """The row of the cursor; None if there are no rows."""
        return self.rows[self.at] if self.rows else None

    @property
    def stop(self) -> Divergence | None:
        """The difference in the cursor's row; None if there is none."""
        if self.row is None or isinstance(self.row.item, Several):
            return None
        here, stops = self.place, self.two.in_order(self.level)
        at = bisect_left(stops, here, key=_place)
        return stops[at][1] if at < len(stops) and stops[at][0] == here else None

    @property
    def place(self) -> Place:
        """The place of the cursor's row."""
        pair = self.row.pair if self.row is not None else None
        return () if pair is None else self.two.place(self.level, pair.first, pair.second)

    def stops_after(self, most: int) -> list[Divergence]:
        """The next differences after the cursor's row."""
        stops = self.two.in_order(self.level)
        begin = bisect_right(stops, self.place, key=_place)
        return [stop for _, stop in stops[begin : begin + most]]

    # -- moves ---------------------------------------------------------------------------------------------------------

    def noted(self, text: str) -> Compared:
        """Set a note."""
        return replace(self, note=line((f" {text}", "hint"), indent=1))

    def goto(self, at: int) -> Compared:
        """Move the cursor to a row, or to the nearest one that exists."""
        return replace(self, at=max(0, min(at, len(self.rows) - 1)), note=None)

    def move(self, by: int) -> Compared:
        """Move the cursor by some rows."""
        return self.goto(self.at + by)

    def unfold(self) -> Compared:
        """Unfold the cursor's row. If it is unfolded, go into it."""
        if self.row is None:
            return self
        if self.row.unfolded:
            return self.move(1)
        shown = unfolded(self, self.at)
        if shown is self:
            return self.noted("This row has nothing to unfold at this level of detail")
        return shown if isinstance(self.row.item, Several) else shown.goto(self.at)

    def fold(self) -> Compared:
        """Fold the cursor's row. If it is folded, go to the enclosing row."""
        if self.row is None:
            return self
        if not self.row.unfolded:
            return self.goto(self._around())
        end = _end(self.rows, self.at)
        return replace(
            self, rows=(*self.rows[: self.at], self.row._replace(unfolded=False), *self.rows[end:]), note=None
        )

    def _around(self) -> int:
        depth = self.rows[self.at].depth
        return next((at for at in range(self.at - 1, -1, -1) if self.rows[at].depth < depth), self.at)

    def to_stop(self, direction: int) -> Compared:
        """Go to the next or the previous difference."""
        if self.row is None or not self.two.stops:
            return self.noted("The runs do not differ")
        here, stops = self.place, self.two.in_order(self.level)
        at = bisect_right(stops, here, key=_place) if direction > 0 else bisect_left(stops, here, key=_place) - 1
        if not 0 <= at < len(stops):
            return self.noted(f"No difference {'after' if direction > 0 else 'before'} this row")
        beyond = stops[at][1].main
        return self.reveal(beyond.first, beyond.second)

    def detail(self, by: int) -> Compared:
        """Show more or fewer kinds of steps as rows."""
        level = max(0, min(self.level + by, len(LEVELS) - 1))
        if level == self.level:
            return self.noted("This is the most detail" if by > 0 else "This is the least detail")
        pair = self.row.pair if self.row is not None else None
        shown = opened(replace(self, level=level))
        shown = shown.reveal(pair.first, pair.second) if pair is not None else shown
        return shown.noted(LEVELS[level].help)

    def other_side(self) -> Compared:
        """Switch the run that Enter opens."""
        return replace(self, side=1 - self.side, note=None)

    def choose(self, which: int) -> Compared:
        """Show another comparison, at its first difference."""
        if not 0 <= which < len(self.choices):
            many = len(self.choices)
            return self.noted("There is only one comparison" if many == 1 else f"There are only {many} comparisons")
        return opened(replace(self, which=which, note=None))

    def reveal(self, first: int | None, second: int | None) -> Compared:
        """Move the cursor to the row of a step, or to the nearest enclosing one."""
        shown, begin, at = self, 0, self.at
        for _, pair in self.tree.path(first, second):
            found = _row_of(shown.rows, pair, begin)
            if isinstance(shown.rows[found].item, Several):
                shown = unfolded(shown, found)
                found = _row_of(shown.rows, pair, found)
            at, begin = found, found + 1
            if pair.first != first or pair.second != second:
                shown = shown if shown.rows[found].unfolded else unfolded(shown, found)
        return shown.goto(at)


def _place(stop: tuple[Place, Divergence]) -> Place:
    return stop[0]


def opened(state: Compared) -> Compared:
    """The initial state of the screen, at the first difference."""
    rows = tuple(Row(item, 0) for item in _items(state.tree, state.tree.top))
    shown = replace(state, rows=rows, at=0)
    stops = state.two.stops
    return shown.reveal(stops[0].main.first, stops[0].main.second) if stops else shown


def unfolded(state: Compared, at: int) -> Compared:
    """Unfold a row; of folded equal rows, show each. Return the same state if it contains nothing."""
    row = state.rows[at]
    if isinstance(row.item, Several):
        inner = tuple(Row(pair, row.depth) for pair in row.item.pairs)
        return replace(state, rows=(*state.rows[:at], *inner, *state.rows[at + 1 :]), note=None)
    inner = tuple(Row(item, row.depth + 1) for item in _items(state.tree, state.tree.children(row.item)))
    if not inner:
        return state
    rows = (*state.rows[:at], row._replace(unfolded=True), *inner, *state.rows[at + 1 :])
    return replace(state, rows=rows, note=None)


def _items(tree: AlignedRows, pairs: Sequence[Pair]) -> list[Pair | Several]:
    """Fold the rows. Next to a difference, one equal row on each side stays visible."""
    kinds = [_folded_as(tree, pair) for pair in pairs]
    if all(kind == "same" for kind in kinds):
        return list(pairs)
    items: list[Pair | Several] = []
    for kind, numbers in groupby(range(len(pairs)), key=kinds.__getitem__):
        begin, end = _ends(numbers)
        first, last = (begin + (begin > 0), end - (end < len(pairs))) if kind == "same" else (begin, end)
        if kind and last - first >= FEWEST:
            items += [*pairs[begin:first], Several(tuple(pairs[first:last])), *pairs[last:end]]
        else:
            items += pairs[begin:end]
    return items


def _ends(numbers: Iterable[int]) -> tuple[int, int]:
    found = list(numbers)
    return found[0], found[-1] + 1


def _folded_as(tree: AlignedRows, pair: Pair) -> str:
    """The key that consecutive rows must share to be folded; empty for a row that is never folded."""
    likeness = tree.likeness(pair)
    if likeness == "same":
        return likeness
    if pair.first is not None and pair.second is not None:
        return ""
    side, step = (0, pair.first) if pair.first is not None else (1, pair.second)
    return likeness if step is not None and tree.kind(side, step) in REGISTRATIONS else ""


def _end(rows: Sequence[Row], at: int) -> int:
    """The row after a row and everything inside it."""
    return next((n for n in range(at + 1, len(rows)) if rows[n].depth <= rows[at].depth), len(rows))


def _row_of(rows: Sequence[Row], pair: Pair, begin: int) -> int:
    """The row that shows a pair or contains it folded."""
    for at in range(begin, len(rows)):
        item = rows[at].item
        if pair in item.pairs if isinstance(item, Several) else item == pair:
            return at
    raise LookupError(pair)


COMPARISON_KEYMAP = (
    Key("stop(1)", ("d",), "Differences", "the next place where the runs differ", "next difference"),
    Key("stop(-1)", ("D",), "Differences", "the previous place where the runs differ"),
    Key("move(1)", ("down", "n"), "Rows", "the row below"),
    Key("move(-1)", ("up", "N"), "Rows", "the row above"),
    Key("unfold", ("right",), "Rows", "unfold this row; if it is unfolded, go in", "unfold"),
    Key("fold", ("left",), "Rows", "fold this row; if it is folded, go to the enclosing row"),
    Key("detail(1)", ("plus",), "Rows", "more detail: key sets, table entries, guards; then every step"),
    Key("detail(-1)", ("minus",), "Rows", "less detail: calls and Nodes; then only program lines"),
    Key("page(1)", ("pagedown",), "Rows", "a page down"),
    Key("page(-1)", ("pageup",), "Rows", "a page up"),
    Key("goto(0)", ("g", "home"), "Rows", "the first row"),
    Key("goto(1000000000)", ("G", "end"), "Rows", "the last row"),
    Key("side", ("tab",), "Steps", "switch sides: choose the run that Enter opens", "other side"),
    Key("open", ("enter", "s"), "Steps", "open the chosen run in the stepper at this row; q comes back", "step"),
    Key("whole", ("w",), "Steps", "the full text: where the runs differ, and what follows", "full text"),
    Key("copy", ("y",), "Share", "copy the command that opens this comparison"),
    *(Key(f"choose({n - 1})", (str(n),), "Comparisons", f"comparison {n} of several") for n in range(1, 5)),
    Key("help", ("question_mark", "f1"), "Help", "this help", "help"),
    Key("app.command_palette", ("ctrl+p",), "Help", "search all actions by name"),
    Key("app.suspend_process", ("ctrl+z",), "Help", "suspend; fg in the shell resumes"),
    Key("app.quit", ("q",), "Help", "close the comparison", "back"),
)

COMPARISON_GROUPS = tuple(dict.fromkeys(key.group for key in COMPARISON_KEYMAP))
