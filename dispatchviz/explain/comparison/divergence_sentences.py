"""The texts about a divergence: the lines that differ, the cause, its effects on these lines, and the steps to open."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.difference_sentences import Run, said
from dispatchviz.explain.comparison.divergences import Comparison, Divergence, Lines
from dispatchviz.explain.comparison.tree_alignment import Difference
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.foundation.english import capital, shortened

WIDTH = 64
"""The length at which a line of the program is cut."""


def sameness(found: Comparison) -> str:
    """Return the text about two runs without a divergence."""
    ways = "Both runs took the same path: the same calls, keys, kernels and Nodes."
    if found.hashed:
        return f"{ways} Every result has the same numbers."
    return f"{ways} Their numbers were not compared. To compare them, record both runs with --hashes."


def texts(first: Run, second: Run, divergence: Divergence) -> Iterator[str]:
    """Yield the texts about a line: the cause, and its effects on the line itself."""
    yield said(first, second, divergence.main).text
    effect = next((found for found in divergence.further if _is_effect(first, second, found)), None)
    if effect is not None and not _is_effect(first, second, divergence.main):
        yield said(first, second, effect).text


def _is_effect(first: Run, second: Run, found: Difference) -> bool:
    """Return whether a difference is an effect on a call: its operator, its key, its Node."""
    if found.first is None or found.second is None:
        return False
    kinds = {type(first.trace[found.first]), type(second.trace[found.second])}
    return kinds <= EFFECTS and kinds != {ev.NoNodeMade}


EFFECTS = {ev.Dispatched, ev.NodeCreated, ev.NoNodeMade}


def lines_of(first: Run, second: Run, lines: Lines) -> list[str]:
    """Return the line, such as ``line 5, z = x + y``, or the line of each run if its text differs."""
    ours, theirs = (_of_line(run.trace, line) for run, line in zip((first, second), lines, strict=True))
    known = [(each, run) for each, run in ((ours, first), (theirs, second)) if each is not None]
    if ours is not None and ours == theirs:
        return [f"line {ours[0]}: {ours[1]}"]
    if ours is not None and theirs is not None and ours[1] == theirs[1]:
        return [f"line {ours[0]} {first.where}, line {theirs[0]} {second.where}: {ours[1]}"]
    return [f"line {number} {run.where}: {text}" for (number, text), run in known] or ["the beginning"]


def _of_line(trace: Trace, line: int | None) -> tuple[int, str] | None:
    event = trace[line] if line is not None else None
    if not isinstance(event, ev.SourceLine):
        return None
    return event.line, shortened(source_text(trace, event) or event.file, WIDTH)


def steps_of(first: Run, second: Run, found: Difference) -> str:
    """Return the steps to open: ``step 71 in plain.py, step 73 in no_grad.py``."""
    steps = ((found.first, first), (found.second, second))
    return capital(", ".join(f"step {run.number(step)} {run.where}" for step, run in steps if step is not None))


def raised(trace: Trace) -> int | None:
    """Return the step at which an error ends a run."""
    last = len(trace) - 1
    return last if last >= 0 and isinstance(trace[last], ev.ProgramRaised) else None
