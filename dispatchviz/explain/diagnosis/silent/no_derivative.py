"""An operator without an autograd kernel. PyTorch warns, and only the calls within its kernel are recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.foundation.english import listed

MESSAGE = re.compile(r"(\w+::\w+(?:\.\w+)?): an autograd kernel was not registered")


def no_derivative(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each warning that an operator has no autograd kernel."""
    for step in trace.steps_of(ev.Warned):
        warned = trace[step]
        found = MESSAGE.match(warned.message) if isinstance(warned, ev.Warned) else None
        if isinstance(warned, ev.Warned) and found is not None:
            call = _call(trace, found[1], step)
            yield _diagnosis(trace, warned, found[1], call)


def _call(trace: Trace, operator: str, until: int) -> int | None:
    """Return the last call of an operator before a step, made by the program."""
    steps = [each for name, _, steps in trace.columns.calls() if name == operator for each in steps if each < until]
    return min(steps, default=None)


def _diagnosis(trace: Trace, warned: ev.Warned, operator: str, call: int | None) -> Diagnosis:
    where = f", called on {on_line(trace, call)}," if call is not None and on_line(trace, call) else ""
    own = [] if call is None else _nodes(trace, call)
    text = f"{operator}{where} has no kernel for the Autograd keys. "
    if own:
        text += f"In the graph are only the Nodes of the operators that its kernel calls: {listed(own)}."
    else:
        text += "It has no Node in the graph, so its inputs get no gradient through it."
    fix = f'Give {operator} a formula: torch.library.register_autograd("{operator}", backward, setup_context=...).'
    proof = (warned.seq,) if call is None else (call, warned.seq)
    cause = Statement("operator without an autograd kernel", text)
    return Diagnosis("warning", warned.seq if call is None else call, (cause,), warned.message, (fix,), proof)


def _nodes(trace: Trace, call: int) -> list[str]:
    """Return the names of the Nodes made within a call, each once, without those that have no formula."""
    made = (trace[step] for step in between(trace, ev.NodeCreated, call, trace.ends[call]))
    names = (event.name for event in made if isinstance(event, ev.NodeCreated))
    return list(dict.fromkeys(name for name in names if "::" not in name))


RULES = (no_derivative,)
