"""The same program on a real PyTorch up to a moment. It is run again each time, so that a check may change things."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from tests.claims.moments import Path, log_nothing
from truth.observers.dispatcher import watched_engine
from truth.observers.runs import FILE, Run, preorder


@dataclass
class Pass:
    """One call of the engine."""

    nodes: list[Any]
    """All Nodes that can be reached from its roots, in preorder."""
    ran: list[int] = field(default_factory=list)
    """Indices in ``nodes``, in the order of execution."""


class Passes:
    """The calls of the engine, noted by ``watched_engine``."""

    def __init__(self) -> None:
        self.met: list[Pass] = []

    @contextlib.contextmanager
    def watching(self, roots: list[tuple[Any, int]]) -> Iterator[None]:
        """Watch one backward from some gradient edges."""
        found = Pass(preorder([node for node, _ in roots]))
        self.met.append(found)
        hooks = [node.register_prehook(lambda _, i=i: found.ran.append(i)) for i, node in enumerate(found.nodes)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


@dataclass
class PyTorchRun:
    """A program on PyTorch that has run up to and including a statement of its top level."""

    run: Run
    passes: list[Pass]
    """The calls of the engine in the last statement."""

    def tensor(self, name: str) -> Any:
        """Return the tensor that a variable names."""
        return self.run.variables[name]

    def node(self, path: Path) -> Any:
        """Return the Node at the end of some edges, or None if the graph has changed."""
        node = self.tensor(path[0]).grad_fn
        for edge in path[1]:
            if node is None or edge >= len(node.next_functions):
                return None
            node = node.next_functions[edge][0]
        return node


def run_on_pytorch(source: str, position: int) -> PyTorchRun:
    """Run a program up to its statement ``position``, counted from 0. An error is stored in ``run.error``."""
    _reset_settings()
    run, passes = Run(torch, source), Passes()
    *before, last = ast.parse(source).body[: position + 1]
    for statement in before:
        run.execute(_compiled(statement))
    with watched_engine(passes):  # type: ignore[arg-type]
        run.execute(_compiled(last))
    return PyTorchRun(run, passes.met)


def _reset_settings() -> None:
    """Reset settings that another program, or the first statements of this one, may have left behind."""
    log_nothing()
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.autograd.set_detect_anomaly(False)
    torch.use_deterministic_algorithms(False)
    for enable in ("flash", "math", "mem_efficient", "cudnn"):
        getattr(torch.backends.cuda, f"enable_{enable}_sdp")(True)


def _compiled(statement: ast.stmt) -> Any:
    return compile(ast.Module([statement], []), FILE, "exec")
