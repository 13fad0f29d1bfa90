"""Making the columns of a trace, event by event as it grows; what follows from them is computed at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dispatchviz.core.record.events import (
    OPTIONAL,
    AnyEvent,
    Dispatched,
    FunctionOutput,
    GradientAccumulated,
    NameBound,
    NameUnbound,
    NodeCreated,
    SourceLine,
)
from dispatchviz.core.record.trace_file.columns import NONE, Columns, Groups, Place
from dispatchviz.core.record.trace_file.event_lines import KINDS

Column = NDArray[np.int32]

_CODES = {kind: code for code, kind in enumerate(get_args(AnyEvent))}
"""Each kind's number, the place of its name in ``KINDS``."""


class _Names(dict[str, int]):
    """Texts to their numbers, in the order in which they were met; the empty text has none."""

    def __init__(self) -> None:
        super().__init__({"": NONE})

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self) - 1
        return number

    def texts(self) -> tuple[str, ...]:
        """The text of each number."""
        return tuple(text for text in self if text)


class _Subject(ABC):
    """A column that is a field of that name, of those events that have one, or of some kinds of them."""

    def __init__(self, name: str, *kinds: type[AnyEvent]) -> None:
        having = {_CODES[kind] for kind in kinds or _CODES if name in kind.__struct_fields__}
        self.has_it = bytes(code in having for code in range(256))
        """Of each kind whether it has one."""
        self._get = attrgetter(name)
        self._values = array("i")

    def extend(self, codes: bytes, events: Sequence[AnyEvent]) -> None:
        """Adds those of some events. Few have one: the others are not even passed over."""
        having = np.frombuffer(codes.translate(self.has_it), np.bool_).nonzero()[0].tolist()
        self._values.extend(self._numbers(map(self._get, map(events.__getitem__, having))))

    @abstractmethod
    def _numbers(self, values: Iterable[Any]) -> Iterable[int]:
        """What the column has for each value."""

    @property
    def values(self) -> Column:
        """Of those events alone that have one."""
        return np.array(self._values, np.int32)

    def column(self, kinds: NDArray[np.uint8]) -> Column:
        """The whole column."""
        column = np.full(len(kinds), NONE, np.int32)
        column[np.frombuffer(self.has_it, np.bool_)[kinds]] = self._values
        return column


class _Texts(_Subject):
    """A column of texts, by number."""

    def __init__(self, name: str, *kinds: type[AnyEvent]) -> None:
        super().__init__(name, *kinds)
        self.names = _Names()

    def _numbers(self, values: Iterable[str]) -> Iterable[int]:
        return map(self.names.__getitem__, values)


class _Places(_Subject):
    """Where each SourceLine is, by number."""

    def __init__(self) -> None:
        super().__init__("file", SourceLine)
        self._get = attrgetter("file", "line", "function", "resumed", "begins")
        self._known: dict[tuple[str, int, str, bool, bool], int] = {}

    def _numbers(self, values: Iterable[tuple[str, int, str, bool, bool]]) -> Iterable[int]:
        known = self._known
        return [known.setdefault(value, len(known)) for value in values]

    def places(self) -> tuple[Place, ...]:
        """The place of each number."""
        return tuple(Place(*value) for value in self._known)


class _Numbers(_Subject):
    """A column of numbers, counted from 0."""

    def _numbers(self, values: Iterable[int | None]) -> Iterable[int]:
        return [NONE if value is None or value >= _MOST else value for value in values]


_parent = attrgetter("parent")

_MOST = 1 << 31
"""Numbers from here on are in no column: no recording has as many."""


class ColumnBuilder:
    """Columns of a trace that grows."""

    def __init__(self) -> None:
        self._kinds, self._parents = bytearray(), array("i")
        self._operators, self._keys, self._names = (
            _Texts("operator"),
            _Texts("key"),
            _Texts("name", NameBound, NameUnbound, NodeCreated),
        )
        self._nodes, self._tensors = _Numbers("node"), _Numbers("tensor")
        self._results = _Numbers("result", GradientAccumulated, FunctionOutput)
        self._storages, self._detached = _Numbers("storage"), _Numbers("detached")
        self._places, self._callers = _Places(), _Numbers("caller", SourceLine)
        self._subjects: tuple[_Subject, ...] = (
            self._operators, self._keys, self._nodes, self._tensors, self._names, self._results, self._storages,
            self._detached, self._places, self._callers,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._kinds)

    def extend(self, events: Sequence[AnyEvent]) -> None:
        """Adds the events that come next."""
        codes = bytes(map(_CODES.__getitem__, map(type, events)))
        self._kinds += codes
        self._parents.extend([NONE if parent is None else parent for parent in map(_parent, events)])
        for subject in self._subjects:
            subject.extend(codes, events)

    def columns(self) -> Columns:
        """What there is so far, as columns."""
        kinds = np.frombuffer(bytes(self._kinds), np.uint8)
        parents = np.array(self._parents, np.int32)
        nodes, tensors, names = (each.column(kinds) for each in (self._nodes, self._tensors, self._names))
        operators, keys = self._operators.column(kinds), self._keys.column(kinds)
        depths, families = _depths(parents), np.argsort(parents, kind="stable")
        return Columns(
            kinds=kinds.data,
            parents=parents.data,
            depths=depths.data,
            ends=_ends(parents, depths).data,
            siblings=_siblings(parents, families).data,
            lines=_lines(kinds == _CODES[SourceLine], parents, families).data,
            operators=operators.data,
            keys=keys.data,
            nodes=nodes.data,
            tensors=tensors.data,
            names=names.data,
            places=self._places.values.data,
            callers=self._callers.values.data,
            operator_names=self._operators.names.texts(),
            key_names=self._keys.names.texts(),
            kind_names=_kind_names(kinds),
            name_texts=self._names.names.texts(),
            line_places=self._places.places(),
            of_kind=_groups(kinds),
            of_node=_groups(nodes),
            of_tensor=_groups(tensors),
            of_name=_groups(names),
            of_result=_groups(self._results.column(kinds)),
            of_storage=_groups(self._storages.column(kinds)),
            of_detached=_groups(self._detached.column(kinds)),
            of_call=_groups(_calls(kinds == _CODES[Dispatched], operators, keys, len(self._keys.names) - 1)),
        )


