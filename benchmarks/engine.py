"""The cost of the backward engine per Node, compared with HIPS autograd, in chains of 1,000 and of 100,000 Nodes.

    python -m benchmarks.engine              (with HIPS autograd and PyTorch where they are installed)

As in ``dispatch.py``, all contestants run in this process and alternate, and the ratios count. Times are processor
times. The smallest round of each contestant is printed, since other work on the machine can only add to it. A ratio is
the median over the rounds, in which two contestants are a few milliseconds apart, so the machine is the same to both. A
chain is ``z = z + y`` again and again, with 2x2 float32:

- one operand: only ``z`` requires grad. A backward is then, per Node, the engine and the shortest formula, with almost
  no arithmetic. HIPS autograd's part is ``backward_pass``: its loop, one VJP, no addition of gradients.
- both operands: ``y`` also requires grad and receives a gradient from every Node, which is added to the others: here by
  ``add_``, dispatched as PyTorch dispatches it, there by its vector space.
- a chain of 50 is forward and backward together, as a user writes it: the operators and ``backward(g)`` of a tensor;
  for HIPS autograd ``make_vjp`` and the call of its result. The traced one is ``dispatchviz.record()``, without and
  with building all events, and PyTorch under DebugMode.
- deletion: the last reference to a chain is dropped. A bare chain consists of the same objects with slots and nothing
  else: Node, edge, Node, edge, each referring to the next. (Ours also have two lists and an entry of metadata for each
  Node.)
"""

from __future__ import annotations

import gc
import operator
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import numpy

import dispatchviz
from benchmarks.dispatch import X, Y
from benchmarks.sizes import is_installed, judge, often
from dispatchviz import torch as model
from dispatchviz.core.autograd.graph.node import Node

Seconds = float
Run = Callable[[], Seconds]
Times = dict[str, list[Seconds]]
"""A time per round for each contestant."""

LONG, SHORT, OPERATORS = often(100_000, 1_000), often(1_000, 100), 50
AS_LONG = often(50)
"""The number of times that short chains are run."""
BARS = {
    "per Node, 100,000 Nodes of 1,000": 1.3,
    "per Node of 100,000, of HIPS autograd": 0.9,
    "deletion, of bare objects": 3.0,
    "50 operators, of HIPS autograd": 0.8,
    "50 operators recorded, of PyTorch under DebugMode": 0.45,
    "50 operators recorded, events made, of PyTorch under DebugMode": 0.9,
}
"""The bars. None may be exceeded."""


def timed(contestants: dict[str, Run], rounds: int) -> Times:
    """Return each contestant's own time, once per round."""
    times: Times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            gc.collect()
            times[name].append(run())
    return times


def ratio(times: Times, name: str, other: str) -> float:
    """Return the ratio of two contestants that alternated."""
    return statistics.median(map(operator.truediv, times[name], times[other]))


# -- the model --------------------------------------------------------------------------------------------------------


def _chain(length: int, x: model.Tensor, y: model.Tensor) -> model.Tensor:
    for _ in range(length):
        x = model.add(x, y)
    return x


def _leaves(both: bool) -> tuple[model.Tensor, model.Tensor]:
    return model.tensor(X, requires_grad=True), model.tensor(Y, requires_grad=both)


def model_backward(length: int, both: bool) -> Run:
    """Return a run that measures the seconds per Node."""
    gradient = model.tensor(Y)

    def run() -> Seconds:
        z = _chain(length, *_leaves(both))
        start = time.process_time()
        z.backward(gradient)
        return (time.process_time() - start) / length

    return run


def model_deletion(length: int) -> Run:
    """Return a run that measures the seconds per Node."""

    def run() -> Seconds:
        chain = [_chain(length, *_leaves(both=False))]
        start = time.process_time()
        chain.clear()
        return (time.process_time() - start) / length

    return run


def bare_deletion(length: int) -> Run:
    """Return a run that measures the seconds per pair of a Node and an edge."""
    bare_node = type("BareNode", (), {"__slots__": [name for name in Node.__slots__ if name != "__weakref__"]})
    bare_edge = type("BareEdge", (), {"__slots__": ["function", "input_nr"]})

    def run() -> Seconds:
        chain = [None]
        for number in range(length):
            node, edge = bare_node(), bare_edge()
            node.next_edges, node.sequence_nr = edge, number
            edge.function, edge.input_nr = chain[0], 0
            chain[0] = node
        del node, edge
        start = time.process_time()
        chain.clear()
        return (time.process_time() - start) / length

    return run


def model_operators(both: bool, batch: int = 8) -> Run:
    """Return a run that measures the seconds per operator, forward and backward."""
    (x, y), gradient = _leaves(both), model.tensor(Y)

    def run() -> Seconds:
        start = time.process_time()
        for _ in range(batch):
            _chain(OPERATORS, x, y).backward(gradient)
        return (time.process_time() - start) / (batch * OPERATORS)

    return run


def averaged(run: Run, times: int) -> Run:
    """Return the mean of several runs as one run."""
    return lambda: statistics.fmean([run() for _ in range(times)])


def recorded(run: Run) -> Run:
    """Return the same run while everything is recorded."""

    def listened() -> Seconds:
        with dispatchviz.record():
            return run()

    return listened


def recorded_with_events(batch: int = 8) -> Run:
    """Return a recorded run that also builds all events, for a chain whose operands both require grad."""
    run = model_operators(both=True, batch=batch)

    def made() -> Seconds:
        start = time.process_time()
        with dispatchviz.record() as trace:
            run()
        assert len(trace)
        return (time.process_time() - start) / (batch * OPERATORS)

    return made


