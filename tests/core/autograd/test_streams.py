"""CUDA streams: the recorded events, and the waits in a backward.

CUDA is emulated, and no PyTorch with a GPU is compared. The rules are those of PyTorch's ``engine.cpp`` and
``input_buffer.cpp``, where a comment "Streaming backwards" states them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.device import streams
from dispatchviz.core.record import events as ev
from dispatchviz.running.process_state import clean_process_state
from dispatchviz.trace import Trace

STREAM_EVENTS = (ev.StreamChanged, ev.StreamEventRecorded, ev.StreamWaited, ev.MemoryUsedOnStream)


@pytest.fixture(autouse=True)
def new_machine() -> Iterator[None]:
    with clean_process_state():
        yield


def stream_events(trace: Trace) -> list[str]:
    """Each event of streams in a few words. The events of a Node come after its name."""
    return [_words(event) for event in trace if isinstance(event, (*STREAM_EVENTS, ev.NodeStarted))]


def _words(event: Any) -> str:
    match event:
        case ev.StreamChanged():
            return f"{event.before} -> {event.stream}"
        case ev.StreamEventRecorded():
            return f"event {event.event} on {event.stream}"
        case ev.StreamWaited():
            return f"{event.stream} waits for event {event.event} of {event.recorded_on}"
        case ev.MemoryUsedOnStream():
            return f"memory on {event.stream}"
        case _:
            return str(event.name).rpartition(":")[2]


def leaf() -> Any:
    return torch.ones(2, device="cuda", requires_grad=True)


def test_program_with_one_stream_records_no_stream_events() -> None:
    x = leaf()
    with dispatchviz.record() as trace:
        (x * x).sum().backward()
        assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert not any(isinstance(event, STREAM_EVENTS) for event in trace)


def test_a_node_runs_on_the_stream_of_its_forward() -> None:
    x, side = leaf(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = x * 2
    assert y.grad_fn.stream() is side._stream
    with dispatchviz.record() as trace:
        y.backward(torch.ones(2, device="cuda"))
    assert stream_events(trace) == [
        "memory on 1", "event 1 on 0",  # the root's gradient comes from the caller's stream
        "0 -> 1", "1 waits for event 1 of 0", "MulBackward0",
        "1 -> 0",
        "0 -> 1", "AccumulateGrad",  # made during the forward, so on the side stream
        "1 -> 0",
        "event 2 on 1", "0 waits for event 2 of 1",  # the caller of backward may use x.grad
    ]  # fmt: skip


class KeepsItsStream(torch.autograd.Function):
    """A Function whose attributes have the names of Node's methods, as many Functions with a stream do."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.name, ctx.stream = "mine", torch.cuda.current_stream()
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        assert ctx.stream == torch.cuda.current_stream()
        return grad * 2


def test_engine_reads_the_nodes_stream_not_the_ctxs() -> None:
    x = leaf()
    with torch.cuda.stream(torch.cuda.Stream()):
        y = KeepsItsStream.apply(x)
    with dispatchviz.record() as trace:
        (y + y).sum().backward()
    assert x.grad.tolist() == [4, 4]
    assert "KeepsItsStreamBackward" in stream_events(trace)


def test_a_sum_waits_for_both_its_summands() -> None:
    x, side = leaf(), torch.cuda.Stream()
    y = x * 2
    with torch.cuda.stream(side):
        z = y.exp()
    w = y + z
    with dispatchviz.record() as trace:
        w.backward(torch.ones(2, device="cuda"))
    assert stream_events(trace) == [
        "AddBackward0",
        "memory on 1", "event 1 on 0",
        "0 -> 1", "1 waits for event 1 of 0", "ExpBackward0",
        "event 2 on 1", "0 waits for event 2 of 1", "memory on 0",  # the new summand; the other one is ready on 0
        "1 -> 0",  # the sum runs where its receiver runs
        "0 -> 1",
        "1 -> 0",
        "MulBackward0",
        "AccumulateGrad",
    ]  # fmt: skip
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([2 + 2 * torch.tensor(2.0).exp().item()] * 2)