def _kind_names(kinds: NDArray[np.uint8]) -> tuple[str, ...]:
    """The names of all kinds; of the last ones, which few recordings have, as far as there are some."""
    there = [_CODES[kind] + 1 for kind in OPTIONAL if (kinds == _CODES[kind]).any()]
    return KINDS[: max(there, default=_CODES[OPTIONAL[0]])]


def columns_of(events: Iterable[AnyEvent]) -> Columns:
    """The columns of the events of a trace."""
    builder = ColumnBuilder()
    builder.extend(tuple(events))
    return builder.columns()


def _depths(parents: Column) -> Column:
    """How many events each is within: each turn looks twice as far outwards."""
    depths: Column = (parents != NONE).astype(np.int32)
    further = parents.copy()
    while len(inside := np.flatnonzero(further != NONE)):
        outer = further[inside]
        depths[inside], further[inside] = depths[inside] + depths[outer], further[outer]
    return depths


def _ends(parents: Column, depths: Column) -> Column:
    """The last event within each: those that are furthest inside are known first."""
    ends = np.arange(len(parents), dtype=np.int32)
    by_depth = np.argsort(depths, kind="stable")
    begins = np.searchsorted(depths[by_depth], np.arange(1, depths.max(initial=0) + 2))
    for begin, end in pairwise(begins[::-1].tolist()):
        level = by_depth[end:begin]
        np.maximum.at(ends, parents[level], ends[level])
    return ends


def _siblings(parents: Column, families: NDArray[np.intp]) -> Column:
    """The next event within the same one; ``families`` has the events by what they are within, in order."""
    siblings = np.full(len(parents), NONE, np.int32)
    same = parents[families[:-1]] == parents[families[1:]]
    siblings[families[:-1][same]] = families[1:][same]
    siblings[parents == NONE] = NONE
    return siblings


def _lines(is_line: NDArray[np.bool_], parents: Column, families: NDArray[np.intp]) -> Column:
    """The SourceLine of each event: itself, else the last before it within the same event, else that of its parent."""
    lines = np.full(len(parents), NONE, np.int32)
    if not len(parents):
        return lines
    ordered = parents[families]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    begin = np.maximum.accumulate(np.where(begins, np.arange(len(families)), 0))
    last = np.maximum.accumulate(np.where(is_line[families], np.arange(len(families)), NONE))
    known = (last >= begin) & (ordered != NONE) | is_line[families]
    lines[families[known]] = families[last[known]]
    return _inherited(lines, parents)


def _inherited(lines: Column, parents: Column) -> Column:
    """Puts in, where there is none, what the nearest event around has."""
    further = parents.copy()
    while len(open_ := np.flatnonzero((lines == NONE) & (further != NONE))):
        outer = further[open_]
        lines[open_], further[open_] = lines[outer], further[outer]
    return lines


def _calls(is_call: NDArray[np.bool_], operators: Column, keys: Column, of_keys: int) -> NDArray[np.int64]:
    """Of each call the number of its operator and key."""
    numbers = operators.astype(np.int64) * of_keys + keys
    return np.where(is_call & (operators != NONE) & (keys != NONE) & (numbers < _MOST), numbers, NONE)


def _groups(numbers: NDArray[Any]) -> Groups:
    """The steps of each number."""
    having = np.flatnonzero(numbers > NONE).astype(np.int32)
    order = having[np.argsort(numbers[having], kind="stable")]
    ordered = numbers[order].astype(np.int32)
    found, begins = np.unique(ordered, return_index=True)
    return Groups(found.data, begins.astype(np.int32).data, order.data)
