"""The columns of a long trace, whose index has several parts. They stay packed in the file, which is mapped, until they
are needed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from dispatchviz.core.record.trace_file.column_builder import LINE, grouped, groups
from dispatchviz.core.record.trace_file.columns import ARRAYS, CHANGES, GROUPS, LINES, Columns, Groups
from dispatchviz.core.record.trace_file.nesting import nested
from dispatchviz.foundation.unlocked_property import cached_property

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file.index import Part

_NESTING = ("depths", "ends", "siblings", "lines")


def joined_columns(parts: Sequence[Part], whole: bool, names: Mapping[str, Any]) -> Columns:
    """The columns of all parts, joined.

    ``whole``: the columns of the nesting are right. ``names`` are the fields that are not columns.
    """
    columns: dict[str, Any] = {name: _column(parts, name) for name in (*ARRAYS, *LINES)}
    columns |= {name: JoinedGroups([part.groups[name] for part in parts]) for name in GROUPS}
    columns["of_call"] = JoinedGroups([_counted_again(part, len(names["key_names"])) for part in parts])
    if not whole:
        parents = np.asarray(columns["parents"], np.int32)
        computed = nested(parents, np.asarray(columns["kinds"]) == LINE)
        columns |= {name: getattr(computed, name).data for name in _NESTING}
    return Columns(**columns, **names)


def in_memory(columns: Columns) -> Columns:
    """Return columns that are read faster, for code that reads all of them many times: none has pieces."""
    found: dict[str, Any] = {name: np.asarray(getattr(columns, name)).data for name in (*ARRAYS, *LINES)}
    of_trace = {name: getattr(columns, name) for name in GROUPS}
    found |= {name: each.whole if isinstance(each, JoinedGroups) else each for name, each in of_trace.items()}
    return replace(columns, **found)


def _column(parts: Sequence[Part], name: str) -> JoinedColumn:
    changes = dict[int, int]()
    for part in parts if name in CHANGES else ():
        changes.update(zip(part.arrays.get("changed_steps", ()), part.arrays.get(f"changed_{name}", ()), strict=True))
    return JoinedColumn(_Pieces(parts, name), [part.arrays.count(name) for part in parts], changes)


class _Pieces(dict[int, Sequence[int]]):
    """The arrays of a column in the parts, which are unpacked on first access."""

    def __init__(self, parts: Sequence[Part], name: str) -> None:
        super().__init__()
        self._parts, self._name = parts, name

    def __missing__(self, at: int) -> Sequence[int]:
        piece = self[at] = self._parts[at].arrays.get(self._name, ())
        return piece


def _counted_again(part: Part, keys: int) -> Groups:
    """The calls of a part, renumbered: the part knew fewer keys than the whole trace."""
    calls = part.groups["of_call"]
    if part.keys == keys or not part.keys:
        return calls
    operators, of_keys = np.divmod(np.asarray(calls.numbers, np.int64), part.keys)
    return Groups((operators * keys + of_keys).astype(np.int32).data, calls.begins, calls.steps)


class JoinedColumn(Sequence[int]):
    """Several arrays joined into one. ``changes`` has numbers that replace those of the arrays at some places."""

    def __init__(
        self, pieces: Mapping[int, Sequence[int]], lengths: Sequence[int], changes: Mapping[int, int] | None = None
    ) -> None:
        self._pieces, self._changes = pieces, changes or {}
        *self._begins, self._length = accumulate(lengths, initial=0)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return self._slice(range(self._length)[at])
        if not 0 <= at < self._length:
            at = range(self._length)[at]
        if at in self._changes:
            return self._changes[at]
        piece = bisect_right(self._begins, at) - 1
        return self._pieces[piece][at - self._begins[piece]]

    def _slice(self, places: range) -> Sequence[int]:
        if places.step != 1 or self._changes:
            return [self[place] for place in places]
        start, stop = places.start, places.stop
        some = range(max(bisect_right(self._begins, start) - 1, 0), bisect_left(self._begins, stop))
        pieces = ((self._pieces[at], self._begins[at]) for at in some)
        return _as_one([piece[max(start - begin, 0) : max(stop - begin, 0)] for piece, begin in pieces])

    def __iter__(self) -> Iterator[int]:
        return iter(np.asarray(self).data) if self._changes else chain.from_iterable(self._in_order())

    def _in_order(self) -> Iterator[Sequence[int]]:
        return map(self._pieces.__getitem__, range(len(self._begins)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return a copy, for NumPy."""
        column: NDArray[Any] = np.concatenate([np.zeros(0, np.uint8), *map(np.asarray, filter(len, self._in_order()))])
        column[list(self._changes)] = list(self._changes.values())
        return column if dtype is None else column.astype(dtype, copy=False)


def _as_one(pieces: Sequence[Sequence[int]]) -> Sequence[int]:
    return pieces[0] if len(pieces) == 1 else JoinedColumn(dict(enumerate(pieces)), list(map(len, pieces)))


class JoinedGroups(Groups):
    """Groups of several parts as one."""

    def __init__(self, parts: Sequence[Groups]) -> None:
        self._parts = parts
        self._begins = list(accumulate(map(len, parts), initial=0))

    def __getitem__(self, number: int) -> Sequence[int]:
        return self._steps(self._places[number])

    def _at(self, at: int) -> Sequence[int]:
        return self._steps(self._places._at(at))

    def _steps(self, places: Sequence[int]) -> Sequence[int]:
        return _as_one([self._group(place) for place in places])

    def _group(self, place: int) -> Sequence[int]:
        part = bisect_right(self._begins, place) - 1
        return self._parts[part]._at(place - self._begins[part])

    @cached_property
    def _places(self) -> Groups:
        """The same numbers, with the places of their groups, which are counted through all parts."""
        return groups(np.concatenate([np.asarray(part.numbers, np.int32) for part in self._parts]))

    @cached_property
    def first_steps(self) -> Sequence[int]:
        """The first step of each number."""
        of_parts: NDArray[np.int32] = np.concatenate([np.asarray(part.first_steps, np.int32) for part in self._parts])
        return of_parts.take(self._places.first_steps).data

    @cached_property
    def whole(self) -> Groups:
        """The groups with their steps in memory."""
        steps = np.concatenate([np.asarray(part.steps, np.int32) for part in self._parts])
        numbers = [np.repeat(part.numbers, np.diff([*part.begins, len(part.steps)])) for part in self._parts]
        return grouped(np.concatenate(numbers), steps)

    numbers = property(lambda self: self._places.numbers)
    begins = property(lambda self: self.whole.begins)
    steps = property(lambda self: self.whole.steps)
