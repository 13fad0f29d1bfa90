"""``examples/testing`` passes as a user runs it, each assertion is short, and an installed PyTorch agrees."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "testing").glob("test_*.py"))
BY_HAND = next(path for path in EXAMPLES if path.stem == "test_by_hand")

MOST = 3
"""The most lines of an assertion."""


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_tests_pass(path: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(**{path.stem: path.read_text("utf-8")})
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=path.read_text("utf-8").count("\ndef test_"))


def test_there_are_five_each_in_three_lines() -> None:
    text = BY_HAND.read_text("utf-8")
    tests = [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(tests) == 5
    for test in tests:
        _, _, assertion = (ast.get_source_segment(text, test) or "").rpartition("\n\n")
        assert 0 < len(assertion.splitlines()) <= MOST, test.name
        assert "dispatch_trace" in assertion


# -- the same, by hand, with a real PyTorch ---------------------------------------------------------------------------


@pytest.mark.torch
def test_linear_decomposes_into_addmm() -> None:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func.name())
            return func(*args, **(kwargs or {}))

    called: list[str] = []
    with Log():
        torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))
    assert [name for name in called if name in ("aten::t", "aten::addmm", "aten::matmul")] == ["aten::t", "aten::addmm"]


@pytest.mark.torch
def test_the_weights_gradient_is_not_copied() -> None:
    import torch

    places: list[int] = []
    weight = torch.ones(4, 3, requires_grad=True)
    weight.register_hook(lambda gradient: places.append(gradient.data_ptr()))
    (torch.ones(2, 4) @ weight).pow(2).sum().backward()
    assert [weight.grad.data_ptr()] == places


@pytest.mark.torch
def test_backend_tensor_has_the_keys_of_its_kernels() -> None:
    import torch

    class OnMyBackend(torch.Tensor):
        @staticmethod
        def __new__(cls, *size: int) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, size, device="privateuseone:0")

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append("Python")
            with torch._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    def scale(x: Any, by: float) -> Any:
        seen.append("PrivateUse1")
        return x

    seen: list[str] = []
    with torch.library._scoped_library("mybackend", "DEF") as library:
        library.define("scale(Tensor x, float by) -> Tensor")
        library.impl("scale", scale, "PrivateUse1")
        x = OnMyBackend(2, 3)
        keys = torch._C._dispatch_keys(x)
        torch.ops.mybackend.scale(x, 2.0)
    assert seen == ["Python", "PrivateUse1"]
    for key in ("PythonTLSSnapshot", "AutogradPrivateUse1", "Python", "PrivateUse1"):
        assert keys.has(getattr(torch._C.DispatchKey, key)), key
    assert keys.highestPriorityTypeId() == torch._C.DispatchKey.PythonTLSSnapshot


@pytest.mark.torch
def test_hooks_run_in_order() -> None:
    import torch

    order: list[str] = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("after_node"))
    y.grad_fn.register_prehook(lambda gradients: order.append("before_node"))
    y.register_hook(lambda gradient: order.append("of_tensor"))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("accumulated"))
    y.sum().backward()
    assert order == ["of_tensor", "before_node", "after_node", "accumulated"]


@pytest.mark.torch
def test_inference_mode_leaves_autograd_out() -> None:
    import torch

    with torch.inference_mode():
        x = torch.ones(2)
        keys = torch._C._dispatch_keys(x)
        assert (x * x).grad_fn is None
    assert not keys.has(torch._C.DispatchKey.AutogradCPU)
    assert keys.has(torch._C.DispatchKey.CPU)
