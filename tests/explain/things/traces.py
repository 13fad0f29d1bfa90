"""Recorded programs of many subjects, for tests of the answers about tensors and Nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.trace import Trace
from tests.model_runs import recorded
from truth import programs

SUBJECTS = ("autograd", "engine", "functions", "geometry", "hooks", "in_place", "inference", "modes", "setting_memory",
            "training", "views")  # fmt: skip


@lru_cache(maxsize=8)
def traces(subject: str) -> tuple[tuple[str, Trace], ...]:
    """Return about ten programs of a subject, by name, without those that only define something."""
    sources = list(programs.SUBJECTS[subject].items())
    found = ((name, recorded(source)) for name, source in sources[:: max(len(sources) // 10, 1)])
    return tuple((name, trace) for name, trace in found if len(trace))


def tensors(trace: Trace) -> Iterator[int]:
    """Yield the tensors of a trace, without Python numbers."""
    return (event.tensor for event in trace if isinstance(event, ev.TensorCreated) and not event.wrapped_number)
