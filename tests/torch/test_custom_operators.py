"""``torch.library``, ``custom_op`` and ``torch.ops``: programs record the same as on PyTorch."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as model
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.library import process
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.warning import reset_warnings
from dispatchviz.outputs.log.torch_log import torch_log
from dispatchviz.running.process_state import clean_process_state
from tests.amounts import in_turn
from truth import records
from truth.programs.library import PROGRAMS, run


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    with torch.library._scoped_library("custom_operators", "DEF") as made:
        made.define("f(Tensor x) -> Tensor")
        yield made


def _shown(trace: Trace, *kinds: type[ev.Event]) -> list[str]:
    return [type(event).__name__ for event in trace if isinstance(event, kinds)]


def test_an_operator_with_only_a_cpu_kernel_goes_through_autograds_fallback(library: torch.library.Library) -> None:
    detaches = lambda x: x.detach()  # noqa: E731
    library.impl("f", detaches, "CPU")
    x = torch.ones(2, requires_grad=True)
    with dispatchviz.record() as trace:
        y = torch.ops.custom_operators.f(x)
    assert list(torch_log(trace))[:2] == [
        " [callBoxed] op=[custom_operators::f], key=[AutogradCPU]",
        "  [redispatchBoxed] op=[custom_operators::f], key=[CPU]",
    ]
    selected = [event for event in trace if isinstance(event, ev.KernelSelected)][:2]
    assert [(event.reason, event.kernel) for event in selected] == [
        ("backend fallback", "autograd_fallback"),
        ("kernel", f"<lambda> at test_custom_operators.py:{detaches.__code__.co_firstlineno}"),
    ]
    assert y.grad_fn.name() == "torch::autograd::WarnNotImplemented"
    with pytest.warns(UserWarning, match="^custom_operators::f: an autograd kernel was not registered"):
        y.sum().backward()
    assert x.grad is None


def test_boxed_call_of_a_python_kernel_pops_arguments_and_pushes_results(library: torch.library.Library) -> None:
    library.impl("f", lambda x: x, "CPU")
    with torch.inference_mode():
        x = torch.ones(2)
        with dispatchviz.record() as trace:
            torch.ops.custom_operators.f(x)
    assert _shown(trace, ev.Boxed, ev.Unboxed, ev.KernelEntered, ev.KernelReturned) == [
        "KernelEntered",
        "Unboxed",
        "Boxed",
        "KernelReturned",
    ]


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
def test_typed_call_of_a_python_kernel_boxes_first() -> None:
    with torch.library._scoped_library("aten", "IMPL") as library, torch.inference_mode():
        library.impl("neg", lambda x: x, "CPU")
        x = torch.ones(2)
        with dispatchviz.record() as trace:
            torch.neg(x)
    assert _shown(trace, ev.Boxed, ev.Unboxed, ev.KernelEntered, ev.KernelReturned) == [
        "KernelEntered", "Boxed", "Unboxed", "Boxed", "Unboxed", "KernelReturned",
    ]  # fmt: skip


def test_the_key_set_of_a_kernel_is_the_recorded_one(library: torch.library.Library) -> None:
    received: list[int] = []

    def kernel(keys: Any, x: Any) -> Any:
        received.append(keys.raw_repr())
        return x

    library.impl("f", kernel, "AutogradCPU", with_keyset=True)
    with dispatchviz.record() as trace:
        torch.ops.custom_operators.f(torch.ones(2))
    entered = [event.key_set for event in trace if isinstance(event, ev.KernelEntered) and event.kernel == "kernel"]
    assert received == entered == [0x1000010001]


def test_autograd_of_a_custom_op_is_recorded_as_a_node_of_pytorchs_name() -> None:
    def double(x: Tensor) -> Tensor:
        result: Tensor = torch.mul(x, 2)
        return result

    operator = torch.library.custom_op("custom_operators::double", double, mutates_args=())
    operator.register_autograd(lambda ctx, grad: grad * 2)
    x = torch.ones(2, requires_grad=True)
    with dispatchviz.record() as trace:
        operator(x).sum().backward()
    name = "GeneratedBackwardFor_custom_operators_double_defaultBackward"
    assert name in [event.name for event in trace if isinstance(event, ev.NodeCreated)]
    assert x.grad.tolist() == [2.0, 2.0]
    operator._lib._destroy()


def test_destroying_the_library_of_a_running_kernel_does_no_harm(library: torch.library.Library) -> None:
    def kernel(x: Any) -> Any:
        library._destroy()  # PyTorch's process ends here
        return x + 1

    library.impl("f", kernel, "CPU")
    assert torch.ops.custom_operators.f(torch.ones(1)).tolist() == [2.0]
    with pytest.raises(AttributeError, match="'_OpNamespace' 'custom_operators' object has no attribute 'f'"):
        torch.ops.custom_operators.f(torch.ones(1))


def test_too_many_results_of_a_python_kernel_are_an_error(library: torch.library.Library) -> None:
    library.define("two(Tensor x) -> (Tensor, Tensor)")
    library.impl("two", lambda x: (x, x, x), "CPU")
    with pytest.raises(RuntimeError, match="custom_operators::two returns 2 values, but its Python kernel returned 3"):
        torch.ops.custom_operators.two(torch.ones(1))


def test_a_kernel_that_only_pytorch_has_is_named() -> None:
    with pytest.raises(NotImplementedError, match="which dispatchviz does not implement"):
        torch.ops.aten._make_per_tensor_quantized_tensor.default(torch.ones(2), 1.0, 0)


@pytest.mark.parametrize(
    "schema", ["f", "f(Tensor x", "f(Tenso x) -> Tensor", "f(Tensor x) -> ", "1f(Tensor x) -> Tensor"]
)
def test_a_malformed_schema_changes_nothing(schema: str) -> None:
    with torch.library._scoped_library("malformed", "DEF") as made:
        with pytest.raises(RuntimeError):
            made.define(schema)
        assert not made._op_defs
        with pytest.raises(AttributeError):
            _ = torch.ops.malformed.f
        made.define("f(Tensor x) -> Tensor")


def test_a_function_outside_the_model_raises() -> None:
    with pytest.raises(NotImplementedError, match="register_torch_dispatch is not in dispatchviz's model"):
        torch.library.register_torch_dispatch("aten::sin", Tensor)
    with pytest.raises(OSError, match=r"^Could not load this library: .*nothing\.so$") as raised:
        torch.ops.load_library("nothing.so")
    assert "cannot load libraries" in str(raised.value.__cause__)


STORED = records.read("library_programs")


def _in_model(name: str) -> list[str]:
    with clean_process_state(), reset_warnings():
        return run(model, PROGRAMS[name])


@pytest.mark.long
@pytest.mark.record("library_programs")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_records_the_same_as_in_pytorch(name: str) -> None:
    lines = difflib.unified_diff(STORED["programs"][name], _in_model(name), "PyTorch", "model", lineterm="")
    assert not list(lines)


@pytest.mark.long
@pytest.mark.record("library_programs")
def test_the_record_has_these_programs_and_the_modeled_release() -> None:
    assert set(STORED["programs"]) == set(PROGRAMS)
    assert STORED["torch"] == model.__version__


@pytest.mark.long
@pytest.mark.record("library_programs")
@pytest.mark.parametrize("name", ["registration", "custom_ops", "reentrant"])
def test_a_program_leaves_nothing_behind(name: str) -> None:
    before, fallbacks = set(process.names()), dict(process.fallbacks)
    assert _in_model(name) == _in_model(name)
    assert set(process.names()) == before
    assert process.fallbacks == fallbacks


@pytest.mark.long
@pytest.mark.record("library_programs")
@pytest.mark.long
@pytest.mark.torch
def test_the_record_is_that_of_an_installed_pytorch() -> None:
    from truth.recorders.library_programs import recorded

    names = in_turn([*STORED["programs"]], 3)
    assert recorded(names) == {**STORED, "programs": {name: STORED["programs"][name] for name in names}}
