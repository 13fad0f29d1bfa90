"""``element 0 of tensors does not require grad``: no leaf requires grad, or the history was cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.grad_mode import off_since
from dispatchviz.explain.diagnosis.silent.calls import outermost_calls
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MESSAGE = "does not require grad and does not have a grad_fn"

MOST = 10_000
"""The number of tensors that are read on the way back."""

SHARING = 100
"""The number of tensors on one memory that are read."""

NAMED = 4
"""The number of leaves that are named."""

ROOT = re.compile(r"([A-Za-z_][\w.]*)\.backward\(|(?:grad|backward)\(\s*\[?\(?([A-Za-z_][\w.]*)")
"""The variable whose backward pass a line starts."""


class Cut(NamedTuple):
    """A step that cut a tensor from one that requires grad."""

    at: int
    argument: int
    """The tensor that requires grad."""
    call: ev.Dispatched | None
    """The call, or None if the program used ``.data``, which calls no operator."""


class Origins(NamedTuple):
    """The origins of a tensor: leaves, and steps that cut it from tensors that require grad."""

    leaves: list[int]
    cuts: list[Cut]


def no_graph(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a backward pass that has no Node to start at."""
    root = _root(failure)
    if root is None:
        return None
    found = origins(failure.trace, root)
    if found.cuts:
        return _cut(failure, root, found)
    return _is_leaf(failure, root) if found.leaves[:1] == [root] else _no_leaf(failure, root, found.leaves)


def _root(failure: Failure) -> int | None:
    """Return the tensor at which the backward pass starts: the line's variable, or else the last result on the line."""
    trace, line = failure.trace, failure.line
    if line is None:
        return None
    named = ROOT.search(source_text(trace, line))
    if named is not None:
        holder = index(trace).holder(named[1] or named[2], failure.raised)
        if holder is not None:
            return holder
    returned = trace.steps_of(ev.KernelReturned)
    for step in reversed(returned):
        event = trace[step]
        if step < line.seq:
            break
        if isinstance(event, ev.KernelReturned) and event.tensors:
            return event.tensors[-1]
    return None


def origins(trace: Trace, root: int) -> Origins:
    """Walk back from a tensor along the arguments of the calls that made it."""
    found, seen, front, emptied = Origins([], []), {root}, [root], _detached_in_place(trace)
    while front and len(seen) < MOST:
        tensor = front.pop(0)
        call = made_by(trace, tensor)
        cut = emptied.get(tensor) or (_data(trace, tensor) if call is None else _needing(trace, call, emptied))
        arguments = () if call is None else arguments_of(trace, call)
        if cut is not None:
            found.cuts.append(cut)
        elif call is None or not arguments or _is_new(call) or is_parameter(trace, tensor):
            found.leaves.append(tensor)
        else:
            front += (new := [each for each in arguments if each not in seen])
            seen.update(new)
    return found


def _is_new(call: ev.Dispatched) -> bool:
    """Return whether an operator takes only sizes from its arguments."""
    return base_name(call).startswith("new_") or base_name(call).endswith("_like")


def is_parameter(trace: Trace, tensor: int) -> bool:
    """Return whether a tensor is held as a part of an object, like ``net.weight``."""
    end = len(trace) - 1
    return "." in (index(trace).name(tensor, end) or index(trace).lost_name(tensor, end)[0])


def _needing(trace: Trace, call: ev.Dispatched, emptied: Mapping[int, Cut]) -> Cut | None:
    """Return the first argument of a call that requires grad.

    A recording of an installed PyTorch does not have that of parameters while grad mode is off.
    """
    arguments = [each for each in arguments_of(trace, call) if each not in emptied or emptied[each].at > call.seq]
    needed = [each for each in arguments if index(trace).grad_needed(each, call.seq)]
    if not needed and is_unseen(trace.header, ev.RequiresGradSet) and off_since(trace, call.seq):
        needed = [each for each in arguments if is_parameter(trace, each)]
    return Cut(call.seq, needed[0], call) if needed else None


