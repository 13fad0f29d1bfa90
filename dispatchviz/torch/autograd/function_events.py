"""``FunctionEvent`` and ``EventList`` of the profiler: names and counts (``torch/autograd/profiler_util.py``).

NB: calls are counted, but times are not measured, because the model's times would say nothing about PyTorch's. Every
time is 0, and ``table`` has no columns for times. Calls inside a kernel are counted too, as in PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.core.record.machine_recorder import Recorder

_CALLS = ("call", "callBoxed")
_NAMED_AGAIN = ("aten::detach", "aten::detach_")
"""Operators whose handwritten autograd kernels record their names once more."""


class FunctionEvent:
    """One call."""

    def __init__(self, name: str) -> None:
        self.name = self.key = name
        self.count = 1

    cpu_time = cpu_time_total = self_cpu_time_total = device_time = device_time_total = self_device_time_total = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = flops = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name} count={self.count}>"


class FunctionEventAvg(FunctionEvent):
    """All calls of one name."""


class EventList(list[Any]):
    """The calls in the order in which they began, or their sums."""

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """Return one entry for each name, in the order of first calls."""
        found: dict[str, FunctionEventAvg] = {}
        for event in self:
            name = "ProfilerStep*" if event.name.startswith("ProfilerStep#") else event.name
            if name in found:
                found[name].count += event.count
            else:
                found[name] = FunctionEventAvg(name)
                found[name].count = event.count
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """Return one entry for all calls together."""
        total = FunctionEventAvg("Total")
        total.count = sum(event.count for event in self)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, *args: Any, **kwargs: Any) -> str:
        """Return a table of names and counts, sorted by ``count`` if requested. ``row_limit`` -1 means all."""
        rows = sorted(self, key=lambda event: -event.count) if sort_by == "count" else list(self)
        rows = rows if row_limit < 0 else rows[:row_limit]
        width = max([4, *(len(event.key) for event in rows)])
        line = f"{'-' * width}  {'-' * 12}"
        head = [line, f"{'Name':>{width}}  {'# of Calls':>12}", line]
        body = [f"{event.key:>{width}}  {event.count:>12}" for event in rows]
        return "\n".join([*head, *body, line, "dispatchviz counts calls and measures no times", ""])

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for trace viewers. NB: its times are the positions in the order of calls."""
        import json

        listed = [
            {"ph": "X", "name": event.name, "ts": position, "dur": 1, "pid": 0, "tid": 0}
            for position, event in enumerate(self)
        ]
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"traceEvents": listed}, stream)

    def __str__(self) -> str:
        return self.table()


class Collector:
    """Collect calls between ``start`` and ``stop``, with a recorder of its own or from the one that is recording
    already.
    """

    running: list[Collector] = []  # noqa: RUF012  of the process

    def __init__(self) -> None:
        self._own: Recorder | None = None
        self._first = 0
        self._names: list[tuple[int, str]] = []

    def start(self) -> None:
        """Begin to collect."""
        if recorder.listening is None:
            from dispatchviz.core.record.machine_recorder import Recorder  # loaded only for a recording

            self._own = Recorder()
            recorder.start(self._own)
        self._listener = recorder.active
        self._first = self._position()
        Collector.running.append(self)

    def _position(self) -> int:
        return 0 if self._listener is None else len(self._listener.events)

    def named(self, name: str) -> None:
        """Record the beginning of a named block."""
        self._names.append((self._position(), name))

    def stop(self) -> EventList:
        """Stop collecting and return the calls since ``start``."""
        Collector.running.remove(self)
        if self._own is not None:
            recorder.stop(self._own)
        recorded = [] if self._listener is None else self._listener.events
        self._calls: list[_Call] = []
        self._open: dict[int, _Call] = {}
        for index in range(self._first, len(recorded)):
            self._read(recorded, index)
        for _, name in self._names:
            self._add(name, None)
        _merge_redispatched_overloads(self._calls)
        return EventList(FunctionEvent(call.name) for call in self._calls)

    def _read(self, recorded: list[Any], index: int) -> None:
        while self._names and self._names[0][0] <= index:
            self._add(self._names.pop(0)[1], None)
        event = recorded[index]
        kind = type(event).__name__
        if kind == "Dispatched" and event.how in _CALLS and not event.operator.startswith("profiler::"):
            name = event.operator.partition(".")[0]
            self._open[index] = call = self._add(name, self._around(recorded, event.parent))
            if name in _NAMED_AGAIN and event.key.startswith("Autograd"):
                self._add(name.removeprefix("aten::"), call)
        elif kind == "NodeStarted":
            whole = self._add(f"autograd::engine::evaluate_function: {event.name}", None)
            self._open[index] = self._add(event.name, whole)

    def _add(self, name: str, parent: _Call | None) -> _Call:
        call = _Call(name, parent)
        if parent is not None:
            parent.children.append(call)
        self._calls.append(call)
        return call

    def _around(self, recorded: list[Any], index: int | None) -> _Call | None:
        """Return the call of the innermost enclosing event."""
        while index is not None and index >= self._first:
            if index in self._open:
                return self._open[index]
            index = recorded[index].parent
        return None


class _Call:
    """A call and the calls inside it."""

    def __init__(self, name: str, parent: _Call | None) -> None:
        self.name = name
        self.parent = parent
        self.children: list[_Call] = []


def _merge_redispatched_overloads(calls: list[_Call]) -> None:
    """Remove overloads that only call another overload of the same name, so that each pair counts once."""
    again = True
    while again:
        doubles = [
            each for each in calls if each.parent and each.parent.name == each.name and len(each.parent.children) == 1
        ]
        for double in doubles:
            assert double.parent is not None
            double.parent.children = double.children
            for child in double.children:
                child.parent = double.parent
            calls.remove(double)
        again = bool(doubles)
