"""Recording a real PyTorch: adds, a CNN and a transformer, compared with PyTorch's own tools for watching.

    python -m benchmarks.live [--quick]

It needs an installed PyTorch. The programs are 1,000 adds and their backward, and steps of training a small CNN and a
transformer. Everything runs in one process and is measured in processor time, as the best of three in each round. It
prints the median of the rounds, and the median of the ratios within each round to ``DebugMode``, which records
operators without key sets, Nodes or lines. It also measures ten times as many adds, the time to install kernels in the
dispatch table entries, and the cost that remains after their removal.

"recorded" is the delay of the program while all is kept in memory: every fact is noted, no events are made, and the
notes are discarded after the run. "events made" also builds the events of the trace. A trace that is written
while the program runs takes that time plus the writing, mostly on another thread, which shares the interpreter with the
program. Full garbage collections are not counted, since the best run has none, nor is reading or writing a trace.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any

from benchmarks.sizes import judge
from dispatchviz.core.seam import recorder
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.live.live_recorder import LiveRecorder
from dispatchviz.running.engines import engine_named

ADDS = 1000
MANY_ADDS = 10 * ADDS
QUICK = "--quick" in sys.argv
ROUNDS = 1 if QUICK else 9
REPEATS = 1 if QUICK else 3
"""The repetitions in each round."""

BARS = {
    "1,000 additions, of DebugMode": 0.75,
    "step of a CNN, of DebugMode": 1.2,
    "step of a transformer, of DebugMode": 1.2,
    "1,000 additions, events made, of DebugMode": 1.4,
    "entering, s": 0.4,
}

Watching = Callable[[], AbstractContextManager[Any]]
Program = Callable[[], None]
Times = dict[str, float]
"""Milliseconds by name."""


def additions(torch: Any, adds: int) -> Program:
    """Return a program that adds in a row, and runs their backward."""

    def program() -> None:
        x = z = torch.ones(2, 2, requires_grad=True)
        for _ in range(adds):
            z = z + x
        z.sum().backward()

    return program


def training(torch: Any, net: Any, x: Any) -> Program:
    """Return a program of one step of training."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def program() -> None:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    return program


def cnn(torch: Any) -> Program:
    """Return a step of training a small CNN."""
    nn = torch.nn
    layers = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2)]
    return training(torch, nn.Sequential(*layers), torch.randn(4, 1, 8, 8))


def transformer(torch: Any) -> Program:
    """Return a step of training a transformer of two layers."""
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return training(torch, torch.nn.TransformerEncoder(layer, 2), torch.randn(4, 16, 32))


def best(program: Program, watching: Watching) -> float:
    """Return the milliseconds of processor time."""
    times = []
    for _ in range(REPEATS):
        with watching():
            begin = time.process_time()
            program()
            times.append(time.process_time() - begin)
    return min(times) * 1000


def built(program: Program, watch: LiveRecorder) -> float:
    """Return the milliseconds with the events of each run built at once and then discarded."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        recorder.start(watch)
        program()
        recorder.stop(watch)
        watch.settle()
        times.append(time.process_time() - begin)
    return min(times) * 1000


@contextlib.contextmanager
def recorded(watch: LiveRecorder) -> Iterator[None]:
    """Record with the dispatch table entries already watched, then discard the notes."""
    recorder.start(watch)
    try:
        yield
    finally:
        recorder.stop(watch)
        watch.notes.clear()


def others(torch: Any) -> dict[str, Watching]:
    """Return PyTorch's own tools, by name."""
    from torch.testing._internal.logging_tensor import capture_logs_with_logging_tensor_mode
    from torch.utils._debug_mode import DebugMode

    return {
        "torch.profiler": torch.profiler.profile,
        "LoggingTensorMode": capture_logs_with_logging_tensor_mode,
        DEBUG_MODE: DebugMode,
    }


def one_round(engine: Any, programs: dict[str, Program]) -> Times:
    """Measure each contestant once, one after the other, so that other work on the machine affects all of them."""
    torch, watch = installed_torch(), engine.recorder()
    adds, many = programs[ADDITIONS], additions(torch, MANY_ADDS)
    times = {AS_IT_IS: best(adds, nullcontext), MANY: best(many, nullcontext)}
    times |= {name: best(adds, watching) for name, watching in others(torch).items()}
    debug_mode = others(torch)[DEBUG_MODE]
    times |= {f"{name}, DebugMode": best(program, debug_mode) for name, program in programs.items()}
    begin = time.process_time()
    with engine.watching(watch):
        times[PUT] = (time.process_time() - begin) * 1000
        times["cells watched, not recorded"] = best(adds, nullcontext)
        times |= {f"{name}, recorded": best(program, lambda: recorded(watch)) for name, program in programs.items()}
        times[f"{MANY}, recorded"] = best(many, lambda: recorded(watch))
        times[BUILT] = built(adds, watch)
    times["afterwards"] = best(adds, nullcontext)
    return times


AS_IT_IS, DEBUG_MODE, MANY, PUT = "as it is", "DebugMode", "10 times as many", "cells are put in"
ADDITIONS, BUILT = "1,000 additions", "1,000 additions, events made"


def against_the_bars(rounds: list[Times], programs: dict[str, Program]) -> dict[str, float]:
    """Return the value of each bar, the median over the rounds."""
    names = {f"{name}, of DebugMode": (f"{name}, recorded", f"{name}, DebugMode") for name in programs}
    names[f"{BUILT}, of DebugMode"] = (BUILT, f"{ADDITIONS}, DebugMode")
    found = {name: median(times[ours] / times[theirs] for times in rounds) for name, (ours, theirs) in names.items()}
    return {**found, "entering, s": min(times[PUT] for times in rounds) / 1000}


def main() -> int:
    """Print a row for each contestant, and return 1 if a bar is missed. Without PyTorch, say so."""
    try:
        torch = installed_torch()  # an engine that is made earlier waits until a program imports it
        engine: Any = engine_named("torch")
    except DispatchvizError as error:
        print(error)
        return 0
    torch.set_num_threads(1)
    programs = {
        ADDITIONS: additions(torch, ADDS),
        "step of a CNN": cnn(torch),
        "step of a transformer": transformer(torch),
    }
    for program in programs.values():
        program()
    rounds = [one_round(engine, programs) for _ in range(ROUNDS)]
    for name in rounds[0]:
        print(f"{name:34} {median(times[name] for times in rounds):8.1f} ms")
    return judge(against_the_bars(rounds, programs), BARS)


if __name__ == "__main__":
    sys.exit(main())
