"""Run a program on the model and write the same record that ``truth/recorders/programs.py`` makes of PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.autograd.engine import engine
from dispatchviz.core.record.events import (
    BackwardStarted,
    BindingEntered,
    Dispatched,
    GuardEntered,
    HookRan,
    KeySetComputed,
    NodeCreated,
    NodeStarted,
)
from dispatchviz.trace import Trace
from truth.observers.runs import Graphs, Run, autograd_facts, in_new_thread, used_sequence_numbers

Record = dict[str, Any]


def model_record(source: str) -> Record:
    """Return the record of a program on the model."""
    run, stepped = Run(model, source), Run(model, source)
    log, numbers = in_new_thread(lambda: (model_log(run), used_sequence_numbers(model)))
    graphs = Graphs(stepped)
    with watched_engine(graphs):
        facts = in_new_thread(lambda: autograd_facts(stepped))
    assert str(stepped.end) == str(run.end), f"a recorded run must end like an unrecorded one\n{run.end}\n{stepped.end}"
    assert not model.is_warn_always_enabled(), "a program leaves its switches to the next one"
    return {"log": log, "sequence_numbers": numbers, "facts": facts, "graphs": graphs.noted, **run.end}


def recorded(source: str) -> Trace:
    """Return the trace of a program of ``truth/programs``, recorded in a new thread."""

    def record() -> Trace:
        with dispatchviz.record() as trace:
            Run(model, source).whole()
        return trace

    found: Trace = in_new_thread(record)
    return found


def model_log(run: Run) -> list[list[Any]]:
    """Run a program and list its dispatch steps."""
    with dispatchviz.record() as trace:
        run.whole()
    return list(dispatch_steps(trace))


def dispatch_steps(trace: Trace) -> Iterator[list[Any]]:
    """Yield the log as ``record_torch`` writes it, with 0 for the program's line."""
    depths: dict[int | None, int] = {None: 0}
    for event in trace:
        depth = depths[event.parent]
        depths[event.seq] = depth + isinstance(event, Dispatched)
        if isinstance(event, Dispatched) and not event.operator.startswith("profiler::"):  # not watched in PyTorch
            how = "redispatch" if event.how.startswith("redispatch") else "call"
            sets = thread_sets(trace, event)
            yield [depth, 0, event.operator, event.key, event.key_set, *sets, how, evaluated_node(trace, event)]


def thread_sets(trace: Trace, event: Dispatched) -> tuple[int, int]:
    """Return the thread-local include and exclude sets: those that the call itself read, else those of the guard or
    call around it.
    """
    for outer in (event, *trace.ancestors(event.seq)):
        if isinstance(outer, GuardEntered):
            return outer.included, outer.excluded
        computed = next((e for e in trace.children(outer.seq) if isinstance(e, KeySetComputed)), None)
        if isinstance(outer, Dispatched) and computed is not None:
            return computed.included, computed.excluded
    raise AssertionError(f"step {event.seq} is a redispatch outside of any call")


def evaluated_node(trace: Trace, event: Dispatched) -> str | None:
    """Return the Node that the engine evaluates, which includes adding up its outputs."""
    within = event.seq
    for outer in trace.ancestors(event.seq):
        if isinstance(outer, NodeStarted):
            return outer.name
        if isinstance(outer, BackwardStarted):
            return _between_nodes(trace, outer, within)
        within = outer.seq
    return None


def _between_nodes(trace: Trace, backward: BackwardStarted, within: int) -> str | None:
    """Return the Node for an event outside of any Node's evaluation: for a hook the Node that it is called for, for a
    sum of gradients the Node that ran last.
    """
    inside = list(trace.children(backward.seq))
    after = next((e for e in inside if e.seq > within and not isinstance(e, (Dispatched, BindingEntered))), None)
    if isinstance(after, HookRan):
        return next(e.name for e in trace if isinstance(e, NodeCreated) and e.node == after.node)
    started = [e for e in inside if isinstance(e, NodeStarted) and e.seq < within]
    return started[-1].name if started else None


@contextlib.contextmanager
def watched_engine(graphs: Graphs) -> Iterator[None]:
    """Note every backward pass of the model while the block runs."""
    original = engine.execute

    def execute(roots: Any, *args: Any, **kwargs: Any) -> Any:
        with graphs.watching([(edge.function, edge.input_nr) for edge in roots]):
            return original(roots, *args, **kwargs)

    engine.execute = execute
    try:
        yield
    finally:
        engine.execute = original
