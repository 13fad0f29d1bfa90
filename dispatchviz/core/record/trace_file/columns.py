"""Columns with an entry for each event, for the lists, trees, searches and graphs that need facts of many events at
once.

Some come from the event itself: its kind, its parent, its operator, its key, its Node, its tensor, the name that it
gives a tensor or a Node. Others are derived (by ``column_builder.py``): its depth, the last event within it, the user's
line on which it happened.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct

from dispatchviz.foundation.unlocked_property import cached_property

NONE = -1
"""The entry for "none"."""

GROUPS = ("of_kind", "of_node", "of_tensor", "of_name", "of_result", "of_storage", "of_detached", "of_call")
PARTS_OF_GROUPS = ("numbers", "begins", "steps")
"""The arrays of groups."""
ARRAYS = {
    "kinds": "B", "parents": "i", "depths": "i", "ends": "i", "siblings": "i", "lines": "i", "operators": "i",
    "keys": "i", "nodes": "i", "tensors": "i", "names": "i",
}  # fmt: skip
"""The columns that have an entry for each event, and the types of their entries."""
LINES = {"places": "i", "callers": "i"}
"""The columns that have an entry for each SourceLine, and the types of their entries."""
NAMES = ("kind_names", "operator_names", "key_names", "name_texts", "line_places")
"""The fields that are not columns."""
CHANGES = ("steps", "ends", "siblings")
"""Columns about events of earlier parts: ``changed_steps`` and so on."""


class Place(Struct, frozen=True, array_like=True):
    """A place in the user's program: the fields of a SourceLine except its caller."""

    file: str
    line: int
    function: str
    resumed: bool
    begins: bool = False


class Groups(Mapping[int, Sequence[int]]):
    """Steps by number, in three arrays: the numbers in order, the index at which the steps of each begin, all steps."""

    def __init__(self, numbers: Sequence[int], begins: Sequence[int], steps: Sequence[int]) -> None:
        self.numbers, self.begins, self.steps = numbers, begins, steps

    def __getitem__(self, number: int) -> Sequence[int]:
        at = bisect_left(self.numbers, number)
        if at == len(self.numbers) or self.numbers[at] != number:
            raise KeyError(number)
        return self._at(at)

    def _at(self, at: int) -> Sequence[int]:
        end = self.begins[at + 1] if at + 1 < len(self.begins) else len(self.steps)
        return self.steps[self.begins[at] : end]

    @cached_property
    def first_steps(self) -> Sequence[int]:
        """The first step of each number. Looking each up would take some twenty times as long."""
        steps, end = self.steps, len(self.steps)
        return [steps[begin] if 0 <= begin < end else NONE for begin in self.begins]  # a file may contain anything

    @cached_property
    def firsts(self) -> frozenset[int]:
        """The set of the first steps."""
        return frozenset(self.first_steps)

    def all(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield each number with its steps. It looks nothing up, since the numbers of a forged file may not be in
        order.
        """
        return ((number, self._at(at)) for at, number in enumerate(self.numbers))

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


class Columns(Struct, frozen=True, dict=True):
    """The columns of a whole trace: arrays in memory, or parts of a file that is mapped into memory."""

    kinds: Sequence[int]
    """Codes of kinds, in the order of ``kind_names``."""
    parents: Sequence[int]
    depths: Sequence[int]
    """The number of events around each event."""
    ends: Sequence[int]
    """The last event within each event; its own ``seq`` if there is none."""
    siblings: Sequence[int]
    """The next event within the same event."""
    lines: Sequence[int]
    """The SourceLine on which each happened. A SourceLine has itself."""
    operators: Sequence[int]
    keys: Sequence[int]
    nodes: Sequence[int]
    tensors: Sequence[int]
    names: Sequence[int]
    """The variable's name for a NameBound or NameUnbound, the Node's for a NodeCreated."""
    places: Sequence[int]
    """The number of the place of each SourceLine, in order."""
    callers: Sequence[int]
    """The SourceLine that called the function of each SourceLine, in order."""
    operator_names: tuple[str, ...]
    key_names: tuple[str, ...]
    kind_names: tuple[str, ...]
    name_texts: tuple[str, ...]
    line_places: tuple[Place, ...]
    of_kind: Groups
    """The steps of each kind."""
    of_node: Groups
    """The steps whose ``node`` is a given Node."""
    of_tensor: Groups
    """The steps whose ``tensor`` is a given tensor."""
    of_name: Groups
    """The steps that give each name."""
    of_result: Groups
    """The steps whose result is a given tensor, as a gradient (GradientAccumulated) or a returned value
    (FunctionOutput).
    """
    of_storage: Groups
    """The steps at which a tensor on a given storage was created."""
    of_detached: Groups
    """The steps of RequiresGradSet that detached a tensor from its history: those of the number 1."""
    of_call: Groups
    """The steps of Dispatched by operator and key. The number is the operator's, times the number of keys, plus the
    key's.
    """

    def calls(self) -> list[tuple[str, str, Sequence[int]]]:
        """Operator, key and steps of all calls with the same operator and key, in the order in which they were met."""
        operators, keys = self.operator_names, self.key_names
        found = []
        for number, steps in self.of_call.all() if keys else ():
            operator, key = divmod(number, len(keys))
            if 0 <= operator < len(operators) and steps:  # for any content of a file
                found.append((operators[operator], keys[key], steps))
        return sorted(found, key=lambda call: call[2][0])

    def code(self, kind: type[Any]) -> int:
        """The code of a kind of event; ``NONE`` if it has none here."""
        return self._codes.get(kind.__name__, NONE)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {name: self.kind_names.index(name) for name in self.kind_names}

    def steps_of(self, kinds: tuple[type[Any], ...]) -> Sequence[int]:
        """Return the steps of some kinds, in order. They are found once, because panes ask for them at each step."""
        found = self._steps_of.get(kinds)
        if found is None:
            groups = [self.of_kind[code] for code in map(self.code, kinds) if code in self.of_kind]
            found = self._steps_of[kinds] = groups[0] if len(groups) == 1 else sorted(chain(*groups))
        return found

    @cached_property
    def _steps_of(self) -> dict[tuple[type[Any], ...], Sequence[int]]:
        return {}

    def children(self, seq: int) -> Iterator[int]:
        """Yield the events directly within one, in order."""
        parents, siblings, last = self.parents, self.siblings, self.ends[seq]
        child = next((at for at in range(seq + 1, last + 1) if parents[at] == seq), NONE)
        while child > seq:  # this ends for any content of a file
            yield child
            seq, child = child, siblings[child]

    def ancestors(self, seq: int) -> Iterator[int]:
        """Yield the events around one, innermost first."""
        parents = self.parents
        parent = parents[seq]
        while NONE < parent < seq:
            yield parent
            seq, parent = parent, parents[parent]
