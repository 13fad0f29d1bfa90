"""The facts of an event that are compared between runs, and those by which two events are counterparts.

Numbers that only count (of tensors, Nodes, storages, streams) differ as soon as one run has created something more, so
they are not compared. Neither are the locations of kernels and files. The compared facts have two parts: the ``way``,
which is what PyTorch did, and the ``values``, which are the plain values that the program passed and the numbers of
results.

The texts of the program's lines are not here: a trace has them in its header (``run_tree.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Any

from dispatchviz.core.kernel.kernel_names import LAMBDA, without_place
from dispatchviz.core.record import events as ev

Facts = Callable[[Any], Any]
"""A function from an event to a hashable value."""

TEXT = (ev.SourceLine, ev.NameBound, ev.NameUnbound, ev.Printed, ev.Warned, ev.TensorFormatted)
"""The events of the program's own texts. The calls that print a tensor depend on its numbers and are not compared."""

_COUNTED = frozenset(
    {
        "TensorNumber", "NodeNumber", "StorageNumber", "CounterNumber", "GraphTaskNumber", "StreamNumber",
        "StreamEventNumber", "HookNumber", "SequenceNumber", "TopologicalNumber", "ThreadNumber", "LineNumber",
        "Rank", "Time",
    }
)  # fmt: skip
"""The types of fields whose numbers only count, or differ in each process."""

_LEFT_OUT = frozenset(
    {
        (ev.KernelSelected, "cell"), (ev.KernelSelected, "registered"), (ev.KernelSelected, "candidates"),
        (ev.KernelEntered, "pytorch_file"), (ev.KernelEntered, "file"), (ev.NodeStarted, "file"),
        (ev.NodeStarted, "waiting"), (ev.NodeQueued, "queue"), (ev.FunctionEntered, "file"),
        (ev.ImplEntered, "file"), (ev.ProgramRaised, "file"), (ev.ProgramRaised, "traceback"),
        (ev.AnomalyFound, "lines"), (ev.StackStored, "frame"), (ev.Unknown, "fields"),
    }
)  # fmt: skip
"""The fields with positions in a file or table, and those that follow from other events."""

VALUES = frozenset(
    {
        (ev.BindingEntered, "arguments"), (ev.TorchDispatchEntered, "arguments"), (ev.AttributeSaved, "value"),
        (ev.ResultHashed, "hash"), (ev.NumbersRecorded, "numbers"), (ev.TensorCreated, "value"),
    }
)  # fmt: skip
"""The values that alone do not change the way."""


def _each(*places: int) -> Facts:
    """Return the facts at some places of each tuple in a tuple; None stays None."""
    return lambda value: tuple([None if each is None else tuple([each[at] for at in places]) for each in value])


def _defined(value: Iterable[Any]) -> tuple[bool, ...]:
    return tuple([each is None for each in value])


