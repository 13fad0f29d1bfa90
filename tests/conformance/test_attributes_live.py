"""Attributes that programs delete, classes that they compare, global hooks that they reset, all as in PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

DELETED = (
    *("data", "grad", "requires_grad", "grad_fn", "_backward_hooks", "_post_accumulate_grad_hooks", "is_leaf", "shape"),
    *("dtype", "device", "layout", "ndim", "_version", "_base", "output_nr", "retains_grad", "name", "T", "H", "mT"),
    *("mH", "is_cuda", "itemsize", "nbytes", "is_meta", "is_sparse", "is_cpu", "unknown"),
)
CLASSES = (
    *("BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "FunctionMeta", "once_differentiable"),
    *("_HookMixin", "_SingleLevelFunction"),
)
GLOBAL_HOOKS = (
    *("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks"),
    *("_global_buffer_registration_hooks", "_global_module_registration_hooks", "_global_forward_hooks_with_kwargs"),
    *("_global_parameter_registration_hooks", "_global_forward_hooks_always_called"),
)


def both(ask: Any) -> tuple[Any, Any]:
    """Return the answers of the model and of PyTorch."""
    from dispatchviz import torch as model

    return ask(model), ask(torch)


@pytest.mark.parametrize("name", DELETED)
@pytest.mark.parametrize("kind", ["leaf", "result", "constant"])
def test_deleting_an_attribute_works_or_fails_as_in_pytorch(name: str, kind: str) -> None:
    def ask(torch: ModuleType) -> str:
        x = torch.ones(2, requires_grad=kind != "constant")
        if kind == "leaf":
            (x * 2).sum().backward()
        elif kind == "result":
            x = x * 2
        try:
            delattr(x, name)
        except (AttributeError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        return repr(getattr(x, name))

    ours, theirs = both(ask)
    assert ours.replace("'Tensor'", "") == theirs.replace("'Tensor'", "")


@pytest.mark.parametrize("name", CLASSES)
def test_node_classes_are_recognized_as_in_pytorch(name: str) -> None:
    def ask(torch: ModuleType) -> list[bool]:
        each = getattr(torch.autograd.function, name)
        others = [torch.autograd.graph.Node, torch._C._FunctionBase, torch.autograd.function.FunctionCtx, type]
        return [isinstance(each, type) and issubclass(each, other) for other in others]

    ours, theirs = both(ask)
    assert ours == theirs


def test_the_node_class_of_a_function_is_recognized_as_in_pytorch() -> None:
    def ask(torch: ModuleType) -> list[bool]:
        class Twice(torch.autograd.Function):  # type: ignore[misc,name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        node = Twice.apply(torch.ones(1, requires_grad=True)).grad_fn
        return [issubclass(each, torch.autograd.graph.Node) for each in (type(node), Twice)]

    assert both(ask) == ([True, False], [True, False])


@pytest.mark.parametrize("name", GLOBAL_HOOKS)
def test_hooks_of_all_modules_can_be_read_and_reset(name: str) -> None:
    def ask(torch: ModuleType) -> list[Any]:
        module = import_module(f"{torch.__name__}.nn.modules.module")
        events: list[str] = []
        before = getattr(module, name)
        try:
            handles = [
                module.register_module_forward_hook(
                    lambda *_, **__: events.append("forward"), with_kwargs=True, always_call=True
                ),
                module.register_module_forward_pre_hook(lambda *_: events.append("pre")),
                module.register_module_full_backward_hook(lambda *_: events.append("backward")),
                module.register_module_full_backward_pre_hook(lambda *_: events.append("backward pre")),
                module.register_module_buffer_registration_hook(lambda *_: events.append("buffer")),
                module.register_module_module_registration_hook(lambda *_: events.append("module")),
                module.register_module_parameter_registration_hook(lambda *_: events.append("parameter")),
            ]
            count = len(getattr(module, name))
            setattr(module, name, OrderedDict())
            outer = torch.nn.Sequential(torch.nn.Linear(1, 1))
            outer.register_buffer("b", torch.ones(1))
            try:
                outer(torch.ones(1, 1, requires_grad=True)).sum().backward()
            except TypeError:
                events.append("TypeError")
            return [count, len(getattr(module, name)), events]
        finally:
            for handle in handles:
                handle.remove()
            setattr(module, name, before)

    ours, theirs = both(ask)
    assert ours == theirs


def test_reentrant_dispatch_begins_at_the_first_keys_again() -> None:
    def ask(torch: ModuleType) -> list[Any]:
        overrides = import_module(f"{torch.__name__}.overrides")
        events: list[Any] = []

        class Watched(torch.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                plain = torch.ones(1, requires_grad=True) * 2
                with overrides.enable_reentrant_dispatch():
                    inner = torch.ones(1, requires_grad=True) * 2
                events.append([plain.requires_grad, inner.requires_grad, inner.grad_fn and inner.grad_fn.name()])
                return torch.ones(1)

        torch.Tensor._make_subclass(Watched, torch.ones(1)).exp()
        try:
            with overrides.enable_reentrant_dispatch():
                events.append("inside")
        except RuntimeError as error:
            events.append(str(error).splitlines()[0])
        return events

    ours, theirs = both(ask)
    assert ours == theirs
