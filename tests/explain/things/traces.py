"""Programs of many subjects, recorded: what is said of tensors and Nodes is tried on all of them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from functools import lru_cache

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.trace import Trace
from truth import programs
from truth.observers.runs import in_new_thread

SUBJECTS = ("autograd", "engine", "functions", "geometry", "hooks", "in_place", "inference", "modes", "setting_memory",
            "training", "views")  # fmt: skip


@lru_cache(maxsize=8)
def traces(subject: str) -> tuple[tuple[str, Trace], ...]:
    """Some ten programs of a subject, by name; those that only define something are left out."""
    sources = list(programs.SUBJECTS[subject].items())
    found = ((name, recorded(source)) for name, source in sources[:: max(len(sources) // 10, 1)])
    return tuple((name, trace) for name, trace in found if len(trace))


def recorded(source: str) -> Trace:
    """The trace of a program, which may raise."""

    def record() -> Trace:
        variables = {"torch": torch, "__name__": "__main__"}
        with dispatchviz.record() as trace, contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source.replace("import torch\n", "", 1), "program", "exec"), variables)
        return trace

    return in_new_thread(record)


def tensors(trace: Trace) -> Iterator[int]:
    """Those that the trace knows, without Python numbers."""
    from dispatchviz.core.record import events as ev

    return (event.tensor for event in trace if isinstance(event, ev.TensorCreated) and not event.wrapped_number)
