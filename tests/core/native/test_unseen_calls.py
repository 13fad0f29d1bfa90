"""Kernels that do small steps themselves where nothing could see their calls: results and errors are the same, and
whatever can see the calls still does.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.call.unseen_calls import are_unseen
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.thread_state import thread

pytestmark = pytest.mark.filterwarnings(
    "ignore:Casting complex values",
    "ignore:Warning only once for all operators",
    "ignore:An output with one or more elements was resized",
)

EXPRESSIONS = [
    *("x * 2.5", "2 * x", "x + 300", "x - 1.5", "x - True", "x + True", "x * 1e300", "x + 2j", "x * float('nan')"),
    *("x.mul_(2.5)", "x.add_(3)", "x.sub_(1)", "x.sub_(True)", "x.add_(2, alpha=2)", "x - x", "x.add_(x.clone())"),
    *("x ** 2", "x ** 2.0", "x ** 3", "x ** 0", "x ** 1", "x ** -1", "x ** True", "x ** 0.5", "x.pow_(2)"),
    *("x.sum()", "x.sum(0)", "x.sum(-1, keepdim=True)", "x.sum(dtype=torch.float64)", "x.mean()"),
    *("torch.sum(x, (), out=torch.empty((), dtype=x.dtype))", "(x * 1)[..., :1] * 3", "x[:0].sum()"),
    *("torch.sum(x, 0, out=x[0])", "torch.sum(x, 0, keepdim=True, out=x[:1])", "torch.pow(x, 2, out=x)"),
    *("torch.mul(x[:1], 2, out=x[1:])", "x.add_(x[0])", "x[0].mul_(2) + x"),
]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "bool", "complex64"]
SIZES: list[tuple[int, ...]] = [(), (3,), (2, 3)]
KINDS = ["plain", "transposed", "expanded", "inference"]


def outcome(expression: str, dtype: str, size: tuple[int, ...], kind: str) -> tuple[object, ...]:
    """Compute an expression. Return dtype, geometry and values of its result, or the error."""
    with torch.inference_mode(kind == "inference"):
        x = torch.tensor([3, 1, 2, 5, 0, 4])[: torch.Size(size).numel()].reshape(size).to(getattr(torch, dtype))
        x = x.t() if kind == "transposed" and len(size) == 2 else x.expand(2, *size) if kind == "expanded" else x
        try:
            result = eval(expression, {"torch": torch, "x": x})
        except (RuntimeError, IndexError) as error:
            return type(error), str(error)
        return result.dtype, result.size(), result.stride(), str(result.tolist()), str(x.tolist())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_and_errors_are_those_of_the_calls(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "registrations", 0)
    cases = list(itertools.product(DTYPES, SIZES, KINDS))
    unseen = [outcome(expression, *case) for case in cases]
    monkeypatch.setattr(recorder, "registrations", 1)
    assert unseen == [outcome(expression, *case) for case in cases]


def compute() -> None:
    """Compute a product with a number, a power and a sum."""
    x = torch.ones(3)
    (x * 2.0 + x**2).sum()


CALLS = {"aten::to.dtype", "aten::_to_copy", "aten::empty_strided", "aten::copy_", "aten::as_strided", "aten::fill_"}


def test_a_recorder_sees_the_calls() -> None:
    with dispatchviz.record() as trace:
        compute()
    called = {event.operator.removesuffix(".Scalar") for event in trace.events if isinstance(event, ev.Dispatched)}
    assert called >= CALLS | {"aten::result_type"}


def test_calls_of_a_thread_that_includes_a_key_may_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "registrations", 0)
    with torch.inference_mode():
        x = torch.ones(3)
        assert are_unseen(x)
        with monkeypatch.context() as within:  # inference mode restores the sets, too
            within.setattr(thread.state, "included", thread.state.included | raw(DispatchKey.Python))
            assert not are_unseen(x)


def test_calls_with_a_tensor_whose_autograd_key_counts_may_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "registrations", 0)
    assert not are_unseen(torch.ones(3))


def test_a_kernel_of_the_program_sees_the_calls() -> None:
    filled: list[float] = []

    def fill(tensor: Any, value: float) -> Any:
        filled.append(value)
        return tensor

    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("fill_.Scalar", fill, "CPU")
        compute()
    assert filled == [1, 0]  # ``ones`` and the sum
