"""Structured kernels, and factories on the meta device."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.call.structured import Functional, InPlace, Out, Structured
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import Dispatched, KernelSelected
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.trace import Trace

CPU = torch.device("cpu")
STEPS = (ev.MetaEntered, ev.OutputAllocated, ev.ImplEntered, ev.ProxyCopied, ev.Dispatched)


def impl(target: Tensor) -> None:
    """Write 1 to 4 in the order of the target's memory."""
    target._array[...] = [[1, 3], [2, 4]]


def run(op: Structured, ask: Callable[[Structured], None]) -> tuple[Tensor, Trace]:
    """Run meta, impl and the end of a kernel."""
    with dispatchviz.record() as trace:
        op.enter_meta()
        ask(op)
        op.enter_impl("example_out_cpu", impl)
        impl(op.target)
        result = op.finish()
    return result, trace


def columns(op: Structured) -> None:
    """A meta function of a kernel that requires columns."""
    op.set_output_strided((2, 2), (1, 2), torch.float32, CPU)


def steps(trace: Trace) -> list[ev.Event]:
    return [event for event in trace if isinstance(event, STEPS)]


def test_output_with_other_strides_gets_a_proxy() -> None:
    out = torch.zeros(2, 2)
    result, trace = run(Out("example", out), columns)
    assert result is out
    assert result.stride() == (2, 1)
    assert result.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    meta, given, ran, copied, call = steps(trace)[:5]
    assert isinstance(given, ev.OutputAllocated) and isinstance(copied, ev.ProxyCopied)  # noqa: PT018
    assert (given.variant, given.method, given.resized) == ("out", "set_output_strided", False)
    assert given.proxy == copied.proxy == ran.tensors[0] != given.tensor == copied.output
    assert (call.operator, meta.function) == ("aten::copy_", "structured_example::meta")


def test_output_with_the_right_strides_gets_no_proxy() -> None:
    out = torch.zeros(2, 2).t()
    result, trace = run(Out("example", out), columns)
    assert [type(event) for event in steps(trace)] == [ev.MetaEntered, ev.OutputAllocated, ev.ImplEntered]
    assert steps(trace)[1].proxy is None
    assert result.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_a_functional_kernel_makes_the_strides_it_needs() -> None:
    result, trace = run(Functional("example"), columns)
    assert result.stride() == (1, 2)
    assert not any(isinstance(event, ev.ProxyCopied) for event in trace)


def test_in_place_variant_checks_self() -> None:
    with pytest.raises(RuntimeError, match=r"input tensor size \[3\] and output tensor size \[2, 2\] should match"):
        InPlace("example", torch.zeros(3)).set_output_strided((2, 2), (1, 2), torch.float32, CPU)


def test_contiguous_output_gets_contiguous_strides() -> None:
    op = Out("example", torch.zeros(2, 2).t())
    _, trace = run(op, lambda op: op.set_output_contiguous((2, 2), torch.float32, CPU))
    given = steps(trace)[1]
    assert given.method == "set_output_contiguous"
    assert given.proxy is not None


def test_an_output_that_is_resized_away_from_order_is_restrided_through_the_dispatcher() -> None:
    op = Out("example", torch.empty(0))
    result, trace = run(op, lambda op: op.set_output_raw_strided((2, 2), (1, 2), torch.float32, CPU))
    assert result.stride() == (1, 2)
    calls = [event.operator for event in trace if isinstance(event, ev.Dispatched) and event.how == "call"]
    assert calls == ["aten::as_strided_"]


def test_outputs_on_other_devices_are_resized_through_the_dispatcher() -> None:
    with dispatchviz.record() as trace:
        torch.add(torch.ones(2, device="cuda"), 1, out=torch.empty(0, device="cuda"))
    calls = [event.operator for event in trace if isinstance(event, ev.Dispatched) and event.how == "call"]
    assert calls[calls.index("aten::add.out") :] == ["aten::add.out", "aten::resize_"]


