"""Patterns: what an event should look like, as far as a test cares.

A pattern names a kind of event and some of its fields. A field's value is what it must equal, or a function that
must be true of it, or ``...`` for anything.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import Any

from dispatchviz.core.events import (
    AnyEvent,
    Dispatched,
    Event,
    KernelSelected,
    NodeCreated,
    NodeStarted,
)

Expected = str | EllipsisType | Callable[[Any], bool]
"""What a field of a shorthand below may be given as."""


class Pattern:
    """Events of a kind whose named fields are as given. TypeError for a field that the kind does not have."""

    def __init__(self, kind: type[Event], fields: dict[str, Any]) -> None:
        unknown = [name for name in fields if name not in kind.__struct_fields__]
        if unknown:
            known = ", ".join(kind.__struct_fields__)
            raise TypeError(f"{kind.__name__} has no field {unknown[0]!r}; it has {known}")
        self.kind = kind
        self.fields = {name: value for name, value in fields.items() if value is not ...}

    def matches(self, event: AnyEvent) -> bool:
        """Whether an event is of the kind and each field as expected."""
        return type(event) is self.kind and all(_is(getattr(event, name), want) for name, want in self.fields.items())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_shown(value)}" for name, value in self.fields.items())
        return f"{self.kind.__name__}({fields})"


def event(kind: type[Event], **fields: Any) -> Pattern:
    """Any kind of event: ``event(VersionBumped, before=0)``. TypeError for a field that the kind does not have."""
    return Pattern(kind, fields)


def call(operator: Expected = ..., key: Expected = ...) -> Pattern:
    """A call of an operator that a key won: ``call("aten::add.Tensor", "AutogradCUDA")``."""
    return Pattern(Dispatched, {"how": "call", "operator": operator, "key": key})


def redispatch(operator: Expected = ..., key: Expected = ...) -> Pattern:
    """A redispatch of an operator to a key: ``redispatch("aten::add.Tensor", "CUDA")``."""
    return Pattern(Dispatched, {"how": "redispatch", "operator": operator, "key": key})


def kernel(name: Expected = ..., under: Expected = ..., operator: Expected = ...) -> Pattern:
    """A kernel picked under a key: ``kernel("VariableType::add_Tensor", under="AutogradCUDA")``."""
    return Pattern(KernelSelected, {"kernel": name, "key": under, "operator": operator})


def node_created(name: Expected = ...) -> Pattern:
    """A backward Node: ``node_created("AddBackward0")``."""
    return Pattern(NodeCreated, {"name": name})


def node_ran(name: Expected = ...) -> Pattern:
    """A Node that the engine evaluates: ``node_ran("AddBackward0")``."""
    return Pattern(NodeStarted, {"name": name})


def _is(value: object, want: Any) -> bool:
    return bool(want(value)) if callable(want) else bool(value == want)


def _shown(want: object) -> str:
    return getattr(want, "__name__", repr(want)) if callable(want) else repr(want)
