"""Two runs as one tree of rows: each step of one run beside its counterpart in the other, or beside nothing.

Every step of each run is in one row, except steps that format a tensor. Rows are created when their parent is unfolded.
``tree_alignment.py`` makes the same pairs. In addition, rows contain the steps that it leaves out: names of variables,
and key sets below a layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.divergences import Comparison
from dispatchviz.explain.comparison.run_tree import ROOT, RunTree
from dispatchviz.explain.comparison.sequence_alignment import Pairs, Places, aligned
from dispatchviz.explain.comparison.tree_alignment import KEY_SETS, SAID, Difference, replaced_by
from dispatchviz.explain.outline.levels import LEVELS

Likeness = Literal["same", "values", "changed", "first", "second"]
"""The comparison of a row's two sides: the same; the same way with other values, numbers or texts; another way; only in
the first run; only in the second run.
"""


class Pair(NamedTuple):
    """A row: a step of each run, or of one of them. Changed lines of the program that belong together share their
    contents, which the last of them has.
    """

    first: int | None
    second: int | None
    inside: tuple[tuple[int, ...], tuple[int, ...]]
    """The steps whose contents are aligned below the row."""
    below: tuple[int, int] | None = None
    """The counterparts below a call that goes through one more layer in one run, and below the steps in between."""

    def step(self, side: int) -> int | None:
        """Return the step of run 0 or 1."""
        return self.first if side == 0 else self.second


class AlignedRows:
    """The rows of a comparison at a level of detail, and the rows below each."""

    def __init__(self, comparison: Comparison, level: int, shown: Collection[tuple[int | None, int | None]]) -> None:
        """Create the rows. ``shown`` has steps that are rows at every level."""
        self.comparison, self.level = comparison, level
        self.alignment = comparison.alignment
        self.trees = self.alignment.first, self.alignment.second
        self._listed = [_listed(tree, level) for tree in self.trees]
        self._shown = [frozenset(pair[side] for pair in shown) for side in (0, 1)]
        self.children = cache(self._children)
        """The rows directly below a row, at this level."""
        self._numbers = cache(self._numbered)

    @property
    def top(self) -> Sequence[Pair]:
        """The outermost rows."""
        return self.children(TOP)

    def path(self, first: int | None, second: int | None) -> tuple[tuple[int, Pair], ...]:
        """Return the path to the row of a step, or to the nearest row around it: nested rows with their numbers. The
        paths without their rows sort in the order of the rows.
        """
        side, step = (0, first) if first is not None else (1, second)
        steps = [] if step is None else list(self._outwards(side, step))
        path: list[tuple[int, Pair]] = []
        at = TOP
        while at.step(side) != step or at is TOP:
            number = next((n for each in steps if (n := self._numbers(at).get((side, each))) is not None), None)
            if number is None:
                break
            at = self.children(at)[number]
            path.append((number, at))
        return tuple(path)

    def _outwards(self, side: int, step: int) -> Iterator[int]:
        """Yield a step and the steps around it."""
        while step != ROOT:
            yield step
            step = self.trees[side].parents[step]

    def _numbered(self, pair: Pair) -> dict[tuple[int, int], int]:
        """Return the number of the row below a row that leads to each step of a run."""
        found: dict[tuple[int, int], int] = {}
        for number, each in enumerate(self.children(pair)):
            for side, steps in enumerate(each.inside):
                found.update(((side, step), number) for step in steps)
        for number, each in enumerate(self.children(pair)):
            own = (each.step(side) for side in (0, 1))
            for side, (step, deep) in enumerate(zip(own, each.below or (None, None), strict=True)):
                if step is not None:
                    found[side, step] = number
                if deep is not None:
                    found.setdefault((side, deep), number)
        return found

    # -- one row -------------------------------------------------------------------------------------------------------

    def likeness(self, pair: Pair) -> Likeness:
        """Return the comparison of a row's sides, including everything below them."""
        if pair.first is None or pair.second is None:
            return "second" if pair.first is None else "first"
        one, other = self.trees
        if one.wholes[pair.first] == other.wholes[pair.second]:
            return "same"
        return "values" if one.ways[pair.first] == other.ways[pair.second] else "changed"

    def difference(self, pair: Pair) -> Difference | None:
        """Return the difference in the facts of a row's steps themselves, or None."""
        if pair.first is None or pair.second is None:
            return Difference("way", pair.first, pair.second)
        if self.likeness(pair) == "same":
            return None
        return self.alignment.own_difference(pair.first, pair.second)

    def kind(self, side: int, seq: int) -> str:
        """Return the name of the kind of a run's step."""
        return self.trees[side].kind(seq)

    # -- below a row ---------------------------------------------------------------------------------------------------

    def _children(self, pair: Pair) -> Sequence[Pair]:
        found: list[Pair] = []
        waiting = list(reversed(self._directly_below(pair)))
        while waiting:
            each = waiting.pop()
            if self._is_row(each):
                found.append(each)
            else:
                waiting.extend(reversed(self._directly_below(each)))
        return found

    def _is_row(self, pair: Pair) -> bool:
        return any(
            (seq := pair.step(side)) is not None
            and (self.trees[side].trace.columns.kinds[seq] in self._listed[side] or seq in self._shown[side])
            for side in (0, 1)
        )

    def _directly_below(self, pair: Pair) -> list[Pair]:
        if pair.below is not None:
            return self._towards_counterpart(pair, pair.below)
        ours, theirs = ([seq for parent in side for seq in tree.children(parent)]
                        for side, tree in zip(pair.inside, self.trees, strict=True))  # fmt: skip
        return list(self._paired(ours, theirs))

    def _towards_counterpart(self, pair: Pair, below: tuple[int, int]) -> list[Pair]:
        """Return the rows below a layer: its own steps, up to the call whose counterpart is in the other run."""
        deep = 1 if pair.first is None or (pair.first == below[0] and pair.second is not None) else 0
        outer, inner, tree = pair.inside[deep][0], below[deep], self.trees[deep]
        if outer == inner:
            ours, theirs = (tree.children(seq) for tree, seq in zip(self.trees, below, strict=True))
            return list(self._paired(ours, theirs, redone=True))
        way = inner
        while tree.parents[way] != outer:
            way = tree.parents[way]
        rows = []
        for seq in tree.children(outer):
            alone = _alone(seq, deep)
            rows.append(alone._replace(below=below) if seq == way else alone)
        return rows

    def _paired(self, ours: Sequence[int], theirs: Sequence[int], redone: bool = False) -> Iterator[Pair]:
        """Yield the siblings of both runs side by side, in order."""
        i = j = 0
        for next_i, next_j in (*self._matches(ours, theirs, redone), (len(ours), len(theirs))):
            yield from self._between(ours[i:next_i], theirs[j:next_j])
            if next_i < len(ours):
                yield self._pair(ours[next_i], theirs[next_j])
            i, j = next_i + 1, next_j + 1

    def _matches(self, ours: Sequence[int], theirs: Sequence[int], redone: bool) -> Pairs:
        """Return the places of counterparts: first those of calls, then names and prints between them."""
        one, other = self.trees
        apart = (*SAID, *KEY_SETS) if redone else SAID
        a, b = _without(one, ours, apart), _without(other, theirs, apart)
        same = aligned([one.pairs[ours[i]] for i in a], [other.pairs[theirs[j]] for j in b])
        found = [(a[i], b[j]) for i, j in same]
        found = self._more(found, ours, theirs, set(a), set(b))
        return self._more(found, ours, theirs, set(range(len(ours))), set(range(len(theirs))))

    def _more(self, known: Pairs, ours: Sequence[int], theirs: Sequence[int], a: set[int], b: set[int]) -> Pairs:
        """Add pairs of the same kind between known pairs, except lines of the program."""
        found: Pairs = []
        i = j = 0
        for next_i, next_j in (*known, (len(ours), len(theirs))):
            left = [at for at in range(j, next_j) if at in b and self.kind(1, theirs[at]) != LINE]
            places, begin = Places(self.kind(1, theirs[at]) for at in left), 0
            for at in range(i, next_i):
                other = places.first(replaced_by(self.kind(0, ours[at])), begin) if at in a else None
                if other is not None:
                    found.append((at, left[other]))
                    begin = other + 1
            found.append((next_i, next_j))
            i, j = next_i + 1, next_j + 1
        return found[:-1]

    def _between(self, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Pair]:
        """Yield siblings without a counterpart. Changed lines of the program are side by side."""
        kinds = {self.kind(0, seq) for seq in ours} | {self.kind(1, seq) for seq in theirs}
        if ours and theirs and kinds == {LINE}:
            yield from _changed_lines(ours, theirs)
            return
        yield from (_alone(seq, 0) for seq in ours)
        yield from (_alone(seq, 1) for seq in theirs)

    def _pair(self, a: int, b: int) -> Pair:
        one, other = self.trees
        pair = Pair(a, b, ((a,), (b,)))
        if one.wholes[a] == other.wholes[b]:
            return pair
        found = self.alignment.own_difference(a, b)
        return pair if found is None else pair._replace(below=found.below)