def test_every_step_is_explained() -> None:
    _, trace = run(Out("example", torch.zeros(2, 2)), columns)
    given, copied = (next(event for event in trace if isinstance(event, kind)) for kind in (STEPS[1], STEPS[3]))
    assert label(trace, given.seq) == "set_output_strided: result (t1) [2, 2] float32 (out, proxy t0)"
    assert why_here(trace, given.seq) == (
        "The meta function declares its output with set_output_strided: the kernel needs exactly these strides. The "
        "caller passed out=, and result (t1) already has the right size. result (t1) has other strides, so the kernel "
        "writes to a proxy, t0, which is copied into result (t1) later."
    )
    assert label(trace, copied.seq) == "proxy t0 → result (t1)"
    assert why_here(trace, copied.seq) == (
        "The kernel wrote to the proxy t0. copy_ now copies the data into result (t1), which keeps its own strides."
    )


def test_casts_come_before_the_output_is_requested() -> None:
    """The expected calls are PyTorch's log on a backend whose memory comes through the dispatcher."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)
    x, y = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with dispatchviz.record() as trace:
        torch.ops.aten.add.Tensor.redispatch(keys, x, y)
    assert calls_below(trace) == ["aten::to.dtype", "aten::empty.memory_format", "aten::add.out"]
    meta = next(event for event in trace if isinstance(event, ev.MetaEntered))
    within = [event.operator for event in trace.children(meta.seq) if isinstance(event, ev.Dispatched)]
    assert within == ["aten::to.dtype", "aten::empty.memory_format"]


def test_calls_of_meta_and_impl_are_recorded_within_them() -> None:
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    o = torch.empty(0, dtype=torch.float64)
    with dispatchviz.record() as trace:
        x.sum()
        torch.add(x.t(), 1.5, out=o)
    assert within(trace, ev.MetaEntered) == [[], ["empty_like", "to.dtype", "to.dtype", "as_strided_", "as_strided_"]]
    assert within(trace, ev.ImplEntered) == [["as_strided", "fill_.Scalar"], ["copy_"]]


def within(trace: Trace, kind: type[ev.Event]) -> list[list[str]]:
    """The direct calls within each event of a kind."""
    return [
        [e.operator.removeprefix("aten::") for e in trace.children(event.seq) if isinstance(e, ev.Dispatched)]
        for event in trace
        if type(event) is kind
    ]


def test_error_of_a_meta_function_is_recorded_within_it() -> None:
    with dispatchviz.record() as trace, pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    meta = next(event for event in trace if isinstance(event, ev.MetaEntered))
    error = next(event for event in trace if isinstance(event, ev.ErrorRaised))
    assert error.parent == meta.seq
    assert not any(isinstance(event, ev.ImplEntered) for event in trace)


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "x + y",
            "x - y",
            "x * y",
            "x / y",
            "x > y",
            "x == 2.5",
            "x ** y",
            "x ** 2.5",
            "torch.sqrt(x)",
            "x.clamp(0.5, 2)",
        ),
        *("torch.atan2(x, y)", "torch.maximum(x, y)", "torch.fmod(x, y)", "torch.xlogy(x, y)", "torch.copysign(x, y)"),
        *("x.clamp_max(2.5)", "torch.hypot(y, z)", "torch.add(x, y, out=z)", "torch.mul(x, y, out=z)", "z.add_(y)"),
        *(
            "torch.sqrt(x, out=z)",
            "torch.addcmul(y, y, z)",
            "torch.polygamma(1, x)",
            "torch.div(x, y, rounding_mode='floor')",
        ),
    ],
)
def test_an_iterator_casts_nothing_in_its_impl(expression: str) -> None:
    x, y = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    z = torch.zeros(2, 2, dtype=torch.float64)
    with dispatchviz.record() as trace:
        eval(expression, {"torch": torch, "x": x, "y": y, "z": z})
    assert not {"to.dtype", "empty_like"} & {name for names in within(trace, ev.ImplEntered) for name in names}
    assert {"to.dtype", "empty_like"} & {name for names in within(trace, ev.MetaEntered) for name in names}


def test_the_warning_of_a_resize_names_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        torch.add(torch.ones(2), 1, out=torch.ones(3))
    assert warned[0].filename == __file__
    assert str(warned[0].message).startswith("An output with one or more elements was resized since it had shape [3]")
    assert str(warned[0].message).endswith(
        "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/Resize.cpp:30.)"
    )


def calls_below(trace: Trace) -> list[str]:
    """The operators called by the program's direct calls, without deeper ones."""
    found = [event for event in trace if isinstance(event, ev.Dispatched) and event.how == "call"]
    around = [sum(isinstance(outer, ev.Dispatched) for outer in trace.ancestors(event.seq)) for event in found]
    return [event.operator for event, depth in zip(found, around, strict=True) if depth == min(around)]


