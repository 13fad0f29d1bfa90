"""Checks of what is said of autograd kernels, of generated code, of structured kernels, of the stack, of the engine."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_registrations
from tests.explain.then_and_now.checks import Checks
from tests.explain.then_and_now.installed import (
    C,
    backend_kernel_of_erfinv,
    calls_of,
    compiled,
    excluded,
    functions,
    generated,
    has_symbol,
    included,
    keys,
    names_of,
    pieces,
    registered,
    table,
    text,
    torch,
    within,
)

CHECKS = Checks()
checks = CHECKS.of

YAML = "aten/src/ATen/native/native_functions.yaml"
NODE = "torch/csrc/autograd/node.h"
ADD = "aten::add.Tensor"
DISPATCHER = "aten/src/ATen/core/dispatch/Dispatcher.h"
GUARDS = "aten/src/ATen/core/LegacyTypeDispatch.h"


def generated_add() -> str:
    return generated(ADD)


def autograd_kernel(operator: str, name: str) -> str:
    """What the generator writes as ``VariableType::name``."""
    return written(operator, "VariableType_", f"{name}(c10::DispatchKeySet ks")


def written(operator: str, file: str, begins: str) -> str:
    """The piece of a generated file that has some text in its first line."""
    found = (piece.text for piece in pieces(operator) if file in piece.file)
    return next(text for text in found if begins in text.partition("\n")[0])


# -- the autograd kernel and Nodes -------------------------------------------------------------------------------------


@checks("variabletypeeverything")
def _files_of_autograd_kernels() -> None:
    assert "VariableTypeEverything.cpp" not in compiled()
    assert "FooEverything.cpp isn't meant to be compiled" in text("torchgen/utils.py")
    assert {f"VariableType_{part}.cpp" for part in range(10)} == {
        name for name in compiled() if re.fullmatch(r"VariableType_\d+\.cpp", name)
    }
    assert table(ADD)["AutogradCPU"].is_in("VariableType_2.cpp")


@checks("registered-to-autograd")
def _registered() -> None:
    assert within(generated_add(), 'm.impl("add.Tensor",', "TORCH_FN(VariableType::add_Tensor)")
    assert "TORCH_LIBRARY_IMPL(aten, {dispatch_key}, m)" in text("tools/autograd/gen_variable_type.py")
    assert len(registered("Autograd")) == 2494


@checks("parts-of-the-autograd-kernel")
def _parts() -> None:
    assert within(
        autograd_kernel(ADD, "add_Tensor"),
        *("unpack(self", "compute_requires_grad(", "isFwGradDefined(", "make_intrusive<AddBackward0>"),
        *("set_next_edges(collect_next_edges(", "->alpha =", "->other_scalar_type =", "->self_scalar_type ="),
        *("at::redispatch::add(", "set_history(flatten_tensor_args("),
    )


@checks("deletenode")
def _node_counts_its_references() -> None:
    assert "struct TORCH_API Node : c10::intrusive_ptr_target" in text(NODE)
    assert "void release_resources() override;" in text(NODE)
    assert "c10::make_intrusive<AddBackward0>()" in generated_add()
    assert "torch::autograd::Node::release_resources" in functions()
    assert not has_symbol("deleteNode")
    x = torch().ones(1, requires_grad=True)
    for _ in range(100_000):
        x = x + 1
    del x  # a recursion would end the process


@checks("node-in-function-h")
def _header_of_node() -> None:
    function = text("torch/csrc/autograd/function.h")
    assert "struct TORCH_API Node" not in function
    assert "collect_next_edges(" in function
    assert "NoNamesGuard" not in text(NODE) + function
    assert "stream() {" in text(NODE)
    assert not hasattr(torch().ones(1), "names")


@checks("debug-checks")
def _debug() -> None:
    body = autograd_kernel(ADD, "add_Tensor")
    assert within(body, "#ifndef NDEBUG", "self__storage_saved", "self__impl_saved", "#endif", "redispatch")
    debug = body.rpartition("#ifndef NDEBUG")[2].partition("#endif")[0]
    assert "TORCH_INTERNAL_ASSERT(result.storage().use_count() == 1" in debug
    conditions = re.findall(r"if \(([^;]*?)\)\s*(?:\{\s*)?TORCH_INTERNAL_ASSERT", debug, re.DOTALL)
    assert conditions
    assert all("!at::impl::dispatch_mode_enabled()" in each and "tensor_has_dispatch" in each for each in conditions)


@checks("nothing-without-requires-grad")
def _no_node() -> None:
    assert torch().add(torch().ones(2), 1).grad_fn is None
    body = autograd_kernel(ADD, "add_Tensor")
    assert "if (_any_requires_grad) {" in body
    assert "isFwGradDefined(self) || isFwGradDefined(other)" in body


@checks("it-would-not-be-called")
def _it_is_called() -> None:
    x = torch().ones(2)
    assert autograd_is_passed(x)
    with torch().no_grad():
        assert autograd_is_passed(x)
    with torch().inference_mode():
        assert not autograd_is_passed(x)
        assert "AutogradCPU" not in names_of(keys(torch().ones(2)))


def autograd_is_passed(x: Any) -> bool:
    """Whether a call of erfinv on x comes to its autograd kernel, whose guard its backend kernel then finds."""
    return bool(in_backend(x)["excluded"] & ADINPLACEORVIEW)


ADINPLACEORVIEW = 0x400000000
"""Excluded by the guard of an autograd kernel, not by inference mode."""


def in_backend(x: Any) -> dict[str, int]:
    """The thread's sets in a backend's kernel."""
    found: dict[str, int] = {}

    def kernel(x: Any) -> Any:
        found.update(included=included(), excluded=excluded())
        return x.clone()

    with backend_kernel_of_erfinv(kernel):
        torch().erfinv(x)
    return found


def guard(name: str) -> str:
    """The text of a guard's class."""
    return text(GUARDS).partition(f"struct TORCH_API {name} {{")[2].partition("\n};")[0]


