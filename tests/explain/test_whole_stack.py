"""The whole call chain: the frames that the short stack leaves out, with typed and with boxed callers and kernels."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import NATIVE, call_stack
from dispatchviz.explain.calls.folded_frames import folded
from dispatchviz.explain.calls.whole_stack import called_below, whole_stack
from dispatchviz.testing import event
from tests.explain.programs import traced
from tests.steps import line, step

TYPED = [
    "c10::callUnboxedKernelFunction",
    "c10::impl::wrap_kernel_functor_unboxed_::call",
    "c10::impl::detail::WrapFunctionIntoFunctor_::operator()",
]
ADD = [
    "THPVariable_add",
    "THPVariable_add::{lambda}",
    "at::Tensor::add",
    "at::_ops::add_Tensor::call",
    *("c10::TypedOperatorHandle::call", "c10::Dispatcher::call", "c10::KernelFunction::call", *TYPED),
    "VariableType::add_Tensor",
    "VariableType::add_Tensor::{lambda}",
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
    ("statement", "noted"),
    [
        ("torch.ops.mine.twice(x)", ["c10::OperatorHandle::callBoxed", "c10::OperatorHandle::redispatchBoxed"]),
        ("torch.ops.aten.sin(x)", ["c10::OperatorHandle::callBoxed"]),
        ("torch.sin(x)", []),
    ],
)
def test_the_frame_that_first_has_a_stack_says_what_is_on_it(statement: str, noted: list[str]) -> None:
    trace = traced(OWN.replace("torch.ops.mine.twice(x)", statement))
    kernel = [at for at in trace.steps_of(ev.KernelEntered) if at > line(trace, 8)][-1]
    notes = [frame for frame in whole_stack(trace, kernel) if "Stack: " in frame.note]
    assert [frame.title for frame in notes] == noted
    assert all(frame.note == "the Stack: Tensor x" for frame in notes)


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


def test_below_the_impl_of_add_are_its_stub_and_its_loop() -> None:
    for dtype, loop in (("float32", "at::native::cpu_kernel_vec"), ("bool", "at::native::cpu_kernel")):
        trace = traced(f"import torch\nx = torch.ones(2, dtype=torch.{dtype})\nz = torch.add(x, x)\n")
        [at] = trace.steps_of(ev.ImplEntered)
        below = called_below(trace, at, whole_stack(trace, at))
        assert [frame.role for frame in below] == ["stub", "stub", "stub", "loop", "loop"]
        assert [frame.title for frame in below][3] == loop


def test_a_wrapper_calls_its_native_function() -> None:
    trace = traced("import torch\nx = torch.ones(2)\nz = torch.sum(x)\n")
    kernel = step(trace, event(ev.KernelEntered, kernel="wrapper_CompositeExplicitAutograd__sum"))
    inner = step(trace, event(ev.Dispatched, operator="aten::sum.dim_IntList"))
    assert "at::native::sum" not in [frame.title for frame in whole_stack(trace, kernel)]
    assert [frame.title for frame in called_below(trace, kernel, whole_stack(trace, kernel))] == ["at::native::sum"]
    assert "at::native::sum" in [frame.title for frame in whole_stack(trace, inner)]


def test_a_python_kernel_is_called_by_its_holder_alone() -> None:
    trace = traced(OWN)
    [kernel] = [at for at in trace.steps_of(ev.KernelEntered) if "<lambda>" in str(trace[at])]
    frames = whole_stack(trace, kernel)
    assert frames[-2].title == "torch::impl::dispatch::PythonKernelHolder::operator()"
    assert not any("unboxed" in frame.title for frame in frames)
    assert [frame.role for frame in frames if "torch::jit" in frame.title] == ["binding"] * 3


def test_the_engine_is_between_python_and_a_node() -> None:
    trace = traced("import torch\nx = torch.ones(2, requires_grad=True)\nz = (x * x).sum()\nz.backward()\n")
    at = step(trace, event(ev.NodeStarted, name="MulBackward0"))
    found = [frame.title.rpartition("::")[2] for frame in whole_stack(trace, at)][-9:]
    assert found[:3] == ["THPEngine_run_backward", "execute", "execute"]
    assert found[-3:] == ["evaluate_function", "operator()", "apply"]
    assert (
        called_below(trace, at, whole_stack(trace, at))[0].title
        == "torch::autograd::generated::MulBackward0_apply_functional"
    )


def test_a_folded_stack_has_the_same_ends_and_loses_no_frame() -> None:
    trace = traced(OWN)
    for at in range(len(trace)):
        whole, fold = whole_stack(trace, at), folded(whole_stack(trace, at))
        counts = [int(frame.title.split()[0]) if " frames, " in frame.title else 1 for frame in fold]
        assert sum(counts) == len(whole)
        assert fold[-1:] == whole[-1:]
        assert len(fold) <= len(whole)


def test_folded_row_keeps_the_notes_of_its_frames() -> None:
    trace = traced(OWN)
    [kernel] = [at for at in trace.steps_of(ev.KernelEntered) if "<lambda>" in str(trace[at])]
    rows = [frame for frame in folded(whole_stack(trace, kernel)) if " frames, " in frame.title]
    assert [frame.note for frame in rows] == ["the Stack: Tensor x"] * 2


def test_native_function_header_is_not_its_source() -> None:
    """torchgen writes the header, and few of the functions that it declares."""
    found = {
        statement: [f.written for at in range(len(trace)) for f in whole_stack(trace, at) if f.role == NATIVE]
        for statement in ("torch.sum(x)", "torch.view_copy(x, (2,), out=y)")
        for trace in [traced(f"import torch\nx, y = torch.ones(2), torch.empty(2)\n{statement}\n")]
    }
    assert "generated, declared in" not in found["torch.sum(x)"]
    assert "by hand, declared in" in found["torch.sum(x)"]
    assert "generated, declared in" in found["torch.view_copy(x, (2,), out=y)"]


def test_lines_of_a_python_kernel_are_within_it() -> None:
    trace = traced(OWN)
    at = step(trace, event(ev.Dispatched, operator="aten::mul.Tensor"), within=line(trace, 8))
    for frames in (call_stack(trace, at), whole_stack(trace, at)):
        shown = [frame.title for frame in frames]
        assert shown[0] == "y = torch.ops.mine.twice(x)"
        kernel = next(n for n, title in enumerate(shown) if title.startswith("<lambda> at "))
        assert kernel + 1 == next(n for n, title in enumerate(shown) if "lambda x: x * 2" in title)


def test_lines_of_a_hook_are_within_the_engine() -> None:
    trace = traced(
        "import torch\nx = torch.ones(2, requires_grad=True)\nz = x * x\n"
        "def hook(grad):\n    return grad + 1\nz.register_hook(hook)\nz.sum().backward()\n"
    )
    at = step(trace, event(ev.Dispatched, operator="aten::add.Tensor"))
    shown = [frame.title for frame in whole_stack(trace, at)]
    assert shown[0] == "z.sum().backward()"
    assert shown.index("THPEngine_run_backward") < shown.index("hook: return grad + 1") < len(shown) - 1
