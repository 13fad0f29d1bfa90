"""``codegen`` as a user sees it."""

from __future__ import annotations

import importlib.util
import json
import linecache
from functools import cache
from pathlib import Path

import pytest

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.table.pytorch_registrations import implemented, pytorch_operators
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.codegen_card import CodegenCard, codegen_card
from dispatchviz.explain.codegen.definitions import CORE, FUNCTIONS, entry, names, table, text_of
from dispatchviz.explain.codegen.generated_functions import TABLES, node_of, operator_of_node
from dispatchviz.explain.codegen.kept_texts import kept

from .command import dispatchviz, refused

REGISTRY = pytorch("cuda")


@cache
def card(name: str) -> CodegenCard:
    return codegen_card(REGISTRY.find(f"aten::{name}"), "cuda")


def files(name: str) -> dict[str, str]:
    """Map PyTorch's name of each generated function to its file there, without folder and line."""
    return {f.name: f.pytorch.rpartition("/")[2].partition(":")[0] for f in card(name).functions}


def test_the_places_of_add_are_pytorchs() -> None:
    """Compare each section with the output of ``torchgen`` and ``tools/autograd`` of 2.14."""
    found = files("add.Tensor")
    assert found == {
        "torch.add": "python_torch_functions_2.cpp",
        "THPVariable_add": "python_variable_methods.cpp",
        "Tensor.add": "python_variable_methods.cpp",
        "at::_ops::add_Tensor": "Operators_2.cpp",
        "VariableType::add_Tensor": "VariableType_2.cpp",
        "wrapper_CPU_add_Tensor": "RegisterCPU_0.cpp",
        "wrapper_CUDA_add_Tensor": "RegisterCUDA_0.cpp",
        "wrapper_Meta_add_Tensor": "RegisterMeta_0.cpp",
        "wrapper_CompositeExplicitAutogradNonFunctional_add_Tensor": (
            "RegisterCompositeExplicitAutogradNonFunctional_0.cpp"
        ),
        "AddBackward0::apply": "Functions.cpp",
        'm.def("add.Tensor")': "RegisterSchema.cpp",
    }
    assert {file.file.rpartition("/")[2] for file in card("xlogy.Tensor").files} == {  # its texts are not shipped
        "xlogy_ops.h", "xlogy.h", "xlogy_native.h", "xlogy_meta.h", "xlogy_cpu_dispatch.h", "xlogy_cuda_dispatch.h",
        "xlogy_meta_dispatch.h", "xlogy_compositeexplicitautogradnonfunctional_dispatch.h", "RedispatchFunctions.h",
        "TensorBody.h", "Functions.h", "python_functions_1.cpp",
    }  # fmt: skip


def test_a_view_an_in_place_and_a_factory_have_their_own_files() -> None:
    assert files("t")["ADInplaceOrView::t"] == "ADInplaceOrViewType_0.cpp"
    assert files("add_.Tensor")["ADInplaceOrView::add__Tensor"] == "ADInplaceOrViewType_0.cpp"
    assert files("empty.memory_format")["empty_memory_format"] == "RegisterBackendSelect.cpp"
    assert "VariableType::t" in files("t")


def test_shown_functions_are_those_that_run() -> None:
    for function in card("mm").functions:
        lines = Path(CORE, function.here.file).read_text().splitlines()[function.here.line - 1 :]
        text = function.here.text.splitlines()
        if function.role == "operator":  # a class is made from its schema; the stub has its types
            assert lines[0] == "def mm(self: Tensor, mat2: Tensor) -> Tensor: ..."
            assert text == "".join(linecache.getlines(ops.mm.call.__code__.co_filename)).splitlines()
        else:
            assert lines[: len(text)] == text


def test_a_text_that_cpu_and_cuda_share_is_shown_once_and_names_both() -> None:
    own = {function.key: function.here for function in card("add.Tensor").functions if function.role == "kernel"}
    assert own["CPU"] == own["CUDA"]
    assert own["CPU"].file == "generated/register_cpu_cuda.py"
    assert "wrapper_CPU_add_Tensor and wrapper_CUDA_add_Tensor" in own["CPU"].text
    out = dispatchviz("codegen", "add.Tensor").out
    assert out.count("def wrapper_add_Tensor(") == 1
    assert "the same function as wrapper_CPU_add_Tensor above" in out
    assert "structured_ufunc_add_CPU::impl" in out
    assert "structured_ufunc_add_CUDA::impl" in out


