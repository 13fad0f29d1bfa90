"""Checks of the entries about the code generators, structured kernels, and the stack of a call."""

from __future__ import annotations

import re

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_registrations
from tests.explain.then_and_now.checks import Checks
from tests.explain.then_and_now.installed import (
    compiled,
    functions,
    generated,
    has_symbol,
    pieces,
    registered,
    table,
    text,
    torch,
    within,
    written,
)

CHECKS = Checks()
checks = CHECKS.of

YAML = "aten/src/ATen/native/native_functions.yaml"
ADD = "aten::add.Tensor"
DISPATCHER = "aten/src/ATen/core/dispatch/Dispatcher.h"


# -- generated code ----------------------------------------------------------------------------------------------------


@checks("what-is-generated")
def _amounts() -> None:
    assert len(re.findall(r"^- func: ", text(YAML), re.MULTILINE)) == 2584
    assert len(registered("Tracer")) == 3101


@checks("entry-points-of-the-generator")
def _entry_points() -> None:
    assert "class NativeFunction:" in text("torchgen/model.py")
    assert "def main(" in text("torchgen/gen.py")
    assert "Functions.h" in text("torchgen/gen.py")
    assert "def gen_autograd(" in text("tools/autograd/gen_autograd.py")


def entry(name: str) -> str:
    return text(YAML).partition(f"- func: {name}(")[2].partition("\n- func:")[0]


@checks("yaml-of-add")
def _yaml() -> None:
    fields = re.findall(r"^  (\w+):", entry("add.out"), re.MULTILINE)
    wanted = {"device_check", "structured", "structured_inherits", "ufunc_inner_loop", "dispatch", "tags"}
    assert wanted <= set(fields)
    assert {"structured_delegate", "variants"} <= set(re.findall(r"^  (\w+):", entry("add.Tensor"), re.MULTILINE))
    named = set(re.findall(r"\b(\w+)(?=, |: add|: mkldnn)", entry("add.out").partition("dispatch:")[2]))
    assert {"SparseCPU", "SparseCUDA", "SparseCsrCPU", "SparseCsrCUDA", "MkldnnCPU", "MPS"} <= named
    assert {"SparseMeta", "SparseMPS", "SparseCsrMeta", "MTIA"} <= named


@checks("four-parts-of-a-call")
def _four_parts() -> None:
    assert within(generated(ADD), "THPVariable_add(", "return self.add(other, alpha);")
    assert "at::Tensor add(const at::Tensor & other, const at::Scalar & alpha=1) const;" in text(
        "build/aten/src/ATen/core/TensorBody.h"
    )
    assert "at::Tensor add_Tensor(c10::DispatchKeySet ks" in generated(ADD)
    assert "at::Tensor wrapper_CPU_add_Tensor(" in generated(ADD)


# -- structured kernels ------------------------------------------------------------------------------------------------

META = "build/aten/src/ATen/ops/add_meta.h"
NATIVE = "build/aten/src/ATen/ops/add_native.h"


@checks("native-add")
def _kernel_of_add() -> None:
    kernels = {str(key): kernel.name for key, kernel in pytorch_registrations(ADD, "cuda")}
    assert {"wrapper_CPU_add_Tensor", "wrapper_CUDA_add_Tensor"} <= set(kernels.values())
    assert {"structured_ufunc_add_CPU", "structured_ufunc_add_CUDA"} <= set(re.findall(r"structured_\w+", text(NATIVE)))
    assert re.findall(r"Tensor (add\(.*?\))", text(NATIVE)) == [
        "add(const at::Tensor & self, const at::Scalar & other, const at::Scalar & alpha=1)"
    ]


@checks("meta-and-impl")
def _structured() -> None:
    assert len(re.findall(r"^  structured: True", text(YAML), re.MULTILINE)) == 278
    header = text("aten/src/ATen/TensorMeta.h")
    for method in ("set_output_strided", "set_output_raw_strided", "set_output_contiguous"):
        assert f"void {method}(" in header


