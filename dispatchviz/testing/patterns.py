"""Patterns: descriptions of an event, as precise as a test needs.

A pattern names a kind of event and some of its fields. Each field has a value that must be equal, a function that must
return true, or ``...`` for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

from dispatchviz.core.kernel.kernel_names import LAMBDA, without_place
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
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.testing.operator_objects import Overloads, plain_operator

Expected = str | EllipsisType | Callable[[Any], Any]
"""The values for a field of a shorthand below. An operator may also be an object: ``torch.ops.aten.add.Tensor`` means
this overload, ``torch.ops.aten.add`` any overload.
"""


class Pattern:
    """Events of a kind whose named fields have these values. Raise TypeError for a field that the kind lacks."""

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
        """Return whether an event has this kind and these fields."""
        return type(event) is self.kind and all(_is(event, name, want) for name, want in self.fields.items())

    def agrees(self, event: AnyEvent) -> bool:
        """Return whether at least one field that is given as a value agrees with an event of the kind."""
        given = ((name, want) for name, want in self.fields.items() if not callable(want))
        return any(_is(event, name, want) for name, want in given)

    def as_written(self, text: str) -> Pattern:
        """Return the same pattern, shown as this text."""
        return Pattern(self.kind, self.fields, text)

    def __repr__(self) -> str:
        return self._written or f"event({', '.join([self.kind.__name__, *_named(self.fields)])})"


def event(kind: type[Event], /, **fields: Any) -> Pattern:
    """Match any kind of event: ``event(VersionBumped, before=0)``. Raise TypeError for a field that the kind lacks."""
    __tracebackhide__ = True
    return Pattern(kind, fields)


def call(operator: Expected = ..., key: Expected = ...) -> Pattern:
    """Match a call of an operator that goes to a key: ``call("aten::add.Tensor", "AutogradCUDA")``.

    Boxed calls count: calls through ``torch.ops``, of the program's own operators, and by a Python fallback.
    """
    operator = plain_operator(operator)
    return Pattern(Dispatched, {"how": _a_call, "operator": operator, "key": key}, _as_written("call", operator, key))


def redispatch(operator: Expected = ..., key: Expected = ...) -> Pattern:
    """Match a redispatch of an operator to a key, boxed ones included: ``redispatch("aten::add.Tensor", "CUDA")``."""
    operator = plain_operator(operator)
    fields = {"how": _a_redispatch, "operator": operator, "key": key}
    return Pattern(Dispatched, fields, _as_written("redispatch", operator, key))


def any_lambda(name: Any) -> Any:
    """Return the condition that a kernel is a lambda for the name ``<lambda>``, and any other value unchanged."""
    return _a_lambda if name == LAMBDA else name


def _a_lambda(kernel: str) -> bool:
    return without_place(kernel) == LAMBDA


def kernel(name: Expected = ..., under: Expected = ..., operator: Expected = ...) -> Pattern:
    """Match the choice of a kernel for a key: ``kernel("VariableType::add_Tensor", under="AutogradCUDA")``.

    ``"<lambda>"`` matches every lambda, ``"<lambda> at mylib.py:12"`` the one on that line.
    """
    operator = plain_operator(operator)
    fields = {"kernel": any_lambda(name), "key": under, "operator": operator}
    return Pattern(KernelSelected, fields, _as_written("kernel", name, under=under, operator=operator))


def node_created(name: Expected = ...) -> Pattern:
    """Match the creation of a backward Node: ``node_created("AddBackward0")``. Namespaces may be left out."""
    return Pattern(NodeCreated, {"name": name}, _as_written("node_created", name))


def node_ran(name: Expected = ...) -> Pattern:
    """Match a Node that the engine evaluates: ``node_ran("AddBackward0")``. Namespaces may be left out:
    ``node_ran("AccumulateGrad")``.
    """
    return Pattern(NodeStarted, {"name": name}, _as_written("node_ran", name))


def hook_ran(function: Expected = ..., kind: Expected = ...) -> Pattern:
    """Match a hook that the engine calls, by its function's name: ``hook_ran("scale", kind="post hook")``."""
    return Pattern(HookRan, {"function": function, "kind": kind}, _as_written("hook_ran", function, kind=kind))


def accumulated(how: Expected = ...) -> Pattern:
    """Match a gradient on its way into a leaf's ``.grad``: ``accumulated("stolen")``, ``"copied"``, ``"added in
    place"``.
    """
    return Pattern(GradientAccumulated, {"how": how}, _as_written("accumulated", how))


def _a_call(how: str) -> bool:
    return how.startswith("call")


def _a_redispatch(how: str) -> bool:
    return how.startswith("redispatch")


def _as_written(function: str, *values: Expected, **named: Expected) -> str:
    """Return the pattern as the test wrote it."""
    last = max((k for k, value in enumerate(values, 1) if value is not ...), default=0)
    given = {name: value for name, value in named.items() if value is not ...}
    return f"{function}({', '.join([*map(_shown, values[:last]), *_named(given)])})"


def _named(fields: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_shown(value)}" for name, value in fields.items()]


def _is(event: AnyEvent, name: str, want: Any) -> bool:
    """Return whether a field has a value. A Node has its name with and without namespaces."""
    value = getattr(event, name)
    if callable(want):
        return bool(want(value))
    is_node = name == "name" and isinstance(event, NodeCreated | NodeStarted)
    return bool(value == want) or (is_node and plain_node(value) == want)


def _shown(want: object) -> str:
    if isinstance(want, Overloads):
        return repr(want)
    return "..." if want is ... else getattr(want, "__name__", repr(want)) if callable(want) else repr(want)