def test_text_that_differs_between_devices_is_shown_for_each() -> None:
    own = {function.key: function.here for function in card("native_dropout").functions if function.role == "kernel"}
    assert own["CPU"].file == "generated/register_cpu.py"
    assert own["CUDA"].file == "generated/register_cuda.py"
    assert "dropout.native_dropout_cuda(" in own["CUDA"].text


@pytest.mark.long
def test_every_operator_of_ours_has_its_kernels_and_its_node() -> None:
    for name in names(FUNCTIONS):
        found = card(name)
        assert found.entries[0].here == entry(FUNCTIONS, name)
        keys = {function.key for function in found.functions if function.role == "kernel"}
        assert {str(key) for key, files in TABLES.items() if any(name in table(file) for file in files)} <= keys
        assert [f.name for f in found.functions if f.role == "node"] == (
            [f"{node}::apply"] if (node := node_of(name)) else []
        )
    assert node_of("cat") == "CatBackward0"


@pytest.mark.long
def test_every_generated_function_is_shown_for_some_operator() -> None:
    shown = {(f.here.file, f.here.line) for name in names(FUNCTIONS) for f in card(name).functions}
    for file in {file for files in TABLES.values() for file in files}:
        lines = text_of(file).splitlines()
        defined = {(file, number) for number, line in enumerate(lines, 1) if line.startswith("def ")}
        hidden = {lines[number - 1].partition("(")[0].removeprefix("def ") for _, number in defined - shown}
        by_name = {kernel: name for name, kernel in table(file).items()}
        for kernel in hidden:  # a hand-written one takes precedence
            assert any(function.by_hand for function in card(by_name[kernel]).functions), kernel


def test_tree_shows_callers_and_callees() -> None:
    out = dispatchviz("codegen", "add_.Tensor").out
    tree = out[out.index("Calls") : out.index("Generated code in the order")]
    order = [
        "Tensor.add_  python_variable_methods.cpp",
        "└ at::_ops::add__Tensor::call  Operators_2.cpp",
        "  └ Autograd: VariableType::add__Tensor  VariableType_8.cpp",
        "    ├ makes AddBackward0, keeps alpha",
        "    └ at::_ops::add__Tensor::redispatch",
        "      └ ADInplaceOrView: ADInplaceOrView::add__Tensor",
        "        ├ then bumps the version",
        "          ├ CPU: wrapper_CPU_add__Tensor  RegisterCPU_0.cpp",
        "          │ ├ structured_add_Tensor::meta  dispatchviz/core/native/",
        "          │ └ structured_ufunc_add_CPU::impl  dispatchviz/core/native/",
        "            └ calls aten::add.out",
        "AddBackward0::apply  Functions.cpp",
        "├ other: handle_r_to_c(self.other_scalar_type, maybe_multiply(grad, conjugated_number(self.alpha)))",
        "│ │ └ calls aten::mul.Scalar",
    ]
    at = -1
    for line in order:
        assert tree.index(line) > at, line
        at = tree.index(line)


def test_a_composite_shows_what_it_calls() -> None:
    out = dispatchviz("codegen", "aten::linear").out
    assert "CompositeImplicitAutograd: wrapper_CompositeImplicitAutograd__linear" in out
    assert "calls aten::addmm" in out


def test_unimplemented_operator_shows_what_is_known() -> None:
    unknown = next(name for name in pytorch_operators() if name.startswith("aten::") and not implemented(name))
    ended = dispatchviz("codegen", unknown)
    assert ended.status == 0
    assert f"dispatchviz does not implement {unknown}" in " ".join(ended.out.split())
    assert any("Operators_" in file.file for file in card(unknown.removeprefix("aten::")).files)


def test_operators_that_torchgen_does_not_define_claim_no_files() -> None:
    op = next(name for name in pytorch_operators() if name.startswith("quantized::"))
    assert codegen_card(REGISTRY.find(op), "cuda").files == ()


def test_names_json_and_errors() -> None:
    assert dispatchviz("codegen", "torch.add").out == dispatchviz("codegen", "aten.add.Tensor").out + (
        "\naten::add has other overloads, too: Scalar, out, Scalar_out.\n"
    )
    assert operator_of_node("MmBackward0") == "aten::mm"
    assert dispatchviz("codegen", "MmBackward0").out.startswith("aten::mm  (build cuda)")
    found = json.loads(dispatchviz("codegen", "mm", "--json").out)
    assert found["functions"][0]["here"][0] == "generated/python_bindings.py"

    assert dispatchviz("codegen").status == 2


@pytest.mark.skipif(importlib.util.find_spec("torchgen") is not None, reason="torchgen is installed here")
def test_real_without_torchgen_is_one_clear_error() -> None:
    assert "--real needs torchgen" in refused("codegen", "add", "--real")


