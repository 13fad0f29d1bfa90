"""Gradients that accumulate across iterations because the program never resets them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.calls import Call, calls_between, storage_of
from dispatchviz.explain.diagnosis.words import last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.lookups import events_between
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, nth

FIRST = 3
"""The number of gradients of a leaf that are read. If nothing resets it, the second one is already added."""

NAMED = 3
"""The number of leaves that are named."""

STEP = re.compile(r"([A-Za-z_][\w.]*)\.step\(")
"""The optimizer whose step a line calls."""


class Added(NamedTuple):
    """A gradient that was added to that of an earlier backward pass of the same line."""

    leaf: int
    at: int
    first: ev.BackwardStarted
    second: ev.BackwardStarted
    time: int
    """The number of times that the line had run by then."""
    use: int
    """The step between the passes that used the gradient."""


def accumulated(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each line whose backward pass adds to gradients that were already used."""
    by_line: dict[tuple[str, int], list[Added]] = defaultdict(list)
    for leaf, steps in _by_leaf(trace).items():
        pair = _added(trace, steps)
        if pair is None:
            continue
        first, second, at, time = pair
        line = source_line(trace, second.seq)
        place = (line.file, line.line) if line is not None else ("", 0)
        known = by_line[place]
        use = known[0].use if known else _use(trace, leaf, first, second)
        if use is not None and not _reset_later(trace, leaf, at):
            known.append(Added(leaf, at, first, second, time, use))
    yield from (_diagnosis(trace, known) for known in by_line.values() if known)


def _by_leaf(trace: Trace) -> dict[int, list[int]]:
    """Return the steps that wrote the gradient of each leaf that has several."""
    found: dict[int, list[int]] = defaultdict(list)
    tensors = trace.columns.tensors
    for step in trace.steps_of(ev.GradientAccumulated):
        found[tensors[step]].append(step)
    return {leaf: steps for leaf, steps in found.items() if len(steps) > 1}


def _added(trace: Trace, steps: list[int]) -> tuple[ev.BackwardStarted, ev.BackwardStarted, int, int] | None:
    """Return the first gradient that was added to another one of the same line: both passes, the step, the number of
    runs.
    """
    if not _is_added(trace, steps[-1]):
        return None
    for place in range(1, min(len(steps), FIRST)):
        if _is_added(trace, steps[place]):
            first, second = _pass(trace, steps[place - 1]), _pass(trace, steps[place])
            if first is None or second is None or first.seq == second.seq:
                return None
            return (first, second, steps[place], place + 1) if _same_line(trace, first, second) else None
    return None


def _is_added(trace: Trace, step: int) -> bool:
    event = trace[step]
    return isinstance(event, ev.GradientAccumulated) and event.how.startswith("added")


def _pass(trace: Trace, step: int) -> ev.BackwardStarted | None:
    """Return the outermost backward pass around a step, if it computes all gradients."""
    passes = [event for event in trace.ancestors(step) if isinstance(event, ev.BackwardStarted)]
    return passes[-1] if passes and not passes[-1].inputs else None


def _same_line(trace: Trace, first: ev.BackwardStarted, second: ev.BackwardStarted) -> bool:
    lines = [source_line(trace, each.seq) for each in (first, second)]
    one, other = lines
    return one is not None and other is not None and (one.file, one.line) == (other.file, other.line)


def _use(trace: Trace, leaf: int, first: ev.BackwardStarted, second: ev.BackwardStarted) -> int | None:
    """Return the step between two passes that prints a gradient, or updates its leaf with it; None if it was also
    reset.
    """
    begin = trace.ends[first.seq]
    entry = index(trace).gradients[leaf].latest(begin)
    gradient = None if entry is None else entry[1]
    if gradient is None:
        return None
    memory, own, used, use = storage_of(trace, gradient), storage_of(trace, leaf), False, None
    for call in calls_between(trace, begin + 1, second.seq):
        if _resets(trace, call, memory):
            return None
        used = used or gradient in call.tensors
        if use is None and used and own in (storage_of(trace, each) for each in call.written):
            use = call.seq
    if use is not None:
        return use
    printed = index(trace).steps_about(gradient, ev.TensorFormatted)
    return next((step for step in printed if begin < step < second.seq), None)


def _resets(trace: Trace, call: Call, memory: int) -> bool:
    """Return whether a call overwrites the memory of a gradient. Clipping only scales it by a tensor."""
    if memory not in (storage_of(trace, each) for each in call.written):
        return False
    return not (call.name in ("mul_", "_foreach_mul_") and not call.numbers(trace))


def _reset_later(trace: Trace, leaf: int, at: int) -> bool:
    """Return whether the program resets the gradient later, so that it may have been accumulated on purpose."""
    steps = index(trace).steps_about(leaf, ev.GradSet)
    events = [trace[step] for step in steps if step > at]
    return any(isinstance(event, ev.GradSet) and not event.retained for event in events)


def _diagnosis(trace: Trace, found: list[Added]) -> Diagnosis:
    one = found[0]
    names = [last_name(trace, each.leaf, each.at) for each in found]
    grads = [f"{name}.grad" for name in names[:NAMED]]
    more = [f"those of {len(names) - NAMED} more"] if len(names) > NAMED else []
    several = len(names) > 1
    text = (
        f"When {on_line(trace, one.second.seq)} runs for the {nth(one.time)} time, it adds the new "
        f"gradient{'s' * several} to {listed([*grads, *more])}. The program has not reset "
        f"{'them' if several else 'it'} since the first time."
    )
    if _runs_again(trace, one.use, one.at):
        what = "works with the sum of all gradients so far" if not several else "works with the sums of all gradients"
        text += f" So {on_line(trace, one.use)} {what}."
    line = on_line(trace, one.second.seq)
    step = STEP.search(_line_text(trace, one.use))
    fix = (
        f"Call {step[1]}.zero_grad() before {line} in each iteration."
        if step is not None
        else f"Reset the gradient in each iteration, before {line}: {names[0]}.grad = None."
    )
    cause = Statement("gradients accumulate across iterations", text)
    return Diagnosis("silent mistake", one.at, (cause,), "", (fix,), (one.first.seq, one.use, one.at))


def _runs_again(trace: Trace, use: int, after: int) -> bool:
    """Return whether the line of a step runs again soon after another step."""
    line = source_line(trace, use)
    later = islice(events_between(trace, ev.SourceLine, after, len(trace) - 1), 200)
    return line is not None and any((each.file, each.line) == (line.file, line.line) for each in later)


def _line_text(trace: Trace, step: int) -> str:
    line = source_line(trace, step)
    return "" if line is None else source_text(trace, line)


RULES = (accumulated,)
