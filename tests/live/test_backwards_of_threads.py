"""Backwards that several threads begin at the same moment."""

from __future__ import annotations

import io
from threading import Barrier, get_ident
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.live import engine_watch
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code

pytestmark = pytest.mark.torch

TWO_THREADS = """
import threading, torch

def work():
    w = torch.ones(2, requires_grad=True)
    (w * w).sum().backward()
    print(w.grad.tolist())

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_two_threads_that_put_hooks_on_nodes_at_once_are_both_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier, waited, original = Barrier(2), set[int](), engine_watch._hooked

    def hooked(*args: Any) -> Any:
        if get_ident() not in waited:
            waited.add(get_ident())
            barrier.wait()
        return original(*args)

    monkeypatch.setattr(engine_watch, "_hooked", hooked)
    output = io.StringIO()
    trace = run(Code(TWO_THREADS), output=output, engine=engine_named("torch")).trace
    assert trace.notice == ""
    assert output.getvalue().splitlines() == ["[2.0, 2.0]"] * 2
    assert sum(isinstance(event, ev.BackwardStarted) for event in trace) == 2
    assert sum(isinstance(event, ev.NodeStarted) for event in trace) == 6
