"""Recording with its diagnosis beside recording alone: training loops of 100,000 and a million steps.

    python -m benchmarks.diagnosis

The loops: a sound one, one that writes through ``.data``, so that each write has to be looked at, one that never resets
its gradients, and a model with an optimizer. The diagnosis is that of ``dispatchviz why``, with the numbers of small
tensors. Both are measured in turns in this process, in time of the processor; of each the fastest round counts.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.sizes import QUICK, judge, often
from benchmarks.tui import LOOP
from dispatchviz.cli.script_run import run_script
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import diagnoses

ROUNDS = often(2, 1)
ITERATIONS = {"1,000": 1} if QUICK else {"100,000": 90, "1,000,000": 891}
"""Iterations of a loop, by the steps that they make, about."""

MODEL = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.ones(3, 4), torch.zeros(3, 2)
for step in range({iterations}):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
"""
LOOPS = {
    "sound": LOOP,
    ".data": LOOP.replace("p -= 0.01 * p.grad", "p.data -= 0.01 * p.grad.data"),
    "never reset": LOOP.replace("p.grad = None", "pass"),
    "a model": MODEL,
}
BARS = {"100,000": 2, "1,000,000": 1.5}
"""The numbers of small tensors, which are recorded up to a limit, weigh less in a long program."""


def recorded(script: str) -> Trace:
    """The trace of a program without numbers of tensors, recorded to a file."""
    return run_script(script, (), "auto", f"{script}.dvtrace", values=False).trace


def diagnosed(script: str) -> Trace:
    """The same as ``dispatchviz run`` and ``why`` record it, with the numbers of small tensors, and its diagnosis."""
    trace = run_script(script, (), "auto", f"{script}.dvtrace").trace
    diagnoses(trace)
    return trace


def seconds(action: Callable[[str], Trace], script: str) -> tuple[float, int]:
    """Time of the processor that an action takes, and how many steps the trace has."""
    gc.collect()
    begun = time.process_time()
    trace = action(script)
    return time.process_time() - begun, len(trace)


def ratio(source: str) -> tuple[float, float, int]:
    """How much longer a recording with its diagnosis takes; the time of the recording, its steps."""
    alone, both, steps = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "loop.py"
        script.write_text(source, encoding="utf-8")
        for _ in range(ROUNDS):
            took, steps = seconds(recorded, str(script))
            alone.append(took)
            both.append(seconds(diagnosed, str(script))[0])
    return min(both) / min(alone), min(alone), steps


def main() -> int:
    """Measure all, print the ratios, and give 1 if a bar is missed."""
    ratio(LOOPS["sound"].format(iterations=2))
    results = {}
    for size, iterations in ITERATIONS.items():
        for name, loop in LOOPS.items():
            times, took, steps = ratio(loop.format(iterations=iterations))
            results[f"{size} steps, {name}"] = times
            print(f"  {size} steps, {name}: {steps:,} steps, recorded in {took:.2f} s, with the diagnosis {times:.2f}")
    return judge(results, {name: BARS.get(name.partition(" ")[0], 2) for name in results})


if __name__ == "__main__":
    sys.exit(main())