def _detached_in_place(trace: Trace) -> dict[int, Cut]:
    """Return the tensors that lost their history to ``detach_()``."""
    calls = outermost_calls(trace, lambda name: name == "detach_")
    cuts = [Cut(call.seq, tensor, call.event) for call in calls for tensor in call.tensors[:1]]
    return {each.argument: each for each in cuts if index(trace).history(each.argument, each.at - 1) is not None}


def _data(trace: Trace, tensor: int) -> Cut | None:
    """Return the tensor whose ``.data`` another one is: on the same memory, made by no operator."""
    made = index(trace).tensors.get(tensor)
    line = None if made is None else source_line(trace, made.seq)
    if made is None or line is None or ".data" not in source_text(trace, line):
        return None
    on_it = index(trace).about_storage(made.storage, ev.TensorCreated)
    before = [trace.columns.tensors[step] for step in on_it[:SHARING] if step < made.seq]
    unseen = is_unseen(trace.header, ev.RequiresGradSet)
    needing = (
        each
        for each in reversed(before)
        if index(trace).grad_needed(each, made.seq) or (unseen and is_parameter(trace, each))
    )
    base = next(needing, None)
    return None if base is None else Cut(made.seq, base, None)


def _no_leaf(failure: Failure, root: int, leaves: list[int]) -> Diagnosis:
    trace, at = failure.trace, failure.raised
    name = last_name(trace, root, at)
    made = list(dict.fromkeys(_with_line(trace, leaf, at) for leaf in leaves[:NAMED]))
    more = [f"{len(leaves) - NAMED} more"] if len(leaves) > NAMED else []
    none = {1: "which does not require grad", 2: "neither of which requires grad"}.get(
        len(made) + len(leaves[NAMED:]), "none of which requires grad"
    )
    text = (
        f"{name} is computed from {listed([*made, *more])}, {none}. So no Node was recorded, and {name} has no grad_fn."
    )
    claims = tuple(RequiresGrad(each, requires_grad=False) for each in (root, *leaves))
    cause = Statement("no grad_fn: no leaf requires grad", text, claims)
    trained = next((each for each in leaves if is_parameter(trace, each)), leaves[0])
    appeared = map(index(trace).tensors.get, leaves[:NAMED])
    steps = [each.seq for each in appeared if each is not None]
    return Diagnosis("error", at, (cause,), failure.message, (_require(trace, trained, at),), (*sorted(steps), at))


def _require(trace: Trace, leaf: int, at: int) -> str:
    name = last_name(trace, leaf, at)
    if is_parameter(trace, leaf):
        return f"Set requires_grad on the parameters that you train: {name}.requires_grad_()."
    made = index(trace).tensors.get(leaf)
    where = on_line(trace, made.seq, text=False) if made is not None else ""
    created = f"{name} on {where}" if where and where not in name else name
    return f"Add requires_grad=True where you create the tensor whose gradient you want: {created}."


def _is_leaf(failure: Failure, root: int) -> Diagnosis:
    trace, at = failure.trace, failure.raised
    name = last_name(trace, root, at)
    text = f"{_with_line(trace, root, at)} does not require grad, and no operator computed it from tensors that do."
    cause = Statement("no grad_fn: a leaf", text, (RequiresGrad(root, requires_grad=False),))
    return Diagnosis(
        "error", at, (cause,), failure.message, (f"Compute {name} from the tensors whose gradients you want.",), (at,)
    )


def _with_line(trace: Trace, tensor: int, at: int) -> str:
    """Return a tensor with its line: ``w (line 2)``."""
    name, made = last_name(trace, tensor, at), index(trace).tensors.get(tensor)
    where = on_line(trace, made.seq, text=False) if made is not None and made.how == "new" else ""
    return f"{name} ({where})" if where and where not in name else name


# -- cuts of the history ----------------------------------------------------------------------------------------------


