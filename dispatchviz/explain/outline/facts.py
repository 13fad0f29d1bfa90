"""Short facts about a range of steps: the calls with their keys, Nodes, runs of the engine, errors, results.

All of them are read from columns and a few events, so that a row of a list has its text as soon as it is visible. A
fact is a text with the group of its events (``kind.SIGNS``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.call_facts import Fact, call_facts
from dispatchviz.explain.trace_index.display_names import attribute, grad_name, plain_node, tensor_name
from dispatchviz.explain.trace_index.lookups import between, created_nodes, events_between
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import numbered, plain_dtype, shaped

NAMED = 3
"""The largest number of casts, Nodes or gradients that are named. For more only the number is given."""

LOOKED_AT = 1000
"""The largest number of registrations whose events are read."""

ACCUMULATE_GRAD = "torch::autograd::AccumulateGrad"


def facts(trace: Trace, begin: int, end: int) -> list[Fact]:
    """Return the facts about the steps from one to another."""
    return [
        *call_facts(trace, begin, end),
        *_casts(trace, begin, end),
        *_nodes(trace, begin, end),
        *_backward(trace, begin, end),
        *_modes(trace, begin, end),
        *_registrations(trace, begin, end),
        *_output(trace, begin, end),
        *_errors(trace, begin, end),
        *_freed(trace, begin, end),
    ]


def _casts(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    """Yield the casts of autocast in order of occurrence, or their number if there are many."""
    steps = between(trace, ev.AutocastCast, begin, end)
    if len(steps) > NAMED:
        yield f"{len(steps):,} casts by autocast", "thread"
        return
    casts: dict[str, list[str]] = {}
    for cast in events_between(trace, ev.AutocastCast, begin, end):
        casts.setdefault(plain_dtype(cast.after), []).append(tensor_name(trace, cast.tensor, cast.seq))
    yield from ((f"{', '.join(names)} cast to {dtype}", "thread") for dtype, names in casts.items())


def made_nodes(trace: Trace, begin: int, end: int) -> Iterator[int]:
    """Yield the steps at which operators made Nodes, without Nodes that accumulate gradients."""
    columns, accumulates = trace.columns, _accumulates(trace)
    return (step for step in created_nodes(trace, begin, end) if columns.names[step] != accumulates)


def _few_made(trace: Trace, begin: int, end: int) -> list[int]:
    """Return the steps at which operators made Nodes, at most one more than are named: a loop may make many."""
    return list(islice(made_nodes(trace, begin, end), NAMED + 1))


def _accumulates(trace: Trace) -> int:
    """Return the number of AccumulateGrad's name in the columns; -1 if no Node has it."""
    texts = trace.columns.name_texts
    return texts.index(ACCUMULATE_GRAD) if ACCUMULATE_GRAD in texts else -1


def node_text(trace: Trace, step: int) -> str:
    """Return the name of the Node that is made at a step."""
    columns = trace.columns
    return plain_node(columns.name_texts[columns.names[step]])