@pytest.mark.parametrize(
    ("operator", "transposed", "calls"),
    [
        ("add.Tensor", False, ["aten::empty.memory_format", "aten::add.out"]),
        ("add.Tensor", True, ["aten::empty_strided", "aten::add.out"]),
        ("add_.Tensor", False, ["aten::add.out"]),
        ("mul.Tensor", False, ["aten::empty.memory_format", "aten::mul.out"]),
    ],
)
def test_the_composite_default_runs_meta_and_calls_the_out_operator(
    operator: str, transposed: bool, calls: list[str]
) -> None:
    """PyTorch's log of these calls; a backend that it knows nothing of gets its memory through the dispatcher."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = x.t() if transposed else x
    base, _, overload = operator.partition(".")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)
    with dispatchviz.record() as trace:
        result = getattr(getattr(torch.ops.aten, base), overload).redispatch(keys, x, x)
    assert calls_below(trace) == calls
    assert result.stride() == x.stride()
    kernels = [event.kernel for event in trace if isinstance(event, ev.KernelEntered)]
    assert kernels[0] == f"wrapper_CompositeExplicitAutogradNonFunctional_{operator.replace('.', '_')}"
    given = next(event for event in trace if isinstance(event, ev.OutputAllocated))
    assert given.variant == ("in-place" if base.endswith("_") else "default backend")
    assert ("The out form is called next." in why_here(trace, given.seq)) == (given.variant == "default backend")


ALLOCATING = {
    "torch.ones(2, device='meta')": "empty.memory_format",
    "torch.zeros(2, device='meta')": "empty.memory_format",
    "torch.full((2,), 1.0, device='meta')": "empty.memory_format",
    "torch.rand(2, device='meta')": "empty.memory_format",
    "torch.randn(2, device='meta')": "empty_strided",
}
"""The one operator that is called below, through BackendSelect."""


@pytest.mark.parametrize("text", ALLOCATING)
def test_meta_factories_only_allocate(text: str) -> None:
    with dispatchviz.record() as trace:
        eval(text)
    steps = [(e.operator, e.key) for e in trace if isinstance(e, Dispatched)]
    inner = f"aten::{ALLOCATING[text]}"
    assert steps[1:] == [(steps[0][0], "Meta"), (inner, "BackendSelect"), (inner, "Meta")]
    cells = [e for e in trace if isinstance(e, KernelSelected)]
    assert cells[1].registered.endswith(".py") or ".py:" in cells[1].registered


def test_full_has_the_dtype_of_its_number() -> None:
    found = [torch.full((2,), value, device="meta").dtype for value in (2, True, 2j, 2.0)]
    assert found == [torch.int64, torch.bool, torch.complex64, torch.float32]


def test_meta_results_have_pytorchs_geometry() -> None:
    assert torch.randn(2, 3, dtype=torch.complex64, device="meta").stride() == (3, 1)
    assert torch.randn(0, 3, device="meta").stride() == (3, 1)


def test_meta_errors_equal_pytorchs() -> None:
    with pytest.raises(RuntimeError, match=r"^expected a floating-point or complex dtype, but got dtype=torch.int64$"):
        torch.randn(2, dtype=torch.int64, device="meta")
    assert torch.rand(2, dtype=torch.int64, device="meta").dtype == torch.int64
    with pytest.raises(RuntimeError, match=r"^Expected cond to be True, but got False"):
        torch.randn(-2, device="meta")
    for function in (torch.ones, torch.zeros, torch.rand):
        with pytest.raises(RuntimeError, match=r"^Trying to create tensor with negative dimension -2: \[-2\]"):
            function(-2, device="meta")