@checks("meta-of-add")
def _meta_of_add() -> None:
    assert "void meta(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha);" in text(META)
    assert any(name.endswith("meta::structured_add_Tensor::meta") for name in functions())
    assert "build_borrowing_binary_op(" in text("aten/src/ATen/TensorIterator.h")
    integers = torch().ones(2, dtype=torch().int32)
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        torch().add(integers, integers, alpha=1.5)


@checks("impl-of-add")
def _impl_of_add() -> None:
    impls = {name for name in functions() if name.endswith("::impl")}
    assert "at::native::structured_ufunc_add_CPU::impl" in impls
    assert "at::native::structured_sub_out::impl" in impls
    assert not has_symbol("structured_add_out4impl")
    assert "UfuncCPU_add.cpp" in compiled()
    assert "add_stub(device_type(), *this, alpha);" in written(ADD, "UfuncCPU_add.cpp", "namespace at")


@checks("classes-of-add")
def _classes() -> None:
    assert "struct TORCH_API structured_add_Tensor : public TensorIteratorBase" in text(META)
    assert "struct TORCH_API structured_ufunc_add_CPU : public at::meta::structured_add_Tensor" in text(NATIVE)
    assert "structured_add_out" not in text(NATIVE)
    assert (
        "struct structured_ufunc_add_CPU_functional final : public at::native::structured_ufunc_add_CPU"
        in generated(ADD)
    )
    for variant in ("functional", "inplace", "out"):
        assert has_symbol(f"structured_ufunc_add_CPU_{variant}")
    assert table(ADD)["CPU"].is_in("RegisterCPU_0.cpp")


@checks("overrides-of-the-variants")
def _overrides() -> None:
    makers = {"add.Tensor": "create_out", "add.out": "resize_out", "add_.Tensor": "check_inplace"}
    for name, maker in makers.items():
        variant = written(f"aten::{name}", "RegisterCPU_0.cpp", "struct structured_ufunc_add_CPU_")
        for method in ("set_output_strided", "set_output_raw_strided"):
            body = variant.partition(f"void {method}(")[2].partition("\n    }")[0]
            assert ") override {" in body
            assert [each for each in makers.values() if f"{each}(" in body] == [maker]
        assert "maybe_get_output(int64_t output_idx) override" in variant
        assert " outputs_;" in variant
        assert ("proxy_outputs_" in variant) == (name != "add.Tensor")


@checks("names-of-dimensions")
def _no_names() -> None:
    methods = re.findall(r"void set_output_\w+\((.*?)\) \{", text("aten/src/ATen/TensorMeta.h"), re.DOTALL)
    assert methods
    assert not any("names" in parameters or "Dimname" in parameters for parameters in methods)
    assert "propagate_names" not in text("torchgen/dest/register_dispatch_key.py")
    assert not hasattr(torch().ones(1), "names")


@checks("proxies")
def _proxies() -> None:
    written = generated("aten::add.out")
    assert "if (op.proxy_outputs_[0].has_value()) op.outputs_[0].get().copy_(*op.proxy_outputs_[0]);" in written
    raw_strided = written.partition("structured_ufunc_add_CPU_out final")[2].partition("void set_output_raw_strided(")
    assert "maybe_create_proxy" in raw_strided[0]
    assert "maybe_create_proxy" not in raw_strided[2].partition("maybe_get_output")[0]
    for name in ("add.Tensor", "add.out", "add_.Tensor"):
        assert table(f"aten::{name}")["CPU"].is_in("RegisterCPU_0.cpp")


@checks("loop-of-add")
def _loop() -> None:
    assert within(text("torchgen/dest/ufunc.py"), "cpu_kernel_vec(iter", "AT_DISPATCH_SWITCH(iter.common_dtype(), ")
    assert {name for name in compiled() if name.startswith("UfuncCPUKernel_add.cpp.")} == {
        f"UfuncCPUKernel_add.cpp.{each}.cpp" for each in ("DEFAULT", "AVX2", "AVX512")
    }


@checks("breakpoint-at-impl")
def _symbol_of_impl() -> None:
    assert "BUILD_TYPE=Release" in torch().__config__.show()
    assert "at::native::structured_ufunc_add_CPU::impl" in functions()


# -- the stack of a call -----------------------------------------------------------------------------------------------


