"""The whole call chain: the frames that the short stack leaves out, with typed and with boxed callers and kernels."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.calls.whole_stack import whole_stack
from dispatchviz.testing import event
from tests.explain.programs import traced
from tests.steps import line, step

TYPED = ["c10::callUnboxedKernelFunction", "c10::impl::wrap_kernel_functor_unboxed_::call"]
ADD = [
    "THPVariable_add",
    "at::_ops::add_Tensor::call",
    *("c10::TypedOperatorHandle::call", "c10::Dispatcher::call", "c10::KernelFunction::call", *TYPED),
    "VariableType::add_Tensor",
    *("at::redispatch::add", "at::_ops::add_Tensor::redispatch"),
    *("c10::TypedOperatorHandle::redispatch", "c10::Dispatcher::redispatch", "c10::KernelFunction::call", *TYPED),
    *("wrapper_CPU_add_Tensor", "structured_ufunc_add_CPU::impl"),
]
"""From Python to the loop, as a debug build's backtrace has it."""

OWN = """
import torch
from torch.library import Library
lib = Library("mine", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: x * 2, "CPU")
x = torch.ones(2, requires_grad=True)
y = torch.ops.mine.twice(x)
"""


def titles(source: str, number: int, kind: type[ev.Event], **fields: object) -> list[str]:
    trace = traced(source)
    at = step(trace, event(kind, **fields), within=line(trace, number))
    return [frame.title for frame in whole_stack(trace, at)][1:]


def test_add_from_python_to_its_impl_function() -> None:
    source = "import torch\nx = torch.ones(2, requires_grad=True)\ny = torch.ones(2)\nz = torch.add(x, y)\n"
    assert titles(source, 4, ev.ImplEntered) == ADD


def test_the_role_of_an_entry_point_says_whose_it_is() -> None:
    trace = traced(OWN)
    for call in trace.steps_of(ev.Dispatched):
        entry = whole_stack(trace, call)[-1]
        assert entry.role == ("operator" if entry.title.startswith("at::_ops::") else "dispatcher")


def test_the_short_stack_is_a_part_of_the_whole() -> None:
    trace = traced(OWN)
    for at in range(len(trace)):
        short, whole = ([frame.title for frame in of(trace, at)] for of in (call_stack, whole_stack))
        rest = iter(whole)
        assert all(title in rest for title in short), at
        assert short[-1:] == whole[-1:]


def test_a_boxed_caller_and_a_boxed_kernel() -> None:
    found = titles(OWN, 8, ev.KernelEntered)
    assert "c10::BoxedKernel::callBoxed" in found
    assert not set(TYPED) & set(found), "nobody has typed arguments"


@pytest.mark.parametrize(
    ("statement", "frames"),
    [
        ("torch.ops.aten.sin(x)", {"make_boxed_from_unboxed_functor::call", "OperatorHandle::callBoxed"}),
        ("torch.vmap(torch.sin)(x)", {"BoxedKernelWrapper::call", "BoxedKernel::callBoxed"}),
        ("torch.sin(x)", set()),
    ],
)
def test_boxing_and_unboxing(statement: str, frames: set[str]) -> None:
    trace = traced(f"import torch\nx = torch.ones(2)\n{statement}\n")
    inside = [at for at in trace.steps_of(ev.KernelEntered) if at > line(trace, 3)]
    found = {
        frame.title.removeprefix("c10::").removeprefix("impl::") for at in inside for frame in whole_stack(trace, at)
    }
    assert found >= frames
    assert bool(frames) == any("Boxed" in title for title in found)
