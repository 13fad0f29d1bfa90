"""Patterns: what an event should look like, as far as a test cares.

A pattern names a kind of event and some of its fields. A field's value is what it must equal, or a function that
must be true of it, or ``...`` for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

from dispatchviz.core.record.events import (
    AnyEvent,
    Dispatched,
    Event,
    GradientAccumulated,
    HookRan,
    KernelSelected,
    NodeCreated,
    NodeStarted,
)
from dispatchviz.testing.operator_objects import Overloads, plain_operator

Expected = str | EllipsisType | Callable[[Any], Any]
"""What a field of a shorthand below may be given as. An operator may be ``torch.ops.aten.add.Tensor``, too: that one
overload, or ``torch.ops.aten.add``: any of them."""


class Pattern:
    """Events of a kind whose named fields are as given. TypeError for a field that the kind does not have."""

    def __init__(self, kind: type[Event], fields: Mapping[str, Any], written: str = "") -> None:
        __tracebackhide__ = True
        unknown = [name for name in fields if name not in kind.__struct_fields__]
        if unknown:
            known = ", ".join(kind.__struct_fields__)
            raise TypeError(f"{kind.__name__} has no field {unknown[0]!r}; it has {known}")
        self.kind = kind
        self.fields = {name: value for name, value in fields.items() if value is not ...}
        self._written = written

    def matches(self, event: AnyEvent) -> bool:
        """Return whether an event is of the kind and each field as expected."""
        return type(event) is self.kind and all(_is(getattr(event, name), want) for name, want in self.fields.items())

    def agrees(self, event: AnyEvent) -> bool:
        """Return whether one of the fields of an event of that kind, that are given as values, is as expected."""
        given = ((name, want) for name, want in self.fields.items() if not callable(want))
        return any(_is(getattr(event, name), want) for name, want in given)

    def as_written(self, text: str) -> Pattern:
        """The same pattern, which is shown as this text."""
        return Pattern(self.kind, self.fields, text)

    def __repr__(self) -> str:
        return self._written or f"event({', '.join([self.kind.__name__, *_named(self.fields)])})"


def event(kind: type[Event], /, **fields: Any) -> Pattern:
    """Any kind of event: ``event(VersionBumped, before=0)``. TypeError for a field that the kind does not have."""
    __tracebackhide__ = True
    return Pattern(kind, fields)


def call(operator: Expected = ..., key: Expected = ...) -> Pattern:
    """A call of an operator that a key won: ``call("aten::add.Tensor", "AutogradCUDA")``.

    Boxed calls are calls: those of ``torch.ops``, of operators of the program's own, of what a Python fallback makes.
    """
    operator = plain_operator(operator)
    return Pattern(Dispatched, {"how": _a_call, "operator": operator, "key": key}, _as_written("call", operator, key))


def redispatch(operator: Expected = ..., key: Expected = ...) -> Pattern:
    """A redispatch of an operator to a key, boxed ones too: ``redispatch("aten::add.Tensor", "CUDA")``."""
    operator = plain_operator(operator)
    fields = {"how": _a_redispatch, "operator": operator, "key": key}
    return Pattern(Dispatched, fields, _as_written("redispatch", operator, key))


def kernel(name: Expected = ..., under: Expected = ..., operator: Expected = ...) -> Pattern:
    """A kernel picked under a key: ``kernel("VariableType::add_Tensor", under="AutogradCUDA")``."""
    operator = plain_operator(operator)
    fields = {"kernel": name, "key": under, "operator": operator}
    return Pattern(KernelSelected, fields, _as_written("kernel", name, under=under, operator=operator))


def node_created(name: Expected = ...) -> Pattern:
    """A backward Node: ``node_created("AddBackward0")``."""
    return Pattern(NodeCreated, {"name": name}, _as_written("node_created", name))


def node_ran(name: Expected = ...) -> Pattern:
    """A Node that the engine evaluates: ``node_ran("AddBackward0")``."""
    return Pattern(NodeStarted, {"name": name}, _as_written("node_ran", name))


def hook_ran(function: Expected = ..., kind: Expected = ...) -> Pattern:
    """A hook that the engine calls, by the function's name: ``hook_ran("scale", kind="post hook")``."""
    return Pattern(HookRan, {"function": function, "kind": kind}, _as_written("hook_ran", function, kind=kind))


def accumulated(how: Expected = ...) -> Pattern:
    """A gradient that gets into a leaf's ``.grad``: ``accumulated("stolen")``, ``"copied"``, ``"added in place"``."""
    return Pattern(GradientAccumulated, {"how": how}, _as_written("accumulated", how))


def _a_call(how: str) -> bool:
    return how.startswith("call")


def _a_redispatch(how: str) -> bool:
    return how.startswith("redispatch")


def _as_written(function: str, *values: Expected, **named: Expected) -> str:
    """The pattern as the test wrote it."""
    last = max((k for k, value in enumerate(values, 1) if value is not ...), default=0)
    given = {name: value for name, value in named.items() if value is not ...}
    return f"{function}({', '.join([*map(_shown, values[:last]), *_named(given)])})"


def _named(fields: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_shown(value)}" for name, value in fields.items()]


def _is(value: object, want: Any) -> bool:
    return bool(want(value)) if callable(want) else bool(value == want)


def _shown(want: object) -> str:
    if isinstance(want, Overloads):
        return repr(want)
    return "..." if want is ... else getattr(want, "__name__", repr(want)) if callable(want) else repr(want)