# -- HIPS autograd and PyTorch ----------------------------------------------------------------------------------------


def hips_backward(length: int, both: bool) -> Run:
    """Return a run that measures the seconds per Node."""
    import autograd.numpy as anp
    from autograd.core import VJPNode, backward_pass
    from autograd.tracer import new_box, trace_stack

    x, y = numpy.array(X, numpy.float32), numpy.array(Y, numpy.float32)

    def run() -> Seconds:
        with trace_stack.new_trace() as trace:
            z = new_box(x, trace, VJPNode.new_root())
            other = new_box(y, trace, VJPNode.new_root()) if both else y
            for _ in range(length):
                z = anp.add(z, other)
            start = time.process_time()
            backward_pass(y, z._node)
            return (time.process_time() - start) / length

    return run


def hips_operators(both: bool, batch: int = 8) -> Run:
    """Return a run that measures the seconds per operator, forward and backward."""
    import autograd.numpy as anp
    from autograd.builtins import tuple as boxed_tuple
    from autograd.core import make_vjp

    x, y = numpy.array(X, numpy.float32), numpy.array(Y, numpy.float32)

    def chain(x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
        for _ in range(OPERATORS):
            x = anp.add(x, y)
        return x

    def run() -> Seconds:
        start = time.process_time()
        for _ in range(batch):
            if both:
                vjp, _ = make_vjp(lambda pair: chain(pair[0], pair[1]), boxed_tuple((x, y)))
            else:
                vjp, _ = make_vjp(lambda x: chain(x, y), x)
            vjp(y)
        return (time.process_time() - start) / (batch * OPERATORS)

    return run


def debug_mode_operators(both: bool, batch: int = 8) -> Run | None:
    """Return a run of the same chain under PyTorch's own tracer, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        return None
    from torch.utils._debug_mode import DebugMode

    torch.set_num_threads(1)
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=both)
    gradient = torch.tensor(Y)

    def run() -> Seconds:
        start = time.process_time()
        with DebugMode():
            for _ in range(batch):
                z = x
                for _ in range(OPERATORS):
                    z = torch.add(z, y)
                z.backward(gradient)
        return (time.process_time() - start) / (batch * OPERATORS)

    return run


# -- the questions ----------------------------------------------------------------------------------------------------


def per_node(both: bool) -> Times:
    """Measure a backward per Node. Short chains are repeated until they last as long as the long ones."""
    contestants: dict[str, Run] = {}
    for length in (SHORT,) if both else (SHORT, LONG):
        times = AS_LONG if length == SHORT else 1
        contestants[f"model, {length:,} Nodes"] = averaged(model_backward(length, both), times)
        if is_installed("autograd"):
            contestants[f"HIPS autograd, {length:,} Nodes"] = averaged(hips_backward(length, both), times)
    return timed(contestants, rounds=often(5))


def per_operator(both: bool) -> Times:
    """Measure a chain of 50 operators, forward and backward, per operator."""
    contestants = {"model": model_operators(both), "model, recorded": recorded(model_operators(both))}
    if is_installed("autograd"):
        contestants["HIPS autograd"] = hips_operators(both)
    if both:
        contestants["model, recorded, events made"] = recorded_with_events()
    debugged = debug_mode_operators(both)
    if debugged is not None:
        contestants["PyTorch under DebugMode"] = debugged
    return timed(contestants, rounds=often(41))


def deletion() -> Times:
    """Measure deletion per Node or object."""
    return timed({"model": model_deletion(LONG), "bare objects": bare_deletion(LONG)}, rounds=often(5))


def report(title: str, found: Times) -> Iterator[str]:
    """Yield the lines to print."""
    yield title
    for name, times in found.items():
        yield f"  {name:<32}{min(times) * 1e6:8.2f} us"


def against_the_bars(nodes: Times, chains: Times, deleted: Times) -> Iterator[tuple[str, float]]:
    """Yield the measured value of each bar."""
    long, theirs = f"model, {LONG:,} Nodes", f"HIPS autograd, {LONG:,} Nodes"
    yield "per Node, 100,000 Nodes of 1,000", ratio(nodes, long, f"model, {SHORT:,} Nodes")
    yield "deletion, of bare objects", ratio(deleted, "model", "bare objects")
    if theirs in nodes:
        yield "per Node of 100,000, of HIPS autograd", ratio(nodes, long, theirs)
        yield "50 operators, of HIPS autograd", ratio(chains, "model", "HIPS autograd")
    if "PyTorch under DebugMode" in chains:
        recorded = ratio(chains, "model, recorded", "PyTorch under DebugMode")
        yield "50 operators recorded, of PyTorch under DebugMode", recorded
        made = ratio(chains, "model, recorded, events made", "PyTorch under DebugMode")
        yield "50 operators recorded, events made, of PyTorch under DebugMode", made


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    one, both, deleted = per_node(both=False), per_node(both=True), deletion()
    operators, alone = per_operator(both=True), per_operator(both=False)
    print("\n".join(report("backward per Node, one operand requires grad", one)))
    print("\n".join(report("backward per Node, both operands require grad", both)))
    print("\n".join(report("deletion per Node of 100,000", deleted)))
    print("\n".join(report("50 operators forward and backward, per operator, both operands require grad", operators)))
    print("\n".join(report("the same, one operand requires grad", alone)))
    return judge(dict(against_the_bars(one, operators, deleted)), BARS, "autograd", "torch")


if __name__ == "__main__":
    sys.exit(main())
