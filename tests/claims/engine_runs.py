"""The work of PyTorch's engine in a statement, observed with hooks, in more detail than in ``pytorch_runs``.

Only facts that do not keep a gradient alive are noted, because the number of its holders decides what happens to it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch

from truth.observers.dispatcher import _gradient_edge
from truth.observers.runs import FILE, Run, preorder


@dataclass
class Call:
    """One call of the engine."""

    roots: list[Any]
    nodes: list[Any]
    """The Nodes, as in ``pytorch_runs.Pass``."""
    outputs: dict[int, tuple[bool, ...]] = field(default_factory=dict)
    """Index of a Node -> for each gradient that it returned, whether it is defined."""
    written: dict[int, str] = field(default_factory=dict)
    """The way in which each AccumulateGrad wrote ``.grad``, by its place; empty if it is unknown."""
    captured: tuple[bool, ...] = ()
    """The requested gradients that were computed."""
    failed: bool = False


Watch = Callable[[Call], list[Any]]
"""A function that puts hooks on the Nodes of a call and returns their handles."""


def watch_outputs(call: Call) -> list[Any]:
    """Record the results of Nodes. A Node with a post hook keeps its inputs alive while it runs."""

    def hook(place: int) -> Callable[[Any, Any], None]:
        return lambda given, _: call.outputs.__setitem__(place, tuple(gradient is not None for gradient in given))

    return [node.register_hook(hook(place)) for place, node in enumerate(call.nodes)]


def watch_writes(call: Call) -> list[Any]:
    """Record how ``.grad`` is written."""
    handles = []
    for place, node in enumerate(call.nodes):
        if node.name() == "torch::autograd::AccumulateGrad":
            handles += _watch_leaf(call, place, node)
    return handles


def _watch_leaf(call: Call, place: int, node: Any) -> list[Any]:
    leaf, seen = node.variable, []

    def before(gradients: Any) -> None:
        (gradient,) = gradients
        seen[:] = [] if gradient is None else [leaf.grad, gradient.data_ptr()]

    def after(_: Any) -> None:
        if seen:
            call.written[place] = _how(leaf.grad, *seen)

    return [node.register_prehook(before), leaf.register_post_accumulate_grad_hook(after)]


def _how(now: Any, before: Any, memory: int) -> str:
    if before is not None:
        return "added in place" if now is before else "added out of place"
    if not memory or now is None:
        return ""  # a gradient without elements has no address
    return "stolen" if now.data_ptr() == memory else "copied"


@lru_cache(maxsize=4)
def calls(source: str, position: int, watch: Watch) -> tuple[Call, ...]:
    """Return the calls of the engine in statement ``position`` of a program, counted from 0."""
    run, found = Run(torch, source), list[Call]()
    *before, last = ast.parse(source).body[: position + 1]
    for statement in before:
        run.execute(compile(ast.Module([statement], []), FILE, "exec"))
    with _watched(found, watch):
        run.execute(compile(ast.Module([last], []), FILE, "exec"))
    return tuple(found)


@contextmanager
def _watched(found: list[Call], watch: Watch) -> Iterator[None]:
    original = torch.autograd._engine_run_backward  # type: ignore[attr-defined]

    def run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
        edges = [_gradient_edge(root) for root in roots]
        if None in edges:
            return original(roots, *args, **kwargs)
        starts = [edge[0] for edge in edges if edge is not None]
        call = Call(starts, preorder(starts))
        found.append(call)
        handles = watch(call)
        try:
            result = original(roots, *args, **kwargs)
        except BaseException:
            call.failed = True
            raise
        finally:
            for handle in handles:
                handle.remove()
        call.captured = tuple(gradient is not None for gradient in result or ())
        return result

    torch.autograd._engine_run_backward = run_backward  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = original  # type: ignore[attr-defined]
