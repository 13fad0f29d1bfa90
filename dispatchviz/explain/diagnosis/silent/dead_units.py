"""Gradients that are zero from a Node on in every backward pass: dead ReLUs, saturated clamps.

Found only in recordings with numbers (``--values``, ``dispatchviz why``).
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.leaves import leaves_behind, named
from dispatchviz.explain.diagnosis.silent.recorded_numbers import Run, all_zero, last_numbers, runs, short, until
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.things.calls_around import calls_around
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, listed

GATES = ("Relu", "Threshold", "Clamp", "ClampMin", "ClampMax", "Hardtanh", "Hardsigmoid")
NAMES = tuple(f"{each}Backward{number}" for each in GATES for number in range(2))
"""The Nodes that pass a gradient on for some inputs, and zero for the others."""


def dead_units(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis if leaves behind a gate get only zeros in every known pass."""
    if not any(name in NAMES for name in trace.columns.name_texts):
        return
    numbers = trace.steps_of(ev.NumbersRecorded)
    passes = [trace[step] for step in trace.steps_of(ev.BackwardStarted) if len(numbers) and step < numbers[-1]]
    own = [each for each in passes if isinstance(each, ev.BackwardStarted) and each.accumulate and not each.inputs]
    if not own or not (gates := _closed(trace, own[0])):
        return
    lost = _lost(trace, own[0], gates)
    if lost and all(set(lost) <= set(_zeros(trace, each)) for each in own):
        yield _diagnosis(trace, own, gates[0], lost)


def _closed(trace: Trace, started: ev.BackwardStarted) -> list[Run]:
    """Return the gates that received a nonzero gradient in a pass and returned zeros."""
    return [
        run
        for run in runs(trace, started)
        if run.started.name in NAMES and any(not all_zero(each) for each in run.got) and _returned_zero(run)
    ]


def _returned_zero(run: Run) -> bool:
    return bool(run.returned) and all(map(all_zero, run.returned))


def _lost(trace: Trace, started: ev.BackwardStarted, gates: list[Run]) -> list[int]:
    """Return the leaves that a pass reaches only through closed gates."""
    roots, closed = [node for node, _ in started.roots], {run.started.node for run in gates}
    alive = set(leaves_behind(trace, roots, without=closed))
    zero = set(_zeros(trace, started))
    return [each for each in leaves_behind(trace, roots) if each not in alive and each in zero]


def _zeros(trace: Trace, started: ev.BackwardStarted) -> Iterator[int]:
    """Yield the leaves to which a pass gives zeros, as far as the numbers are known. Others may be zero too."""
    for run in runs(trace, started):
        made = index(trace).accumulators.get(run.started.node)
        if made is not None and all(not numbers or all_zero(numbers) for numbers in run.got):
            yield made.tensor


def _diagnosis(trace: Trace, passes: list[ev.BackwardStarted], gate: Run, lost: list[int]) -> Diagnosis:
    at, first = gate.end, passes[0]
    made = index(trace).nodes.get(gate.started.node)
    call = None if made is None else next(calls_around(trace, made.seq), None)
    title, names = node_title(trace, gate.started.node, at), named(trace, lost, at)
    got = listed([short(each) for each in gate.got])
    several, unseen = counted(len(passes), "backward pass", "backward passes"), until(trace)
    often = f"each of the {'first ' if unseen else ''}{several} on" if len(passes) > 1 else "the backward pass on"
    text = (
        f"In {often} {on_line(trace, first.seq)} {names} get{'s' if len(lost) == 1 else ''} a gradient of zeros. "
        f"{title} receives {got} and returns zeros."
    )
    if call is not None:
        own = arguments_of(trace, call)
        argument = last_name(trace, own[0], call.seq) if own else ""
        numbers = last_numbers(trace, own[0], call.seq + 8) if own else ""
        of = f" from {argument} = {short(numbers)}" if numbers else ""
        text += (
            f" {base_name(call)} on {on_line(trace, call.seq)} made it{of}: no element is in the range where its "
            "derivative is 1."
        )
    operator = base_name(call) if call is not None else title
    fix = (
        f"Move some inputs of {operator} into the range where its derivative is not 0: with other initial values, a "
        f"smaller learning rate, or {'leaky_relu' if 'relu' in operator else 'wider bounds'}."
    )
    cause = Statement("gradient of zeros after a gate", text)
    return Diagnosis("gradient that never arrives", at, (cause,), "", (fix,), (gate.started.seq, at), unseen)


RULES = (dead_units,)