def _nodes(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    """Yield the number of Nodes with the AccumulateGrads of leaves, if there are many, or the names of the Nodes
    without them (``leaves``).
    """
    made = _few_made(trace, begin, end)
    if len(made) > NAMED:
        yield f"○ {sum(1 for _ in created_nodes(trace, begin, end)):,} Nodes", "forward"
    else:
        yield from ((f"○ {node_text(trace, step)}", "forward") for step in made)


def leaves(trace: Trace, begin: int, end: int) -> list[Fact]:
    """Return a fact with the number of AccumulateGrads, if they were made beside a few other Nodes. It comes last."""
    others = len(_few_made(trace, begin, end))
    found = 0 if others > NAMED else sum(1 for _ in created_nodes(trace, begin, end)) - others
    if not found:
        return []
    return [(f"○ {'AccumulateGrad' if found == 1 else f'{found:,} AccumulateGrads'}", "forward")]


def _backward(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    if not between(trace, ev.BackwardStarted, begin, end):
        return
    ran = len(between(trace, ev.NodeStarted, begin, end))
    yield f"← {ran:,} {'Node runs' if ran == 1 else 'Nodes run'}", "engine"
    tensors = trace.columns.tensors
    leaves = {tensors[step]: step for step in between(trace, ev.GradientAccumulated, begin, end)}
    if len(leaves) > NAMED:
        yield f"{len(leaves):,} gradients", "engine"
    else:
        yield from (_gradient(trace, leaf, step, end) for leaf, step in leaves.items())


def _gradient(trace: Trace, leaf: int, step: int, end: int) -> Fact:
    event = trace[step]
    size = sized(trace, event.result, end) if isinstance(event, ev.GradientAccumulated) else ""
    return f"{grad_name(trace, leaf, end)}: {size}", "tensor"


def _modes(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    for kind, name in MODES.items():
        if (now := _mode(trace, kind, end)) != _mode(trace, kind, begin - 1):
            yield f"{name} {'on' if now else 'off'}", "thread"
    flags = list(islice(events_between(trace, ev.RequiresGradSet, begin, end), NAMED + 1))
    if len(flags) <= NAMED and not between(trace, ev.Dispatched, begin, end):
        yield from (_flag(trace, flag, end) for flag in flags if not flag.detached)


MODES: dict[type[ev.GradModeChanged | ev.InferenceModeChanged | ev.AutocastChanged], str] = {
    ev.GradModeChanged: "grad mode",
    ev.InferenceModeChanged: "inference mode",
    ev.AutocastChanged: "autocast",
}


def _mode(trace: Trace, kind: type[ev.GradModeChanged | ev.InferenceModeChanged | ev.AutocastChanged], at: int) -> bool:
    """Return whether a mode of the thread is on after a step. By default only grad mode is on."""
    steps = trace.steps_of(kind)
    before = bisect_right(steps, at)
    event = trace[steps[before - 1]] if before else None
    return event.enabled if isinstance(event, kind) else kind is ev.GradModeChanged


def _flag(trace: Trace, flag: ev.RequiresGradSet, end: int) -> Fact:
    tensors = trace.columns.tensors
    unchanged = not any(tensors[step] == flag.tensor for step in between(trace, ev.KeySetChanged, 0, end))
    text = "a flag; its keys stay the same" if unchanged else "a flag"
    name = attribute(tensor_name(trace, flag.tensor, flag.seq), "requires_grad")
    return f"{name} = {flag.requires_grad}: {text}", "tensor"


def _registrations(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    if number := len(between(trace, ev.OperatorDefined, begin, end)):
        yield f"+ {numbered(number, 'operator')} registered", "registration"
    number = len(between(trace, ev.KernelRegistered, begin, end))
    if number > LOOKED_AT:
        yield f"+ {numbered(number, 'kernel')} registered or removed", "registration"
        return
    removed = sum(event.removed for event in events_between(trace, ev.KernelRegistered, begin, end))
    if number > removed:
        yield f"+ {numbered(number - removed, 'kernel')} registered", "registration"
    if removed:
        yield f"- {numbered(removed, 'kernel')} removed", "registration"


def _output(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    printed = between(trace, ev.Printed, begin, end)
    last = trace[printed[-1]] if printed else None
    text = last.text.strip().partition("\n")[0] if isinstance(last, ev.Printed) else ""
    if len(printed) > 1:
        yield f"> prints {len(printed):,} times, last: {text}", "program"
    elif printed:
        yield f"> {text}", "program"


def _errors(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    for error in islice(events_between(trace, ev.ErrorRaised, begin, end), 1):
        yield f"! {error.exception}", "error"
    warned = between(trace, ev.Warned, begin, end)
    if len(warned) > 1:
        yield f"! {len(warned):,} warnings", "error"
    for warning in events_between(trace, ev.Warned, begin, end) if len(warned) == 1 else ():
        yield f"! {warning.category or 'warning'}", "error"


def _freed(trace: Trace, begin: int, end: int) -> Iterator[Fact]:
    """Yield the number of freed Nodes. Their names are not listed, because a long chain may be freed at once."""
    freed = between(trace, ev.NodeDeleted, begin, end)
    if len(freed) > NAMED:
        yield f"{len(freed):,} Nodes freed", "forward"


def sized(trace: Trace, tensor: int, at: int) -> str:
    """Return shape, device and requires_grad of a tensor: ``[2, 2] cuda grad``."""
    known = index(trace)
    made, shape = known.tensors.get(tensor), known.shape(tensor, at)
    if made is None or shape is None:
        return ""
    grad = " grad" if known.grad_needed(tensor, at) or known.history(tensor, at) is not None else ""
    return f"{shaped(shape)} {made.device.partition(':')[0]}{grad}"
