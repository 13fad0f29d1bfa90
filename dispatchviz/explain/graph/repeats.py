"""Search for repeats in a backward graph: the iterations of a loop or the layers of a network, and the edges between
them.

A repeat is a stretch of the order in which Nodes with the same names and numbers of edges come again after a period,
and each edge leads, from iteration to iteration, further by the same distance: to the same place of the next iteration,
always to the same Node (a shared leaf), or along another repeat. Only the last iterations may lead elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dispatchviz.explain.graph.graph_fold import Link, Links, Repeat

FEWEST = 3
"""The fewest iterations. With fewer it cannot be seen that each edge moves on by the same distance."""

CANDIDATES = 24
"""The number of periods that are tried."""

WORTH = 3
"""The smallest number of boxes that a repeat must save."""

Ints = npt.NDArray[np.int64]


class Stretch(Struct, frozen=True):
    """A range with a repeat."""

    start: int
    period: int
    iterations: int

    @property
    def stop(self) -> int:
        """The position after the last iteration."""
        return self.start + self.period * self.iterations

    @property
    def saved(self) -> int:
        """The number of boxes that it saves."""
        return (self.iterations - 1) * self.period


class RepeatFinder:
    """The graph as arrays, with an entry for each Node and each edge."""

    def __init__(self, links: Links) -> None:
        self._links = links
        kinds: dict[tuple[str, int], int] = {}
        count = len(links.names)
        pairs = zip(links.names, links.edges, strict=True)
        self._kind = np.fromiter((kinds.setdefault((name, len(e)), len(kinds)) for name, e in pairs), np.int64, count)
        self._degree = np.fromiter(map(len, links.edges), np.int64, count)
        self._first = np.concatenate([[0], np.cumsum(self._degree)])
        self._owner = np.repeat(np.arange(count), self._degree)
        flat = [link or (-1, 0) for edges in links.edges for link in edges]
        self._target, self._input = np.array(flat, np.int64).reshape(-1, 2).T
        self._around = np.zeros(len(flat), np.int64)
        """The effect of an outer repeat on each edge. Within an iteration only edges with the same effect are equal."""
        self.crossing = self._crossing()
        """The number of Nodes from each position on that edges lead to from before it."""

    @property
    def uses(self) -> Ints:
        """The number of edges that lead to each Node."""
        return np.bincount(self._target[self._target >= 0], minlength=len(self._kind))

    def _crossing(self) -> Ints:
        real = np.flatnonzero(self._target >= 0)[::-1]
        first_user = np.arange(len(self._kind))
        first_user[self._target[real]] = self._owner[real]  # written in reverse, so that the first one in order is kept
        steps = np.zeros(len(self._kind) + 2, np.int64)
        np.add.at(steps, first_user + 1, 1)
        np.add.at(steps, np.arange(len(self._kind)) + 1, -1)
        return np.cumsum(steps)

    def find(self, low: int, high: int) -> list[Stretch]:
        """Return the repeats between two positions, in order. Where two overlap, the one that saves more is chosen."""
        found = [stretch for period in self._periods(low, high) for stretch in self._stretches(low, high, period)]
        free, taken = np.ones(high - low, np.bool_), list[Stretch]()
        for stretch in sorted(found, key=lambda one: (-one.saved, one.period, one.start)):
            if free[stretch.start - low : stretch.stop - low].all():
                sound = self._sound(stretch, high)
                if sound is not None and free[sound.start - low : sound.stop - low].all():
                    taken.append(sound)
                    free[sound.start - low : sound.stop - low] = False
        return sorted(taken, key=lambda one: one.start)

    def _periods(self, low: int, high: int) -> Iterator[int]:
        """Yield the distances at which the same three consecutive Nodes occur again, those that would save most
        first.
        """
        kind = self._kind[low:high]
        if len(kind) < FEWEST:
            return
        padded = np.concatenate([kind, [-1, -1]])
        base = int(kind.max()) + 2
        word = ((padded[:-2] + 1) * base + padded[1:-1] + 1) * base + padded[2:] + 1
        order = np.argsort(word, kind="stable")
        same = word[order][1:] == word[order][:-1]
        gaps = Counter(np.diff(order)[same].tolist())
        weighty = sorted(gaps, key=lambda gap: -gap * gaps[gap])
        frequent = sorted(gaps, key=lambda gap: -gaps[gap])
        yield from dict.fromkeys([1, *weighty[:CANDIDATES], *frequent[:CANDIDATES]])

    def _stretches(self, low: int, high: int, period: int) -> Iterator[Stretch]:
        """Yield the ranges with at least three iterations of a period, cut where edges lead to the fewest Nodes."""
        count = high - low - 2 * period
        if count < 1:
            return
        here = self._pair(low, low + count, period) & self._pair(low + period, low + period + count, period)
        edges = self._slots(low, low + count)
        here[self._owner[edges][~self._steady(edges, period, here, low)] - low] = False
        bounds = np.flatnonzero(np.diff(np.concatenate([[0], here.view(np.int8), [0]])))
        for begin, end in bounds.reshape(-1, 2).tolist():
            iterations, rest = divmod(end - begin + 2 * period, period)
            if iterations >= FEWEST and (iterations - 1) * period >= WORTH:
                cuts = self.crossing[low + begin + period :][: rest + 1]
                yield Stretch(low + begin + int(np.argmin(cuts)), period, iterations)

    def _slots(self, low: int, high: int) -> npt.NDArray[np.intp]:
        return np.arange(self._first[low], self._first[high])

    def _pair(self, low: int, high: int, period: int) -> npt.NDArray[np.bool_]:
        """Return, for each Node, whether a Node of the same kind follows after a period."""
        return np.equal(self._kind[low:high], self._kind[low + period : high + period])

    def _steady(
        self, edges: npt.NDArray[np.intp], period: int, alike: npt.NDArray[np.bool_], low: int
    ) -> npt.NDArray[np.bool_]:
        """Return, for each edge, whether it moves on by the same distance to the next two iterations."""
        owner = self._owner[edges]
        number = edges - self._first[owner]
        known = alike[owner - low]
        once, twice = (np.where(known, self._first[owner + n * period] + number, edges) for n in (1, 2))
        steady: npt.NDArray[np.bool_] = (
            known & (self._around[edges] == self._around[once]) & (self._around[once] == self._around[twice])
        )
        for values in (self._target, self._input):
            steady &= values[once] - values[edges] == values[twice] - values[once]
        none = self._target < 0
        steady &= (none[edges] == none[once]) & (none[once] == none[twice])
        return steady

    def _sound(self, stretch: Stretch, high: int) -> Stretch | None:
        """Return the stretch with the iterations for which the rule holds, and those after them that differ only at the
        end.
        """
        iterations = self._steady_iterations(stretch)
        if iterations < FEWEST:
            return None
        for more in (2, 1):
            longer = Stretch(stretch.start, stretch.period, iterations + more)
            if longer.stop <= high and self._ends(longer, iterations):
                return longer
        return Stretch(stretch.start, stretch.period, iterations)

    def _steady_iterations(self, stretch: Stretch) -> int:
        """Return the number of iterations for which the rule holds. An edge that does not lead to the next iteration
        must not lead into the repeat.
        """
        target, iterations = self._table(self._target, stretch), stretch.iterations
        stride = target[1] - target[0]
        leaving = (stride != stretch.period) & (target[0] >= 0)
        for iterations in range(stretch.iterations, FEWEST - 1, -1):
            stop = stretch.start + iterations * stretch.period
            if (target[:iterations, leaving] >= stop).all():
                return iterations
        return 0

    def _table(self, values: Ints, stretch: Stretch) -> Ints:
        """Return a row of edges for each iteration."""
        edges = values[self._first[stretch.start] : self._first[stretch.stop]]
        return edges.reshape(stretch.iterations, -1)

    def _ends(self, longer: Stretch, iterations: int) -> bool:
        """Return whether the later iterations differ from the others only by edges that would lead beyond the last
        one.
        """
        start, period = longer.start, longer.period
        more = range(start + iterations * period, longer.stop)
        if any(self._kind[at] != self._kind[at - period] for at in more):
            return False
        target, given = self._table(self._target, longer), self._table(self._input, longer)
        around = self._table(self._around, longer)
        for iteration in range(iterations, longer.iterations):
            expected = np.where(target[0] < 0, -1, target[0] + iteration * (target[1] - target[0]))
            same = (target[iteration] == expected) & (given[iteration] == given[0] + iteration * (given[1] - given[0]))
            moves = (target[1] - target[0] == period) & (target[0] >= 0)
            beyond = moves & (expected >= longer.stop) & ((target[iteration] >= longer.stop) | (target[iteration] < 0))
            if not (same | beyond).all() or (around[iteration] != around[0]).any():
                return False
        leaving = (target[1] - target[0] != period) & (target[0] >= 0)
        return bool((target[:, leaving] >= longer.stop).all())

    def repeat(self, stretch: Stretch) -> Repeat:
        """Return the rule of a stretch, without folding its body. Its effect on each edge is stored for nested
        repeats.
        """
        target, given = self._table(self._target, stretch), self._table(self._input, stretch)
        moves = list(zip((target[1] - target[0]).tolist(), (given[1] - given[0]).tolist(), strict=True))
        owners = self._owner[self._first[stretch.start] : self._first[stretch.start + stretch.period]] - stretch.start
        strides: list[list[tuple[int, int]]] = [[] for _ in range(stretch.period)]
        for place, move in zip(owners.tolist(), moves, strict=True):
            strides[place].append(move)
        exits = dict(self._exits(stretch, target, given))
        self._note(stretch, moves, {number for _, number in exits})
        body = tuple(range(stretch.start, stretch.start + stretch.period))
        return Repeat(
            stretch.start,
            stretch.period,
            stretch.iterations,
            body,
            tuple(map(tuple, strides)),
            {at: link for (at, _), link in exits.items()},
        )

    def _exits(self, stretch: Stretch, target: Ints, given: Ints) -> Iterator[tuple[tuple[tuple[int, int], int], Link]]:
        iterations = np.arange(stretch.iterations)[:, None]
        wrong = target != np.where(target[0] < 0, -1, target[0] + iterations * (target[1] - target[0]))
        wrong |= (given != given[0] + iterations * (given[1] - given[0])) & (target >= 0)
        first = int(self._first[stretch.start])
        for iteration, number in np.argwhere(wrong).tolist():
            slot = first + iteration * target.shape[1] + number
            at = int(self._owner[slot])
            yield ((at, slot - int(self._first[at])), number), self._links.edges[at][slot - int(self._first[at])]

    def _note(self, stretch: Stretch, moves: list[tuple[int, int]], leaving: set[int]) -> None:
        """Store a number for each effect on an edge, and a separate number for each edge that leads elsewhere at the
        end.
        """
        known: dict[tuple[int, int, int, int], int] = {}
        first = int(self._first[stretch.start])
        for number, move in enumerate(moves):
            key = (int(self._around[first + number]), *move, number if number in leaving else -1)
            self._around[first + number] = known.setdefault(key, len(known))
