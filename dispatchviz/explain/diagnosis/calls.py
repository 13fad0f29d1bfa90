"""The calls of operators between two steps, with their tensors and what they write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.trace_index import index

MOST = 20_000
"""So many calls are looked at between two steps."""


class Call(NamedTuple):
    """A call of an operator, made by the program or within another call."""

    event: ev.Dispatched
    computed: ev.KeySetComputed

    @property
    def name(self) -> str:
        """``mul_`` for ``aten::mul_.Tensor``."""
        return self.event.operator.partition("::")[2].partition(".")[0]

    @property
    def tensors(self) -> tuple[int, ...]:
        """Its tensor arguments."""
        return tuple(tensor for _, tensor, _ in self.computed.arguments)

    @property
    def written(self) -> tuple[int, ...]:
        """The arguments that an in-place operator writes to, and those for the results."""
        in_place = self.name.endswith("_") and not self.name.endswith("__")
        wanted = ("self", "out") if in_place else ("out",)
        return tuple(tensor for name, tensor, _ in self.computed.arguments if name.partition("[")[0] in wanted)

    def numbers(self, trace: Trace) -> bool:
        """Whether an argument is a number of Python, or all but what it writes to are."""
        others = [each for each in self.tensors if each not in self.written]
        known = index(trace).tensors
        return not others or any((made := known.get(each)) is not None and made.wrapped_number for each in others)


def calls_between(trace: Trace, begin: int, end: int) -> Iterator[Call]:
    """The calls between two steps, in order, at most ``MOST``; redispatches do not count."""
    for step in between(trace, ev.KeySetComputed, begin, end)[:MOST]:
        computed = trace[step]
        if isinstance(computed, ev.KeySetComputed) and computed.arguments and computed.parent is not None:
            event = trace[computed.parent]
            if isinstance(event, ev.Dispatched):
                yield Call(event, computed)


def storage_of(trace: Trace, tensor: int) -> int:
    """The memory of a tensor when it was made; a number of its own, below zero, if it has none."""
    made = index(trace).tensors.get(tensor)
    return made.storage if made is not None and made.storage >= 0 else -2 - tensor


def outermost_calls(trace: Trace, wanted: Callable[[str], bool]) -> Iterator[Call]:
    """The program's own calls of some operators, told by their names, in order: none that a kernel or Node makes."""
    columns = trace.columns
    inner = {columns.code(kind) for kind in (ev.KernelEntered, ev.MetaEntered, ev.ImplEntered, ev.NodeStarted)}
    kinds, ancestors = columns.kinds, columns.ancestors
    groups = [steps for operator, _, steps in columns.calls() if wanted(operator.partition("::")[2].partition(".")[0])]
    for step in merge(*groups):
        if not any(kinds[each] in inner for each in ancestors(step)):
            event, computed = trace[step], within(trace, step, ev.KeySetComputed)
            if isinstance(event, ev.Dispatched) and computed is not None:
                yield Call(event, computed)
