"""The place where NaN or infinity first appears in a gradient: a Node, or the forward pass before.

Found only in recordings with numbers (``--values``, ``dispatchviz why``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.recorded_numbers import Run, last_numbers, not_finite, runs, short
from dispatchviz.explain.diagnosis.words import OUR_WORDS, arguments_of, base_name, last_name, made_by, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital, listed

DEEPEST = 200
"""The number of calls that are followed back in the forward pass."""

CHECKS = "aten::_amp_foreach_non_finite_check_and_unscale_"
"""The operators that a gradient scaler calls. It expects infinities, and then skips the step."""

SAME_PASS = 100
"""The number of gradients after the last recorded numbers that are read: those of its backward pass."""

FINITE = "its derivative stays finite"
SAFE = {
    "sqrt": f"Add 1e-8 to {{x}} before {{call}}: {FINITE}.",
    "log": f"Clamp {{x}} before {{call}}, .clamp(min=1e-8): {FINITE}.",
    "norm": f"Instead of {{call}}, take the square root of a sum of squares plus 1e-8: {FINITE}.",
    "linalg_vector_norm": f"Instead of {{call}}, take the square root of a sum of squares plus 1e-8: {FINITE}.",
    "div": "Give {call} a divisor that is never 0.",
    "reciprocal": "Give {call} a divisor that is never 0.",
    "exp": "Give {call} smaller numbers: its result must be finite.",
}
KEEP = "Keep {x} before {call} away from where its derivative is infinite."
"""The fix for an operator, and that for other operators."""


def infinite_gradients(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis of the first backward pass that gives a leaf NaN or infinity."""
    numbers, steps = trace.steps_of(ev.NumbersRecorded), trace.steps_of(ev.GradientAccumulated)
    if len(numbers) == 0 or CHECKS in trace.columns.operator_names:
        return
    for step in steps[: bisect_left(steps, numbers[-1]) + SAME_PASS]:
        event = trace[step]
        if isinstance(event, ev.GradientAccumulated) and not_finite(last_numbers(trace, event.gradient, step)):
            found = _diagnosis(trace, event)
            yield from () if found is None else (found,)
            return


def _diagnosis(trace: Trace, written: ev.GradientAccumulated) -> Diagnosis | None:
    around = (each for each in trace.ancestors(written.seq) if isinstance(each, ev.BackwardStarted))
    started = next(around, None)
    if started is None:
        return None
    ran = list(runs(trace, started))
    forward = _birth(trace, started, ran)
    if forward is not None:
        return _in_forward(trace, forward, written)
    born = next((run for run in ran if any(map(not_finite, run.returned)) and not any(map(not_finite, run.got))), None)
    return None if born is None else _in_node(trace, started, ran, born, written)


# -- in a Node --------------------------------------------------------------------------------------------------------


def _in_node(
    trace: Trace, started: ev.BackwardStarted, ran: list[Run], born: Run, written: ev.GradientAccumulated
) -> Diagnosis:
    at, node = born.end, born.started.node
    made = index(trace).nodes.get(node)
    call = None if made is None else next(calls_around(trace, made.seq), None)
    title, leaf = node_title(trace, node, at), last_name(trace, written.tensor, written.seq)
    gradient = short(last_numbers(trace, written.gradient, written.seq))
    got, returned = (listed([short(each) for each in texts]) for texts in (born.got, born.returned))
    what = "nan" if any("nan" in each for each in born.returned) else "inf"
    text = (
        f"{leaf} gets the gradient {gradient} on {on_line(trace, started.seq)}. "
        f"{what} first appears in {title}: it {f'receives {got} and ' if got else ''}returns {returned}."
    )
    if call is not None:
        text += f" {base_name(call)} on {on_line(trace, call.seq)} made it{_arguments(trace, call, 'from')}."
    where = next((run for run in ran if run.started.name == "WhereBackward0" and _feeds(run, born)), None)
    if where is not None:
        text += (
            f" {node_title(trace, where.started.node, at)} passes it 0 for the elements that torch.where does not "
            f"take, but {title} computes with them too."
        )
    behind, within = Statement("not finite after where", text), Statement("not finite in a Node", text)
    cause = behind if where is not None else within
    fix = _fix(trace, call, where is not None)
    return Diagnosis("silent mistake", at, (cause,), "", (fix,), (born.started.seq, at, written.seq))


def _feeds(run: Run, other: Run) -> bool:
    return any(each is not None and each in other.started.gradients for each in run.gradients)


