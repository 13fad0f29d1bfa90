"""The special features of a program: modes, compiled functions, hooks and others, each with its first line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text

Words = Callable[[Trace, ev.Event], str]

LOOKED_AT = 50
"""The number of events of a kind that are checked for their words."""


class Special(NamedTuple):
    """A feature that an ordinary program does not have."""

    at: int
    text: str
    """``the transform vmap on line 5``"""


def special(trace: Trace) -> list[Special]:
    """Return the special features in the order in which they begin, the first of each kind."""
    return sorted(found for kind, words in WORDS.items() for found in _first(trace, kind, words))


def first_special(trace: Trace, kinds: Iterable[type[ev.Event]]) -> int | None:
    """Return the step at which the first of some kinds begins, or None if the program has none of them."""
    return min((found.at for kind in kinds for found in _first(trace, kind, WORDS[kind])), default=None)


def _first(trace: Trace, kind: type[ev.Event], words: Words) -> Iterator[Special]:
    for step in trace.steps_of(kind)[:LOOKED_AT]:
        if text := words(trace, trace[step]):
            where = on_line(trace, step, text=False)
            yield Special(step, f"{text} on {where}" if where else text)
            return


def _transform(trace: Trace, event: ev.Event) -> str:
    return f"the transform {event.transform.lower()}" if isinstance(event, ev.DynamicLayerPushed) else ""


def _function(trace: Trace, event: ev.Event) -> str:
    """Return a function of the program itself, because PyTorch has some of its own."""
    own = isinstance(event, ev.FunctionEntered) and event.file in trace.header.sources
    return f"the custom Function {event.function}" if own and isinstance(event, ev.FunctionEntered) else ""


def _autocast(trace: Trace, event: ev.Event) -> str:
    return f"autocast to {event.dtype}" if isinstance(event, ev.AutocastChanged) and event.enabled else ""


def _grad_mode(trace: Trace, event: ev.Event) -> str:
    """Return a switch that the line itself names, because modules turn grad mode off while they initialize
    parameters.
    """
    if not isinstance(event, ev.GradModeChanged) or event.enabled:
        return ""
    line, name = source_line(trace, event.seq), event.why.removeprefix("torch.").partition("(")[0]
    return event.why if line is not None and name in source_text(trace, line) else ""


def _hook(trace: Trace, event: ev.Event) -> str:
    return f"a {event.kind}" if isinstance(event, ev.HookRegistered) else ""


def _higher(trace: Trace, event: ev.Event) -> str:
    return "a backward pass with create_graph" if isinstance(event, ev.BackwardStarted) and event.create_graph else ""


def _compiled(trace: Trace, event: ev.Event) -> str:
    return f"torch.compile of {event.function}" if isinstance(event, ev.CompileStarted) and event.function else ""


def _torch_dispatch(trace: Trace, event: ev.Event) -> str:
    """Return the class of a mode or a tensor, except of the mode under which PyTorch runs a compiled region."""
    if not isinstance(event, ev.TorchDispatchEntered):
        return ""
    is_compiled = any(isinstance(each, ev.RegionCalled) for each in trace.ancestors(event.seq))
    return "" if is_compiled else f"the __torch_dispatch__ of {event.handler}"


WORDS: dict[type[ev.Event], Words] = {
    ev.CompileStarted: _compiled,
    ev.DynamicLayerPushed: _transform,
    ev.FunctionEntered: _function,
    ev.AutocastChanged: _autocast,
    ev.GradModeChanged: _grad_mode,
    ev.InferenceModeChanged: lambda trace, event: "inference mode",
    ev.TorchDispatchEntered: _torch_dispatch,
    ev.SavedTensorHookRan: lambda trace, event: "a hook on saved tensors",
    ev.HookRegistered: _hook,
    ev.DualLevelEntered: lambda trace, event: "forward-mode differentiation",
    ev.BackwardStarted: _higher,
}
"""The kinds of events with special features, and their words; empty for an ordinary event."""
