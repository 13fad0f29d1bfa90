"""Small facts that a script can query: evaluated on the model, and live on PyTorch, by the same expressions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from dispatchviz import torch as model


def answer(question: Callable[[], Any]) -> str:
    """Also what goes wrong is an answer."""
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
        lambda: torch.backends.cudnn.version(),
    ]
    return [answer(question) for question in questions]


def unknown_to_python(torch: Any) -> tuple[str, str, bool]:
    """The Node of an operator without an autograd kernel: what Python calls it, what C++ does, what is printed."""
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
    "None",
]


def test_the_model_answers_as_pytorch() -> None:
    assert answers(model) == PYTORCHS


@pytest.mark.torch
def test_pytorch_still_does() -> None:
    assert answers(pytest.importorskip("torch")) == PYTORCHS
