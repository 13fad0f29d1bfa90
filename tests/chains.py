"""The chains of ``examples/chains`` as text: the nested dispatches of each statement, in a readable notation.

A step is a line::

    how operator key-set -> key cell kernel (reason) sets

``sets`` are the changes that guards and modes have made to the thread-local sets by the time of the dispatch: ``excl
0x3c00000000`` is excluded in addition to the defaults, ``excl -0x8000000000`` no longer is, and ``incl`` is similar.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set
from dispatchviz.core.record.events import Dispatched, KernelSelected
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from scripts.write_call_chains import PROGRAMS, is_setup, statement
from tests.model_runs import dispatch_steps, thread_sets
from truth import records


@cache
def measured() -> dict[str, Any]:
    """Return PyTorch's record of the programs (``truth/recorders/call_chains.py``)."""
    return records.read("call_chains")["programs"]  # type: ignore[no-any-return]


@cache
def trace_of(name: str) -> Trace:
    """Return a program's trace on the model."""
    return run(str(PROGRAMS / f"{name}.py")).trace


def chains(trace: Trace) -> dict[str, str]:
    """Return the text of the dispatches of each statement."""
    found: dict[str, str] = {}
    for event in trace:
        if isinstance(event, Dispatched):
            around = [e for e in trace.ancestors(event.seq) if isinstance(e, Dispatched)]
            line = f"{'  ' * len(around)}{step(trace, event)}\n"
            place = statement(trace, event)
            if not is_setup(place):
                found[place] = found.get(place, "") + line
    return found


def step(trace: Trace, event: Dispatched) -> str:
    """Return one dispatch as text."""
    cell = next((e for e in trace.children(event.seq) if isinstance(e, KernelSelected)), None)
    kernel = f"{cell.cell} {cell.kernel} ({cell.reason})" if cell else "no kernel"
    sets = "".join(_sets(*thread_sets(trace, event)))
    return f"{event.how} {event.operator} {event.key_set:#x} -> {event.key} {kernel}{sets}"


def _sets(included: int, excluded: int) -> Iterator[str]:
    for word, keys, default in (("incl", included, default_included_set), ("excl", excluded, default_excluded_set)):
        if keys & ~default:
            yield f" {word} {keys & ~default:#x}"
        if default & ~keys:
            yield f" {word} -{default & ~keys:#x}"


def bare_steps(trace: Trace) -> Iterator[list[Any]]:
    """Yield the dispatches as ``record_chains`` writes them, without lines and Nodes, as far as a CPU build can run
    them.
    """
    steps = dispatch_steps(trace)
    within_cuda = False
    for event in trace:
        if isinstance(event, Dispatched):
            depth, _, *facts, _ = next(steps)
            if depth == 0:
                within_cuda = '"cuda"' in statement(trace, event)
            if not within_cuda:
                yield [depth, *facts]
