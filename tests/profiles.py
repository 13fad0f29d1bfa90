"""The events of ``torch.profiler`` and of our export, in a form in which they can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TraceEvents = Iterable[dict[str, Any]]


def nested(events: TraceEvents, sizes: bool = True, strides: bool = True) -> list[str]:
    """Return the operators and Nodes with their numbers and sizes, each indented by its depth."""
    rows, open_ = list[str](), list[float]()
    for event in _slices(events):
        while open_ and open_[-1] <= event["ts"]:
            open_.pop()
        open_.append(event["ts"] + event["dur"])
        args = event["args"]
        numbers = args.get("Sequence number"), "Fwd thread id" in args and args["Fwd thread id"] > 0
        shown = f" {args.get('Input Dims')}" if sizes else ""
        shown += f" {args.get('Input Strides')}" if sizes and strides else ""
        rows.append(f"{'  ' * (len(open_) - 1)}{event['name']} {numbers}{shown}")
    return rows


def arrows(events: TraceEvents) -> list[tuple[object, object]]:
    """Return for each arrow the names and sequence numbers of the slices at its ends. As in Perfetto, that is the slice
    that began last among those open in the thread.
    """
    events = list(events)
    slices = _slices(events)
    ends: dict[int, dict[str, tuple[str, int]]] = {}
    for event in events:
        if event.get("cat") == "fwdbwd":
            at = [each for each in slices if each["tid"] == event["tid"] and _is_open(each, event["ts"])][-1]
            ends.setdefault(event["id"], {})[event["ph"]] = at["name"], at["args"]["Sequence number"]
    return sorted((pair["s"], pair["f"]) for pair in ends.values())


def _is_open(event: dict[str, Any], at: float) -> bool:
    return bool(event["ts"] <= at < event["ts"] + event["dur"])


def _slices(events: TraceEvents) -> list[dict[str, Any]]:
    found = [event for event in events if event.get("cat") == "cpu_op"]
    return sorted(found, key=lambda event: (event["ts"], -event["dur"]))
