"""Calls of ``backward`` and ``grad`` that PyTorch rejects: a result with several numbers, an input without a path to
the output.
"""

from __future__ import annotations

import ast
import math
import re
from bisect import bisect_left
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.call_errors.functions import ran_in, returned_none
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.no_graph import reason
from dispatchviz.explain.diagnosis.graph_errors.subjects import (
    Subject,
    argument,
    calls,
    grouped,
    held_by,
    owner,
    subject,
)
from dispatchviz.explain.diagnosis.graph_errors.values import NAME, called, needs_grad, reachable, shape_of, with_line
from dispatchviz.explain.diagnosis.words import base_name, begun, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import Shape
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import shaped

NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
UNUSED = "appears to not have been used in the graph"
NOT_REQUIRED = "One of the differentiated Tensors does not require grad"

AT_INDEX = re.compile(r"at index (\d+)")


def not_scalar(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a backward pass that starts at several numbers."""
    by_method = owner(failure, ("backward",))
    found = by_method or _first(failure, "outputs")
    if found is None or found.tensor is None:
        return None
    trace, at, tensor = failure.trace, failure.raised, found.tensor
    shape, call = shape_of(trace, tensor, at), made_by(trace, tensor)
    if math.prod(shape) == 1:
        return None  # the line names another tensor
    made = f", made by {base_name(call)} on {on_line(trace, call.seq)}," if call is not None else ""
    text = (
        f"{found.text}{made} has the shape {shaped(shape)}: {math.prod(shape)} elements. {begun(on_line(trace, at))} "
        "passes no gradient for them. A backward pass can start without one only at a result with one element."
    )
    cause = Statement("non-scalar backward", text, (Shape(tensor, shape),))
    fixes = _reductions(failure, grouped(found.text), by_method is not None)
    steps = sorted({*(() if call is None else (call.seq,)), at})
    return Diagnosis("error", at, (cause,), failure.message, fixes, tuple(steps))


def _reductions(failure: Failure, name: str, by_method: bool) -> tuple[str, ...]:
    """Return fixes: one number, or a gradient for each element."""
    if by_method:
        one = f"{name}.sum().backward(), or {name}.mean().backward() for the average."
        each = f"{name}.backward(gradient=torch.ones_like({name}))"
    else:
        one = f"pass {name}.sum() instead of {name}."
        each = f"{'grad_outputs' if any(calls(failure, ('grad',))) else 'grad_tensors'}=torch.ones_like({name})"
    reduced = f"Reduce it to one number first: {one}"
    return (reduced, f"Or pass the gradient of each element: {each}.") if NAME.fullmatch(name) else (reduced,)


def not_required(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``grad`` with an input that does not require grad."""
    trace, at = failure.trace, failure.raised
    inputs = [subject(failure, each) for each in _inputs(failure)]
    found = [each for each in inputs if each.tensor is not None and not needs_grad(trace, each.tensor, at)]
    if len(found) != 1 or found[0].tensor is None:
        return None
    tensor, name = found[0].tensor, found[0].text
    text = (
        f"{with_line(trace, tensor, at)} does not require grad, and {on_line(trace, at)} asks for its gradient. No "
        "edge of a graph leads to a tensor that did not require grad when it was used."
    )
    made = index(trace).tensors.get(tensor)
    where = f" on {on_line(trace, made.seq, text=False)}" if made is not None and on_line(trace, made.seq) else ""
    fix = f"Set requires_grad=True on {name} where you create it{where}, before anything is computed from it."
    cause = Statement("grad of a tensor that does not require grad", text)
    return Diagnosis("error", at, (cause,), failure.message, (fix,), (at,))


def unused(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``grad`` with an input to which no path leads."""
    at, position = failure.raised, AT_INDEX.search(failure.message)
    started = _pass(failure)
    if position is None or started is None:
        return None
    found = _input(failure, started, int(position[1]))
    output = _output(failure, started)
    if found.tensor is None:
        nth = f"The tensor at index {position[1]} of {found.text or 'the inputs'}"
        text = f"{nth} gets no gradient: no edge of the graph of {output} leads to it."
        cause, unseen = (
            Statement("unused input: not known which", text),
            "The recording does not say which tensor it is.",
        )
        return Diagnosis("error", at, (cause,), failure.message, (_allow(found.text),), (started.seq,), unseen)
    if _leads_to(trace := failure.trace, started, found.tensor):
        no_gradient = returned_none(failure, started)
        if no_gradient is not None:
            return no_gradient
        cause, fixes = _none_passed(trace, started, found, output)
    else:
        cause, fixes = _no_path(failure, started, found, output)
    steps = tuple(sorted({started.seq, at}))
    return Diagnosis("error", at, (cause,), failure.message, (*fixes, _allow(found.text)), steps)


# -- the call ----------------------------------------------------------------------------------------------------------


def _first(failure: Failure, name: str) -> Subject | None:
    """Return the first tensor that ``torch.autograd.grad`` differentiates."""
    expression = argument(failure, ("grad", "backward"), 0, name)
    found = None if expression is None else next(_elements(expression), None)
    return None if found is None else subject(failure, found)


def _inputs(failure: Failure) -> list[ast.expr]:
    """Return the inputs of ``grad(outputs, inputs)`` or ``backward(inputs=...)``, as far as they are written on the
    line.
    """
    expression = argument(failure, ("grad",), 1, "inputs")
    return [] if expression is None else list(_elements(expression))


def _elements(expression: ast.expr) -> Iterator[ast.expr]:
    yield from expression.elts if isinstance(expression, ast.List | ast.Tuple) else (expression,)


def _pass(failure: Failure) -> ev.BackwardStarted | None:
    """Return the pass that returned nothing for an input."""
    steps = failure.trace.steps_of(ev.BackwardStarted)
    found = failure.trace[steps[-1]] if steps else None
    return found if isinstance(found, ev.BackwardStarted) and found.seq <= failure.raised else None


def _input(failure: Failure, started: ev.BackwardStarted, position: int) -> Subject:
    """Return an input: its text on the line, and its tensor in the recording of the pass."""
    written = _inputs(failure)
    known = started.input_tensors[position] if position < len(started.input_tensors) else None
    if len(written) > 1 or (position == 0 and len(written) == 1 and not _is_list(failure, written[0])):
        found = subject(failure, written[position]) if position < len(written) else Subject("", None)
        return Subject(found.text, found.tensor if known is None else known)
    if known is not None:
        return Subject(called(failure.trace, known, failure.raised), known)
    return Subject(ast.unparse(written[0]) if written else "", None)


def _is_list(failure: Failure, expression: ast.expr) -> bool:
    """Return whether an expression has several tensors: a call, or a variable that is not a tensor."""
    if isinstance(expression, ast.Call):
        return True
    return isinstance(expression, ast.Name) and held_by(failure, expression.id) is None


def _output(failure: Failure, started: ev.BackwardStarted) -> str:
    found = _first(failure, "outputs")
    return found.text if found is not None else "the result"


def _allow(name: str) -> str:
    return f"If {name or 'it'} may have no gradient, pass allow_unused=True: its gradient is then None."


# -- paths without a gradient ------------------------------------------------------------------------------------------


def _leads_to(trace: Trace, started: ev.BackwardStarted, tensor: int) -> bool:
    """Return whether edges lead from the start of a pass to the Node of a tensor."""
    made = [trace[step] for step in index(trace).steps_about(tensor, ev.AccumulatorMade)]
    targets = {each.node for each in made if isinstance(each, ev.AccumulatorMade)}
    node = index(trace).history(tensor, started.seq)
    targets |= set() if node is None else {node}
    return not targets.isdisjoint(reachable(trace, [node for node, _ in started.roots]))


def _none_passed(
    trace: Trace, started: ev.BackwardStarted, found: Subject, output: str
) -> tuple[Statement, tuple[str, ...]]:
    text = f"A path leads from {output} to {found.text}, but no gradient arrived along it: a Node on it returned None."
    functions = ran_in(trace, started)
    for name in functions:
        text += f" The Node of the custom Function {name} ran in this pass."
    cause = Statement("unused input: no gradient passed", text)
    return cause, tuple(f"Return a gradient from {name}.backward for each input that needs one." for name in functions)


# -- reasons for a missing path ----------------------------------------------------------------------------------------


def _no_path(
    failure: Failure, started: ev.BackwardStarted, found: Subject, output: str
) -> tuple[Statement, tuple[str, ...]]:
    """Return the reason and the fixes."""
    trace, tensor, begin = failure.trace, found.tensor, f"No path leads from {output} to {found.text}:"
    assert tensor is not None
    made, root = index(trace).tensors.get(tensor), index(trace).nodes.get(started.roots[0][0])
    if made is not None and root is not None and made.seq > root.seq:
        keep = (
            f"Request the gradient of the tensor from which {output} was computed, and keep that tensor in a variable."
        )
        text = f"{begin} {_too_late(failure, found, made, root, output)}."
        return Statement("unused input: made too late", text), (keep,)
    users = _uses(trace, tensor, started.seq)
    if not users:
        text = f"{begin} no operator used {found.text} before {on_line(trace, started.seq)}."
        return Statement("unused input: not used", text), ()
    for call in users:
        if why := _cut(trace, call, found.text):
            fix = f"Compute {output} from {found.text} itself, without that step."
            return Statement("unused input: cut", f"{begin} {why}."), (fix,)
    user = next(reversed([users[-1], *calls_around(trace, users[-1].seq)]))
    used = f"{base_name(user)} on {on_line(trace, user.seq)} used {found.text}"
    text = f"{begin} {used}, but {output} was not computed from its result."
    return Statement("unused input: used elsewhere", text), ()


def _uses(trace: Trace, tensor: int, before: int) -> list[ev.Dispatched]:
    """Return the calls that got a tensor after it was made, without those that only write to it."""
    made = index(trace).tensors.get(tensor)
    steps = trace.steps_of(ev.KeySetComputed)
    since = bisect_left(steps, made.seq if made is not None else 0)
    found = list[ev.Dispatched]()
    for step in steps[since : bisect_left(steps, before)]:
        event, call = trace[step], trace[trace.columns.parents[step]]
        if isinstance(event, ev.KeySetComputed) and isinstance(call, ev.Dispatched) and _reads(event, call, tensor):
            found.append(call)
    return found


def _reads(computed: ev.KeySetComputed, call: ev.Dispatched, tensor: int) -> bool:
    got = any(each == tensor for _, each, _ in computed.arguments)
    return got and not call.is_redispatch and not base_name(call).endswith("_") and base_name(call) != "lift_fresh"


def _too_late(failure: Failure, found: Subject, made: ev.TensorCreated, root: ev.NodeCreated, output: str) -> str:
    """Return the reason for a tensor that is newer than the result."""
    trace, call = failure.trace, made_by(failure.trace, made.tensor)
    by = f" by {base_name(call)}" if call is not None else ""
    return (
        f"{found.text} is a tensor that was made on {on_line(trace, made.seq)}{by}, after {output} had been computed "
        f"on {on_line(trace, root.seq)}"
    )


def _cut(trace: Trace, call: ev.Dispatched, name: str) -> str:
    """Return the reason why the result of a call that used the tensor has no path to it; empty if it has one."""
    why, where = reason(trace, call), on_line(trace, call.seq)
    if why == "detached":
        return f"{where} used {name} through detach(), which returns a tensor without a history"
    if why == "grad mode is off":
        return f"{base_name(call)} on {where} used {name} while grad mode was off"
    if why == "never differentiable":
        return f"{base_name(call)} on {where} used {name}, and it is not differentiable"
    return ""


RULES = (
    (NOT_REQUIRED, not_required),
    (NOT_SCALAR, not_scalar),
    (UNUSED, unused),
)
