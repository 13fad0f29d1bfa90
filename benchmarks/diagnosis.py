"""Recording with a diagnosis, compared with recording alone: training loops of 100,000 and a million steps.

    python -m benchmarks.diagnosis

The loops are a sound one, one that writes through ``.data``, so that each write must be checked, one that never resets
its gradients, and a model with an optimizer. The diagnosis is that of ``dispatchviz why``, with the numbers of small
tensors. Both alternate in this process and are measured in processor time; the fastest round of each counts.
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
"""Approximate number of steps -> iterations of a loop."""

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
"""The bars. They are lower for long programs, because only a limited number of small tensors is recorded."""


def recorded(script: str) -> Trace:
    """Return the trace of a program without numbers of tensors, recorded to a file."""
    return run_script(script, (), "auto", f"{script}.dvtrace", values=False).trace


def diagnosed(script: str) -> Trace:
    """Return the trace as ``dispatchviz run`` and ``why`` record it, with the numbers of small tensors, and diagnose
    it.
    """
    trace = run_script(script, (), "auto", f"{script}.dvtrace").trace
    diagnoses(trace)
    return trace


def seconds(action: Callable[[str], Trace], script: str) -> tuple[float, int]:
    """Return the processor time of an action, and the number of steps of its trace."""
    gc.collect()
    begun = time.process_time()
    trace = action(script)
    return time.process_time() - begun, len(trace)


def ratio(source: str) -> tuple[float, float, int]:
    """Return the ratio of a recording with its diagnosis to one without, the time of the latter, and its steps."""
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
    """Measure everything, print the ratios, and return 1 if a bar is missed."""
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
