"""A program on the model, statement by statement: its claims, and the way to find their subjects in PyTorch.

The numbers of a trace mean nothing to PyTorch. So a tensor is found by a variable that names it, a Node by a variable
and the edges that lead to it from there. Both runs have the same variables and the same graphs, which other tests
check. A Node that no variable leads to can still be found in its backward pass, by its place there.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dispatchviz import torch as model
from dispatchviz.core.autograd.engine import engine
from dispatchviz.core.seam import recorder
from dispatchviz.explain.kinds.all_kinds import statements
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.running.instrumented_source import compile_instrumented
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.recording import Recording
from dispatchviz.trace import Trace
from truth.observers.runs import Run, in_new_thread, preorder

FILE = "program.py"

Path = tuple[str, tuple[int, ...]]
"""A variable, and the edges to follow from its grad_fn."""


@dataclass(frozen=True)
class Pass:
    """One call of the engine: the trace's numbers of all Nodes that can be reached from its roots, in preorder."""

    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Moment:
    """A moment just after a statement of the program's top level."""

    position: int
    """The index of the statement, from 0."""
    line: int
    steps: range
    """The events of the statement."""
    tensors: dict[int, str]
    """Tensor of the trace -> the variable that names it now."""
    nodes: dict[int, Path]
    """Node of the trace -> the path to it now."""
    passes: tuple[Pass, ...]
    """The calls of the engine in the statement, in order."""


@dataclass
class ModelRun:
    """A whole program on the model."""

    source: str
    trace: Trace
    moments: list[Moment] = field(default_factory=list)

    def statements_at(self, moment: Moment) -> Iterator[tuple[int, Statement]]:
        """Yield every statement about the events of a moment, with its step."""
        for seq in moment.steps:
            for statement in statements(self.trace, seq):
                yield seq, statement


def run_on_model(source: str) -> ModelRun:
    """Run a program on the model, recorded as a script's run is, in a thread of its own."""
    log_nothing()
    found: ModelRun = in_new_thread(lambda: _run(source))
    return found


def log_nothing() -> None:
    """Reset the log, as in a new process. A run that ends halfway through a program may have left a level behind."""
    logging.getLogger("torch.autograd.graph").setLevel(logging.NOTSET)


def _run(source: str) -> ModelRun:
    watcher = ProgramRecorder()
    watcher.announced[FILE] = FILE
    watcher.sources[FILE] = source
    trace = Recording(FILE, watcher)
    result = ModelRun(source, trace)
    run, passes = Run(model, source), []
    original = engine.execute

    def execute(roots: Any, *args: Any, **kwargs: Any) -> Any:
        passes.append([edge.function for edge in roots])
        nodes = preorder(passes.pop())
        passes.append(nodes)
        return original(roots, *args, **kwargs)

    recorder.start(watcher)
    engine.execute = execute
    try:
        for position, statement in enumerate(ast.parse(source).body):
            before = len(watcher.events)
            run.execute(_compiled(source, statement, watcher))
            steps = range(before, len(watcher.events))
            result.moments.append(_moment(run, watcher, position, statement.lineno, steps, passes))
            passes.clear()
            if run.error is not None:
                break
    finally:
        engine.execute = original
        recorder.stop(watcher)
        trace.finish()
    return result


def _compiled(source: str, statement: ast.stmt, watcher: ProgramRecorder) -> Any:
    """Compile one statement at its own line."""
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    lines = source.splitlines()[first - 1 : statement.end_lineno]
    text = "\n" * (first - 1) + "\n".join(lines)
    return compile_instrumented(text, FILE, watcher)


def _moment(
    run: Run, watcher: ProgramRecorder, position: int, line: int, steps: range, passes: list[list[Any]]
) -> Moment:
    first, first_node = watcher.first_tensor, watcher.first_node
    named = {t._number - first: name for name, t in run.tensors.items() if t._number >= first}
    nodes = {node._number - first_node: path for node, path in _reached(run) if node._number >= first_node}
    met = tuple(Pass(tuple(node._number - first_node for node in found)) for found in passes)
    return Moment(position, line, steps, named, nodes, met)


def _reached(run: Run) -> Iterator[tuple[Any, Path]]:
    """Yield every Node that a variable leads to. The slot is read, because the attribute can create a Node."""
    seen: set[Any] = set()
    for name, tensor in run.tensors.items():
        waiting = [(tensor._grad_fn, (name, ()))] if tensor._grad_fn is not None else []
        while waiting:
            node, path = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            yield node, path
            edges = [(i, target) for i, (target, _) in enumerate(node.next_functions) if target is not None]
            waiting += [(target, (path[0], (*path[1], i))) for i, target in reversed(edges)]