def _arguments(trace: Trace, call: ev.Dispatched, preposition: str) -> str:
    """Return the arguments with their values: `` from x = [0.0, 1.0]``."""
    each = [(tensor, last_numbers(trace, tensor, call.seq + 8)) for tensor in arguments_of(trace, call)]
    known = [f"{last_name(trace, tensor, call.seq)} = {short(numbers)}" for tensor, numbers in each if numbers]
    return f" {preposition} {listed(known)}" if known else ""


def _fix(trace: Trace, call: ev.Dispatched | None, where: bool) -> str:
    if call is None:
        return "Keep the arguments away from where the derivative is infinite."
    operator, line = base_name(call), on_line(trace, call.seq, text=False)
    own = arguments_of(trace, call)
    name = last_name(trace, own[0], call.seq) if own else ""
    x = "its input" if not name or name.startswith(OUR_WORDS) else name
    if where:
        return (
            f"Make the argument safe before {operator} on {line}: safe = torch.where(condition, {x}, 1), then "
            f"{operator} of safe, with the same condition in both torch.where."
        )
    return SAFE.get(operator, KEEP).format(x=x, call=f"{operator} on {line}")


# -- in the forward pass ----------------------------------------------------------------------------------------------


class Birth(NamedTuple):
    """A call with finite arguments that returned NaN or infinity."""

    call: ev.Dispatched
    result: int
    numbers: str


def _birth(trace: Trace, started: ev.BackwardStarted, ran: list[Run]) -> Birth | None:
    """Return the forward call whose result is not finite and from which the root of a pass gets that value."""
    first = next(iter(ran), None)
    if first is None:
        return None
    root = _result_of(trace, first.started.node)
    tensor, found = root, None
    for _ in range(DEEPEST):
        numbers = last_numbers(trace, tensor, started.seq)
        call = None if tensor is None else made_by(trace, tensor)
        if tensor is None or call is None or not not_finite(numbers):
            break
        found = Birth(call, tensor, numbers)
        bad = [each for each in arguments_of(trace, call) if not_finite(last_numbers(trace, each, call.seq + 8))]
        tensor = bad[0] if bad else None
    return found


def _result_of(trace: Trace, node: int) -> int | None:
    """Return the tensor whose ``grad_fn`` a Node became when it was made."""
    made = index(trace).nodes.get(node)
    columns = trace.columns
    steps = () if made is None else columns.of_node.get(node, ())
    histories = [step for step in steps if columns.kinds[step] == columns.code(ev.HistorySet)]
    return columns.tensors[histories[0]] if histories else None


def _in_forward(trace: Trace, birth: Birth, written: ev.GradientAccumulated) -> Diagnosis:
    call, at = birth.call, birth.call.seq
    what = "nan" if "nan" in birth.numbers else "inf"
    leaf = last_name(trace, written.tensor, written.seq)
    if not arguments_of(trace, call):
        return _in_data(trace, birth, written)
    arguments, gradient = _arguments(trace, call, "for"), short(last_numbers(trace, written.gradient, written.seq))
    text = (
        f"{what} first appears in the forward pass: {base_name(call)} on {on_line(trace, at)} returns "
        f"{short(birth.numbers)}{arguments}. The backward pass on {on_line(trace, written.seq)} then gives {leaf} the "
        f"gradient {gradient}."
    )
    cause = Statement("not finite in the forward pass", text)
    return Diagnosis("silent mistake", at, (cause,), "", (_fix(trace, call, where=False),), (at, written.seq))


def _in_data(trace: Trace, birth: Birth, written: ev.GradientAccumulated) -> Diagnosis:
    """Return the diagnosis of a tensor that the program itself creates with NaN or infinity."""
    at, what = birth.call.seq, "nan" if "nan" in birth.numbers else "inf"
    names = index(trace).names.get(birth.result)
    name = names[0][1] if names is not None and len(names) else "a tensor"
    leaf, gradient = last_name(trace, written.tensor, written.seq), last_numbers(trace, written.gradient, written.seq)
    text = (
        f"{on_line(trace, at)} creates {name} with {what}: {short(birth.numbers)}. The backward pass on "
        f"{on_line(trace, written.seq)} then gives {leaf} the gradient {short(gradient)}."
    )
    cause = Statement("not finite in the data", capital(text))
    fix = f"Take {what} out of the data of {name}: torch.nan_to_num, or a mask."
    return Diagnosis("silent mistake", at, (cause,), "", (fix,), (at, written.seq))


RULES = (infinite_gradients,)
