"""The files of PyTorch's functions, and the stored texts of torchgen."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import Dispatched
from dispatchviz.explain.codegen.kept_texts import FILE, kept, kept_operators
from dispatchviz.explain.codegen.torchgen_texts import named
from dispatchviz.explain.kinds.all_kinds import rule
from dispatchviz.explain.locations.native_files import kernel_file, native_calls, structured_file
from dispatchviz.explain.locations.pytorch_locations import binding_file, entry_point

from .founding import founding


def test_the_founding_programs_operators_are_kept() -> None:
    called = {event.operator.removeprefix("aten::") for event in founding() if isinstance(event, Dispatched)}
    assert called - {*kept_operators()} == set()
    assert kept("xlogy.Tensor") is None


def test_every_form_of_an_operator_is_kept() -> None:
    assert {"add.Tensor", "add_.Tensor", "add.out", "add.Scalar", "add_.Scalar"} <= {*kept_operators()}


def test_pytorchs_licence_is_beside_its_texts() -> None:
    license = Path(FILE).with_name("LICENSE").read_text("utf-8")
    assert license.startswith("From PyTorch:")
    assert "Redistributions in binary form must reproduce the above copyright" in license


def test_a_file_may_be_named_in_short() -> None:
    found = kept("add.Tensor")
    assert found is not None
    files = [*found.files()]
    whole = "torch/csrc/autograd/generated/VariableType_2.cpp"
    for name in (whole, "generated/VariableType_2.cpp", "VariableType_2.cpp", "VariableType.cpp", "VariableType"):
        assert named(files, name) == [whole]
    assert named(files, "Functions.cpp") == ["torch/csrc/autograd/generated/Functions.cpp"]
    assert named(files, "VariableType_3.cpp") == []
    assert [len(named(files, name)) for name in ("Functions", "UfuncCPU_add", "add_native.h")] == [2, 1, 1]


NATIVE = "aten/src/ATen/native"


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("structured_ufunc_add_CUDA::impl", "build/aten/src/ATen/UfuncCUDA_add.cu"),
        ("structured_ufunc_add_CPU::impl", "build/aten/src/ATen/UfuncCPU_add.cpp"),
        ("structured_add_Tensor::meta", f"{NATIVE}/BinaryOps.cpp"),
        ("structured_sum_out::impl", f"{NATIVE}/ReduceOps.cpp"),
        ("structured_mm::meta", f"{NATIVE}/LinearAlgebra.cpp"),
        ("structured_mm_out_cuda::impl", f"{NATIVE}/cuda/Blas.cpp"),
        ("structured_nobody_knows::impl", ""),
    ],
)
def test_the_files_of_structured_functions(function: str, file: str) -> None:
    assert structured_file(function) == file


def test_fallback_has_the_file_of_its_definition() -> None:
    registered = "aten/src/ATen/functorch/LegacyBatchingRegistrations.cpp"
    assert kernel_file("batchedTensorForLoopFallback", registered) == "aten/src/ATen/functorch/BatchedFallback.cpp"
    assert kernel_file("wrapper_CPU__relu", "build/RegisterCPU_2.cpp") == "build/RegisterCPU_2.cpp"


def test_generated_files_are_given_with_their_part() -> None:
    call = ev.Dispatched(0, None, "call", "aten::add.Tensor", 1, "CPU")
    assert entry_point(call) == ("at::_ops::add_Tensor::call", "build/aten/src/ATen/Operators_2.cpp")
    assert rule(call).file.endswith("Operators_2.cpp")


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("torch.add", "python_torch_functions_2.cpp"),
        ("Tensor.add", "python_variable_methods.cpp"),
        ("torch._C._nn.gelu", "python_nn_functions.cpp"),
        ("torch._C._linalg.linalg_inv", "python_linalg_functions.cpp"),
    ],
)
def test_the_files_of_bindings(function: str, file: str) -> None:
    event = ev.BindingEntered(0, None, function, "THPVariable_x", "", 1, (), "")
    assert binding_file(event).rpartition("/")[2] == file


@pytest.mark.parametrize(
    ("function", "called"),
    [
        ("structured_add_Tensor::meta", ("build_borrowing_binary_op",)),
        ("structured_ufunc_add_CPU::impl", ("add_stub",)),
        ("structured_sum_out::impl", ("sum_stub",)),
        ("structured_mm::meta", ()),
        ("structured_ufunc_add_CUDA::impl", ()),
    ],
)
def test_structured_functions_call_the_expected_functions(function: str, called: tuple[str, ...]) -> None:
    assert native_calls(function) == called