def _cut(failure: Failure, root: int, found: Origins) -> Diagnosis:
    trace, at = failure.trace, failure.raised
    cut = found.cuts[0]
    cause, fix = _why_cut(trace, cut, last_name(trace, root, at), last_name(trace, cut.argument, cut.at))
    claims = (RequiresGrad(root, requires_grad=False),)
    unseen = ""
    if cause.kind == "no grad_fn: cut":
        unseen = "A recording of an installed PyTorch does not show each change of requires_grad."
    return Diagnosis("error", at, (cause._replace(claims=claims),), failure.message, (fix,), (cut.at, at), unseen)


def reason(trace: Trace, call: ev.Dispatched) -> str:
    """Return the reason why a call recorded no Node although an argument requires grad; empty if it is unknown."""
    first = next((event for event in _within(trace, call.seq) if isinstance(event, ev.NoNodeMade)), None)
    if first is not None:
        return first.why
    if base_name(call) in ("detach", "detach_"):
        return "detached"
    if _has_no_gradient(trace, call):
        return "never differentiable"
    return "grad mode is off" if off_since(trace, call.seq) else ""


def _has_no_gradient(trace: Trace, call: ev.Dispatched) -> bool:
    """Return whether all results of a call are integers or Booleans."""
    last = trace[trace.ends[call.seq]]
    results = last.tensors if isinstance(last, ev.KernelReturned) else ()
    dtypes = [made.dtype for tensor in results if (made := index(trace).tensors.get(tensor)) is not None]
    return bool(dtypes) and all("int" in dtype or "bool" in dtype for dtype in dtypes)


def _switch(since: str) -> str:
    """Return the code that turned grad mode off: ``torch.no_grad()``."""
    return next((f"torch.{name}()" for name in ("no_grad", "inference_mode") if name in since), "that block")


def _within(trace: Trace, seq: int) -> Iterator[ev.AnyEvent]:
    return (trace[step] for step in range(seq, min(trace.ends[seq] + 1, seq + 200)))


def _why_cut(trace: Trace, cut: Cut, name: str, argument: str) -> tuple[Statement, str]:
    """Return the step that cut the history of a tensor from that of an argument, and the fix."""
    call, where, line = cut.call, on_line(trace, cut.at), on_line(trace, cut.at, text=False)
    begin, although = f"{name} has no grad_fn:", f"although {argument} requires grad."
    if call is None:
        text = (
            f"{begin} {where} takes {argument}.data, a tensor that shares the memory of {argument} but not its history."
        )
        return Statement("no grad_fn: .data", text), f"Remove .data on {line}."
    operator, why = base_name(call), reason(trace, call)
    if is_unseen(trace.header, ev.RequiresGradSet) and not index(trace).grad_needed(cut.argument, cut.at):
        although = f"whether or not {argument} requires grad."
    if why == "grad mode is off":
        since = off_since(trace, call.seq)
        begun = f" (since {since})" if since else ""
        text = f"{begin} {where} ran while grad mode was off{begun}, so {operator} recorded nothing, {although}"
        fix = f"Move {line} out of {_switch(since)}."
        if "(torch.set_grad_enabled" in since:
            fix = f"Turn grad mode on again before {line}: torch.set_grad_enabled(True)."
        return Statement("no grad_fn: grad mode off", text), fix
    if why == "detached":
        text = f"{begin} {where} removed the history of {argument} in place."
        if operator != "detach_":
            cuts = f"{where} cut it from {argument}, which requires grad"
            text = f"{begin} {cuts}: detach() returns a tensor without a history."
        return Statement("no grad_fn: detached", text), f"Remove {operator}() on {line}."
    if why == "never differentiable":
        text = f"{begin} {operator} on {where} is not differentiable, so its result has no history, {although}"
        fix = f"Compute the loss from the input of {operator} instead of its result."
        return Statement("no grad_fn: not differentiable", text), fix
    text = (
        f"{begin} {operator} on {where} recorded nothing. Grad mode was on, so {argument} may no longer require grad."
    )
    return Statement("no grad_fn: cut", text), f"Print {argument}.requires_grad before {line}: it must be True."


RULES = ((MESSAGE, no_graph),)
