"""Custom Functions whose ``backward`` returns nothing, which PyTorch silently treats as no gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.call_errors.functions import method_of, returns_nothing
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import failure
from dispatchviz.explain.diagnosis.modules import program_nodes
from dispatchviz.explain.sentences.statement import Statement


def empty_backward(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each Function whose ``backward`` ran and returns nothing, which PyTorch silently treats as
    None.
    """
    if failure(trace) is not None:
        return
    classes = [node for node in program_nodes(trace) if isinstance(node, ast.ClassDef)]
    for name, method in ((each.name, method_of(trace, each.name, "backward")) for each in classes):
        step = _started(trace, f"{name}Backward") if returns_nothing(method) else None
        if method is not None and step is not None:
            yield _nothing(name, method.lineno, step)


def _nothing(name: str, line: int, step: int) -> Diagnosis:
    text = (
        f"{name}.backward (line {line}) returns no value, which autograd treats as None: no gradient flows on from "
        f"{name}Backward, so the leaves behind it get no gradient through it."
    )
    cause = Statement("Function: backward has no return", text)
    fix = f"Return one gradient for each input of forward at the end of {name}.backward."
    return Diagnosis("gradient that never arrives", step, (cause,), "", (fix,), (step,))


def _started(trace: Trace, name: str) -> int | None:
    """Return the step at which the engine began to evaluate the first Node of a name."""
    for step in trace.steps_of(ev.NodeStarted):
        event = trace[step]
        if isinstance(event, ev.NodeStarted) and event.name == name:
            return step
    return None


RULES = (empty_backward,)