def _texts(value: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple([(name, _without_address(_TENSOR.sub("t", text))) for name, text in value])


_TENSOR = re.compile(r"\bt\d+\b")
"""The pattern of a tensor in the text of an argument."""


def _without_address(text: str) -> str:
    return _ADDRESS.sub("", text) if " at 0x" in text else text


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""The pattern of an object's address in its ``repr``."""

_TAKEN_APART: dict[tuple[type[ev.Event], str], Facts] = {
    (ev.KeySetComputed, "arguments"): _each(0, 2),
    (ev.EdgesCollected, "edges"): _each(1),
    (ev.EdgesCollected, "inputs"): lambda value: tuple([(name, tensor is None) for name, tensor in value]),
    (ev.BackwardStarted, "roots"): _each(1),
    (ev.BackwardStarted, "inputs"): _each(1),
    (ev.DependenciesCounted, "counts"): _each(1),
    (ev.ExecInfoPopulated, "captures"): _each(1, 2),
    (ev.ExecInfoPopulated, "pruned"): _each(1),
    (ev.BindingEntered, "arguments"): _texts,
    (ev.Boxed, "contents"): _texts,
    (ev.Unboxed, "contents"): _texts,
    (ev.TorchDispatchEntered, "arguments"): _texts,
    (ev.AttributeSaved, "value"): _without_address,
    (ev.ErrorRaised, "message"): _without_address,
    (ev.ProgramRaised, "message"): _without_address,
}
"""The fields that contain counting numbers together with other facts."""

_BY_TYPE: dict[str, Facts] = {
    "TensorNumber | None": lambda value: value is None,
    "NodeNumber | None": lambda value: value is None,
    "HookNumber | None": lambda value: value is None,
    "tuple[TensorNumber, ...]": len,
    "tuple[Rank, ...]": len,
    "tuple[NodeNumber, ...]": len,
    "tuple[TensorNumber | None, ...]": _defined,
}
"""The compared facts of a field, by its type."""


@cache
def way(kind: type[ev.Event]) -> Facts:
    """Return the facts about the way, for a kind of event."""
    names = [name for name in _fields(kind) if (kind, name) not in VALUES]
    return _constant if kind in TEXT else _facts(kind, names)


@cache
def everything(kind: type[ev.Event]) -> Facts:
    """Return all fields of a kind of event, including counting numbers. For traces that count alike."""
    names = tuple(name for name, of in kind.__annotations__.items() if of != "Time")
    return _constant if kind in TEXT else _facts_as_they_are(names)


def _facts_as_they_are(names: tuple[str, ...]) -> Facts:
    return attrgetter(*names) if names else _constant


@cache
def values(kind: type[ev.Event]) -> Facts | None:
    """Return the facts about values, or None for a kind without any."""
    names = [name for name in _fields(kind) if (kind, name) in VALUES]
    return _facts(kind, names) if names else None


def _fields(kind: type[ev.Event]) -> list[str]:
    own = kind.__annotations__
    return [name for name in own if own[name] not in _COUNTED and (kind, name) not in _LEFT_OUT]


def _facts(kind: type[ev.Event], names: list[str]) -> Facts:
    """Return a function that reads some fields of a kind."""
    readers = [(attrgetter(name), _reader(kind, name)) for name in names]
    if not names:
        return _constant
    if not any(read for _, read in readers):
        plain = attrgetter(*names)
        return _with_lambdas(plain, names.index("kernel")) if "kernel" in names and len(names) > 1 else plain
    return lambda event: tuple([read(get(event)) if read else get(event) for get, read in readers])


def _with_lambdas(plain: Facts, at: int) -> Facts:
    """Return the facts of an event with a kernel. The line of a lambda is a position, so it is left out."""

    def facts(event: Any) -> Any:
        if LAMBDA not in event.kernel:
            return plain(event)
        found = list(plain(event))
        found[at] = without_place(event.kernel)
        return tuple(found)

    return facts


def _reader(kind: type[ev.Event], name: str) -> Facts | None:
    return _TAKEN_APART.get((kind, name)) or _BY_TYPE.get(kind.__annotations__[name])


def _constant(event: ev.AnyEvent) -> int:
    return 0


# -- counterparts -----------------------------------------------------------------------------------------------------

_PAIRED_BY: dict[type[ev.Event], tuple[str, ...]] = {
    ev.NameBound: ("name",),
    ev.BindingEntered: ("function",),
    ev.Dispatched: ("operator",),
    ev.CollectiveCalled: ("operator",),
    ev.TorchDispatchEntered: ("handler",),
    ev.GuardEntered: ("guard",),
    ev.GradModeChanged: ("enabled",),
    ev.InferenceModeChanged: ("enabled",),
    ev.AutocastChanged: ("device", "enabled"),
    ev.DynamicLayerPushed: ("transform", "why"),
    ev.DynamicLayerPopped: ("transform", "why"),
    ev.NodeCreated: ("name",),
    ev.NodeStarted: ("name",),
    ev.AttributeSaved: ("name",),
    ev.VariableSaved: ("name",),
    ev.VariableNotSaved: ("name",),
    ev.HookRan: ("function",),
    ev.FunctionEntered: ("function",),
    ev.ModuleCalled: ("name", "kind"),
    ev.CompileStarted: ("function", "again"),
    ev.GraphCaptured: ("region", "stage"),
    ev.RegionCalled: ("region",),
    ev.NodeCaptured: ("function", "name"),
    ev.OperatorDefined: ("operator",),
    ev.KernelRegistered: ("operator", "key", "removed"),
    ev.ErrorRaised: ("exception",),
    ev.Unknown: ("kind",),
}
"""The fields by which events of some kinds are paired. All other events are paired by their kind."""


@cache
def pairing(kind: type[ev.Event]) -> Facts:
    """Return the facts that two events of a kind have in common if they are counterparts."""
    names = _PAIRED_BY.get(kind)
    return attrgetter(*names) if names else _constant
