"""The cost of the text log of a long program, compared with msgspec, which encodes the same events to as many lines.

    python -m benchmarks.log

Both alternate and are measured in processor time; the smallest round of each counts. The last rows are lines per second
for logs that are ten times as long, which must not be slower.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

import dispatchviz
from benchmarks.sizes import judge, often
from benchmarks.trace import least
from dispatchviz import torch as model
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.terminal_output import chunks
from dispatchviz.outputs.log.text_log import text_log

BARS = {
    "log, of msgspec's lines": 28.0,
    "training log, of msgspec's lines": 15.0,
    "ten times the adds": 1.4,
    "ten times the training": 1.4,
    "us per line of the training log": 12.0,
}
"""The bars. None may be exceeded. For longer logs the time per line is compared."""


def adds(count: int) -> Trace:
    """Return the trace of ``z = z + x`` many times."""
    x = model.ones(2, requires_grad=True)
    with dispatchviz.record() as trace:
        z = x
        for _ in range(count):
            z = z + x
    return Trace(trace.header, trace[:])


def training(steps: int) -> Trace:
    """Return the trace of many backward passes and writes into leaves."""
    layer, x = model.nn.Linear(4, 2), model.ones(3, 4)
    optimizer = model.optim.SGD(layer.parameters(), lr=0.1)
    with dispatchviz.record() as trace:
        for _ in range(steps):
            optimizer.zero_grad()
            layer(x).sum().backward()
            optimizer.step()
    return Trace(trace.header, trace[:])


def written(trace: Trace) -> int:
    """Return the number of characters of the log."""
    return sum(map(len, chunks(text_log(trace))))


def encoded(trace: Trace) -> int:
    """Return the number of bytes of the same events as lines of JSON."""
    return len(b"\n".join(map(msgspec.json.Encoder().encode, trace.events)))


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    few = often(50)
    traces = {
        "adds": adds(few * 4),
        "training": training(few),
        "adds x 10": adds(few * 40),
        "training x 10": training(few * 10),
    }
    looks: dict[str, Callable[[], object]] = {}
    for name, trace in traces.items():
        looks[name] = lambda trace=trace: written(trace)
        if "x" not in name:
            looks[f"{name} by msgspec"] = lambda trace=trace: encoded(trace)
    found = least(looks, often(3))
    lines = {name: sum(1 for _ in text_log(trace)) for name, trace in traces.items()}
    for name, count in lines.items():
        print(f"  {name:<16}{count:9,} lines {count / found[name]:12,.0f} lines/s")
    each = {name: found[name] / count for name, count in lines.items()}
    ratios = (
        found["adds"] / found["adds by msgspec"],
        found["training"] / found["training by msgspec"],
        each["adds x 10"] / each["adds"],
        each["training x 10"] / each["training"],
        each["training x 10"] * 1e6,
    )
    return judge(dict(zip(BARS, ratios, strict=True)), BARS)


if __name__ == "__main__":
    sys.exit(main())
