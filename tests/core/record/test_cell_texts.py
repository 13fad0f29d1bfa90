"""The texts of dispatch table entries, which the recordings of a process share until a registration changes."""

from __future__ import annotations

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.cell_text import texts_of_process
from dispatchviz.trace import Trace


def recorded_add() -> Trace:
    x = torch.ones(2)
    with dispatchviz.record() as trace:
        torch.add(x, x)
    return trace


def selected(trace: Trace) -> list[ev.KernelSelected]:
    return [event for event in trace if isinstance(event, ev.KernelSelected)]


def test_recordings_share_texts_and_have_equal_events() -> None:
    first = selected(recorded_add())
    texts = texts_of_process()
    second = selected(recorded_add())
    assert texts_of_process() is texts
    assert len(texts)
    assert first == second


def test_recording_after_a_registration_has_the_new_kernel() -> None:
    before = selected(recorded_add())
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("add.Tensor", lambda a, b, *, alpha=1: a, "AutogradCPU")
        texts = texts_of_process()
        within = selected(recorded_add())
    after = selected(recorded_add())
    assert within[-1].kernel != before[-1].kernel
    assert [event.kernel for event in after] == [event.kernel for event in before]
    assert texts_of_process() is not texts
