"""The model's answers to the questions of ``truth/questions/native_kernels``, and their comparison with PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.events import Dispatched
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.trace import Trace
from truth.questions import native_kernels as questions
from truth.questions.native_kernels import Answer


def recorded(function: Callable[[], Any]) -> tuple[list[list[Any]], Any, BaseException | None]:
    """The operators called as [depth, name], the result, and the error."""
    result, error = None, None
    with dispatchviz.record() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function()
        except Exception as raised:
            error = raised
    return calls(trace), result, error


def calls(trace: Trace) -> list[list[Any]]:
    """The full calls of a trace, as [depth, name]."""
    depth: dict[int | None, int] = {None: 0}
    found: list[list[Any]] = []
    for event in trace:
        depth[event.seq] = depth[event.parent]
        if isinstance(event, Dispatched) and event.how in ("call", "callBoxed"):
            found.append([depth[event.seq], event.operator.removeprefix("aten::")])
            depth[event.seq] += 1
    return found


def answer(expression: str, names: dict[str, Any] | None = None) -> Answer:
    """The model's answer to an expression."""
    names = names or questions.tensors(torch)
    called, result, error = recorded(lambda: eval(expression, names))
    return _answer(called, questions.described(result, is_tensor), error)


def gradient_answer(gradient: str) -> Answer:
    """The model's answer to a line of gradients."""
    program, node = questions.gradient_program(torch, gradient, questions.tensors(torch))
    called, result, error = recorded(program)
    grads = [None if grad is None else questions.described(grad, is_tensor) for grad in result or ()]
    return {**_answer(called, grads, error), "node": node()}


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of the model."""
    return isinstance(value, Tensor)


def _answer(called: list[list[Any]], result: Any, error: BaseException | None) -> Answer:
    if error is not None:
        return {"calls": called, "error": [type(error).__name__, str(error).split("\n")[0]], "result": None}
    return {"calls": called, "error": None, "result": result}


def called_text(called: list[list[Any]]) -> str:
    """Calls as an indented list."""
    return "\n".join("  " * depth + name for depth, name in called)


def assert_same(found: Answer, known: Answer, rounding: float = 2e-6) -> None:
    """Assert that error, calls and result are the same, with numbers within rounding."""
    assert found["error"] == known["error"]
    assert called_text(found["calls"]) == called_text(known["calls"])
    assert close(found["result"], known["result"], rounding), f"{found['result']} is not {known['result']}"
    assert found.get("node") == known.get("node")


def close(a: Any, b: Any, rounding: float) -> bool:
    """Return whether values are equal, with floats within rounding; nan equals nan."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, rounding) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key], rounding) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= rounding * max(abs(a), abs(b), 1e-30)
    return bool(a == b)
