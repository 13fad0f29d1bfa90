"""Anomaly mode: the Node that returned NaN, the forward line that made it, and the inputs for which its formula returns
NaN.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.arguments import Argument, diagnosed, of_call, reference
from dispatchviz.explain.diagnosis.call_errors.functions import last_node
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.silent.recorded_numbers import short
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.tensor_numbers import numbers_of
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, ordinal

NAN = re.compile(r"Function '(\w+)' returned nan values in its (\d+)th output")


class Formula(NamedTuple):
    """The reason why a Node returns NaN, with ``{x}`` for its first argument and ``{y}`` for its second."""

    text: str
    fix: str


FORMULAS = {
    "SqrtBackward0": Formula(
        "It divides the gradient by 2 * sqrt({x}). Where {x} is 0 and the gradient is 0, this is 0 / 0; where {x} is "
        "negative, "
        "sqrt({x}) is NaN",
        "Keep the argument of sqrt away from 0: torch.sqrt({x} + 1e-12), or {x}.clamp(min=1e-12).",
    ),
    "RsqrtBackward0": Formula(
        "It multiplies the gradient by rsqrt({x}) ** 3. Where {x} is 0, this is infinite, and NaN with a gradient of 0",
        "Keep the argument of rsqrt away from 0: torch.rsqrt({x} + 1e-12).",
    ),
    "LogBackward0": Formula(
        "It divides the gradient by {x}. Where {x} is 0 and the gradient is 0, this is 0 / 0",
        "Keep the argument of log away from 0: torch.log({x} + 1e-12), or {x}.clamp(min=1e-12).",
    ),
    "DivBackward0": Formula(
        "It divides the gradient by {y}. Where {y} is 0, this is infinite, and NaN with a gradient or {x} of 0",
        "Keep the divisor away from 0: divide by {y} + 1e-12, or choose another divisor with torch.where first.",
    ),
    "ReciprocalBackward0": Formula(
        "It divides the gradient by {x} ** 2. Where {x} is 0, this is infinite, and NaN with a gradient of 0",
        "Keep the divisor away from 0: divide by {x} + 1e-12, or choose another divisor with torch.where first.",
    ),
    "PowBackward0": Formula(
        "It computes a power of {x} with the exponent reduced by 1. That is NaN where {x} is negative and the "
        "exponent is not an integer, and infinite where {x} is 0 and the exponent less than 1",
        "Keep the base positive: {x}.clamp(min=1e-12), or use an exponent for which the power is defined.",
    ),
    "LinalgVectorNormBackward0": Formula(
        "It divides {x} by its norm. If all of {x} is 0, this is 0 / 0",
        "Keep the norm away from 0: (({x} ** 2).sum() + 1e-12).sqrt().",
    ),
    "AcosBackward0": Formula(
        "It divides the gradient by sqrt(1 - {x} ** 2), which is 0 where {x} is 1 or -1 and NaN outside",
        "Keep the argument between -1 and 1: {x}.clamp(-1 + 1e-6, 1 - 1e-6).",
    ),
    "AsinBackward0": Formula(
        "It divides the gradient by sqrt(1 - {x} ** 2), which is 0 where {x} is at 1 or -1 and NaN outside",
        "Keep the argument between -1 and 1: {x}.clamp(-1 + 1e-6, 1 - 1e-6).",
    ),
    "Atan2Backward0": Formula(
        "It divides by {x} ** 2 + {y} ** 2. Where both are 0, this is 0 / 0",
        "Keep one of the arguments of atan2 away from 0.",
    ),
}


def anomaly(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a Node that returned NaN, with the call and the line that made it."""
    match = NAN.search(failure.message)
    node = last_node(failure, match[1]) if match is not None else None
    made = index(failure.trace).nodes.get(node) if node is not None else None
    if match is None or node is None or made is None:
        return None
    trace, formula = failure.trace, FORMULAS.get(match[1])
    where, edge = on_line(trace, made.seq), int(match[2])
    x, y = _names(trace, made.seq)
    output = f"the gradient of {_input(trace, node, made.seq, edge) or f'its {ordinal(edge + 1)} input'}"
    made_by = f"{node_title(trace, node, failure.raised)}, made on {where}{_formula_of(failure, made.seq)}"
    text = f"{made_by}, returned NaN as {output}."
    if formula is not None:
        text += f" {formula.text.format(x=x, y=y)}."
    numbers = _numbers(trace, made.seq)
    if numbers:
        text += f" In the forward pass {numbers}."
    fix = formula.fix.format(x=x, y=y) if formula is not None else ""
    found = diagnosed(failure, Statement("anomaly mode: NaN", text), _fixes(fix, where))
    unseen = "The recording does not have the values of these tensors."
    known = formula is None or numbers
    return found._replace(proof=(made.seq, failure.raised), unseen="" if known else unseen)


def _formula_of(failure: Failure, made: int) -> str:
    """Return `` by the formula of PowBackward0 (n0), which line 9 (y = x.pow(1.5)) made`` in a pass with
    ``create_graph``.
    """
    trace, running = failure.trace, around(failure.trace, made, ev.NodeStarted)
    first = index(trace).nodes.get(running.node) if running is not None else None
    if first is None:
        return ""
    title = node_title(trace, first.node, failure.raised)
    return f" by the formula of {title}, which {on_line(trace, first.seq)} made"


def _fixes(fix: str, where: str) -> tuple[str, ...]:
    return (fix,) if fix else (f"Print the arguments of the call on {where}, and look for 0, infinity and NaN.",)


def _arguments(trace: Trace, made: int) -> tuple[Argument, ...]:
    call = around(trace, made, ev.Dispatched)
    return () if call is None else of_call(trace, call)


def _input(trace: Trace, node: int, made: int, edge: int) -> str:
    """Return the argument that belongs to an edge; empty if it is not known that arguments and edges correspond."""
    found, edges = _arguments(trace, made), index(trace).edges.get(node)
    return found[edge].name if edges is not None and edge < len(found) == len(edges.edges) else ""


def _numbers(trace: Trace, made: int) -> str:
    """Return the recorded values: ``x was [0.0, 1.0]``."""
    each = [(one.name, short(numbers_of(trace, one.tensor, made))) for one in _arguments(trace, made)]
    return listed([f"{name} was {numbers}" for name, numbers in each if numbers])


def _names(trace: Trace, made: int) -> tuple[str, str]:
    """Return the names of the arguments in the formula."""
    found = _arguments(trace, made)
    names = [reference(each, f"its {ordinal(at + 1)} argument") for at, each in enumerate(found)]
    names += ["its first argument", "its second argument"][len(names) :]
    return names[0], names[1]


RULES = (("returned nan values in its", anomaly),)
