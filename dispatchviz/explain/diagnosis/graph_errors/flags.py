"""``requires_grad`` where it is not allowed: on integers, on a result, on an argument with ``out=``."""

from __future__ import annotations

import ast

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.rewritten import without_out
from dispatchviz.explain.diagnosis.graph_errors.subjects import Subject, owner, statement, subject
from dispatchviz.explain.diagnosis.graph_errors.values import called, leaves_behind, line_text, needs_grad, with_line
from dispatchviz.explain.diagnosis.words import base_name, begun, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, plain_dtype

INTEGERS = "nly Tensors of floating point"
NOT_A_LEAF = "you can only change requires_grad flags of leaf variables"
OUT = "functions with out=... arguments don't support automatic differentiation"

FLOATING = ("float", "complex", "bfloat")


def integers(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a tensor of integers or Booleans that should require grad."""
    found = _flagged(failure)
    tensor = found.tensor if found is not None and found.tensor is not None else _last_made(failure)
    made = None if tensor is None else index(failure.trace).tensors.get(tensor)
    if tensor is None or made is None or plain_dtype(made.dtype).startswith(FLOATING):
        return None
    trace, at, dtype = failure.trace, failure.raised, plain_dtype(made.dtype)
    named = found is not None and found.tensor is not None
    which = with_line(trace, tensor, at) if named else f"the tensor that {on_line(trace, at)} makes"
    asks = f"{begun(on_line(trace, at))} sets requires_grad on it" if named else "The line asks for requires_grad=True"
    text = f"{'The' + which[3:] if which.startswith('the ') else which} has the dtype {dtype}. {asks}. "
    text += "Only a tensor of a floating point or complex dtype can require grad."
    line = on_line(trace, made.seq, text=False) if made.how == "new" else ""
    fixes = (
        f"Make it a tensor of floating point numbers{f' on {line}' if line else ''}: dtype=torch.float32.",
        "If it holds indices, classes or a mask, it needs no gradient: remove requires_grad.",
    )
    cause = Statement("requires_grad of integers", text)
    return Diagnosis("error", at, (cause,), failure.message, fixes, tuple(sorted({made.seq, at})))


def not_a_leaf(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``requires_grad = False`` on a result."""
    found = _flagged(failure)
    node = None if found is None or found.tensor is None else index(failure.trace).history(found.tensor, failure.raised)
    if found is None or found.tensor is None or node is None:
        return None
    trace, at, made = failure.trace, failure.raised, index(failure.trace).nodes.get(node)
    leaves = [called(trace, leaf, at) for leaf in leaves_behind(trace, found.tensor, at)]
    where = f", made on {on_line(trace, made.seq)}" if made is not None else ""
    because = (
        f" It requires grad because {listed(leaves[:4])} {'does' if len(leaves) == 1 else 'do'}." if leaves else ""
    )
    text = (
        f"{found.text} is not a leaf: its grad_fn is {node_title(trace, node, at)}{where}.{because} "
        f"{begun(on_line(trace, at))} changes the flag of {found.text}, and a result has no flag of its own."
    )
    fixes: tuple[str, ...] = (f"For a tensor without a history: {found.text} = {found.text}.detach().",)
    if len(leaves) == 1 and leaves[0].replace(".", "").isidentifier() and made is not None:
        line = on_line(trace, made.seq, text=False)
        fixes += (f"Or record no gradient at all: {leaves[0]}.requires_grad_(False) before {line}.",)
    steps = tuple(sorted({*(() if made is None else (made.seq,)), at}))
    return Diagnosis("error", at, (Statement("requires_grad of a non-leaf", text),), failure.message, fixes, steps)


def out(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an operator with ``out=`` while one of its tensors requires grad."""
    call = failure.innermost
    computed = None if call is None else within(failure.trace, call.seq, ev.KeySetComputed)
    if call is None or computed is None:
        return None
    trace, at = failure.trace, failure.raised
    tensors = list(dict.fromkeys(tensor for _, tensor, _ in computed.arguments))
    needing = [each for each in tensors if needs_grad(trace, each, at)]
    result = next((tensor for name, tensor, _ in computed.arguments if name == "out"), tensors[-1])
    writes = f"{base_name(call)} on {on_line(trace, at)} writes its result into {called(trace, result, at)} (out=)"
    end = "A call with out= records no Node, so no gradient could flow through it."
    if needing:
        names = listed([with_line(trace, each, at) for each in needing])
        who = f"{names} {'requires' if len(needing) == 1 else 'require'} grad"
        cause = Statement("out= with a tensor that requires grad", f"{writes}, and {who}. {end}")
    else:
        who = f"one of {listed([called(trace, each, at) for each in tensors])} requires grad"
        cause = Statement("out= with one of several that requires grad", f"{writes}, and {who}. {end}")
    new = without_out(line_text(failure))
    fixes = (
        f"Use the result that the call returns: {new}."
        if new
        else "Use the result that the call returns, without out=.",
        "If you need no gradient there, put the line into a block `with torch.no_grad():`.",
    )
    unseen = "" if needing else "The recording does not say which of the tensors requires grad."
    return Diagnosis("error", at, (cause,), failure.message, fixes, (call.seq,), unseen)


def _flagged(failure: Failure) -> Subject | None:
    """Return the tensor whose flag a line sets: ``y.requires_grad = ...`` or ``y.requires_grad_(...)``."""
    found = statement(failure)
    targets = found.targets if isinstance(found, ast.Assign) else []
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
            return subject(failure, target.value)
    return owner(failure, ("requires_grad_",))


def _last_made(failure: Failure) -> int | None:
    """Return the last tensor that the line made, except wrapped numbers."""
    trace, line = failure.trace, failure.line
    for step in reversed(trace.steps_of(ev.TensorCreated)):
        event = trace[step]
        if line is None or step < line.seq:
            break
        if isinstance(event, ev.TensorCreated) and not event.wrapped_number:
            return event.tensor
    return None


RULES = (
    (INTEGERS, integers),
    (NOT_A_LEAF, not_a_leaf),
    (OUT, out),
)
