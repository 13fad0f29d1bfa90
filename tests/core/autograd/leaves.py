"""Leaves of a graph, and the events of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.seam import recorder


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def record(run: Callable[[], Any]) -> list[Any]:
    """The events of ``run``."""
    listening = Recorder()
    recorder.start(listening)
    try:
        run()
    finally:
        recorder.stop(listening)
    assert listening.failed is None
    return list(listening.events)


def of_kind(trace: Iterable[Any], kind: type[Any]) -> list[Any]:
    return [event for event in trace if isinstance(event, kind)]
