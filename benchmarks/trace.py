"""The cost of reading a finished trace, compared with a list of the same events.

    python -m benchmarks.trace

Both alternate and are measured in processor time; the smallest round of each counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import dispatchviz
from benchmarks.sizes import judge, often
from dispatchviz import torch as model
from dispatchviz.trace import Trace

Look = Callable[[], object]
BARS = {"trace[i], of list[i]": 5.0, "for event in trace, of a list": 1.5, "len(trace), of a list's": 5.0}
"""The bars. None may be exceeded. They allow for a call of a Python method instead of a list's, and for nothing
else.
"""


def recorded(adds: int) -> Trace:
    """Return a trace of some additions."""
    x = model.ones(2, requires_grad=True)
    with dispatchviz.record() as trace:
        for _ in range(adds):
            model.add(x, x)
    return trace


def least(looks: dict[str, Look], rounds: int) -> dict[str, float]:
    """Return the seconds of each contestant, measured alternately."""
    found = dict.fromkeys(looks, float("inf"))
    for _ in range(rounds):
        for name, look in looks.items():
            start = time.process_time()
            look()
            found[name] = min(found[name], time.process_time() - start)
    return found


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    trace = recorded(often(1_000))
    events, steps = list(trace), range(len(trace))
    looks: dict[str, Look] = {
        "list[i]": lambda: [events[i] for i in steps],
        "trace[i]": lambda: [trace[i] for i in steps],
        "list": lambda: [event for event in events],  # noqa: C416
        "trace": lambda: [event for event in trace],  # noqa: C416
        "len(list)": lambda: [len(events) for _ in steps],
        "len(trace)": lambda: [len(trace) for _ in steps],
        "children": lambda: [list(trace.children(i)) for i in steps],
        "ancestors": lambda: [list(trace.ancestors(i)) for i in steps],
    }
    found = least(looks, often(40))
    for name, seconds in found.items():
        print(f"  {name:<12}{seconds / len(events) * 1e9:8.1f} ns")
    ratios = {
        "trace[i], of list[i]": found["trace[i]"] / found["list[i]"],
        "for event in trace, of a list": found["trace"] / found["list"],
        "len(trace), of a list's": found["len(trace)"] / found["len(list)"],
    }
    return judge(ratios, BARS)


if __name__ == "__main__":
    sys.exit(main())
