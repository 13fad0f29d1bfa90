"""A trace is a value: nobody can change it, and it is the same object that a recording was."""

from __future__ import annotations

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.device.array_library import cuda_state, forget_cuda
from dispatchviz.core.record.events import Printed
from dispatchviz.core.record.trace_file import Header
from dispatchviz.trace import Trace


def test_a_finished_recording_is_a_trace_that_nobody_can_change() -> None:
    with dispatchviz.record() as trace:
        torch.ones(1)
        before = len(trace)
        assert type(trace) is not Trace
        torch.ones(1)
    assert type(trace) is Trace
    assert type(trace.events) is tuple
    assert len(trace) > before
    with pytest.raises(AttributeError, match="cannot be changed"):
        trace.events = ()
    with pytest.raises(AttributeError, match="cannot be changed"):
        del trace.notice
    with pytest.raises(TypeError):
        trace.header.sources["x.py"] = ""  # type: ignore[index]
    with pytest.raises(AttributeError):
        trace.header.program = "other.py"  # type: ignore[misc]


def test_the_end_of_a_recording_does_not_look_for_a_gpu() -> None:
    forget_cuda()
    with dispatchviz.record("p.py") as trace:
        torch.ones(1, requires_grad=True).sum().backward()
    assert cuda_state.cache_info().currsize == 0  # a backward would be prepared for Nodes of a GPU from now on
    assert (trace.header.program, trace.header.cuda) == ("p.py", str(cuda_state()))
    assert trace.header is trace.header


def test_children_and_ancestors_of_interleaved_events() -> None:
    parents = (None, 0, 0, 1, 2, 1, None, 6)
    trace = Trace(Header(cuda="none", program="p.py"), [Printed(i, parent, "") for i, parent in enumerate(parents)])
    for seq in range(len(parents)):
        assert [event.seq for event in trace.children(seq)] == [i for i, p in enumerate(parents) if p == seq]
    assert [event.seq for event in trace.ancestors(5)] == [1, 0]
    assert tuple(trace.depths) == (0, 1, 1, 2, 2, 2, 0, 1)
    assert tuple(trace.ends) == (5, 5, 4, 3, 4, 5, 7, 7)
