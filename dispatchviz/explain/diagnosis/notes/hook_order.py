"""The order in which the hooks of a backward pass ran, and the rule for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEFORE_NODE
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.lookups import between, neighbor
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import shortened

MOST, NAMED = 200, 8
"""The number of hooks that are read, and the number that are named."""

LONGEST = 40
"""The number of characters of a hook's output that are shown."""

OWN = frozenset(("hook", "inner_hook", "warn_autograd_not_implemented_hook"))
"""The functions of PyTorch that are hooks. They may call one of the program's."""

OF_MODULES = "BackwardHookFunctionBackward"
"""The Node through which a full backward hook of a module gets its gradients."""

RULES: dict[str, str] = {
    "tensor pre hook": "A tensor's hooks run before its Node, in the order of registration.",
    "pre hook": "A Node's pre hooks run before it, after the hooks of its tensors.",
    "post hook": "A Node's post hooks run after it.",
    "post-accumulate hook": "A post-accumulate hook runs once .grad is written.",
}
NODES = "When several Nodes are ready, the engine runs the newest one (largest sequence number) first."
MODULES = (
    "A module's full backward hook runs when the gradient of its input has been computed, or that of its output if "
    "no input requires grad."
)


class Ran(NamedTuple):
    """A hook of the program that ran."""

    event: ev.HookRan
    text: str
    """The text: ``h of line 4 (before MulBackward0)``, or its output, ``"hook 2 Linear"``."""


def hook_order(trace: Trace) -> Iterator[Note]:
    """Yield a note on the first backward pass in which several hooks of the program ran."""
    by_pass: dict[int, list[Ran]] = {}
    for step in trace.steps_of(ev.HookRan)[:MOST]:
        event = trace[step]
        started = around(trace, step, ev.BackwardStarted)
        if isinstance(event, ev.HookRan) and started is not None and (found := _ran(trace, event)) is not None:
            by_pass.setdefault(started.seq, []).append(found)
    several = next(((started, hooks) for started, hooks in by_pass.items() if len(hooks) > 1), None)
    if several is not None:
        yield _note(trace, *several)


def _ran(trace: Trace, event: ev.HookRan) -> Ran | None:
    """Return the hook under the program's name, or None for one of PyTorch's own hooks."""
    line, printed = _inside(trace, event)
    if event.kind == "retains-grad hook" or (line is None and event.function in OWN):
        return None
    if printed:
        return Ran(event, f'"{printed}"')
    name = line.function if line is not None and event.function in OWN else event.function
    at = line.seq if line is not None else _registered(trace, event)
    where = f" of {on_line(trace, at, text=False)}" if at is not None else ""
    when = "before" if event.kind in BEFORE_NODE else "after"
    node = "" if _is_of_module(trace, event) else f" ({when} {node_title(trace, event.node, event.seq)})"
    return Ran(event, f"{name}{where}{node}")


def _registered(trace: Trace, event: ev.HookRan) -> int | None:
    """Return the step at which the hook was registered, if it is unambiguous."""
    made = index(trace).accumulators.get(event.node)
    found = [
        step
        for step in trace.steps_of(ev.HookRegistered)[:MOST]
        if isinstance(each := trace[step], ev.HookRegistered)
        and (each.kind, each.function) == (event.kind, event.function)
        and (each.node == event.node or (made is not None and each.tensor == made.tensor))
    ]
    return found[0] if len(found) == 1 else None


def _inside(trace: Trace, event: ev.HookRan) -> tuple[ev.SourceLine | None, str]:
    """Return the first line that ran within the hook, and its first output."""
    begin = _begin(trace, event)
    lines = (trace[step] for step in between(trace, ev.SourceLine, begin, event.seq))
    own = (each for each in lines if isinstance(each, ev.SourceLine) and not each.resumed)
    line = next((each for each in own if event.function in (*OWN, each.function.rpartition(".")[2])), None)
    texts = [trace[step] for step in between(trace, ev.Printed, event.seq if line is None else line.seq, event.seq)]
    return line, next((shortened(each.text, LONGEST) for each in texts if isinstance(each, ev.Printed)), "")


def _begin(trace: Trace, event: ev.HookRan) -> int:
    """Return the first step that can belong to the hook: after the hook before, the last Node, or the start of the
    pass.
    """
    started = around(trace, event.seq, ev.BackwardStarted)
    kinds = (ev.HookRan, ev.NodeStarted)
    before = [step for kind in kinds if (step := neighbor(trace.steps_of(kind), event.seq, forward=False)) is not None]
    return max([0 if started is None else started.seq, *before])


def _note(trace: Trace, started: int, hooks: list[Ran]) -> Note:
    names = [each.text for each in hooks[:NAMED]]
    more = ", and more" if len(hooks) > NAMED else ""
    where, order = on_line(trace, started, text=False), f"{', then '.join(names)}{more}"
    by = ", by what they print" if all(each.startswith('"') for each in names) else ""
    steps = trace.steps_of(ev.HookRan)
    is_cut = len(steps) > MOST and steps[MOST] <= trace.ends[started]
    count = f"More than {len(hooks)}" if is_cut else len(hooks)
    text = f"{count} hooks ran on {where}, in this order{by}: {order}. {' '.join(_rules(trace, hooks))}"
    return Note(hooks[0].event.seq, Statement("order of hooks", text))


def _rules(trace: Trace, hooks: list[Ran]) -> Iterator[str]:
    """Yield the rule for each kind of hook, and for Nodes if there are several."""
    of_modules = [_is_of_module(trace, each.event) for each in hooks]
    if any(of_modules) and not any("full_backward_pre_hook" in each for each in trace.header.sources.values()):
        yield MODULES
    pairs = zip(hooks, of_modules, strict=True)
    yield from dict.fromkeys(RULES[each.event.kind] for each, of_module in pairs if not of_module)
    if len({each.event.node for each in hooks}) > 1:
        yield NODES


def _is_of_module(trace: Trace, event: ev.HookRan) -> bool:
    return node_title(trace, event.node, event.seq).startswith(OF_MODULES)
