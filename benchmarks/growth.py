"""Time per event for programs that are ten and a hundred times as long.

    python -m benchmarks.growth [--quick] [PROGRAM ...]

Each program has n of one thing. It is recorded at n, 10 n and 100 n. Each stage on the way to the reader is timed by
itself, in processor time per event of the trace; for n and 10 n the smallest of some rounds counts. A stage that grows
by more than the bar is not linear. The garbage collector is paused, because its cost depends on all that is in memory.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dispatchviz
from benchmarks.sizes import QUICK, judge
from dispatchviz import torch as model
from dispatchviz.core.record.events import VersionBumped
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.graph.version_counters import undetected_by
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.trace import Trace

BAR = 2.0
"""The increase in time per event from n to 100 n that is still noise, cache misses and logarithms."""

Program = Callable[[int], object]
Stage = Callable[[Trace], object]


def leaf() -> model.Tensor:
    """Return a tensor that requires grad."""
    return model.ones(2, requires_grad=True)


# -- programs with n of one thing -------------------------------------------------------------------------------------


def chain(n: int) -> None:
    """Additions, each of the previous result."""
    x = z = leaf()
    for _ in range(n):
        z = z + x
    z.sum().backward()


def branches(n: int) -> None:
    """Branches that are ready at once."""
    x = leaf()
    model.stack([x.sin() for _ in range(n)]).sum().backward()


def leaves(n: int) -> None:
    """Leaves, each with a gradient."""
    model.stack([leaf() for _ in range(n)]).sum().backward()


def uses(n: int) -> None:
    """Uses of one leaf by one Node."""
    x = leaf()
    model.stack([x] * n).sum().backward()


def requested(n: int) -> None:
    """Gradients that ``grad`` returns."""
    inputs = [leaf() for _ in range(n)]
    model.autograd.grad(model.stack([x.sin() for x in inputs]).sum(), inputs)


def pruned(n: int) -> None:
    """Nodes that are not needed for the one requested gradient."""
    inputs = [leaf() for _ in range(n)]
    model.autograd.grad(model.stack([x.sin() for x in inputs]).sum(), inputs[:1])


def backwards(n: int) -> None:
    """Backward passes into one leaf."""
    x = leaf()
    for _ in range(n):
        (x * x).sum().backward()


def retained(n: int) -> None:
    """Backward passes through one graph."""
    y = leaf().exp().sum()
    for _ in range(n):
        y.backward(retain_graph=True)


def training(n: int) -> None:
    """Steps of an optimizer."""
    layer = model.nn.Linear(2, 2)
    optimizer = model.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(n):
        optimizer.zero_grad()
        loss = layer(model.ones(1, 2)).sum()
        loss.backward()
        optimizer.step()


def reentrant(n: int) -> None:
    """Backward passes that hooks run, one after the other, within an outer one."""

    def inner(_: object) -> None:
        with model.enable_grad():
            leaf().exp().sum().backward()

    parts = [leaf().sin() for _ in range(n)]
    for part in parts:
        part.register_hook(inner)
    model.stack(parts).sum().backward()


def writes(n: int) -> None:
    """Writes to one tensor whose every version a Node has saved."""
    x, z = leaf(), model.ones(2)
    for _ in range(n):
        x * z
        z.add_(1)


def packed(n: int) -> None:
    """Writes to one tensor that Nodes have saved through hooks."""
    x, z = leaf(), model.ones(2)
    with model.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        for _ in range(n):
            x * z
            z.add_(1)


def views(n: int) -> None:
    """Views of one base, each written to."""
    base = leaf() * 1
    for _ in range(n):
        base.view(2).mul_(2)
    base.sum().backward()


def views_of_views(n: int) -> None:
    """Views, each of the previous one."""
    x = leaf()
    for _ in range(n):
        x = x.view(2)
    x.sum().backward()


def hooks(n: int) -> None:
    """Hooks of one tensor."""
    x = leaf()
    for _ in range(n):
        x.register_hook(lambda grad: grad)
    x.sum().backward()


def modules(n: int) -> None:
    """Modules, each within the previous one."""
    layer: model.nn.Module = model.nn.Tanh()
    for _ in range(n):
        layer = model.nn.Sequential(layer)
    layer(leaf()).sum().backward()


def names(n: int) -> None:
    """Assignments that alternate between two tensors."""
    source = f"x, y = torch.ones(1), torch.ones(1)\nfor _ in range({n}):\n    z = x\n    z = y\n    z + 1\n"
    exec(compile(source, "<names>", "exec"), {"torch": model})


def recursion(n: int) -> None:
    """Calls of a function, each within the previous one."""

    def down(x: model.Tensor, depth: int) -> model.Tensor:
        y = x + 1
        return down(y, depth - 1) * 2 if depth else y

    down(leaf(), n).sum().backward()


def guards(n: int) -> None:
    """Blocks without gradients, each within the previous one."""
    x = model.ones(2)

    def within(depth: int) -> None:
        with model.no_grad():
            x + 1
            if depth:
                within(depth - 1)

    within(n)


SIZES: dict[Program, int] = {
    chain: 10,
    branches: 10,
    leaves: 10,
    uses: 10,
    requested: 10,
    pruned: 10,
    backwards: 10,
    retained: 10,
    training: 2,
    reentrant: 5,
    writes: 10,
    packed: 10,
    views: 5,
    views_of_views: 10,
    hooks: 300,
    modules: 2,
    names: 10,
    recursion: 3,
    guards: 3,
}
"""Each program, and its size n."""


# -- from a program to the reader -------------------------------------------------------------------------------------


def each_step(look: Callable[[Trace, int], object]) -> Stage:
    """Return a stage that looks at every step."""
    return lambda trace: deque((look(trace, at) for at in range(len(trace))), maxlen=0)


def last_bumps(trace: Trace) -> None:
    """Find what the last in-place changes invalidate."""
    for step in trace.steps_of(VersionBumped)[-20:]:
        bumped = trace[step]
        assert isinstance(bumped, VersionBumped)
        undetected_by(trace, bumped)


STAGES: dict[str, Stage] = {
    "events": lambda trace: trace.events,
    "nesting": lambda trace: trace.ends,
    "index": index,
    "history": history,
    "versions": last_bumps,
    "labels": each_step(label),
    "sentences": each_step(why_here),
    "log": lambda trace: deque(text_log(trace), maxlen=0),
    "graph": lambda trace: backward_graph(trace, len(trace) - 1),
}
"""The stages in order. Each uses the results of the stages before it."""


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Collect garbage before the block, and not within it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds_per_event(program: Program, n: int) -> dict[str, float]:
    """Return the seconds per event of each stage."""
    found = {}
    with without_garbage_collection():
        start = time.process_time()
        with dispatchviz.record() as trace:
            program(n)
        found["record"] = time.process_time() - start
        for name, stage in STAGES.items():
            start = time.process_time()
            stage(trace)
            found[name] = time.process_time() - start
    return {name: seconds / len(trace) for name, seconds in found.items()}


def least(program: Program, n: int, rounds: int) -> dict[str, float]:
    """Return the smallest time of each stage over some rounds."""
    measured = [seconds_per_event(program, n) for _ in range(rounds)]
    return {name: min(each[name] for each in measured) for name in measured[0]}


THOROUGHLY, QUICKLY = ((1, 20), (10, 5), (100, 2)), ((1, 1), (2, 1), (3, 1))
"""Multiples of n, and the rounds for each."""

TINY = 0.2e-6
"""The time per event below which a stage is not judged, because the clock is too coarse and such times do not
matter.
"""


def growth(program: Program) -> dict[str, float]:
    """Return the time per event at 100 n relative to n for each stage. Print the value at 10 n too."""
    n = SIZES[program]
    least(program, n, 1)  # to do the look-ups that happen once
    found = [least(program, n * by, rounds) for by, rounds in (QUICKLY if QUICK else THOROUGHLY)]
    ratios = {}
    print(f"  {program.__name__} ({program.__doc__})")
    for name in found[0]:
        first, ten, hundred = (each[name] for each in found)
        ratios[name] = max(hundred, TINY) / max(first, TINY)
        at_ten = max(ten, TINY) / max(first, TINY)
        much = "   GROWS" * (ratios[name] > BAR)
        print(
            f"    {name:<10}{first * 1e6:9.2f} us an event; at 10 n {at_ten:6.2f}, at 100 n {ratios[name]:6.2f}{much}"
        )
    return ratios


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    programs = [program for program in SIZES if not chosen or program.__name__ in chosen]
    results = {program.__name__: max(growth(program).values()) for program in programs}
    return judge(results, dict.fromkeys(results, BAR))


if __name__ == "__main__":
    sys.exit(main())
