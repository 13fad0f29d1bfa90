"""Parameters that require grad and get none, while others of the same module do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.graph_errors.no_graph import reason
from dispatchviz.explain.diagnosis.silent.calls import MOST, calls_between
from dispatchviz.explain.diagnosis.silent.leaves import gets_gradient, leaves_behind, named
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

MANY = 10_000
"""The largest number of names of parameters in a program that is searched."""

NOT_REACHED, UNDEFINED, NO_GRAD, NO_NODE, UNUSED, UNKNOWN = range(6)
"""The reasons why a parameter gets no gradient."""

PREPARES = ("detach", "t", "numpy_T")
"""The calls that do not compute with a parameter by themselves."""


def parameters(trace: Trace) -> dict[str, dict[int, str]]:
    """Return the parameters that modules have at the end: each tensor with its name, by the module's variable."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    texts = [text for text in trace.columns.name_texts if "." in text and "[" not in text]
    for text in texts[:MANY]:
        tensor = index(trace).holder(text, len(trace) - 1)
        if tensor is not None:
            found[text.partition(".")[0]].setdefault(tensor, text)
    return found


def missing_gradients(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each reason why some parameters of a module get no gradient while others do."""
    last = _last_pass(trace)
    if last is None or _asks_for_some(trace) or _unfinished(trace):
        return
    gets = partial(gets_gradient, trace)
    for variable, own in parameters(trace).items():
        missing = [each for each in own if _is_missing(trace, each, last)]
        if not missing or not any(map(gets, own)):
            continue
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for each in missing:
            groups[_why(trace, each, last)].append(each)
        yield from (_diagnosis(trace, variable, why, step, group, last) for (why, step), group in groups.items())


def _last_pass(trace: Trace) -> ev.BackwardStarted | None:
    """Return the last backward pass that writes to the ``.grad`` of leaves."""
    for step in reversed(trace.steps_of(ev.BackwardStarted)):
        event = trace[step]
        if isinstance(event, ev.BackwardStarted) and event.accumulate and not event.inputs:
            return event
    return None


def _asks_for_some(trace: Trace) -> bool:
    """Return whether a pass computes the gradients of selected tensors only, so that the program decides which."""
    steps = trace.steps_of(ev.BackwardStarted)
    few = (trace[step] for step in (*steps[:3], *steps[-3:]))
    return any(isinstance(event, ev.BackwardStarted) and bool(event.inputs) for event in few)


def _unfinished(trace: Trace) -> bool:
    """Return whether an error ended the program or, as far as the recording shows, a backward pass."""
    passes, ends = trace.steps_of(ev.BackwardStarted), trace.steps_of(ev.BackwardFinished)
    return isinstance(trace[-1], ev.ProgramRaised) or (0 < len(ends) < len(passes))


def _is_missing(trace: Trace, tensor: int, last: ev.BackwardStarted) -> bool:
    """Return whether a parameter, older than the last pass, certainly requires grad and never got a gradient."""
    made = index(trace).tensors.get(tensor)
    if made is None or made.seq > last.seq or gets_gradient(trace, tensor):
        return False
    if trace.header.engine == "model":
        return index(trace).grad_needed(tensor, last.seq) and index(trace).history(tensor, last.seq) is None
    return bool(index(trace).steps_about(tensor, ev.AccumulatorMade))  # a recording does not have requires_grad


def _why(trace: Trace, tensor: int, last: ev.BackwardStarted) -> tuple[int, int]:
    """Return the reason why a parameter gets no gradient, and a step that shows it."""
    made = [step for step in index(trace).steps_about(tensor, ev.AccumulatorMade) if step < last.seq]
    if made:
        reached = tensor in leaves_behind(trace, [node for node, _ in last.roots])
        return UNDEFINED if reached else NOT_REACHED, trace.columns.lines[made[-1]]
    since = index(trace).names[tensor].steps[0]
    for call in calls_between(trace, since, last.seq):
        if tensor in call.tensors and tensor not in call.written and call.name not in PREPARES:
            off = reason(trace, call.event) == "grad mode is off"
            return NO_GRAD if off else NO_NODE, trace.columns.lines[call.seq]
    return UNUSED if len(between(trace, ev.KeySetComputed, since, last.seq)) <= MOST else UNKNOWN, -1


def _diagnosis(
    trace: Trace, variable: str, why: int, line: int, group: list[int], last: ev.BackwardStarted
) -> Diagnosis:
    names, several = named(trace, group, last.seq), len(group) > 1
    them, where = "them" if several else "it", on_line(trace, line) if line >= 0 else ""
    computes = f"{capital(where)} computes with {them}"
    reasons = {
        NOT_REACHED: f"{computes}, but no path leads from the root of a backward pass to that call: no loss depends on "
        "its result.",
        UNDEFINED: f"{computes}, and the graph of a backward pass leads there, but a Node on the path returned None.",
        NO_GRAD: f"{computes} while grad mode is off, so it records no Node.",
        NO_NODE: f"{computes} and records no Node.",
        UNUSED: f"No recorded call computes with {them}.",
        UNKNOWN: f"No Node has {them} as an input.",
    }
    fixes = {
        NOT_REACHED: f"Make the loss depend on the result of {where}",
        UNDEFINED: "Return a gradient from each backward() on the path",
        NO_GRAD: f"Move {where} out of torch.no_grad()",
    }
    s = "" if several else "s"
    text = (
        f"{names} require{s} grad and get{s} no gradient from any backward pass, while other parameters of {variable} "
        f"do. {reasons[why]}"
    )
    cause = Statement("parameter without a gradient", text)
    fix = (
        f"{fixes.get(why, f'Use {them} in the forward pass')}. If you do not want to train {them}, freeze {them}: "
        "requires_grad_(False)."
    )
    proof = (line, last.seq) if line >= 0 else (last.seq,)
    return Diagnosis("gradient that never arrives", last.seq, (cause,), "", (fix,), proof)


RULES = (missing_gradients,)
