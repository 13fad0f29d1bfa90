"""The differences of two runs, aligned level by level, in the order of occurrence.

Lists of siblings are aligned by the facts that pair events (``event_facts.py``). If a pair is not equal as a whole, its
facts are compared, and then its children. Three kinds of events do not keep equal contents apart:

- Lines of the program whose text was changed, split or put into a ``with``: their contents are compared as if they
  were side by side.
- A call that goes through one more key in one run, because a layer is active (autocast, vmap): the layer's kernel calls
  the operator again, and that call is the counterpart of the other run's call.
- A binding with another name (``x.add(y)``, ``x + y``): the calls that it makes are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.event_facts import TEXT, everything, values, way
from dispatchviz.explain.comparison.run_tree import ROOT, RunTree
from dispatchviz.explain.comparison.sequence_alignment import Places, aligned

Sort = Literal["way", "values", "numbers", "text", "line"]
"""The kind of difference: the behavior of PyTorch, the plain values passed, the numbers of a result, or a text of the
program. ``line`` means that the line itself is equal, but something that happens on it is not.
"""

FARTHEST = 20_000
"""The number of steps within a call that are searched for the same call below a layer."""


PRINTED = (ev.Printed,)
SAID = (ev.NameBound, ev.Printed)
"""The kinds that must not keep two calls apart. Printed texts are aligned separately, and names of variables are not
aligned.
"""
KEY_SETS = (ev.KeySetComputed, ev.FallthroughSkipped)
HASHES = (ev.ResultHashed,)


class Difference(Struct, frozen=True):
    """A place where two runs differ: a step of each, or a step of only one."""

    sort: Sort
    first: int | None
    second: int | None
    below: tuple[int, int] | None = None
    """The counterparts, one of them below a call that goes through one more layer."""


class Alignment:
    """The common and the different parts of two runs."""

    def __init__(self, first: RunTree, second: RunTree) -> None:
        self.first, self.second = first, second

    def differences(self) -> Iterator[Difference]:
        """Yield the differences in order of occurrence. The contents of a step that only one run has are not
        included.
        """
        open_: list[Iterator[Difference | tuple[int, int]]] = [self._children((ROOT,), (ROOT,))]
        while open_:
            found = next(open_[-1], None)
            if found is None:
                open_.pop()
            elif isinstance(found, Difference):
                yield found
            else:
                open_.append(self._pair(*found))

    # -- one pair -----------------------------------------------------------------------------------------------------

    def _pair(self, a: int, b: int) -> Iterator[Difference | tuple[int, int]]:
        """Compare two counterparts that differ somewhere: first their facts, then their contents."""
        one, other = self.first.trace[a], self.second.trace[b]
        found = self.own_difference(a, b)
        if found is not None:
            yield found
            if found.below is not None:
                yield from self._children((found.below[0],), (found.below[1],), redone=True)
                return
        if type(one) is type(other) and self._goes_on(one, other):
            yield from self._children((a,), (b,))

    def own_difference(self, a: int, b: int) -> Difference | None:
        """Return the difference in the facts of two counterparts themselves, regardless of their contents, or None."""
        one, other = self.first.trace[a], self.second.trace[b]
        if isinstance(one, ev.Dispatched) and isinstance(other, ev.Dispatched) and one.key != other.key:
            return Difference("way", a, b, self._below_layer(one, other))
        sort = self._sort(one, other)
        return Difference(sort, a, b) if sort else None

    def _sort(self, one: ev.AnyEvent, other: ev.AnyEvent) -> Sort | None:
        """Return the kind of difference between the facts of two events."""
        kind = type(one)
        if kind is not type(other):
            return "way"
        if kind in TEXT:
            return "text" if kind is not ev.SourceLine else "line"  # lines with different texts are not a pair
        did = everything(kind) if self.first.exact else way(kind)
        if did(one) != did(other):
            return "way"
        had = values(kind)
        if had is None or had(one) == had(other):
            return None
        return "numbers" if kind is ev.ResultHashed else "values"

    def _goes_on(self, one: ev.AnyEvent, other: ev.AnyEvent) -> bool:
        """Return whether the contents of two events of a kind should be compared."""
        if isinstance(one, ev.Dispatched) and isinstance(other, ev.Dispatched):
            return one.operator == other.operator
        if isinstance(one, ev.NodeStarted) and isinstance(other, ev.NodeStarted):
            return one.name == other.name
        return True

    def _below_layer(self, one: ev.Dispatched, other: ev.Dispatched) -> tuple[int, int] | None:
        """Return the calls below the layer that only one of two calls goes through, if there is one."""
        if (inner := _same_call(self.second, other.seq, one)) is not None:
            return one.seq, inner
        if (inner := _same_call(self.first, one.seq, other)) is not None:
            return inner, other.seq
        return None

    # -- siblings -----------------------------------------------------------------------------------------------------

    def _children(
        self, a: Sequence[int], b: Sequence[int], redone: bool = False
    ) -> Iterator[Difference | tuple[int, int]]:
        """Compare the contents of some steps of each run. ``redone`` means below a layer, where key sets cannot be
        equal.
        """
        ours = [child for seq in a for child in self.first.children(seq)]
        theirs = [child for seq in b for child in self.second.children(seq)]
        if redone:
            ours, theirs = _without(self.first, ours, KEY_SETS), _without(self.second, theirs, KEY_SETS)
        if ROOT not in a and [self.first.ways[seq] for seq in a] != [self.second.ways[seq] for seq in b]:
            ours, theirs = self._hashed_alike(ours, theirs)
        yield from self._siblings(_only(self.first, ours, PRINTED), _only(self.second, theirs, PRINTED))
        yield from self._siblings(_without(self.first, ours, SAID), _without(self.second, theirs, SAID))

    def _siblings(self, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Difference | tuple[int, int]]:
        pairs = aligned([self.first.pairs[seq] for seq in ours], [self.second.pairs[seq] for seq in theirs])
        for (i, j), (next_i, next_j) in pairwise([(-1, -1), *pairs, (len(ours), len(theirs))]):
            if i >= 0 and self.first.wholes[ours[i]] != self.second.wholes[theirs[j]]:
                yield ours[i], theirs[j]
            if next_i - i > 1 or next_j - j > 1:
                yield from self._gap(ours[i + 1 : next_i], theirs[j + 1 : next_j])

    def _hashed_alike(self, ours: list[int], theirs: list[int]) -> tuple[list[int], list[int]]:
        """Remove results if the ways within differ and only one of two kernels computed a result itself."""
        if len(_only(self.first, ours, HASHES)) == len(_only(self.second, theirs, HASHES)):
            return ours, theirs
        return _without(self.first, ours, HASHES), _without(self.second, theirs, HASHES)

    def _gap(self, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Difference | tuple[int, int]]:
        """Compare siblings between two pairs that have no counterpart by name."""
        if lines := self._are_lines(ours, theirs):
            yield from self._changed_lines(*lines)
            return
        places, begin = Places(self.second.kind(b) for b in theirs), 0
        for seq in ours:
            other = places.first(replaced_by(self.first.kind(seq)), begin)
            if other is None:
                yield from self._alone(seq, None)
                continue
            for b in theirs[begin:other]:
                yield from self._alone(None, b)
            yield seq, theirs[other]
            begin = other + 1
        for b in theirs[begin:]:
            yield from self._alone(None, b)

    def _are_lines(self, ours: Sequence[int], theirs: Sequence[int]) -> tuple[Sequence[int], Sequence[int]] | None:
        kinds = {type(self.first.trace[seq]) for seq in ours[:1]} | {type(self.second.trace[b]) for b in theirs[:1]}
        return (ours, theirs) if kinds == {ev.SourceLine} else None

    def _changed_lines(self, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Difference | tuple[int, int]]:
        """Compare lines of the program that only one run has, or whose text differs."""
        if ours and theirs:
            for seq, other in zip(ours, theirs, strict=False) if len(ours) == len(theirs) else [(ours[0], theirs[0])]:
                yield Difference("text", seq, other)
            yield from self._children(ours, theirs)
            return
        for seq in ours:
            yield from self._alone(seq, None)
        for seq in theirs:
            yield from self._alone(None, seq)

    def _alone(self, a: int | None, b: int | None) -> Iterator[Difference]:
        """Yield a step that only one run has. For a line of the program, yield the events that it causes."""
        tree, seq = (self.second, b) if a is None else (self.first, a)
        assert seq is not None
        event, other = tree.trace[seq], self.second if tree is self.first else self.first
        if isinstance(event, ev.SourceLine) and tree.has_content(seq):
            if tree.pairs[seq] in other.lines:  # an additional iteration of a loop, not another program
                yield Difference("way", a, b)
                return
            for child in tree.children(seq):
                yield from self._alone(*((None, child) if a is None else (child, None)))
        else:
            sort: Sort = "numbers" if isinstance(event, ev.ResultHashed) else "text" if type(event) in TEXT else "way"
            yield Difference(sort, a, b)


NODE_OR_NONE = (ev.NodeCreated.__name__, ev.NoNodeMade.__name__)


def replaced_by(kind: str) -> Sequence[str]:
    """Return the kinds of events that an event can replace if they have no counterpart by name."""
    return NODE_OR_NONE if kind in NODE_OR_NONE else (kind,)


def _only(tree: RunTree, steps: Sequence[int], kinds: tuple[type[ev.Event], ...]) -> list[int]:
    """Return the steps of some kinds, without decoding an event."""
    codes, of_steps = set(map(tree.trace.columns.code, kinds)), tree.trace.columns.kinds
    return [seq for seq in steps if of_steps[seq] in codes]


def _without(tree: RunTree, steps: Sequence[int], kinds: tuple[type[ev.Event], ...]) -> list[int]:
    """Return the steps of other kinds."""
    codes, of_steps = set(map(tree.trace.columns.code, kinds)), tree.trace.columns.kinds
    return [seq for seq in steps if of_steps[seq] not in codes]


def _same_call(tree: RunTree, outer: int, wanted: ev.Dispatched) -> int | None:
    """Return the first call within a call that has the operator and key of a call in the other run."""
    columns = tree.trace.columns
    if wanted.operator not in columns.operator_names or wanted.key not in columns.key_names:
        return None
    operator, key = columns.operator_names.index(wanted.operator), columns.key_names.index(wanted.key)
    calls = columns.code(ev.Dispatched)
    inside = range(outer + 1, min(columns.ends[outer], outer + FARTHEST, len(tree) - 1) + 1)
    found = (seq for seq in inside if columns.operators[seq] == operator and columns.keys[seq] == key)
    return next((seq for seq in found if columns.kinds[seq] == calls), None)