def test_root_name_strips_in_place_and_dunder_marks() -> None:
    assert [generated_files.root_name(name) for name in ("add_", "__iand__", "__and__", "_to_copy")] == [
        "add", "and", "and", "_to_copy",
    ]  # fmt: skip


def test_bindings_of_modules_have_files_of_their_own() -> None:
    assert files("gelu")["THPVariable_gelu"] == "python_nn_functions.cpp"
    assert files("linalg_vector_norm")["THPVariable_linalg_vector_norm"] == "python_linalg_functions.cpp"


def test_our_shortened_entries_are_not_shown_as_pytorchs() -> None:
    said = " ".join(dispatchviz("codegen", "xlogy.Tensor").out.split())
    assert (
        "Entries of dispatchviz's yaml files These entries follow the grammar of PyTorch's files, but are shorter"
        in said
    )
    assert "but not for aten::xlogy.Tensor. With torch installed, dispatchviz codegen xlogy.Tensor --real" in said


def test_pytorchs_entries_are_whole_and_every_file_has_its_writer_and_its_lines() -> None:
    out = dispatchviz("codegen", "add").out
    assert (
        "\n        NestedTensorCPU, NestedTensorHPU, NestedTensorCUDA, NestedTensorXPU: NestedTensor_add_Tensor\n"
        in out
    )
    assert "\n      result: self_t + maybe_multiply(other_t, alpha)\n" in out
    assert "SparseCsrCPU, SparseCsrMeta: add_out_sparse_compressed_cpu" in out  # of the out form
    assert "by gen_variable_type_func in tools/autograd/gen_variable_type.py, into VariableType.cpp\n      79  " in out
    for name in ("add.Tensor", "t", "randn", "copy_"):
        found, texts = card(name), kept(name)
        assert {file.file: file.lines for file in found.files} == texts.files()
        assert found.lines == sum(texts.text(file).count("\n") + 1 for file in texts.files()) - sum(
            len(texts.of(file)) - 1
            for file in texts.files()  # empty lines between two pieces
        )


def test_the_text_of_a_file_is_shown_alone() -> None:
    out = dispatchviz("codegen", "add", "--file", "VariableType").out
    first, empty, *code = out.splitlines()
    assert first.startswith("torch/csrc/autograd/generated/VariableType_2.cpp: what torchgen (2.14.1) writes for")
    assert (empty, code[0].partition("(")[0]) == ("", "at::Tensor add_Tensor")
    assert "  c10::intrusive_ptr<AddBackward0> grad_fn;" in code
    found = json.loads(dispatchviz("codegen", "AddBackward0", "--file", "NativeFunctions.h", "--json").out)
    assert found["operator"] == "aten::add.Tensor"
    assert "struct TORCH_API structured_ufunc_add_CPU" in found["files"]["build/aten/src/ATen/ops/add_native.h"]


def test_the_classes_of_a_structured_kernel_as_a_picture_and_as_json(tmp_path: Path) -> None:
    done = dispatchviz("codegen", "add", "--structured", "-o", str(tmp_path / "classes.svg"))
    assert (done.status, done.out, done.err) == (0, "", "")
    assert "structured_ufunc_add_CPU_inplace" in (tmp_path / "classes.svg").read_text("utf-8")
    found = json.loads(dispatchviz("codegen", "add", "--structured", "--json").out)
    assert [each["base"] for each in found["classes"]][:3] == ["", "at::impl::MetaBase", "at::TensorIteratorBase"]
    done = dispatchviz("codegen", "add", "--structured")
    assert "structured_ufunc_add_CPU_inplace" in done.out
    assert "AddBackward0" not in done.out


@pytest.mark.parametrize(("operator", "said"), [
    ("add", "structured_ufunc_add_CPU::impl calls add_stub. at::native::DispatchStub::operator()"),
    ("mul", "structured_mul_out::impl calls mul_stub. A stub is a DispatchStub"),
    ("clamp.Tensor", "structured_clamp_Tensor_out::impl calls clamp_stub, maximum_stub and minimum_stub."),
    ("mm", "structured_mm_out_cpu::impl calls no stub itself."),
    ("add", "in aten/src/ATen/native/BinaryOps.cpp, calls build_borrowing_binary_op"),
    ("sin", "in aten/src/ATen/native/UnaryOps.cpp, calls build_borrowing_unary_float_op"),
])  # fmt: skip
def test_calls_of_meta_and_impl_are_shown(operator: str, said: str) -> None:
    assert said in " ".join(dispatchviz("codegen", operator, "--structured").out.split())
