"""What the profiler of the model counts, and how it goes through its steps: as PyTorch 2.13 did with the same lines."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.torch.profiler import profile, record_function, schedule


def _train(torch: Any, x: Any) -> None:
    with torch.profiler.record_function("forward"):
        y = (x * 2).sum()
    y.backward()


def _counts(torch: Any) -> dict[str, int]:
    x = torch.ones(3, requires_grad=True)
    with torch.profiler.profile() as profiler:
        _train(torch, x)
    return {event.key: event.count for event in profiler.key_averages()}


@pytest.mark.torch
def test_it_counts_what_pytorch_counts() -> None:
    real = pytest.importorskip("torch")
    assert _counts(torch) == _counts(real)


def test_it_counts_whether_somebody_records_or_not() -> None:
    alone = _counts(torch)
    with dispatchviz.record() as trace:
        recorded = _counts(torch)
    assert alone == recorded
    assert alone["forward"] == alone["aten::detach"] == alone["detach"] == 1
    assert len(trace.events) > 0


def test_a_schedule_has_cycles_as_in_pytorch() -> None:
    steps: list[tuple[int, list[tuple[str, int]]]] = []

    def ready(profiler: Any) -> None:
        steps.append((profiler.step_num, [(event.key, event.count) for event in profiler.key_averages()][:2]))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready) as profiler:
        for _ in range(6):
            with record_function("one"):
                torch.ones(2)
            profiler.step()
    assert steps == [(4, [("ProfilerStep*", 2), ("one", 2)])]


def test_a_table_has_no_times() -> None:
    with profile() as profiler:
        torch.ones(2)
    lines = profiler.key_averages().table(sort_by="cpu_time_total", row_limit=2).splitlines()
    assert lines[1].split() == ["Name", "#", "of", "Calls"]
    assert lines[3].split() == ["aten::ones", "1"]
    assert lines[-1] == "dispatchviz counts calls and measures no times"
