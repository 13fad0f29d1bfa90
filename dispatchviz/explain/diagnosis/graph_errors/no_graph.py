"""``element 0 of tensors does not require grad``: no leaf requires grad, or where the history was cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.grad_mode import off_since
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MESSAGE = "does not require grad and does not have a grad_fn"

MOST = 10_000
"""How many tensors are looked at on the way back."""

NAMED = 4
"""Of more leaves only the first ones are named."""

ROOT = re.compile(r"([A-Za-z_][\w.]*)\.backward\(|(?:grad|backward)\(\s*\[?\(?([A-Za-z_][\w.]*)")
"""The variable whose backward pass a line starts."""


class Origins(NamedTuple):
    """Where a tensor comes from: leaves, and calls that cut it from tensors that require grad."""

    leaves: list[int]
    cuts: list[tuple[ev.Dispatched, int]]
    """The call, and the argument that requires grad."""


def no_graph(failure: Failure) -> Diagnosis | None:
    """The diagnosis of a backward pass that has no Node to start at."""
    root = _root(failure)
    if root is None:
        return None
    found = origins(failure.trace, root)
    if found.cuts:
        return _cut(failure, root, found)
    return _is_leaf(failure, root) if found.leaves[:1] == [root] else _no_leaf(failure, root, found.leaves)


def _root(failure: Failure) -> int | None:
    """The tensor whose backward pass was asked for: the line's variable, else the last result on the line."""
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
    found, seen, front = Origins([], []), {root}, [root]
    while front and len(seen) < MOST:
        tensor = front.pop(0)
        call = made_by(trace, tensor)
        arguments = () if call is None else arguments_of(trace, call)
        if call is None or not arguments or base_name(call).startswith("new_") or base_name(call).endswith("_like"):
            found.leaves.append(tensor)
            continue
        needed = [each for each in arguments if index(trace).grad_needed(each, call.seq)]
        if needed:
            found.cuts.append((call, needed[0]))
            continue
        front += (new := [each for each in arguments if each not in seen])
        seen.update(new)
    return found


def _no_leaf(failure: Failure, root: int, leaves: list[int]) -> Diagnosis:
    trace, at = failure.trace, failure.raised
    name = last_name(trace, root, at)
    made = [_with_line(trace, leaf, at) for leaf in leaves[:NAMED]]
    more = [f"{len(leaves) - NAMED} more"] if len(leaves) > NAMED else []
    none = {1: "which does not require grad", 2: "neither of which requires grad"}.get(
        len(leaves), "none of which requires grad"
    )
    text = (
        f"{name} is computed from {listed([*made, *more])}, {none}. So no Node was recorded, and {name} has no grad_fn."
    )
    claims = tuple(RequiresGrad(each, requires_grad=False) for each in (root, *leaves))
    cause = Statement("no grad_fn: no leaf requires grad", text, claims)
    first = last_name(trace, leaves[0], at)
    appeared = map(index(trace).tensors.get, leaves[:NAMED])
    steps = [each.seq for each in appeared if each is not None]
    return Diagnosis("error", at, (cause,), failure.message, (_require(trace, leaves[0], first),), (*sorted(steps), at))


def _require(trace: Trace, leaf: int, name: str) -> str:
    if "." in name:
        return f"Let the parameters that you train require grad: {name}.requires_grad_()."
    made = index(trace).tensors.get(leaf)
    where = on_line(trace, made.seq, text=False) if made is not None else ""
    created = f"{name} on {where}" if where else name
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
    """``w (line 2)``"""
    name, made = last_name(trace, tensor, at), index(trace).tensors.get(tensor)
    where = on_line(trace, made.seq, text=False) if made is not None and made.how == "new" else ""
    return f"{name} ({where})" if where and where not in name else name


# -- where the history was cut ----------------------------------------------------------------------------------------


def _cut(failure: Failure, root: int, found: Origins) -> Diagnosis:
    trace, at = failure.trace, failure.raised
    call, argument = found.cuts[0]
    cause, fix = _why_cut(trace, call, last_name(trace, root, at), last_name(trace, argument, call.seq))
    claims = (RequiresGrad(root, requires_grad=False),)
    return Diagnosis("error", at, (cause._replace(claims=claims),), failure.message, (fix,), (call.seq, at))


def reason(trace: Trace, call: ev.Dispatched) -> str:
    """Why a call recorded no Node although an argument requires grad; empty if the recording does not say."""
    first = next((event for event in _within(trace, call.seq) if isinstance(event, ev.NoNodeMade)), None)
    if first is not None:
        return first.why
    if base_name(call) in ("detach", "detach_"):
        return "detached"
    if is_unseen(trace.header, ev.GradModeChanged) and _has_no_gradient(trace, call):
        return "never differentiable"
    return "grad mode is off" if off_since(trace, call.seq) else ""


def _has_no_gradient(trace: Trace, call: ev.Dispatched) -> bool:
    """Whether all results of a call are whole numbers or truth values."""
    last = trace[trace.ends[call.seq]]
    results = last.tensors if isinstance(last, ev.KernelReturned) else ()
    dtypes = [made.dtype for tensor in results if (made := index(trace).tensors.get(tensor)) is not None]
    return bool(dtypes) and all("int" in dtype or "bool" in dtype for dtype in dtypes)


def _switch(since: str) -> str:
    """``torch.no_grad()``, or what else switched grad mode off."""
    return next((f"torch.{name}()" for name in ("no_grad", "inference_mode") if name in since), "that block")


def _within(trace: Trace, seq: int) -> Iterator[ev.AnyEvent]:
    return (trace[step] for step in range(seq, min(trace.ends[seq] + 1, seq + 200)))


def _why_cut(trace: Trace, call: ev.Dispatched, name: str, argument: str) -> tuple[Statement, str]:
    """What cut the history of a tensor from that of an argument, and what to do."""
    where, operator, why = on_line(trace, call.seq), base_name(call), reason(trace, call)
    line = on_line(trace, call.seq, text=False)
    begin, although = f"{name} has no grad_fn:", f"although {argument} requires grad."
    if why == "grad mode is off":
        since = off_since(trace, call.seq)
        begun = f" (since {since})" if since else ""
        text = f"{begin} {where} ran while grad mode was off{begun}, so {operator} recorded nothing, {although}"
        return Statement("no grad_fn: grad mode off", text), f"Move {line} out of {_switch(since)}."
    if why == "detached":
        cut = f"{where} cut it from {argument}, which requires grad"
        text = f"{begin} {cut}: detach() returns a tensor without a history."
        return Statement("no grad_fn: detached", text), f"Leave out detach() on {line}."
    if why == "never differentiable":
        text = f"{begin} {operator} on {where} is not differentiable, so its result has no history, {although}"
        fix = f"Compute the loss from the input of {operator} instead of its result."
        return Statement("no grad_fn: not differentiable", text), fix
    text = f"{begin} {operator} on {where} recorded nothing, {although}"
    return Statement("no grad_fn: cut", text), f"Look at {line}: its calls must be recorded."
