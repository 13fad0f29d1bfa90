"""Small facts that a script can query, and the counts of the profiler, compared with PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz import torch as model
from dispatchviz.torch.profiler import profile, record_function, schedule


def answer(question: Callable[[], Any]) -> str:
    """Return the value of a question, or its error as text."""
    try:
        return str(question())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def answers(torch: Any) -> list[str]:
    device = torch.device("cuda:0")
    rows = torch.tensor([[1.0, 3.0], [5.0, 2.0]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    questions: list[Callable[[], Any]] = [
        lambda: isinstance(device, tuple),
        lambda: device == ("cuda", 0),
        lambda: (pickle.loads(pickle.dumps(device)), copy.deepcopy(device)) == (device, device),
        lambda: {device: "found"}[torch.device("cuda", 0)],
        lambda: setattr(device, "type", "cpu"),
        lambda: setattr(device, "anything", 1),
        lambda: [found.tolist() for found in torch.max(rows, 0, out=(values, indices))],
        lambda: (values.tolist(), indices.tolist()),
        lambda: unknown_to_python(torch),
        lambda: torch._C._log_api_usage_once("package.Class"),
        lambda: torch._C._log_api_usage_once(1),
        lambda: torch.tensor(numpy.zeros(2, ml_dtypes.bfloat16)),
    ]
    return [answer(question) for question in questions]


def unknown_to_python(torch: Any) -> tuple[str, str, bool]:
    """Return the Python class and the C++ name of the Node of an operator without an autograd kernel, and whether its
    repr names it.
    """
    with torch.library._scoped_library("small_facts", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x.detach() * 2, "CPU")
        y = torch.ops.small_facts.f(torch.ones(1, requires_grad=True))
    return type(y.grad_fn).__name__, y.grad_fn.name(), "grad_fn=<WarnNotImplemented>" in str(y)


PYTORCHS = [
    "False",
    "False",
    "True",
    "found",
    "AttributeError: attribute 'type' of 'torch.device' objects is not writable",
    "AttributeError: 'torch.device' object has no attribute 'anything'",
    "[[5.0, 3.0], [1, 0]]",
    "([5.0, 3.0], [1, 0])",
    "('CppFunction', 'torch::autograd::WarnNotImplemented', True)",
    "None",
    "TypeError: bad argument type for built-in operation",
    (
        "TypeError: can't convert np.ndarray of type ml_dtypes.bfloat16. The only supported types are: float64, "
        "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    ),
]


def test_the_model_gives_the_answers_of_pytorch() -> None:
    assert answers(model) == PYTORCHS


@pytest.mark.torch
def test_pytorch_still_gives_the_recorded_answers() -> None:
    assert answers(pytest.importorskip("torch")) == PYTORCHS


def test_cudnn_has_no_version_as_in_a_cpu_build_of_pytorch() -> None:
    assert torch.backends.cudnn.version() is None


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
def test_profiler_counts_the_same_calls_as_pytorch() -> None:
    real = pytest.importorskip("torch")
    assert _counts(torch) == _counts(real)


def test_profiler_counts_the_same_with_and_without_a_recorder() -> None:
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
