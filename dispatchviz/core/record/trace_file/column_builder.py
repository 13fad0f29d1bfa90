"""The builder of a trace's columns, which adds events as the trace grows. Derived columns are computed at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dispatchviz.core.record.events import (
    OPTIONAL,
    AnyEvent,
    Container,
    Dispatched,
    FunctionOutput,
    GradientAccumulated,
    NameBound,
    NameUnbound,
    NodeCreated,
    SourceLine,
    Unknown,
)
from dispatchviz.core.record.trace_file.columns import NONE, Columns, Groups, Place
from dispatchviz.core.record.trace_file.event_lines import KINDS
from dispatchviz.core.record.trace_file.nesting import Changes, Nested, Nesting, in_order

Column = NDArray[np.int32]

_CODES = {kind: code for code, kind in enumerate(get_args(AnyEvent))}
"""The code of each kind, which is the index of its name in ``KINDS``."""

LINE = _CODES[SourceLine]

_HOLDING = np.array([issubclass(kind, Container | Unknown) for kind in _CODES])
"""For each kind, True if other events can happen within it."""


class _Names(dict[str, int]):
    """The numbers of texts, in the order in which they were met. The empty text has none."""

    def __init__(self) -> None:
        super().__init__({"": NONE})

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self) - 1
        return number

    def texts(self) -> tuple[str, ...]:
        """The text of each number."""
        return tuple(text for text in self if text)


class _Subject(ABC):
    """A column with the field of that name, for the events that have it, or for some kinds of them."""

    def __init__(self, name: str, *kinds: type[AnyEvent]) -> None:
        having = {_CODES[kind] for kind in kinds or _CODES if name in kind.__struct_fields__}
        self.has_it = bytes(code in having for code in range(256))
        """A table with a one for each kind that has the field."""
        self._get = attrgetter(name)
        self.values = array("i")
        """The values of the events that have one."""

    def extend(self, codes: bytes, events: Sequence[AnyEvent]) -> None:
        """Add the values of some events. Only the events that have one are looked at."""
        if having := self._having(codes).tolist():
            self.values.extend(self._numbers(list(map(self._get, map(events.__getitem__, having)))))

    @abstractmethod
    def _numbers(self, values: list[Any]) -> array[int]:
        """Return the numbers that the column gets for some values."""

    def own(self) -> Column:
        """The values of the events that have one."""
        return np.array(self.values, np.int32)

    def column(self, codes: bytes) -> Column:
        """The whole column."""
        column = np.full(len(codes), NONE, np.int32)
        column[self._having(codes)] = self.values
        return column

    def groups(self, codes: bytes, first: int) -> Groups:
        """The steps of each value. The first event is step ``first``."""
        values, steps = self.own(), (self._having(codes) + first).astype(np.int32)
        known = values > NONE
        return grouped(values[known], steps[known])

    def _having(self, codes: bytes) -> NDArray[np.intp]:
        """The indices of the events that have a value."""
        return np.frombuffer(codes.translate(self.has_it), np.bool_).nonzero()[0]


class _Texts(_Subject):
    """A column of texts, by number."""

    def __init__(self, name: str, *kinds: type[AnyEvent]) -> None:
        super().__init__(name, *kinds)
        self.names = _Names()

    def _numbers(self, values: list[str]) -> array[int]:
        return array("i", list(map(self.names.__getitem__, values)))


class _Places(_Subject):
    """A column of places of SourceLines, by number."""

    def __init__(self) -> None:
        super().__init__("file", SourceLine)
        self._get = attrgetter("file", "line", "function", "resumed", "begins")
        self._known: dict[tuple[str, int, str, bool, bool], int] = {}

    def _numbers(self, values: list[tuple[str, int, str, bool, bool]]) -> array[int]:
        known = self._known
        return array("i", [known.setdefault(value, len(known)) for value in values])

    def places(self) -> tuple[Place, ...]:
        """The place of each number."""
        return tuple(Place(*value) for value in self._known)


class _Numbers(_Subject):
    """A column of numbers, counted from 0."""

    def _numbers(self, values: list[int | None]) -> array[int]:
        with suppress(TypeError, OverflowError):  # most often, there is a number for each
            return array("i", values)  # type: ignore[arg-type]
        return array("i", [NONE if value is None or value >= _MOST else value for value in values])


_parent = attrgetter("parent")

_MOST = 1 << 31
"""The first number that is not put into a column. No recording has that many."""


class ColumnBuilder:
    """The columns of a trace that grows."""

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
        self.first = 0
        """The ``seq`` of the first event that was not cut off."""
        self._nesting = Nesting()
        self._last_kind = 0
        """The highest code of a kind so far."""

    def __len__(self) -> int:
        return self.first + len(self._kinds)

    def extend(self, events: Sequence[AnyEvent]) -> None:
        """Add the events that come next."""
        codes = bytes(map(_CODES.__getitem__, map(type, events)))
        self._kinds += codes
        self._parents.extend(array("i", [NONE if parent is None else parent for parent in map(_parent, events)]))
        for subject in self._subjects:
            subject.extend(codes, events)

    def columns(self) -> Columns:
        """Return the columns of the events so far, or since the last cut."""
        return self._columns(self._nested()[0])

    def cut(self) -> tuple[Columns, Changes, Nesting]:
        """Return the columns of the events since the last cut, their changes to earlier events, and the nesting for the
        next events.
        """
        nested, changes, nesting = self._nested()
        return self._columns(nested), changes, nesting

    def forget(self, nesting: Nesting) -> None:
        """Forget the events that were cut off."""
        self.first, self._nesting = len(self), nesting
        self._kinds.clear()
        for values in (self._parents, *(subject.values for subject in self._subjects)):
            del values[:]

    def _nested(self) -> tuple[Nested, Changes, Nesting]:
        kinds = np.frombuffer(bytes(self._kinds), np.uint8)
        return self._nesting.with_events(self.first, np.array(self._parents, np.int32), kinds == LINE, _HOLDING[kinds])

    def _columns(self, nested: Nested) -> Columns:
        codes, first = bytes(self._kinds), self.first
        kinds = np.frombuffer(codes, np.uint8)
        self._last_kind = max(self._last_kind, int(kinds.max(initial=0)))
        operators, keys = self._operators.column(codes), self._keys.column(codes)
        return Columns(
            kinds=kinds.data,
            parents=np.array(self._parents, np.int32).data,
            depths=nested.depths.data,
            ends=nested.ends.data,
            siblings=nested.siblings.data,
            lines=nested.lines.data,
            operators=operators.data,
            keys=keys.data,
            nodes=self._nodes.column(codes).data,
            tensors=self._tensors.column(codes).data,
            names=self._names.column(codes).data,
            places=self._places.own().data,
            callers=self._callers.own().data,
            operator_names=self._operators.names.texts(),
            key_names=self._keys.names.texts(),
            kind_names=KINDS[: max(self._last_kind + 1, _CODES[OPTIONAL[0]])],
            name_texts=self._names.names.texts(),
            line_places=self._places.places(),
            of_kind=groups(kinds, first),
            of_node=self._nodes.groups(codes, first),
            of_tensor=self._tensors.groups(codes, first),
            of_name=self._names.groups(codes, first),
            of_result=self._results.groups(codes, first),
            of_storage=self._storages.groups(codes, first),
            of_detached=self._detached.groups(codes, first),
            of_call=groups(_calls(kinds == _CODES[Dispatched], operators, keys, len(self._keys.names) - 1), first),
        )


def columns_of(events: Iterable[AnyEvent]) -> Columns:
    """The columns of the events of a trace."""
    builder = ColumnBuilder()
    builder.extend(tuple(events))
    return builder.columns()


def _calls(is_call: NDArray[np.bool_], operators: Column, keys: Column, of_keys: int) -> NDArray[np.int64]:
    """The number of each call, made from the numbers of its operator and its key."""
    numbers = operators.astype(np.int64) * of_keys + keys
    return np.where(is_call & (operators != NONE) & (keys != NONE) & (numbers < _MOST), numbers, NONE)


def groups(numbers: NDArray[Any], first: int = 0) -> Groups:
    """The steps of each number. The first number is that of step ``first``."""
    having = np.flatnonzero(numbers > NONE).astype(np.int32)
    return grouped(numbers[having].astype(np.int32), having + np.int32(first))


def grouped(numbers: Column, steps: Column) -> Groups:
    """The steps of each number. ``steps`` are in order."""
    order = in_order(numbers)
    ordered = numbers[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=np.int32(NONE))).astype(np.int32)
    return Groups(ordered[begins].data, begins.data, steps[order].data)