@checks("autononvariabletypemode")
def _old_guard() -> None:
    assert within(guard("AutoNonVariableTypeMode"), "c10::autograd_dispatch_keyset", "TORCH_WARN_ONCE(")
    generators = text("tools/autograd/gen_variable_type.py") + text("tools/autograd/gen_inplace_or_view_type.py")
    assert "AutoNonVariableTypeMode" not in generators
    assert "(c10::autograd_dispatch_keyset)" in guard("AutoDispatchBelowAutograd")
    assert "(c10::autograd_dispatch_keyset_with_ADInplaceOrView)" in guard("AutoDispatchBelowADInplaceOrView")
    named = text("c10/core/DispatchKeySet.h").partition("constexpr DispatchKeySet autograd_dispatch_keyset = ")[2]
    assert re.findall(r"DispatchKey::(\w+)", named.partition(";")[0]) == [
        "AutogradFunctionality",
        "AutogradOther",
        "AutogradNestedTensor",
    ]


@checks("guard-of-add")
def _guard_of_add() -> None:
    assert "at::AutoDispatchBelowADInplaceOrView guard;" in autograd_kernel(ADD, "add_Tensor")
    assert "at::AutoDispatchBelowAutograd guard;" in autograd_kernel("aten::add_.Tensor", "add__Tensor")
    assert "at::AutoDispatchBelowAutograd guard;" in autograd_kernel("aten::view", "view")


@checks("called-again")
def _redispatched() -> None:
    assert "at::redispatch::add(ks & c10::after_autograd_keyset, self_, other_, alpha)" in generated_add()
    after = after_autograd()
    assert names_of(0x1000010002 & after) == {"CUDA"}
    assert 0x1000010002 & after == 0x10002
    assert "redispatch" in text("build/aten/src/ATen/RedispatchFunctions.h")


def after_autograd() -> int:
    """``after_autograd_keyset``."""
    key_set = text("c10/core/DispatchKeySet.h")
    assert re.search(
        r"after_autograd_keyset =\s*DispatchKeySet\(DispatchKeySet::FULL_AFTER, c10::DispatchKey::AutogradOther\)",
        key_set,
    )
    return int(C()._dispatch_keyset_full_after(C().DispatchKey.AutogradOther).raw_repr())


@checks("redispatch-of-add")
def _backend_kernels() -> None:
    kernels = {str(key): kernel.name for key, kernel in pytorch_registrations(ADD, "cuda")}
    assert "wrapper_CUDA_add_Tensor" in kernels.values()
    assert 'm.impl("add.Tensor", TORCH_FN(wrapper_CPU_add_Tensor));' in generated_add()
    assert "add_Tensor(c10::DispatchKeySet ks, " in generated_add()
    assert "wrapper_CPU_add_Tensor(const at::Tensor & self" in generated_add()


