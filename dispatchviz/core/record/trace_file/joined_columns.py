"""The columns of a long trace, whose index has several parts. They stay packed in the file, which is mapped, until they
are needed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from msgspec.structs import replace
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
    return JoinedColumn(parts, name, changes)


def _counted_again(part: Part, keys: int) -> Groups:
    """The calls of a part, renumbered: the part knew fewer keys than the whole trace."""
    calls = part.groups["of_call"]
    if part.keys == keys or not part.keys:
        return calls
    operators, of_keys = np.divmod(np.asarray(calls.numbers, np.int64), part.keys)
    return Groups((operators * keys + of_keys).astype(np.int32).data, calls.begins, calls.steps)


class JoinedColumn(Sequence[int]):
    """The arrays of a column in all parts, as one. Each is unpacked on first access. ``changes`` has numbers that
    replace those of the arrays at some places.
    """

    def __init__(self, parts: Sequence[Part], name: str, changes: Mapping[int, int]) -> None:
        self._parts, self._name, self._changes = parts, name, changes
        *self._begins, self._length = accumulate([part.arrays.count(name) for part in parts], initial=0)
        self._pieces: dict[int, Sequence[int]] = {}
        self._last: tuple[int, int, Sequence[int]] = 0, 0, ()
        """The piece that was read last, from one place up to another: the next look-up is nearly always in it."""

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return self._slice(range(self._length)[at])
        begin, end, piece = self._last
        if not begin <= at < end:
            at = range(self._length)[at]
            number = bisect_right(self._begins, at) - 1
            begin, piece = self._begins[number], self._piece(number)
            self._last = begin, begin + len(piece), piece
        return piece[at - begin]

    def _piece(self, number: int) -> Sequence[int]:
        piece = self._pieces.get(number)
        if piece is None:
            piece = self._parts[number].arrays.get(self._name, ())
            begin, end = self._begins[number], self._begins[number] + len(piece)
            if changed := [(at - begin, value) for at, value in self._changes.items() if begin <= at < end]:
                piece = array("i", piece)
                for at, value in changed:
                    piece[at] = value
            self._pieces[number] = piece
        return piece

    def _slice(self, places: range) -> Sequence[int]:
        if places.step != 1:
            return [self[place] for place in places]
        some = range(max(bisect_right(self._begins, places.start) - 1, 0), bisect_left(self._begins, places.stop))
        ends = ((self._begins[at], self._piece(at)) for at in some)
        return as_one([piece[max(places.start - begin, 0) : max(places.stop - begin, 0)] for begin, piece in ends])

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(map(self._piece, range(len(self._begins))))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all numbers, for NumPy."""
        column = np.asarray(as_one(list(map(self._piece, range(len(self._begins))))))
        return column if dtype is None else column.astype(dtype, copy=False)


def as_one(pieces: Sequence[Sequence[int]]) -> Sequence[int]:
    """Join arrays of numbers of the same type."""
    some: list[Any] = [piece for piece in pieces if len(piece)]
    if len(some) < 2:
        return some[0] if some else array("i")
    return memoryview(b"".join(some)).cast(memoryview(some[0]).format)  # type: ignore[call-overload,no-any-return]


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
        return as_one([self._group(place) for place in places])

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
        numbers = [np.repeat(np.asarray(part.numbers, np.int32), _counts(part)) for part in self._parts]
        return grouped(np.concatenate(numbers), steps)

    numbers = property(lambda self: self._places.numbers)
    begins = property(lambda self: self.whole.begins)
    steps = property(lambda self: self.whole.steps)


def _counts(part: Groups) -> NDArray[np.int64]:
    """The number of steps of each group."""
    return np.diff(np.append(np.asarray(part.begins, np.int64), len(part.steps)))
