"""Tensors and Nodes renumbered in the order in which certain events name them, and each tensor described there.

The storage is left out: an installed PyTorch shows only its address, which may have been that of another storage
before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

Numbers = dict[int, int]
"""A map from the number in the trace to the new number."""


class FirstMentions:
    """The current facts of each tensor, and new numbers for those that are named."""

    def __init__(self, trace: Trace | None = None) -> None:
        self._leaves = {} if trace is None else _leaves_by_call(trace)
        self._facts: dict[int, ev.TensorCreated] = {}
        """The current facts of each tensor."""
        self._wrapped: dict[tuple[str, str], int] = {}
        self._same: Numbers = {}
        """The first wrapped number of the same value, for each wrapped number. PyTorch's repeated wrapping is not
        visible.
        """
        self._tensors: Numbers = {}
        self._nodes: Numbers = {}
        self._tasks: Numbers = {}

    def is_known(self, tensor: int) -> bool:
        """Return whether a tensor has been named."""
        return self._same.get(tensor, tensor) in self._tensors

    def follow(self, event: ev.AnyEvent) -> None:
        """Update the facts of a tensor from an event."""
        match event:
            case ev.Dispatched() if event.seq in self._leaves:
                for leaf in self._leaves[event.seq]:
                    self._change(leaf, requires_grad=True)
            case ev.TensorCreated():
                self._facts[event.tensor] = event
                if event.wrapped_number:
                    self._same[event.tensor] = self._wrapped.setdefault((event.value, event.dtype), event.tensor)
            case ev.GeometryChanged():
                self._change(event.tensor, **_changed_geometry(event))
            case ev.KeySetChanged():
                self._change(event.tensor, key_set=event.after)
            case ev.RequiresGradSet():
                self._change(event.tensor, requires_grad=event.requires_grad)
            case ev.HistorySet() | ev.HistoryRebased():
                self._change(event.tensor, requires_grad=True)

    def _change(self, tensor: int, **fields: Any) -> None:
        if (known := self._facts.get(tensor)) is not None:
            self._facts[tensor] = replace(known, **fields)

    def named_in(self, event: ev.AnyEvent) -> Iterator[ev.TensorCreated]:
        """Yield the tensors that an event is the first to name, with their new numbers."""
        for named in _tensors_in(event):
            tensor = self._same.get(named, named)
            if tensor not in self._tensors and (facts := self._facts.get(tensor)) is not None:
                number = self._tensors[tensor] = len(self._tensors)
                yield replace(facts, tensor=number, storage=-1, how="new")

    def renumbered(self, event: ev.AnyEvent) -> ev.AnyEvent:
        """Return an event with the new numbers."""
        changed: dict[str, Any] = {}
        for name, number_of in _numbered_fields(type(event)):
            changed[name] = number_of(self, getattr(event, name))
        return replace(event, **changed) if changed else event

    def tensor(self, number: int | None) -> int | None:
        """Return the new number of a tensor."""
        return None if number is None else _counted(self._tensors, self._same.get(number, number))

    def node(self, number: int | None) -> int | None:
        """Return the new number of a Node."""
        return None if number is None else _counted(self._nodes, number)

    def task(self, number: int) -> int:
        """Return the new number of a graph task."""
        return _counted(self._tasks, number)


def _leaves_by_call(trace: Trace) -> dict[int, list[int]]:
    """Return the leaves that get their AccumulateGrad in each outermost call.

    They require grad from its beginning, which an installed PyTorch shows only at its end: ``requires_grad_`` calls no
    operator.
    """
    found: dict[int, list[int]] = {}
    for step in trace.steps_of(ev.AccumulatorMade):
        made, call = trace[step], None
        seq = made.parent
        while seq is not None:
            event = trace[seq]
            call, seq = seq if isinstance(event, ev.Dispatched) else call, event.parent
        if call is not None and isinstance(made, ev.AccumulatorMade):
            found.setdefault(call, []).append(made.tensor)
    return found


def _counted(known: Numbers, number: int) -> int:
    return number if number < 0 else known.setdefault(number, len(known))


def _changed_geometry(event: ev.GeometryChanged) -> dict[str, Any]:
    fields: dict[str, Any] = {"shape": event.shape, "stride": event.stride}
    if event.dtype:
        fields |= {"dtype": event.dtype, "device": event.device}
    if event.storage >= 0:
        fields["storage"] = event.storage
    return fields


# -- fields with numbers ----------------------------------------------------------------------------------------------

Renumber = Callable[[FirstMentions, Any], Any]

_OF_TYPE: dict[str, Renumber] = {
    "TensorNumber": lambda known, value: known.tensor(value),
    "TensorNumber | None": lambda known, value: known.tensor(value),
    "tuple[TensorNumber, ...]": lambda known, value: tuple(map(known.tensor, value)),
    "tuple[TensorNumber | None, ...]": lambda known, value: tuple(map(known.tensor, value)),
    "tuple[tuple[str, TensorNumber, KeySet], ...]": lambda known, value: tuple(
        [(name, known.tensor(number), keys) for name, number, keys in value]
    ),
    "NodeNumber": lambda known, value: known.node(value),
    "NodeNumber | None": lambda known, value: known.node(value),
    "tuple[tuple[NodeNumber, OutputNumber], ...]": lambda known, value: tuple(
        [(known.node(node), at) for node, at in value]
    ),
    "tuple[tuple[NodeNumber, OutputNumber] | None, ...]": lambda known, value: tuple(
        [None if edge is None else (known.node(edge[0]), edge[1]) for edge in value]
    ),
    "GraphTaskNumber": lambda known, value: known.task(value),
}


@cache
def _numbered_fields(kind: type[ev.Event]) -> tuple[tuple[str, Renumber], ...]:
    types = kind.__annotations__
    return tuple((name, _OF_TYPE[types[name]]) for name in types if types[name] in _OF_TYPE)


def _tensors_in(event: ev.AnyEvent) -> Iterator[int]:
    for kind, get in _tensor_fields(type(event)):
        value = get(event)
        if kind == "one":
            yield from () if value is None else (value,)
        elif kind == "many":
            yield from (one for one in value if one is not None)
        else:
            yield from (number for _, number, _ in value)


@cache
def _tensor_fields(kind: type[ev.Event]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    found = []
    for name, written in kind.__annotations__.items():
        if written in _OF_TYPE and "TensorNumber" in written:
            shape = "sets" if "KeySet" in written else "many" if written.startswith("tuple") else "one"
            found.append((shape, attrgetter(name)))
    return tuple(found)
