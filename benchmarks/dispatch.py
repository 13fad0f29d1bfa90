"""What one ``add`` of 2x2 with gradients costs, beside HIPS autograd, and what recording it costs per event.

    python -m benchmarks.dispatch            (needs the extra ``bench``)

All contestants run in this process, in turns: a round times a batch of calls of each one after the other, so that a
slow spell of the machine hits all alike. A contestant's number is the median of its rounds, and what counts are the
ratios, not the microseconds.

What a call is: the forward of one addition that can be differentiated, its result dropped at once.

- model: ``torch.add(x, y)`` of our torch, ``x`` and ``y`` leaves that require grad, recording off; then the same with
  ``y`` not requiring grad, which spares HIPS autograd more than it spares us. The bar is on the first. It is the whole
  path: argument parser, two dispatches, a Node with its edges, the guard, the structured kernel, NumPy's add. ``x`` is
  in use elsewhere, as a weight is in training, so its AccumulateGrad exists, as HIPS autograd's root node does.
- model, leaf not in use: the same when the AccumulateGrad has to be made anew each time, because nothing else holds it.
- HIPS autograd: ``autograd.numpy.add(x, y)`` inside an open trace, ``x`` (and ``y``) boxes of that trace, as inside a
  function that ``grad`` differentiates. That is: find the boxes, unbox, NumPy's add, a VJPNode with its gradient
  function, a new box. The cost of opening the trace is not counted. (It dispatches by Python's own means, without
  keys.)
- NumPy: the bare addition, as the floor that both share.
- PyTorch, where installed.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

Call = Callable[[], object]

ROUNDS = 41
BATCH = 2_000
LIMIT = 1.0
"""The issue's bar: the model's add may cost at most this many times HIPS autograd's."""


def medians(contestants: dict[str, Call], rounds: int = ROUNDS, batch: int = BATCH) -> dict[str, float]:
    """Seconds per call, median over rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for name in contestants:
        _seconds(contestants[name], batch)
    for _ in range(rounds):
        for name, call in contestants.items():
            times[name].append(_seconds(call, batch) / batch)
    return {name: statistics.median(found) for name, found in times.items()}


def _seconds(call: Call, batch: int) -> float:
    gc.collect(0)
    start = time.perf_counter()
    for _ in range(batch):
        call()
    return time.perf_counter() - start


# -- contestants ------------------------------------------------------------------------------------------------------

X = [[1.0, 2.0], [3.0, 4.0]]
Y = [[5.0, 6.0], [7.0, 8.0]]


def model_add(both: bool = True, in_use: bool = True) -> Call:
    """Ours; ``both`` operands require grad, or only the first."""
    from dispatchviz import torch

    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=both)
    other_use = torch.add(x, y)
    assert other_use.grad_fn.name() == "AddBackward0"
    kept = [other_use] if in_use else []
    return lambda kept=kept: torch.add(x, y)  # type: ignore[misc]


def numpy_add() -> Call:
    """The floor."""
    x, y = numpy.array(X, numpy.float32), numpy.array(Y, numpy.float32)
    return lambda: numpy.add(x, y)


@contextmanager
def hips_add(both: bool = True) -> Iterator[Call]:
    """HIPS autograd; the trace stays open around the measurement."""
    try:
        import autograd.numpy as anp
        from autograd.core import VJPNode
        from autograd.tracer import isbox, new_box, trace_stack
    except ImportError:
        sys.exit("HIPS autograd is missing: pip install -e '.[bench]'")

    x, y = numpy.array(X, numpy.float32), numpy.array(Y, numpy.float32)
    with trace_stack.new_trace() as trace:
        box = new_box(x, trace, VJPNode.new_root())
        other = new_box(y, trace, VJPNode.new_root()) if both else y
        assert isbox(anp.add(box, other))
        yield lambda: anp.add(box, other)


def torch_add(both: bool = True) -> Call | None:
    """PyTorch, if it is there."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=both)
    return lambda: torch.add(x, y)


# -- the two questions ------------------------------------------------------------------------------------------------


def untraced(both: bool) -> dict[str, float]:
    """Seconds per add with gradients, nobody recording."""
    with hips_add(both) as hips:
        contestants: dict[str, Call] = {
            "model": model_add(both),
            "model, leaf not in use": model_add(both, in_use=False),
            "HIPS autograd": hips,
            "NumPy": numpy_add(),
        }
        if (real := torch_add(both)) is not None:
            contestants["PyTorch"] = real
        return medians(contestants)


def traced(batch: int = 500) -> tuple[float, float, int]:
    """Seconds per add unrecorded and recorded, taken in turns, and how many events an add makes."""
    import dispatchviz

    call = model_add()
    plain: list[float] = []
    recorded: list[float] = []
    events = 0
    for _ in range(ROUNDS):
        plain.append(_seconds(call, batch) / batch)
        with dispatchviz.record() as trace:
            recorded.append(_seconds(call, batch) / batch)
        events = round(len(trace) / batch)
    return statistics.median(plain), statistics.median(recorded), events


def report(what: str, found: dict[str, float]) -> Iterator[str]:
    """The lines that are printed of the adds."""
    base = found["HIPS autograd"]
    yield f"one add of 2x2, {what} requiring grad, recording off (median of rounds in turns)"
    for name, seconds in found.items():
        yield f"  {name:<24}{seconds * 1e6:8.2f} us   {seconds / base:6.2f} x HIPS autograd"


def report_recording(plain: float, recorded: float, events: int) -> Iterator[str]:
    """The lines about recording."""
    yield "the same add recorded"
    yield f"  {recorded * 1e6:.2f} us, {recorded / plain:.2f} x unrecorded; {events} events,"
    yield f"  {(recorded - plain) / events * 1e9:.0f} ns per event"


def main() -> int:
    """Prints the ratios; 1 if the bar is missed."""
    found: dict[str, Any] = untraced(both=True)
    print("\n".join(report("both operands", found)))
    print("\n".join(report("one operand", untraced(both=False))))
    print("\n".join(report_recording(*traced())))
    return int(found["model"] > LIMIT * found["HIPS autograd"])


if __name__ == "__main__":
    sys.exit(main())
