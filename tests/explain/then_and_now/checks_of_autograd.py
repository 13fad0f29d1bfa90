"""Checks of the entries about the autograd kernel, Nodes, and the layers above the backends."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_registrations
from tests.explain.then_and_now.checks import Checks
from tests.explain.then_and_now.installed import (
    C,
    autograd_kernel,
    backend_kernel_of_erfinv,
    calls_of,
    compiled,
    excluded,
    functions,
    generated,
    has_symbol,
    included,
    key_order,
    keys,
    names_of,
    registered,
    table,
    text,
    torch,
    within,
    written,
)

CHECKS = Checks()
checks = CHECKS.of

NODE = "torch/csrc/autograd/node.h"
ADD = "aten::add.Tensor"
GUARDS = "aten/src/ATen/core/LegacyTypeDispatch.h"


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
    assert within(generated(ADD), 'm.impl("add.Tensor",', "TORCH_FN(VariableType::add_Tensor)")
    assert "TORCH_LIBRARY_IMPL(aten, {dispatch_key}, m)" in text("tools/autograd/gen_variable_type.py")
    assert len(registered("Autograd")) == 2498


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
    assert "c10::make_intrusive<AddBackward0>()" in generated(ADD)
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
    """Return whether a call of erfinv on x comes to its autograd kernel, whose guard its backend kernel then finds."""
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
    assert "at::redispatch::add(ks & c10::after_autograd_keyset, self_, other_, alpha)" in generated(ADD)
    after = after_autograd()
    assert names_of(0x1000010002 & after) == {"CUDA"}
    assert 0x1000010002 & after == 0x10002
    assert "redispatch" in text("build/aten/src/ATen/RedispatchFunctions.h")


def after_autograd() -> int:
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
    assert 'm.impl("add.Tensor", TORCH_FN(wrapper_CPU_add_Tensor));' in generated(ADD)
    assert "add_Tensor(c10::DispatchKeySet ks, " in generated(ADD)
    assert "wrapper_CPU_add_Tensor(const at::Tensor & self" in generated(ADD)


@checks("normal-goes-through-autograd")
def _normal() -> None:
    body = autograd_kernel("aten::normal_", "normal_")
    order = ("unpack(self", "check_inplace(self", "NormalBackward0", "at::redispatch::normal_(", "rebase_history(")
    assert within(body, *order)
    assert "increment_version" not in body
    below = written("aten::normal_", "ADInplaceOrViewType_0.cpp", "normal_(c10::DispatchKeySet ks")
    assert within(below, "::redispatch(ks & c10::after_ADInplaceOrView_keyset", "increment_version(self)")
    assert table("aten::normal_")["ADInplaceOrView"].is_in("ADInplaceOrViewType_0.cpp")


# -- reasons: layers ---------------------------------------------------------------------------------------------------


def below(*names: str) -> bool:
    """Return whether each key is below the next one."""
    places = [key_order().index(name) for name in names]
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
    assert 2 * len(registered("ADInplaceOrView")) < 3607
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
