"""The cost of one ``add`` of 2x2 with gradients, compared with HIPS autograd, and the cost of recording it.

    python -m benchmarks.dispatch            (with HIPS autograd and PyTorch where they are installed)

All contestants run in this process and alternate. A round times a batch of calls of each one after the other, so that a
slow spell of the machine affects all alike. A contestant's number is the median of its rounds in processor time. The
ratios count, not the microseconds.

A call is the forward of one addition that can be differentiated. Its result is dropped at once.

- model: ``torch.add(x, y)`` of our torch, ``x`` and ``y`` leaves that require grad, recording off; then the same with
  ``y`` not requiring grad, which saves HIPS autograd more work than us. The bar is on the first. It is the whole path:
  argument parser, two dispatches, a Node with its edges, the guard, the structured kernel, NumPy's add. ``x`` is in use
  elsewhere, as a weight is in training, so its AccumulateGrad exists, as HIPS autograd's root node does.
- model, seam taken out: the same machine compiled without a single check for a recorder (``seamless.py``).
- model, leaf not in use: the same, but the AccumulateGrad is created again each time, since nothing else holds it.
- HIPS autograd: ``autograd.numpy.add(x, y)`` inside an open trace, ``x`` (and ``y``) boxes of that trace, as inside a
  function that ``grad`` differentiates. The work is: find the boxes, unbox, NumPy's add, a VJPNode with its gradient
  function, a new box. The cost of opening the trace is not counted. (It dispatches by Python's own means, without
  keys.)
- NumPy: the bare addition, as the lower limit of both.
- PyTorch, where installed; and PyTorch under DebugMode, which records one event of the same addition.

Recording is ``dispatchviz.record()`` with all events. Memory is the number of Python's allocator, before anything reads
the trace and after all its events have been built.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import NamedTuple

import numpy

import dispatchviz
from benchmarks.seamless import package_without_seam
from benchmarks.sizes import is_installed, judge, often
from dispatchviz import torch as model

Call = Callable[[], object]

ROUNDS = often(160)
BATCH = often(500)
BARS = {
    "add, of HIPS autograd": 0.75,
    "add of which one operand requires grad, of HIPS autograd": 0.95,
    "add of a leaf not in use, of HIPS autograd": 1.1,
    "add, of itself without the seam": 1.03,
    "recorded add, of PyTorch under DebugMode": 0.25,
    "recorded add, of the same without recording": 2.4,
    "bytes in memory, per event": 130.0,
}
"""The bars. None may be exceeded."""


def medians(contestants: dict[str, Call], rounds: int = ROUNDS, batch: int = BATCH) -> dict[str, float]:
    """Return the seconds per call, the median over rounds in which all contestants alternate."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for name in contestants:
        _seconds(contestants[name], batch)
    for _ in range(rounds):
        for name, call in contestants.items():
            times[name].append(_seconds(call, batch) / batch)
    return {name: statistics.median(found) for name, found in times.items()}


def _seconds(call: Call, batch: int) -> float:
    gc.collect(0)
    start = time.process_time()
    for _ in range(batch):
        call()
    return time.process_time() - start


# -- contestants ------------------------------------------------------------------------------------------------------

X = [[1.0, 2.0], [3.0, 4.0]]
Y = [[5.0, 6.0], [7.0, 8.0]]


def model_add(torch: ModuleType, both: bool = True, in_use: bool = True) -> Call:
    """Return our add; ``both`` operands require grad, or only the first."""
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=both)
    other_use = torch.add(x, y)
    assert other_use.grad_fn.name() == "AddBackward0"
    kept = [other_use] if in_use else []
    return lambda kept=kept: torch.add(x, y)  # type: ignore[misc]


def numpy_add() -> Call:
    """Return NumPy's add, the lower limit."""
    x, y = numpy.array(X, numpy.float32), numpy.array(Y, numpy.float32)
    return lambda: numpy.add(x, y)


@contextmanager
def hips_add(both: bool = True) -> Iterator[Call]:
    """Yield HIPS autograd's add. The trace stays open around the measurement."""
    import autograd.numpy as anp
    from autograd.core import VJPNode
    from autograd.tracer import isbox, new_box, trace_stack

    x, y = numpy.array(X, numpy.float32), numpy.array(Y, numpy.float32)
    with trace_stack.new_trace() as trace:
        box = new_box(x, trace, VJPNode.new_root())
        other = new_box(y, trace, VJPNode.new_root()) if both else y
        assert isbox(anp.add(box, other))
        yield lambda: anp.add(box, other)


