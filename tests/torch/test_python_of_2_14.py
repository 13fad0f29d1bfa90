"""Results and errors of PyTorch's Python code that 2.14 changed."""

from __future__ import annotations

import dataclasses
import importlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dispatchviz.torch as model
from dispatchviz.running.process_state import clean_process_state

Question = Callable[[Any], Any]


@dataclasses.dataclass
class Point:
    """A value whose fields are compared one by one if they are tensors."""

    x: Any
    y: Any = 0


def _close(torch: Any, one: Any, other: Any) -> Any:
    return torch.testing.assert_close(Point(torch.tensor(one)), Point(torch.tensor(other)))


def _maximized(torch: Any, search: str | None) -> Any:
    """Return the place of the maximum, which 4 iterations approach."""
    x = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.LBFGS([x], lr=0.5, max_iter=4, line_search_fn=search, maximize=True)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = -((x - 3) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return [round(value, 3) for value in x.tolist()]


def _muon(torch: Any, how: str) -> Any:
    weight = torch.nn.Parameter(torch.zeros(2, 8))
    weight.grad = torch.ones(2, 8)
    torch.optim.Muon([weight], lr=1.0, adjust_lr_fn=how).step()
    return round(weight.norm().item(), 1)


def _warned(function: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [f"{warning.category.__name__}: {str(warning.message)[:40]}" for warning in caught]


def _backward_with_a_pre_hook(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_pre_hook(lambda module, grads: None)
    layer(torch.ones(1, 2)).sum().backward()


def _checkpointed_method(torch: Any) -> Any:
    calls = []

    class Layer:
        scale = 2

        @torch.utils.checkpoint.checkpoint(use_reentrant=False)
        def forward(self, x: Any) -> Any:
            calls.append(self.scale)
            return (x * self.scale).exp()

    x = torch.zeros(1, requires_grad=True)
    Layer().forward(x).backward()
    return Layer.forward.__name__, calls, x.grad.tolist()


def _checkpoint_options(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True, respect_saved_tensors_hooks=True)


def _mask(torch: Any, size: tuple[int, ...], norm: Any) -> Any:
    prune = torch.nn.utils.prune
    module = torch.nn.Module()
    module.w = torch.nn.Parameter(torch.arange(1.0, 1 + torch.Size(size).numel()).reshape(size))
    prune.ln_structured(module, "w", 1, norm, 0)
    return module.w_mask.flatten(1).sum(1).tolist()


QUESTIONS: dict[str, tuple[Question, Any]] = {
    "the dimension of a softmax is an int": (
        lambda torch: torch.nn.Softmax(1.5),
        "TypeError: dim must be an int or None, got <class 'float'>",
    ),
    "a bool is no dimension": (
        lambda torch: torch.nn.LogSoftmax(True),
        "TypeError: dim must be an int or None, got <class 'bool'>",
    ),
    "softmin checks nothing": (lambda torch: repr(torch.nn.Softmin(True)), "Softmin(dim=True)"),
    "the norm of a pooling layer is not 0": (
        lambda torch: torch.nn.LPPool2d(0, 2),
        "ValueError: norm_type must be a non-zero value, but got 0",
    ),
    "the norm of a pooling function is not 0": (
        lambda torch: torch.nn.functional.lp_pool1d(torch.ones(1, 1, 4), 0.0, 2),
        "ValueError: norm_type must be a non-zero value, but got 0.0",
    ),
    "the message of a check may be a text": (lambda torch: torch._check(False, "too small"), "RuntimeError: too small"),
    "a shape with 0 has no coordinates": (
        lambda torch: torch.unravel_index(torch.tensor([1]), (0, 2)),
        "ValueError: 'shape' cannot have zero dimensions when 'indices' is non-empty, but got (0, 2)",
    ),
    "dataclasses with equal tensors are close": (lambda torch: _close(torch, [1.0, 2.0], [1.0, 2.0]), None),
    "the field that differs is named": (
        lambda torch: _close(torch, [1.0, 2.0], [1.0, 3.0]),
        re.compile(r"(?s)AssertionError: Tensor-likes are not close!.*The failure occurred for item \['x'\]"),
    ),
    "dataclasses without tensors are compared by ==": (
        lambda torch: torch.testing.assert_close(Point(1), Point(2)),
        "AssertionError: Point(x=1, y=0) != Point(x=2, y=0)",
    ),
    "LBFGS maximizes": (lambda torch: _maximized(torch, None), [2.792, 2.896]),
    "LBFGS maximizes along a line": (lambda torch: _maximized(torch, "strong_wolfe"), [2.792, 2.896]),
    "LBFGS without parameters calls the closure": (
        lambda torch: torch.optim.LBFGS([{"params": []}]).step(lambda: torch.tensor(3.0)).item(),
        3.0,
    ),
    "Muon raises the rate of no wide matrix": (lambda torch: _muon(torch, "original"), 0.7),
    "Muon lowers the rate of a wide matrix": (lambda torch: _muon(torch, "spectral_unclamped"), 0.3),
    "a pre hook alone gives no warning": (lambda torch: _warned(lambda: _backward_with_a_pre_hook(torch)), []),
    "a checkpointed method": (_checkpointed_method, ("forward", [2, 2], [2.0])),
    "options of checkpoints that recompute in backward": (
        _checkpoint_options,
        (
            "ValueError: Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported when "
            "use_reentrant=False."
        ),
    ),
    "keyword arguments of a decorator": (
        lambda torch: torch.utils.checkpoint.checkpoint(scale=2),
        "ValueError: Unexpected keyword arguments: scale",
    ),
    "a norm of matrices prunes": (lambda torch: _mask(torch, (2, 3, 2), "nuc"), [0.0, 6.0]),
    "a norm of vectors prunes": (lambda torch: _mask(torch, (2, 3), "fro"), [0.0, 3.0]),
    "the profiler has no use_cuda": (
        lambda torch: torch.profiler.profile(use_cuda=True),
        "TypeError: profile.__init__() got an unexpected keyword argument 'use_cuda'",
    ),
    "the older profiler has no use_cuda": (
        lambda torch: torch.autograd.profiler.profile(use_cuda=True),
        "TypeError: profile.__init__() got an unexpected keyword argument 'use_cuda'",
    ),
    "the older profiler warns of with_modules": (
        lambda torch: _warned(lambda: torch.autograd.profiler.profile(with_modules=True)),
        ["FutureWarning: with_modules is deprecated and will be r"],
    ),
    "an activity is no text": (
        lambda torch: torch.profiler.profile(activities=["CPU"]),
        "TypeError: Expected ProfilerActivity or dict, got <class 'str'>",
    ),
}
"""Name -> the question, and the answer of PyTorch 2.14.1: a value, or an error as text."""

GRADIENTS: dict[str, tuple[str, Any, Any]] = {
    "one for each input that was passed": ("(x)", lambda g: (g,), [6.0]),
    "one for each positional input": ("(x)", lambda g: (g, None, None), [6.0]),
    "neither": ("(x)", lambda g: (g, None), "an incorrect number of gradients (expected 1 or 3, got 2)"),
    "too few": ("(x, 5.0)", lambda g: g, "an incorrect number of gradients (expected 2 or 3, got 1)"),
    "too many": ("(x, 5.0, 4)", lambda g: (g,) * 4, "an incorrect number of gradients (expected 3, got 4)"),
    "a gradient of an input that was not passed": (
        "(x)",
        lambda g: (g, None, 1.0),
        "a non-None gradient for an input that was not passed to the operator",
    ),
}
"""Name -> the arguments of the call, the backward, and the gradient or PyTorch's error."""


def answer(torch: Any, question: Question) -> Any:
    """Return the answer, or the error as text."""
    importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    try:
        return question(torch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check(torch: Any, name: str) -> None:
    """Assert that a PyTorch gives the answer."""
    question, expected = QUESTIONS[name]
    found = answer(torch, question)
    if isinstance(expected, re.Pattern):
        assert expected.search(found)
    else:
        assert found == expected


def check_gradients(torch: Any, name: str) -> None:
    """Assert that a custom operator with defaults accepts or refuses the gradients of its formula."""
    arguments, backward, expected = GRADIENTS[name]
    schema = "(Tensor x, float s=2.0, int k=3) -> Tensor"

    def scaled(x: Any, s: float = 2.0, k: int = 3) -> Any:
        return x * s * k

    operator = torch.library.custom_op("python_of_2_14::scaled", scaled, mutates_args=(), schema=schema)
    operator.register_autograd(lambda ctx, g: backward(g * 6))
    x = torch.ones(1, requires_grad=True)
    result = eval(f"operator{arguments}", {"operator": operator, "x": x})
    if isinstance(expected, str):
        text = f"The backward formula for python_of_2_14.scaled.default returned {expected}"
        with pytest.raises(RuntimeError, match=f"^{re.escape(text)}"):
            result.backward()
    else:
        result.backward()
        assert x.grad.tolist() == expected


@pytest.fixture
def installed() -> Any:
    torch = pytest.importorskip("torch")
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
        pytest.skip("the answers are those of 2.14")
    return torch


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_that_of_2_14(name: str) -> None:
    check(model, name)


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradients_of_a_custom_operator_are_counted(name: str) -> None:
    with clean_process_state():
        check_gradients(model, name)


@pytest.mark.torch
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_that_of_an_installed_pytorch(name: str, installed: Any) -> None:
    check(installed, name)


@pytest.mark.torch
@pytest.mark.parametrize("name", GRADIENTS)
def test_an_installed_pytorch_counts_gradients_alike(name: str, installed: Any) -> None:
    check_gradients(installed, name)
