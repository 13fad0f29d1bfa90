"""The counterparts in two sequences, found by an alignment with bounded cost.

Equal elements at both ends are paired first. Between them Myers' algorithm finds the fewest insertions and deletions,
as ``diff`` does ("An O(ND) Difference Algorithm and Its Variations", 1986), as long as there are few. If there are
many, the first occurrence of an element is paired with its first occurrence in the other sequence, the second with the
second, and so on, as long as these pairs do not cross.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

MOST_EDITS = 400
"""The number of insertions and deletions that are tried. The work grows with its square, and with its product with the
length.
"""

MOST_WORK = 4_000_000
"""The largest number of comparisons."""

Pairs = list[tuple[int, int]]


def aligned(first: Sequence[int], second: Sequence[int]) -> Pairs:
    """Return the positions of counterparts, in order. Both sequences are hashes."""
    begin, end = _common_ends(first, second)
    a, b = first[begin : len(first) - end], second[begin : len(second) - end]
    between = _fewest_edits(a, b) if a and b else []
    if between is None:
        between = _by_occurrence(a, b)
    pairs = [(at, at) for at in range(begin)]
    pairs += [(begin + i, begin + j) for i, j in between]
    pairs += [(len(first) - at, len(second) - at) for at in range(end, 0, -1)]
    return _earliest(pairs, first, second)


class Places:
    """The places of elements in a sequence, searched from its beginning to its end."""

    def __init__(self, elements: Iterable[str]) -> None:
        self._places: dict[str, deque[int]] = defaultdict(deque)
        for at, element in enumerate(elements):
            self._places[element].append(at)

    def first(self, wanted: Iterable[str], begin: int) -> int | None:
        """Return the first place of any of some elements from ``begin`` on, which is never less than in the last
        call.
        """
        found = [places[0] for each in wanted if (places := self._from(each, begin))]
        return min(found, default=None)

    def _from(self, element: str, begin: int) -> deque[int] | None:
        places = self._places.get(element)
        while places and places[0] < begin:
            places.popleft()
        return places


def _common_ends(first: Sequence[int], second: Sequence[int]) -> tuple[int, int]:
    """Return the length of the common beginning, and of the common end after that."""
    shorter = min(len(first), len(second))
    begin = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    rest = shorter - begin
    end = next((at for at in range(rest) if first[-1 - at] != second[-1 - at]), rest)
    return begin, end


def _earliest(pairs: Pairs, a: Sequence[int], b: Sequence[int]) -> Pairs:
    """Pair the same elements as early as they occur, so that an additional iteration of a loop is its last one."""
    i = j = -1
    found: Pairs = []
    for at, _ in pairs:
        element = a[at]
        i, j = _next(a, element, i + 1), _next(b, element, j + 1)
        found.append((i, j))
    return found


def _next(elements: Sequence[int], wanted: int, at: int) -> int:
    while elements[at] != wanted:
        at += 1
    return at


def _fewest_edits(a: Sequence[int], b: Sequence[int]) -> Pairs | None:
    """Return the pairs that leave the fewest elements alone, or None if that takes too long."""
    reached, history, work = {1: 0}, list[dict[int, int]](), 0
    for edits in range(min(MOST_EDITS, len(a) + len(b)) + 1):
        history.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
            x = start = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            reached[diagonal] = x
            work += x - start + 1
            if x >= len(a) and x - diagonal >= len(b):
                return _way_back(history, len(a), len(b))
        if work > MOST_WORK:
            break
    return None


def _way_back(history: Sequence[dict[int, int]], x: int, y: int) -> Pairs:
    """Return the pairs on the path that reached both ends."""
    pairs: Pairs = []
    for edits in range(len(history) - 1, -1, -1):
        reached, diagonal = history[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        x_before = reached[before]
        y_before = x_before - before
        while x > x_before and y > y_before:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = x_before, y_before
    return pairs[::-1]


def _by_occurrence(a: Sequence[int], b: Sequence[int]) -> Pairs:
    """Pair the n-th occurrence of each element with the n-th one in the other sequence, as many as do not cross."""
    places: dict[int, list[int]] = defaultdict(list)
    for j, element in enumerate(b):
        places[element].append(j)
    met: dict[int, int] = defaultdict(int)
    candidates: Pairs = []
    for i, element in enumerate(a):
        known = places.get(element, ())
        if met[element] < len(known):
            candidates.append((i, known[met[element]]))
        met[element] += 1
    return _longest_increasing(candidates)


def _longest_increasing(pairs: Pairs) -> Pairs:
    """Return the longest selection of pairs whose second positions increase."""
    ends, at_end, before = list[int](), list[int](), list[int]()
    for number, (_, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        before.append(at_end[place - 1] if place else -1)
        if place == len(ends):
            ends.append(j)
            at_end.append(number)
        else:
            ends[place], at_end[place] = j, number
    chosen, number = [], at_end[-1] if at_end else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]