def test_caller_waits_for_captured_gradients_too() -> None:
    x, side = leaf(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = x * 2
        z = y * y
    torch.cuda.current_stream().wait_stream(side)
    with dispatchviz.record() as trace:
        torch.autograd.grad(z.sum(), y)
    assert stream_events(trace)[-2:] == ["event 3 on 1", "0 waits for event 3 of 1"]


def test_final_callbacks_run_on_the_callers_stream() -> None:
    x, side, seen = leaf(), torch.cuda.Stream(), []
    with torch.cuda.stream(side):
        y = x * 2

    def hook(grad: Any) -> None:
        seen.append(torch.cuda.current_stream())
        torch.autograd.Variable._execution_engine.queue_callback(lambda: seen.append(torch.cuda.current_stream()))

    y.register_hook(hook)
    y.sum().backward()
    assert seen == [side, torch.cuda.default_stream()]
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_accumulator_on_another_stream_warns_once() -> None:
    x, side = leaf(), torch.cuda.Stream()
    y = x * 2  # makes the accumulator
    with torch.cuda.stream(side):
        z = x * 3

    def mismatches() -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            z.sum().backward(retain_graph=True)
        return sum("AccumulateGrad node's stream does not match" in str(w.message) for w in caught)

    assert [mismatches(), mismatches()] == [1, 0]
    assert y.requires_grad


def test_the_warning_can_be_switched_off(recwarn: pytest.WarningsRecorder) -> None:
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    try:
        x, side = leaf(), torch.cuda.Stream()
        y = x * 2
        with torch.cuda.stream(side):
            (x * 3 + 1).sum().backward()
        assert y.requires_grad
        assert not recwarn.list
    finally:
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)


# -- the Python side ---------------------------------------------------------------------------------------------------


def test_streams_come_from_a_pool_of_32() -> None:
    made = [torch.cuda.Stream() for _ in range(33)]
    assert made[32] == made[0]
    assert len(set(made)) == 32
    assert [s.stream_id for s in made[:3]] == [3, 35, 67]
    assert torch.cuda.Stream(priority=-1).stream_id == 5
    assert torch.cuda.Stream(priority=-9).priority == torch.cuda.Stream.priority_range()[1] == -3


def test_streams_and_events_print_as_in_pytorch() -> None:
    assert repr(torch.cuda.default_stream()) == "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0>"
    event = torch.cuda.Event()
    assert repr(event) == "<torch.cuda.Event uninitialized>"
    event.record()
    assert repr(event).startswith("<torch.cuda.Event 0x")


def test_a_stream_is_a_context_manager() -> None:
    side = torch.cuda.Stream()
    with side:
        assert torch.cuda.current_stream() == side
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == side
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.set_stream(side)
    assert torch.cuda.current_stream() == side
    assert side.query()


def test_unrecorded_event_causes_no_wait() -> None:
    with dispatchviz.record() as trace:
        torch.cuda.Event().wait()
        torch.cuda.current_stream().wait_stream(torch.cuda.current_stream())
    assert stream_events(trace) == ["event 2 on 0", "0 waits for event 2 of 0"]


def test_elapsed_time_needs_two_recorded_events_with_timing() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match=r"Both events must be recorded before calculating elapsed time\."):
        start.elapsed_time(end)
    start.record()
    end.record()
    assert start.elapsed_time(end) == 0.0
    with pytest.raises(ValueError, match="must be created with argument 'enable_timing=True'"):
        start.elapsed_time(torch.cuda.Event())


def test_record_stream_is_an_operator() -> None:
    x, side = torch.ones(2, device="cuda"), torch.cuda.Stream()
    with dispatchviz.record() as trace:
        x.record_stream(side)
    assert [e.operator for e in trace if isinstance(e, ev.Dispatched)] == ["aten::record_stream"] * 2
    assert stream_events(trace) == ["memory on 1"]
    with pytest.raises(TypeError, match="expected Stream object"):
        x.record_stream(1)


def test_new_process_state_has_no_streams() -> None:
    torch.cuda.Stream()
    with clean_process_state():
        assert not streams.in_use()
        assert torch.cuda.Stream()._stream.number == 1


def test_stream_of_a_missing_device_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.Stream(device=1)
