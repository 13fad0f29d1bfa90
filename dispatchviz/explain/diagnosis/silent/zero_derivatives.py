"""Operators whose derivative is zero everywhere, on every path from the loss to a leaf, which gets a gradient of
zeros.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.leaves import leaves_behind, named
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.lookups import StepsByKind, between
from dispatchviz.explain.trace_index.trace_index import index

ZERO = ("Round", "Sign", "Floor", "Ceil", "Trunc", "Bernoulli")
NAMES = tuple(f"{each}Backward{number}" for each in ZERO for number in range(3))
"""The Nodes whose formula always returns zeros."""


def zero_derivatives(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each line whose backward pass gives some leaves only zeros."""
    columns = trace.columns
    of_name, of_node = StepsByKind(columns, columns.of_name), StepsByKind(columns, columns.of_node)
    numbers = [number for number, text in enumerate(columns.name_texts) if text in NAMES]
    nodes = {columns.nodes[step] for number in numbers for step in of_name.steps(number, ev.NodeCreated)}
    passes: dict[int, ev.BackwardStarted] = {}
    for step in sorted(step for node in nodes for step in of_node.steps(node, ev.NodeStarted)):
        around = next((each for each in trace.ancestors(step) if isinstance(each, ev.BackwardStarted)), None)
        if around is not None:
            passes.setdefault(around.seq, around)
    seen = set[tuple[str, int]]()
    for started in passes.values():
        line = source_line(trace, started.seq)
        place = ("", 0) if line is None else (line.file, line.line)
        if place not in seen and (found := _diagnosis(trace, started, nodes)) is not None:
            seen.add(place)
            yield found


def _diagnosis(trace: Trace, started: ev.BackwardStarted, zero: set[int]) -> Diagnosis | None:
    roots = [node for node, _ in started.roots]
    if not started.accumulate or started.inputs:
        return None
    alive = set(leaves_behind(trace, roots, without=zero))
    lost = [each for each in leaves_behind(trace, roots) if each not in alive and _written(trace, each, started.seq)]
    first = next((node for node in _ran(trace, started.seq) if node in zero), None)
    made = None if first is None else index(trace).nodes.get(first)
    call = None if made is None else next(calls_around(trace, made.seq), None)
    if not lost or first is None or call is None:
        return None
    operator, where, names = base_name(call), on_line(trace, call.seq), named(trace, lost, started.seq)
    same = source_line(trace, call.seq) == source_line(trace, started.seq)
    text = (
        f"The derivative of {operator} on {where} is 0 everywhere, so {node_title(trace, first, started.seq)} returns "
        f"zeros. In the backward pass on {on_line(trace, started.seq, text=not same)} every path to {names} leads "
        f"through a Node like this. So {names} get{'s' if len(lost) == 1 else ''} a gradient of zeros."
    )
    cause = Statement("derivative that is zero everywhere", text)
    inputs = arguments_of(trace, call)
    name = last_name(trace, inputs[0], call.seq) if inputs else "its input"
    passing = f"x + (x.{operator.rstrip('_')}() - x).detach(){'' if name == 'x' else f', with x for {name}'}"
    fix = f"Remove {operator} on {on_line(trace, call.seq, text=False)}, or let the gradient pass it: {passing}."
    return Diagnosis("gradient that never arrives", started.seq, (cause,), "", (fix,), (call.seq, started.seq))


def _ran(trace: Trace, started: int) -> Iterator[int]:
    """Yield the Nodes that ran in a backward pass, in order."""
    steps = between(trace, ev.NodeStarted, started, trace.ends[started])
    return (trace.columns.nodes[step] for step in steps)


def _written(trace: Trace, leaf: int, started: int) -> bool:
    """Return whether a backward pass wrote to a leaf's ``.grad``."""
    steps = index(trace).steps_about(leaf, ev.GradientAccumulated)
    return any(started < step <= trace.ends[started] for step in steps)


RULES = (zero_derivatives,)