@checks("normal-goes-through-autograd")
def _normal() -> None:
    body = autograd_kernel("aten::normal_", "normal_")
    order = ("unpack(self", "check_inplace(self", "NormalBackward0", "at::redispatch::normal_(", "rebase_history(")
    assert within(body, *order)
    assert "increment_version" not in body
    below = written("aten::normal_", "ADInplaceOrViewType_0.cpp", "normal_(c10::DispatchKeySet ks")
    assert within(below, "::redispatch(ks & c10::after_ADInplaceOrView_keyset", "increment_version(self)")
    assert table("aten::normal_")["ADInplaceOrView"].is_in("ADInplaceOrViewType_0.cpp")


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
    """Of the yaml file."""
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
    assert within(generated_add(), "THPVariable_add(", "return self.add(other, alpha);")
    assert "at::Tensor add(const at::Tensor & other, const at::Scalar & alpha=1) const;" in text(
        "build/aten/src/ATen/core/TensorBody.h"
    )
    assert "at::Tensor add_Tensor(c10::DispatchKeySet ks" in generated_add()
    assert "at::Tensor wrapper_CPU_add_Tensor(" in generated_add()


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
    assert len(re.findall(r"^  structured: True", text(YAML), re.MULTILINE)) == 275
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
        in generated_add()
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
    assert generated_add().count("static PyObject * THPVariable_add(") == 2


@checks("inside-the-binding")
def _inside_the_binding() -> None:
    binding = generated_add().partition("static PyObject * THPVariable_add(")[2].partition("END_HANDLE_TH_ERRORS")[0]
    assert within(
        binding,
        *("HANDLE_TH_ERRORS", "static PythonArgParser parser({"),
        '"add(Tensor input, Scalar alpha, Tensor other, *, Tensor out=None)|deprecated"',
        *("ParsedArgs<4> parsed_args;", "pybind11::gil_scoped_release no_gil;", "return wrap("),
    )
    assert len(re.findall(r'^ *"add\(', binding, re.MULTILINE)) == 2


@checks("from-the-binding-to-autograd")
def _stack_above() -> None:
    assert "return self.add(other, alpha);" in generated_add()
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
    assert within(generated_add(), "at::Tensor add_Tensor::redispatch(", "return op.redispatch(dispatchKeySet")
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


# -- reasons: layers ---------------------------------------------------------------------------------------------------


def order() -> list[str]:
    """All keys, lowest priority first."""
    shown = C()._dispatch_keyset_to_string(C()._dispatch_keyset_full())
    return list(shown.removeprefix("DispatchKeySet(").removesuffix(")").split(", "))


def below(*names: str) -> bool:
    """Whether each key is below the next one."""
    places = [order().index(name) for name in names]
    return places == sorted(places)


@checks("autograd-key-from-creation")
def _from_creation() -> None:
    x = torch().ones(2)
    before = keys(x)
    assert "AutogradCPU" in names_of(before)
    assert keys(x.requires_grad_(True)) == before == keys(x * 2)
    with torch().inference_mode():
        assert "AutogradCPU" not in names_of(keys(torch().ones(2)))


@checks("autograd-without-gradients")
def _without_gradients() -> None:
    x = torch().ones(2, requires_grad=True)
    with torch().no_grad():
        assert autograd_is_passed(x)
        assert torch().erfinv(x).grad_fn is None
        sets = included(), excluded()
    assert sets == (included(), excluded())
    with torch().inference_mode():
        assert not autograd_is_passed(x)
    assert "GradMode::is_enabled()" in text("torch/csrc/autograd/functions/utils.h")


@checks("adinplaceorview")
def _in_inference_mode() -> None:
    x = torch().ones(2)
    with torch().inference_mode():
        x.add_(1)
        assert x._version == 1
        inner = torch().ones(2)
        assert "ADInplaceOrView" not in names_of(keys(inner))
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            inner._version  # noqa: B018
    assert below("ADInplaceOrView", "AutogradOther", "AutogradCPU")
    assert 2 * len(registered("ADInplaceOrView")) < 3598
    assert table(ADD)["ADInplaceOrView"].falls_through


@checks("composites")
def _composites() -> None:
    cells = table("aten::matmul")
    assert {cells[key].reason for key in ("CPU", "AutogradCPU", "AutogradCUDA")} == {"math kernel"}
    a = torch().ones(2, 2, requires_grad=True)
    assert type(torch().matmul(a, a).grad_fn).__name__ == "MmBackward0"


@checks("autocast-above-autograd")
def _autocast() -> None:
    assert below("AutogradCPU", "AutogradCUDA", "AutocastCPU", "AutocastCUDA")
    weight = torch().ones(2, 2, requires_grad=True)
    with torch().autocast("cpu"):
        calls = list(calls_of(lambda: torch().mm(weight, weight)))
        assert within(" ".join(calls), "aten::mm", "aten::_to_copy", "aten::mm")
        product = torch().mm(weight, weight)
    assert str(product.dtype) == "torch.bfloat16"
    assert type(product.grad_fn.next_functions[0][0]).__name__ == "ToCopyBackward0"
    product.sum().backward()
    assert str(weight.grad.dtype) == "torch.float32"


