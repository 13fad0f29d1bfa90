"""The cost of saving a trace, compared with msgspec, which only encodes the same events to as many lines, and its size.

    python -m benchmarks.saving

All alternate and are measured in processor time; the smallest round of each counts. The last rows are events per second
for traces that are ten times as long. A trace that is written while its program runs has the same total cost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from benchmarks.log import adds, training
from benchmarks.sizes import judge, often
from benchmarks.trace import least
from dispatchviz.core.record.trace_file import Trace

BARS = {
    "adds .jsonl": 1.4,
    "adds .dvtrace": 6.0,
    "training .jsonl": 1.4,
    "training .dvtrace": 5.5,
    "adds .dvtrace, columns known": 3.0,
    "training .dvtrace, columns known": 3.5,
    "ten times the adds .dvtrace": 1.3,
    "ten times the training .dvtrace": 1.3,
    "bytes per event of the adds .dvtrace": 16.0,
    "bytes per event of the training .dvtrace": 16.0,
}
"""The bars, relative to msgspec, for longer traces per event relative to the shorter one, and bytes. None may be
exceeded. Encoding the lines and packing them take twice as long as msgspec alone; the rest is for the columns. A trace
has its columns once a screen, a log or an earlier file needed them.
"""

KINDS = (".jsonl", ".dvtrace")
KNOWN = ".dvtrace, columns known"


def encoded(trace: Trace) -> int:
    """Return the number of bytes of the events as lines of JSON."""
    return len(msgspec.json.Encoder().encode_lines(trace.events))


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    iterations = often(500)
    traces = {
        "adds": adds(iterations * 4),
        "training": training(iterations),
        "ten times the adds": adds(iterations * 40),
        "ten times the training": training(iterations * 10),
    }
    looks: dict[str, Callable[[], object]] = {}
    for name, trace in traces.items():
        looks[name] = lambda trace=trace: encoded(trace)
        for kind in KINDS:
            looks[f"{name} {kind}"] = lambda trace=trace, kind=kind: Trace(trace.header, trace.events).encoded(kind)
        if not name.startswith("ten"):
            assert len(trace.columns.kinds)
            looks[f"{name} {KNOWN}"] = lambda trace=trace: trace.encoded(".dvtrace")
    found = least(looks, often(5))
    each = {name: seconds / len(_trace_of(name, traces)) for name, seconds in found.items()}
    for name, seconds in each.items():
        print(f"  {name:<36}{seconds * 1e9:8.0f} ns an event, of {len(_trace_of(name, traces)):,}")
    results = {f"{name} {kind}": each[f"{name} {kind}"] / each[name] for name in ("adds", "training") for kind in KINDS}
    results |= {f"{name} {KNOWN}": each[f"{name} {KNOWN}"] / each[name] for name in ("adds", "training")}
    for name in ("adds", "training"):
        results[f"ten times the {name} .dvtrace"] = each[f"ten times the {name} .dvtrace"] / each[f"{name} .dvtrace"]
    for name in ("adds", "training"):
        size = len(traces[name].encoded(".dvtrace"))
        results[f"bytes per event of the {name} .dvtrace"] = size / len(traces[name])
    return judge(results, BARS)


def _trace_of(name: str, traces: dict[str, Trace]) -> Trace:
    return traces[name.removesuffix(KNOWN).removesuffix(".jsonl").removesuffix(".dvtrace").strip()]


if __name__ == "__main__":
    sys.exit(main())
