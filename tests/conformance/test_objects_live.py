"""Custom operators whose Python objects reach their kernels without a stack, on the model and on an installed PyTorch.

A kernel that returns a text shows which conversions follow: a stack takes only what fits the schema. PyTorch's profiler
records a call through ``c10::Dispatcher::callBoxed``, and no other.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from dispatchviz import torch as model
from dispatchviz.core.record import events as ev
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.torch.version import __version__ as modeled

torch = pytest.importorskip("torch")
if torch.__version__.partition("+")[0] != modeled:
    pytest.skip("another release than the model's", allow_module_level=True)

CALLS: dict[str, tuple[str, str]] = {
    "tensor": ("(Tensor x) -> Tensor", "op(x)"),
    "tensor that requires grad": ("(Tensor x) -> Tensor", "op(leaf)"),
    "keyword": ("(Tensor x) -> Tensor", "op(x=x)"),
    "integer": ("(Tensor x, SymInt n) -> Tensor", "op(x, 2)"),
    "default": ("(Tensor x, SymInt n=2) -> Tensor", "op(x)"),
    "keyword-only": ("(Tensor x, *, SymInt n=2) -> Tensor", "op(x)"),
    "optional": ("(Tensor x, Tensor? y) -> Tensor", "op(x, x)"),
    "none": ("(Tensor x) -> Tensor", "op(None)"),
    "list": ("(Tensor[] x) -> Tensor", "op([x, x])"),
    "tuple": ("(Tensor[] x) -> Tensor", "op((x,))"),
    "empty list": ("(Tensor[] x) -> Tensor", "op([])"),
    "list of optional": ("(Tensor?[] x) -> Tensor", "op([x, None])"),
    "list with a number": ("(Tensor[] x) -> Tensor", "op([1])"),
    "number for a tensor": ("(Tensor x) -> Tensor", "op(2.0)"),
    "too many": ("(Tensor x) -> Tensor", "op(x, x)"),
    "too few": ("(Tensor x) -> Tensor", "op()"),
    "no argument": ("() -> Tensor", "op()"),
    "two results": ("(Tensor x) -> (Tensor, Tensor)", "op(x)"),
    "no result": ("(Tensor x) -> ()", "op(x)"),
    "integer result": ("(Tensor x) -> SymInt", "op(x)"),
    "list result": ("(Tensor x) -> Tensor[]", "op(x)"),
    "conjugate": ("(Tensor x) -> Tensor", "op(z.conj())"),
    "conjugate in inference mode": ("(Tensor x) -> Tensor", "inferred(lambda: op(z.conj()))"),
    "overload": ("(Tensor x) -> Tensor", "op._opoverload(x)"),
    "packet": ("(Tensor x) -> Tensor", "op._opoverload._overloadpacket(x)"),
    "redispatch": ("(Tensor x, SymInt n) -> Tensor", "op._opoverload.redispatch(cpu, x, n=3)"),
    "redispatch of a text": ("(Tensor x) -> Tensor", "op._opoverload.redispatch(cpu, 'x')"),
    "redispatch without a key set": ("(Tensor x) -> Tensor", "op._opoverload.redispatch(3, x)"),
    "disabled": ("(Tensor x) -> Tensor", "(op._opoverload._enable_pyobj_dispatch(False), op(x))"),
}
"""Schemas and calls, by what is special about them."""

numbers = itertools.count()


def answer(torch: ModuleType, schema: str, call: str) -> str:
    """Return the result or the error of a call of an operator whose kernel returns a text."""
    op = torch.library.custom_op(
        f"objects{next(numbers)}::f", lambda *args, **kwargs: "a text", mutates_args=(), schema=schema
    )

    def inferred(function: Callable[[], Any]) -> Any:
        with torch.inference_mode():
            return function()

    z, cpu = torch.ones(2, dtype=torch.complex64), torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    names = {"op": op, "x": torch.ones(2), "leaf": torch.ones(2, requires_grad=True), "z": z, "cpu": cpu}
    try:
        found = eval(call, {**names, "inferred": inferred})
    except Exception as error:
        own = f"{op._namespace}::"
        return f"{type(error).__name__}: {str(error).splitlines()[0].replace(own, 'objects::')}"
    return f"{found!r} {op._opoverload._is_pyobj_dispatcher_enabled()}"


@pytest.mark.torch
@pytest.mark.parametrize("what", CALLS)
def test_a_kernel_that_returns_a_text_has_the_same_effect(what: str) -> None:
    assert answer(model, *CALLS[what]) == answer(torch, *CALLS[what])


PROGRAM = """
import torch

@torch.library.custom_op("{name}::f", mutates_args=())
def f(x: torch.Tensor, y: list[torch.Tensor]) -> torch.Tensor:
    return x.clone()

@torch.library.custom_op("{name}::g", mutates_args=())
def g(x: torch.Tensor, n: int) -> torch.Tensor:
    return x.clone()

x = torch.ones(2)
z = torch.ones(2, dtype=torch.complex64)
f(x, [x])
f(x, y=[x])
f(z.conj(), [])
g(x, 3)
"""


def boxed_calls(names: Sequence[str]) -> Counter[str]:
    """Return the number of calls of each custom operator."""
    return Counter(name.partition("::")[2] for name in names if name.startswith("seen"))


@pytest.mark.torch
def test_the_profiler_sees_the_calls_that_are_boxed() -> None:
    source = PROGRAM.format(name=f"seen{next(numbers)}")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        exec(source, {})
    trace = run(Code(PROGRAM.format(name="seen"))).trace
    boxed = [event.operator for event in trace if isinstance(event, ev.Dispatched) and event.how == "callBoxed"]
    kineto = profile.profiler.kineto_results.events()
    assert boxed_calls(boxed) == boxed_calls([event.name() for event in kineto]) == {"f": 1, "g": 1}