@checks("binding-of-add")
def _bindings() -> None:
    assert "torch::autograd::THPVariable_add" in functions()
    assert {"python_torch_functions_2.cpp", "python_variable_methods.cpp"} <= compiled()
    assert generated(ADD).count("static PyObject * THPVariable_add(") == 2


@checks("inside-the-binding")
def _inside_the_binding() -> None:
    binding = generated(ADD).partition("static PyObject * THPVariable_add(")[2].partition("END_HANDLE_TH_ERRORS")[0]
    assert within(
        binding,
        *("HANDLE_TH_ERRORS", "static PythonArgParser parser({"),
        '"add(Tensor input, Scalar alpha, Tensor other, *, Tensor out=None)|deprecated"',
        *("ParsedArgs<4> parsed_args;", "pybind11::gil_scoped_release no_gil;", "return wrap("),
    )
    assert len(re.findall(r'^ *"add\(', binding, re.MULTILINE)) == 2


@checks("from-the-binding-to-autograd")
def _stack_above() -> None:
    assert "return self.add(other, alpha);" in generated(ADD)
    assert "return at::_ops::add_Tensor::call(" in text("build/aten/src/ATen/core/TensorBody.h")
    header = text(DISPATCHER)
    assert within(header, "class TypedOperatorHandle", "return c10::Dispatcher::singleton().call<")
    assert within(
        header, "Dispatcher::call(", "getDispatchKeySetUnboxed", "lookup(dispatchKeySet)", "kernel.template call<"
    )
    kernel = text("aten/src/ATen/core/boxing/KernelFunction_impl.h")
    assert within(kernel, "callUnboxedKernelFunction(", "KernelFunction::call(", "callUnboxedKernelFunction<")


@checks("from-autograd-to-the-backend")
def _stack_below() -> None:
    assert "return at::_ops::add_Tensor::redispatch(dispatchKeySet, self, other, alpha);" in text(
        "build/aten/src/ATen/RedispatchFunctions.h"
    )
    assert within(generated(ADD), "at::Tensor add_Tensor::redispatch(", "return op.redispatch(dispatchKeySet")
    header = text(DISPATCHER)
    assert within(header, "class TypedOperatorHandle", "return c10::Dispatcher::singleton().redispatch<")
    assert within(header, "Dispatcher::redispatch(", "kernel.template call<")


@checks("adapters")
def _adapters() -> None:
    header = text("aten/src/ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h")
    forms = header.split("struct wrap_kernel_functor_unboxed_<")[1:]
    assert len(forms) == 2
    calls = [re.search(r"return \(\*functor_\)\((.*?)\);", form, re.DOTALL) for form in forms]
    given = ["dispatchKeySet" in call[1] for call in calls if call]
    assert given == [False, True]


@checks("file-of-the-operator")
def _operators_files() -> None:
    files = {piece.file for piece in pieces(ADD) if "at::Tensor add_Tensor::call(" in piece.text}
    assert files == {"build/aten/src/ATen/Operators_2.cpp"}
    assert {name for name in compiled() if name.startswith("Operators_")} == {f"Operators_{i}.cpp" for i in range(5)}


# -- reasons: kernels --------------------------------------------------------------------------------------------------


@checks("code-generation")
def _yaml_files() -> None:
    assert len(re.findall(r"^- func: ", text(YAML), re.MULTILINE)) == 2584
    assert len(re.findall(r"^- name: ", text("tools/autograd/derivatives.yaml"), re.MULTILINE)) == 687
    assert "at::redispatch::${api_name}(" in text("tools/autograd/gen_variable_type.py")


@checks("meta-and-impl-apart")
def _meta_alone() -> None:
    a, b = torch().empty(2, 3, device="meta"), torch().empty(3, device="meta", dtype=torch().float64)
    result = torch().add(a, b)
    assert (tuple(result.shape), str(result.dtype), result.device.type) == ((2, 3), "torch.float64", "meta")
    written = generated(ADD)
    assert within(written, "structured_ufunc_add_CPU_functional op;", "op.meta(", "op.impl(")
    assert "set_output_raw_strided(" in written