def torch_add(both: bool = True) -> Call | None:
    """Return PyTorch's add, if PyTorch is installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=both)
    return lambda: torch.add(x, y)


def debug_mode_adds(calls: int) -> Call | None:
    """Return a number of the same additions under PyTorch's own tracer."""
    call = torch_add()
    if call is None:
        return None
    from torch.utils._debug_mode import DebugMode

    def traced() -> None:
        with DebugMode():
            for _ in range(calls):
                call()

    return traced


# -- the questions ----------------------------------------------------------------------------------------------------


def untraced(both: bool) -> dict[str, float]:
    """Return the seconds per add with gradients, without a recorder."""
    with package_without_seam() as seamless:
        add_without_seam = model_add(seamless, both)
    with hips_add(both) if is_installed("autograd") else nullcontext() as hips:
        contestants: dict[str, Call] = {
            "model": model_add(model, both),
            "model, seam taken out": add_without_seam,
            "model, leaf not in use": model_add(model, both, in_use=False),
            "NumPy": numpy_add(),
        }
        if hips is not None:
            contestants["HIPS autograd"] = hips
        if (real := torch_add(both)) is not None:
            contestants["PyTorch"] = real
        return medians(contestants)


class Recorded(NamedTuple):
    """Seconds per add."""

    plain: float
    recorded: float
    events: int
    """The events of one add."""
    debug_mode: float | None
    """The time under PyTorch's DebugMode, if PyTorch is installed."""


def traced(batch: int = often(8_000), rounds: int = often(9)) -> Recorded:
    """Measure the seconds per add in rounds of a long unrecorded batch, a recorded one, and one of PyTorch's.

    Long batches hide the cost of starting and ending a recording. The smallest time counts, because other work on the
    machine can only add to it.
    """
    call, theirs = model_add(model), debug_mode_adds(batch)
    plain: list[float] = []
    recorded: list[float] = []
    debugged: list[float] = []
    events = 0
    for _ in range(rounds):
        plain.append(_seconds(call, batch) / batch)
        with dispatchviz.record() as trace:
            recorded.append(_seconds(call, batch) / batch)
        events = round(len(trace) / batch)
        if theirs is not None:
            debugged.append(_seconds(theirs, 1) / batch)
    return Recorded(min(plain), min(recorded), events, min(debugged) if debugged else None)


def memory(calls: int = often(2_000)) -> tuple[float, float]:
    """Return the bytes per event of a recording, for the notes and for the finished events."""
    call = model_add(model)
    with dispatchviz.record() as trace:
        call()
    len(trace)
    tracemalloc.start()
    try:
        with dispatchviz.record() as trace:
            for _ in range(calls):
                call()
            gc.collect()
            noted, _ = tracemalloc.get_traced_memory()
        events = len(trace)
        gc.collect()
        read, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return noted / events, read / events


# -- the report -------------------------------------------------------------------------------------------------------


def report(what: str, found: dict[str, float]) -> Iterator[str]:
    """Yield the printed lines about the adds."""
    base = found.get("HIPS autograd")
    yield f"one add of 2x2, {what} requiring grad, recording off (median of rounds in turns)"
    for name, seconds in found.items():
        beside = "" if base is None else f"   {seconds / base:6.2f} x HIPS autograd"
        yield f"  {name:<24}{seconds * 1e6:8.2f} us{beside}"


def against_the_bars(
    adds: dict[str, float], alone: dict[str, float], took: Recorded, per_event: float
) -> Iterator[tuple[str, float]]:
    """Yield the measured value of each bar; ``alone`` is with one operand that requires grad."""
    if "HIPS autograd" in adds:
        yield "add, of HIPS autograd", adds["model"] / adds["HIPS autograd"]
        one = alone["model"] / alone["HIPS autograd"]
        yield "add of which one operand requires grad, of HIPS autograd", one
        yield "add of a leaf not in use, of HIPS autograd", adds["model, leaf not in use"] / adds["HIPS autograd"]
    yield "add, of itself without the seam", adds["model"] / adds["model, seam taken out"]
    if took.debug_mode is not None:
        yield "recorded add, of PyTorch under DebugMode", took.recorded / took.debug_mode
    yield "recorded add, of the same without recording", took.recorded / took.plain
    yield "bytes in memory, per event", per_event


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    adds, alone = untraced(both=True), untraced(both=False)
    took, (noted, read) = traced(), memory()
    print("\n".join(report("both operands", adds)))
    print("\n".join(report("one operand", alone)))
    print(f"the same add recorded: {took.recorded * 1e6:.2f} us, {took.events} events")
    print(f"memory: {noted:.0f} bytes per event while it records, {read:.0f} when all events have been looked at")
    return judge(dict(against_the_bars(adds, alone, took, read)), BARS, "autograd", "torch")


if __name__ == "__main__":
    sys.exit(main())
