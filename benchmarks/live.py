"""Recording a real PyTorch: 1,000 adds and their backward, compared with PyTorch's own tools for watching.

    python -m benchmarks.live [--quick]

It needs an installed PyTorch. Everything runs in one process and is measured in processor time, as the best of three in
each round. It prints the median of the rounds, and the median of the ratios within each round to the program without a
recorder and to ``DebugMode``, which records operators without key sets, Nodes or lines. It also measures ten times as
many adds, the time to install kernels in the dispatch table entries, and the cost that remains after their removal.

"recorded" is the delay of the program while all is kept in memory: every fact is noted, no events are built, and the
notes are discarded after the run. "recorded, events built" also builds the events of the trace. A trace that is written
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

Watching = Callable[[], AbstractContextManager[Any]]
Times = dict[str, float]
"""Milliseconds by name."""


def program(torch: Any, adds: int = ADDS) -> None:
    """Run adds in a row, and their backward."""
    x = torch.ones(2, 2, requires_grad=True)
    z = x
    for _ in range(adds):
        z = z + x
    z.sum().backward()


def best(torch: Any, watching: Watching, adds: int = ADDS) -> float:
    """Return the milliseconds of processor time."""
    times = []
    for _ in range(REPEATS):
        with watching():
            begin = time.process_time()
            program(torch, adds)
            times.append(time.process_time() - begin)
    return min(times) * 1000


def built(torch: Any, watch: LiveRecorder) -> float:
    """Return the milliseconds with the events of each run built at once and then discarded."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        recorder.start(watch)
        program(torch)
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


def one_round(engine: Any) -> Times:
    """Measure each contestant once, one after the other, so that other work on the machine affects all of them."""
    torch, watch = installed_torch(), engine.recorder()
    times = {AS_IT_IS: best(torch, nullcontext), MANY: best(torch, nullcontext, MANY_ADDS)}
    times |= {name: best(torch, watching) for name, watching in others(torch).items()}
    begin = time.process_time()
    with engine.watching(watch):
        times[PUT] = (time.process_time() - begin) * 1000
        times["cells watched, not recorded"] = best(torch, nullcontext)
        times["recorded"] = best(torch, lambda: recorded(watch))
        times[f"{MANY}, recorded"] = best(torch, lambda: recorded(watch), MANY_ADDS)
        times["recorded, events built"] = built(torch, watch)
    times["afterwards"] = best(torch, nullcontext)
    return times


AS_IT_IS, DEBUG_MODE, MANY, PUT = "as it is", "DebugMode", "10 times as many", "cells are put in"


def main() -> int:
    """Print a row for each contestant. Without PyTorch, say so."""
    try:
        installed_torch()  # an engine that is made earlier waits until a program imports it
        engine: Any = engine_named("torch")
    except DispatchvizError as error:
        print(error)
        return 0
    program(installed_torch())
    rounds = [one_round(engine) for _ in range(ROUNDS)]
    for name in rounds[0]:
        milliseconds = median(times[name] for times in rounds)
        plain, debug = (median(times[name] / times[to] for times in rounds) for to in (AS_IT_IS, DEBUG_MODE))
        print(f"{name:28} {milliseconds:8.1f} ms {plain:6.1f} x as it is {debug:6.2f} x DebugMode")
    return 0


if __name__ == "__main__":
    sys.exit(main())
