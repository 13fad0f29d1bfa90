"""A line of a golden log or of an answer file: an event in a few words, without numbers that change.

    call aten::add.Tensor AutogradCPU
    redispatch aten::add.Tensor CPU
    kernel wrapper_CPU_add_Tensor under CPU
    node AddBackward0
    save self
    backward
    run AddBackward0
    hook scale
    accumulate stolen
    error RuntimeError

``line_of`` writes them and ``pattern_of`` reads them. When read, ``...`` matches anything, words at the end may be left
out, and names of Nodes may be short: ``run Add``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dispatchviz.core.kernel.kernel_names import without_place
from dispatchviz.core.record.events import (
    AnyEvent,
    BackwardStarted,
    Dispatched,
    ErrorRaised,
    Event,
    GradientAccumulated,
    HookRan,
    KernelSelected,
    NodeCreated,
    NodeStarted,
    VariableSaved,
)
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.testing.patterns import Pattern, accumulated, call, event, hook_ran, kernel, redispatch
from dispatchviz.testing.trace_text import short_node

ANYTHING = "..."


class Form(NamedTuple):
    """A kind of line."""

    takes: str
    """The words after the first one, for a person to read."""
    most: int
    """The most words that may follow."""
    pattern: Callable[..., Pattern]
    """The function that turns the words into a pattern."""
    nodes: bool = False
    """True if the word is the name of a Node."""


def _node_pattern(kind: type[Event]) -> Callable[..., Pattern]:
    def pattern(name: Any = ...) -> Pattern:
        return event(kind) if name is ... else event(kind, name=_NodeNamed(name))

    return pattern


class _NodeNamed:
    """The condition that a Node has this name, in full or short."""

    def __init__(self, name: str) -> None:
        self._short, self.__name__ = short_node(name), name

    def __call__(self, name: str) -> bool:
        return short_node(name) == self._short


def _kernel(name: Any = ..., under: Any = ..., key: Any = ...) -> Pattern:
    if under not in ("under", ...):
        raise ValueError(f"write `under` before the key, not {under!r}")
    return kernel(name, under=key)


def _how(*how: Any) -> Pattern:
    return accumulated(" ".join(how) if how and ... not in how else ...)


FORMS: dict[str, Form] = {
    "call": Form("OPERATOR [KEY]", 2, call),
    "redispatch": Form("OPERATOR [KEY]", 2, redispatch),
    "kernel": Form("NAME [under KEY]", 3, _kernel),
    "node": Form("NAME", 1, _node_pattern(NodeCreated), nodes=True),
    "save": Form("MEMBER", 1, lambda name=...: event(VariableSaved, name=name)),
    "backward": Form("", 0, lambda: event(BackwardStarted, accumulate=True)),
    "grad": Form("", 0, lambda: event(BackwardStarted, accumulate=False)),
    "run": Form("NAME", 1, _node_pattern(NodeStarted), nodes=True),
    "hook": Form("FUNCTION", 1, hook_ran),
    "accumulate": Form("stolen | copied | added in place | added out of place", 4, _how),
    "error": Form("CLASS", 1, lambda exception=...: event(ErrorRaised, exception=exception)),
}
"""The kinds of lines, by their first word."""


def line_of(event: AnyEvent) -> str:
    """Return the line for an event; empty if logs leave it out."""
    match event:
        case Dispatched():
            return f"{'call' if event.how.startswith('call') else 'redispatch'} {event.operator} {event.key}"
        case KernelSelected() if event.kernel:
            return f"kernel {without_place(event.kernel)} under {event.key}"
        case NodeCreated() if not event.known:
            return f"node {plain_node(event.name)}"
        case VariableSaved():
            return f"save {event.name}"
        case BackwardStarted():
            return "backward" if event.accumulate else "grad"
        case NodeStarted():
            return f"run {plain_node(event.name)}"
        case HookRan():
            return f"hook {event.function}"
        case GradientAccumulated():
            return f"accumulate {event.how}"
        case ErrorRaised():
            return f"error {event.exception}"
    return ""


def pattern_of(line: str) -> tuple[Pattern, list[tuple[str, str]]]:
    """Return the pattern for a line, and the names of Nodes to check separately, each with its kind.

    Raise ValueError for a line of an unknown form.
    """
    first, *rest = line.split()
    form = FORMS.get(first)
    if form is None:
        near = difflib.get_close_matches(first, FORMS, 1)
        meant = f", did you mean {near[0]}?" if near else f"; lines begin with {', '.join(FORMS)}"
        raise ValueError(f"no line begins with {first!r}{meant}")
    if len(rest) > form.most:
        raise ValueError(f"{first} takes {form.takes or 'nothing'}, not {' '.join(rest)!r}")
    pattern = form.pattern(*[... if word == ANYTHING else word for word in rest])
    return pattern.as_written(line.strip()), _nodes(form, rest)


def _nodes(form: Form, words: Sequence[str]) -> list[tuple[str, str]]:
    return [("short Node", short_node(word)) for word in words if form.nodes and word != ANYTHING]
