"""The step at which a stepper or a page opens: the most important one, or else the call that creates the first Node.

It is computed before the first paint, so it reads only a few events. A mistake counts only after the search for
mistakes has run.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.mistakes import first_mistake
from dispatchviz.explain.diagnosis.special import first_special
from dispatchviz.explain.outline.facts import made_nodes
from dispatchviz.explain.outline.outline import Outline

SPECIAL: tuple[type[ev.Event], ...] = (
    ev.AutocastChanged,
    ev.CompileStarted,
    ev.DualLevelEntered,
    ev.DynamicLayerPushed,
    ev.FunctionEntered,
    ev.InferenceModeChanged,
    ev.TorchDispatchEntered,
)
"""The events of modes, torch.compile, custom Functions and functorch levels. If a program has one, it is probably about
it.
"""

WITHOUT_NODES: tuple[type[ev.Event], ...] = (ev.GradModeChanged,)
"""Special events that ordinary programs also have, such as switching grad mode off. They count only if no Node is
recorded.
"""


def opening_step(outline: Outline) -> int:
    """The step at which a reader begins."""
    found = (look(outline.trace) for look in LOOKS)
    return next((step for step in found if step is not None), _first_line(outline))


def _error(trace: Trace) -> int | None:
    return len(trace) - 1 if isinstance(trace[-1], ev.ProgramRaised) else None


def _silent_mistake(trace: Trace) -> int | None:
    return first_mistake(trace, "silent mistake")


def _warning(trace: Trace) -> int | None:
    """The first warning whose cause is known."""
    known, steps = first_mistake(trace, "warning"), trace.steps_of(ev.Warned)
    return known if known is not None else steps[0] if steps else None


def _missing_gradient(trace: Trace) -> int | None:
    return first_mistake(trace, "gradient that never arrives")


def _special(trace: Trace) -> int | None:
    return first_special(trace, SPECIAL)


def _first_node(trace: Trace) -> int | None:
    """The call in the program that creates the first Node, since it shows the key set. A custom Function's Node has no
    call.
    """
    node = next(made_nodes(trace, 0, len(trace) - 1), None)
    calls = [] if node is None else [each for each in trace.ancestors(node) if isinstance(each, ev.Dispatched)]
    return calls[-1].seq if calls else node


def _without_nodes(trace: Trace) -> int | None:
    return first_special(trace, WITHOUT_NODES)


LOOKS: tuple[Callable[[Trace], int | None], ...] = (
    _error,
    _silent_mistake,
    _warning,
    _missing_gradient,
    _special,
    _first_node,
    _without_nodes,
)
"""The candidates for the first step, most important first."""


def _first_line(outline: Outline) -> int:
    """The first line that calls an operator; the first step if none does."""
    calls = outline.trace.steps_of(ev.Dispatched)
    path = outline.path(calls[0]) if calls else ()
    return outline.begin(path[0]) if path else 0