@checks("python-below-autograd")
def _modes() -> None:
    assert below("CPU", "SparseCPU", "Python", "ADInplaceOrView", "AutogradCPU")
    from torch.utils._python_dispatch import TorchDispatchMode

    met: list[str] = []

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            met.append(str(function))
            if str(function) == "aten.mm.default":
                return torch().zeros(2, 2)
            return function(*args, **(kwargs or {}))

    a = torch().ones(2, 2, requires_grad=True)
    with Mode():
        product = torch().matmul(a, a)
        assert met == ["aten.mm.default"]
        assert type(product.grad_fn).__name__ == "MmBackward0"
        product.sum().backward()
    assert met.count("aten.mm.default") == 3


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
    written = generated_add()
    assert within(written, "structured_ufunc_add_CPU_functional op;", "op.meta(", "op.impl(")
    assert "set_output_raw_strided(" in written


# -- reasons: the graph ------------------------------------------------------------------------------------------------


@checks("version-counters")
def _versions() -> None:
    x = torch().ones(3, requires_grad=True) * 1
    y = x.exp()
    view = y[:1]
    view.detach().mul_(2)
    assert y._version == view._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert "struct C10_API VariableVersion" in text("c10/core/TensorImpl.h")


@checks("savedvariable")
def _saved() -> None:
    x = torch().ones(2, requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved.data_ptr() == y.data_ptr()
    assert saved.grad_fn is y.grad_fn
    hooks = []
    with torch().autograd.graph.saved_tensors_hooks(lambda t: hooks.append(t) or "kept", lambda kept: torch().ones(2)):
        x.exp()
    assert hooks


@checks("copyslices")
def _copyslices() -> None:
    base = torch().ones(4, requires_grad=True) * 1
    old, view, other = base.grad_fn, base[:2], base[1:]
    before = other.grad_fn
    view.mul_(2)
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    assert base.grad_fn.next_functions[0][0] is old
    assert other.grad_fn is not before
    assert "apply" in text("torch/csrc/autograd/functions/tensor.h")


# -- reasons: the engine -----------------------------------------------------------------------------------------------


def told(names: list[str], name: str, gradients: Any) -> None:
    names.append(name)


def ran(result: Any) -> list[str]:
    """The names of Nodes in the order in which they run; hooks of AccumulateGrad among them."""
    found: list[str] = []
    todo, seen = [result.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            node.register_prehook(partial(told, found, node.name()))
            todo += [edge for edge, _ in node.next_functions]
    result.backward()
    return found


@checks("counts")
def _counts() -> None:
    x = torch().ones(2, requires_grad=True)
    y = x.exp()
    inputs: list[Any] = []
    y.grad_fn.register_prehook(lambda gradients: inputs.append(gradients[0].tolist()))
    (y.sum() + (y * 2).sum()).backward()
    assert inputs == [[3.0, 3.0]]
    assert "compute_dependencies(" in text("torch/csrc/autograd/engine.h")


@checks("sequence-numbers")
def _largest_first() -> None:
    assert "return t1.fn_->sequence_nr() < t2.fn_->sequence_nr();" in text("torch/csrc/autograd/engine.h")
    x = torch().ones(2, requires_grad=True) * 1
    assert ran((x.sin() + x.cos()).sum())[2:4] == ["CosBackward0", "SinBackward0"]
    first, second = (x := torch().ones(2, requires_grad=True) * 1).sin(), x.cos()
    first.grad_fn._set_sequence_nr(10**6)
    assert ran((first + second).sum())[2:4] == ["SinBackward0", "CosBackward0"]


@checks("accumulategrad-has-the-maximum")
def _accumulate_first() -> None:
    x, w = torch().ones(2, requires_grad=True), torch().ones(2, requires_grad=True)
    y = x.sin().cos() * w
    accumulators = [edge for edge, _ in y.grad_fn.next_functions if edge.name().endswith("AccumulateGrad")]
    assert accumulators[0]._sequence_nr() == 2**64 - 1
    told: list[bool] = []
    w.register_post_accumulate_grad_hook(lambda w: told.append(w.grad is not None and x.grad is None))
    names = ran(y.sum())
    assert names[2].endswith("AccumulateGrad")
    assert names[3:5] == ["CosBackward0", "SinBackward0"]
    assert told == [True]