LINE = ev.SourceLine.__name__

TOP = Pair(None, None, ((ROOT,), (ROOT,)))
"""The parent of the outermost rows."""


def _alone(seq: int, side: int) -> Pair:
    return Pair(seq, None, ((seq,), ())) if side == 0 else Pair(None, seq, ((), (seq,)))


def _changed_lines(ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Pair]:
    """Yield lines whose text differs. Equal numbers of lines are side by side; otherwise their contents are below the
    last line.
    """
    if len(ours) == len(theirs):
        yield from (Pair(a, b, ((a,), (b,))) for a, b in zip(ours, theirs, strict=True))
        return
    many = max(len(ours), len(theirs))
    for at in range(many):
        a, b = (side[at] if at < len(side) else None for side in (ours, theirs))
        inside = (tuple(ours), tuple(theirs)) if at == many - 1 else ((), ())
        yield Pair(a, b, inside)


def _listed(tree: RunTree, level: int) -> frozenset[int]:
    """Return the codes of the kinds that are rows at a level."""
    kinds, columns = LEVELS[level].kinds, tree.trace.columns
    return frozenset(map(columns.code, kinds)) if kinds is not None else frozenset(columns.kinds)


def _without(tree: RunTree, steps: Sequence[int], kinds: tuple[type[ev.Event], ...]) -> list[int]:
    """Return the places of the steps of other kinds."""
    codes, of_steps = set(map(tree.trace.columns.code, kinds)), tree.trace.columns.kinds
    return [at for at, seq in enumerate(steps) if of_steps[seq] not in codes]
