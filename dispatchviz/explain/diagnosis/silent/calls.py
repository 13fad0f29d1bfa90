"""The calls of operators between two steps, with their tensors and the tensors that they write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import source_lines, within
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.trace_index import index

MOST = 20_000
"""The number of calls between two steps that are read."""


class Call(NamedTuple):
    """A call of an operator, made by the program or within another call."""

    trace: Trace
    seq: int
    """The step of the Dispatched event."""
    computed: ev.KeySetComputed

    @property
    def event(self) -> ev.Dispatched:
        """The event of the call, read on demand because a rule reads thousands of calls."""
        event = self.trace[self.seq]
        assert isinstance(event, ev.Dispatched)
        return event

    @property
    def name(self) -> str:
        """``mul_`` for ``aten::mul_.Tensor``."""
        columns = self.trace.columns
        return columns.operator_names[columns.operators[self.seq]].partition("::")[2].partition(".")[0]

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensor arguments."""
        return tuple(tensor for _, tensor, _ in self.computed.arguments)

    @property
    def written(self) -> tuple[int, ...]:
        """The arguments that an in-place operator writes to, and those for the results."""
        in_place = self.name.endswith("_") and not self.name.endswith("__")
        wanted = ("self", "out") if in_place else ("out",)
        return tuple(tensor for name, tensor, _ in self.computed.arguments if name.partition("[")[0] in wanted)

    def numbers(self, trace: Trace) -> bool:
        """Return whether an argument is a Python number, or all arguments but the written one are."""
        others = [each for each in self.tensors if each not in self.written]
        known = index(trace).tensors
        return not others or any((made := known.get(each)) is not None and made.wrapped_number for each in others)


def calls_between(trace: Trace, begin: int, end: int) -> Iterator[Call]:
    """Yield the calls between two steps, in order, at most ``MOST``. Redispatches do not count."""
    columns, dispatched = trace.columns, trace.columns.code(ev.Dispatched)
    for step in between(trace, ev.KeySetComputed, begin, end)[:MOST]:
        computed, parent = trace[step], columns.parents[step]
        if parent < 0 or columns.kinds[parent] != dispatched:
            continue
        if isinstance(computed, ev.KeySetComputed) and computed.arguments:
            yield Call(trace, parent, computed)


def storage_of(trace: Trace, tensor: int) -> int:
    """Return the memory of a tensor when it was made, or a unique negative number if it has none."""
    made = index(trace).tensors.get(tensor)
    return made.storage if made is not None and made.storage >= 0 else -2 - tensor


def outermost_calls(trace: Trace, wanted: Callable[[str], bool]) -> Iterator[Call]:
    """Yield the program's own calls of operators with some names, in order, without calls made by a kernel or Node."""
    columns = trace.columns
    inner = {columns.code(kind) for kind in (ev.KernelEntered, ev.MetaEntered, ev.ImplEntered, ev.NodeStarted)}
    kinds, ancestors = columns.kinds, columns.ancestors
    groups = [steps for operator, _, steps in columns.calls() if wanted(operator.partition("::")[2].partition(".")[0])]
    for step in merge(*groups):
        if not any(kinds[each] in inner for each in ancestors(step)):
            following = trace[step + 1] if step + 1 < len(trace) else None
            own = isinstance(following, ev.KeySetComputed) and following.parent == step
            computed = following if own else within(trace, step, ev.KeySetComputed)
            if isinstance(computed, ev.KeySetComputed):
                yield Call(trace, step, computed)


def lines_with(trace: Trace, wanted: Callable[[str], object]) -> list[int]:
    """Return the steps at which lines with a wanted text run, in order. No event is decoded."""
    columns, numbers = trace.columns, set()
    for number, place in enumerate(columns.line_places):
        lines = source_lines(trace, place.file)
        if 0 < place.line <= len(lines) and wanted(lines[place.line - 1]):
            numbers.add(number)
    if not numbers:
        return []
    steps = trace.steps_of(ev.SourceLine)
    return [step for step, place in zip(steps, columns.places, strict=False) if place in numbers]
