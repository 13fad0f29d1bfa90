"""Checks of the entries about keys, tables, factories and boxed kernels."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dispatchviz.explain.keys.key_layouts import readings
from tests.explain.then_and_now.checks import Checks
from tests.explain.then_and_now.installed import (
    C,
    backend_kernel_of_erfinv,
    calls_of,
    compiled,
    cuda_keys,
    excluded,
    functions,
    generated,
    has_symbol,
    included,
    key_order,
    keys,
    libraries,
    names_of,
    new_operator,
    own_operators,
    raw,
    reasons_of,
    registered,
    table,
    text,
    torch,
    within,
)

CHECKS = Checks()
checks = CHECKS.of

EXTRACTOR = "aten/src/ATen/core/dispatch/DispatchKeyExtractor.h"
BACKENDS = ("CPU", "MTIA", "MAIA", "XPU", "IPU", "HPU", "XLA", "MPS", "CUDA", "PrivateUse1")
AUTOCAST = {f"Autocast{backend}" for backend in BACKENDS}
AUTOGRAD_BITS = 0x3800000000


def full_set() -> set[str]:
    return names_of(C()._dispatch_keyset_full().raw_repr())


# -- keys, key sets and tables -----------------------------------------------------------------------------------------


@checks("one-function-for-all")
def _operators_and_cells() -> None:
    assert len(own_operators()) == 3607
    assert len(full_set()) + 1 == 137  # and Undefined


@checks("a-pointer-for-each-key")
def _bits() -> None:
    assert C()._dispatch_num_backends() == 16
    bits = C()._dispatch_keyset_full().raw_repr().bit_length()
    assert bits - 16 == 46
    per_backend = sum(f"{prefix}CUDA" in full_set() for prefix in PREFIXES)
    assert per_backend == 6
    assert len(full_set()) == 46 - per_backend + 16 * per_backend


PREFIXES = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")


@checks("how-the-set-is-made")
def _formula() -> None:
    found = re.search(r"computeDispatchKeySet\((.*?)\n\}", text(EXTRACTOR), re.DOTALL)
    assert found
    assert "(((ks | local.included_) - local.excluded_) & key_mask)" in found[1]
    assert "global" not in found[1]


@checks("global-keys")
def _thread_defaults() -> None:
    assert names_of(included()) == {"ADInplaceOrView", "BackendSelect"}
    assert names_of(excluded()) == AUTOCAST
    assert len(AUTOCAST) == 10
    assert "AutocastCUDA" in names_of(cuda_keys())


def set_of_call(operator: str, tensors: int) -> int:
    """The key set of a call, computed by the formula from PyTorch's value for each part."""
    falling = [key for key, cell in table(operator).items() if cell.falls_through]
    mask = C()._dispatch_keyset_full().raw_repr() & ~sum(map(bit_of, falling))
    return int((raw(tensors | included()) - raw(excluded())).raw_repr()) & mask


def bit_of(key: str) -> int:
    """The bit of a key without a backend; not all keys have a name in Python."""
    return next(1 << bit for bit in range(16, 62) if names_of(1 << bit) == {key})


@checks("the-set-of-add")
def _set_of_add() -> None:
    assert set_of_call("aten::add.Tensor", cuda_keys()) == 0x1000010002
    assert names_of(0x1000010002) == {"AutogradCUDA", "CUDA"}
    cells = table("aten::add.Tensor")
    assert cells["BackendSelect"].falls_through
    assert cells["ADInplaceOrView"].falls_through


@checks("the-keys-of-a-cuda-tensor")
def _cuda_tensor() -> None:
    assert cuda_keys() == 0x801400010002
    assert names_of(cuda_keys()) == {"AutocastCUDA", "AutogradCUDA", "ADInplaceOrView", "CUDA"}


@checks("requires-grad-adds-a-key")
def _requires_grad() -> None:
    x = torch().ones(2)
    before = keys(x)
    assert keys(x.requires_grad_(True)) == before
    assert "AutogradCPU" in names_of(before)
    assert "AutogradCUDA" in names_of(cuda_keys())


@checks("autograd-is-an-alias")
def _alias() -> None:
    alias = C().DispatchKey.Autograd
    assert C().DispatchKeySet(alias).raw_repr() == 0
    assert filled_by("Autograd") == 18
    own = registered("AutogradCUDA")
    assert len(own) == 3
    assert all("_test_" in name for name in own)


@checks("where-autograd-becomes-autogradcuda")
def _alias_is_filled_at_registration() -> None:
    with new_operator() as library:
        before = C()._dispatch_dump_table("thenandnow::op")
        library.impl("op", lambda x: x, "Autograd")
        after = table("thenandnow::op")
    assert "AutogradCUDA: " in before
    assert "[autograd kernel]" not in before
    filled = {key for key, cell in after.items() if cell.reason == "autograd kernel"}
    assert len(filled) == 18
    assert "AutogradCUDA" in filled
    assert table("aten::add.Tensor")["AutogradCUDA"].reason == "autograd kernel"


@checks("the-set-as-a-number")
def _numbers() -> None:
    assert names_of(68719542273) == {"AutogradCPU", "CPU"}
    assert names_of(65537) == {"CPU"}
    assert (hex(68719542273), hex(65537)) == ("0x1000010001", "0x10001")
    assert names_of(274877939713) == {"Tracer"}
    assert {tuple(each.members(274877939713)) for each in readings(274877939713)} == {("CPU", "AutogradCPU")}


@checks("backendselect-falls-through")
def _backend_select() -> None:
    cells = reasons_of("BackendSelect").values()
    falling = [cell for cell in cells if cell.falls_through]
    assert (len(falling), len(cells) - len(falling)) == (3512, 95)
    assert all(cell.is_in("BackendSelectFallbackKernel.cpp") for cell in falling)


@checks("fallthrough-is-a-mask")
def _masks() -> None:
    assert "nonFallthroughKeysPerBackend_" in text(EXTRACTOR)
    assert "std::array<DispatchKeySet, num_backends> nonFallthroughKeysPerBackend_" in text(EXTRACTOR)
    dumps = (C()._dispatch_dump_table(name) for name in own_operators())
    falling = {key for dump in dumps for key in re.findall(r"^(\w+): fallthrough", dump, re.MULTILINE)}
    assert "BackendSelect" in falling
    assert not any(f"{prefix}{backend}" in falling for prefix in PREFIXES for backend in ("CPU", "CUDA", "Meta"))


@checks("registration-fills-the-table")
def _fallbacks() -> None:
    with new_operator():
        cells = table("thenandnow::op")
    assert len(cells) == 38
    assert {cell.reason for cell in cells.values()} == {"backend fallback"}
    assert len(registered("CompositeImplicitAutograd")) > 600


# -- functions that make tensors ---------------------------------------------------------------------------------------


@checks("backendselectregister")
def _register_backend_select() -> None:
    assert table("aten::randn")["BackendSelect"].is_in("RegisterBackendSelect.cpp")
    assert "RegisterBackendSelect.cpp" in compiled()
    assert "BackendSelectRegister.cpp" not in compiled()


def kernel_of_randn() -> str:
    return generated("aten::randn").partition("DispatchKeySet _dk")[2].partition("}")[0]


@checks("handle-of-randn")
def _handle() -> None:
    assert "at::_ops::randn::redispatch(" in kernel_of_randn()
    assert "findSchemaOrThrow" not in kernel_of_randn()
    written = generated("aten::randn")
    assert within(written, "create_randn_typed_handle()", ".findSchemaOrThrow(", ".typed<", "static auto op = ")


@checks("key-from-options")
def _options() -> None:
    assert "c10::computeDispatchKey(dtype, layout, device)" in kernel_of_randn()
    assert re.search(r"_dk_?\w* = .*c10::detail::multi_dispatch_key_set\(self\)", generated("aten::_to_copy"))


@checks("what-randn-calls")
def _randn_calls() -> None:
    calls = list(calls_of(lambda: torch().randn(2)))
    assert calls == ["aten::randn", "aten::empty", "aten::normal_"]
    cells = table("aten::randn")
    assert cells["CPU"].place == cells["CUDA"].place
    assert cells["CPU"].is_in("RegisterCompositeExplicitAutograd_0.cpp")
    assert "at::native::randn" in functions()


@checks("kernels-of-empty")
def _empty() -> None:
    yaml = text("aten/src/ATen/native/native_functions.yaml")
    entry = yaml.partition("- func: empty.memory_format(")[2].partition("- func:")[0]
    assert within(
        entry, "CPU: empty_cpu", "CUDA: empty_cuda", "MPS: ", "Meta: ", "MkldnnCPU: ", "SparseCPU", "SparseCsr"
    )
    assert "QuantizedCPU" in entry


@checks("normal-within-randn")
def _normal_within_randn() -> None:
    assert sequence_numbers(lambda: torch().randn(2))["aten::normal_"] == -1
    assert sequence_numbers(lambda: torch().ops.aten.randn([2]))["aten::normal_"] >= 0
    factories = text("torch/csrc/autograd/generated/variable_factories.h")
    assert re.search(r"at::Tensor randn\(.*\{\n  at::AutoDispatchBelowADInplaceOrView guard;", factories)


def sequence_numbers(run: Any) -> dict[str, int]:
    """The sequence number at each operator call; -1 if autograd keys are excluded."""
    with torch().profiler.profile() as profiler:
        run()
    return {event.name: event.sequence_nr for event in profiler.events()}


# -- boxed kernels and vmap --------------------------------------------------------------------------------------------


def symbols_with(name: str) -> int:
    cpu = libraries()[0]
    return sum(name.encode() in each for each in cpu.names.split(b"\0"))


@checks("two-calling-conventions")
def _adapters_to_boxed() -> None:
    assert symbols_with("make_boxed_from_unboxed_functor") > 10_000
    assert "struct make_boxed_from_unboxed_functor" in text(
        "aten/src/ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h"
    )


@checks("signature-of-boxed-kernels")
def _boxed_signatures() -> None:
    header = text("aten/src/ATen/core/boxing/BoxedKernel.h")
    assert "using BoxedKernelFunction = void(const OperatorHandle&, Stack*);" in header
    assert within(
        header, "using BoxedKernelFunction_withDispatchKeys =", "void(const OperatorHandle&, DispatchKeySet, Stack*);"
    )


@checks("loop-of-vmap")
def _two_loops() -> None:
    assert {"at::functorch::batchedTensorForLoopFallback", "at::batchedTensorForLoopFallback"} <= functions()
    assert {"BatchedFallback.cpp", "LegacyBatchedFallback.cpp"} <= compiled()
    assert "batchedTensorForLoopFallback" in text("aten/src/ATen/LegacyBatchedFallback.h")
    name = next(name for name, cell in reasons_of("FuncTorchBatched").items() if cell.reason == "backend fallback")
    cells = table(name)
    assert cells["FuncTorchBatched"].reason == cells["Batched"].reason == "backend fallback"
    assert cells["FuncTorchBatched"].place != cells["Batched"].place


def operators_with_a_rule() -> set[str]:
    """The operators with a C++ batch rule. Using vmap also registers some in Python."""
    return {
        name
        for name, cell in reasons_of("FuncTorchBatched").items()
        if cell.reason == "kernel" and ".cpp" in cell.place
    }


DECOMPOSED = 340


@checks("add-under-vmap")
def _add_has_a_rule() -> None:
    assert table("aten::add.Tensor")["FuncTorchBatched"].is_in("BatchRulesBinaryOps.cpp")
    assert (len(operators_with_a_rule()), left_to_the_loop()) == (614, 2653)


def left_to_the_loop() -> int:
    taken_apart = registered("FuncTorchBatchedDecomposition")
    assert len(taken_apart) == DECOMPOSED
    assert not operators_with_a_rule() & taken_apart
    return len(own_operators()) - len(operators_with_a_rule()) - DECOMPOSED


@checks("sin-under-vmap")
def _sin() -> None:
    cells = table("aten::sin")
    for key in ("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"):
        assert cells[key].reason == "backend fallback"
        assert cells[key].is_in("DynamicLayer.cpp")
    assert cells["FuncTorchBatched"].is_in("BatchRulesUnaryOps.cpp")
    dump = C()._dispatch_dump("aten::sin")
    assert re.search(r"^FuncTorchBatched: .*\[ boxed unboxed \]", dump, re.MULTILINE)


@checks("gains-and-price-of-boxing")
def _loop_serves_many() -> None:
    assert left_to_the_loop() == 2653
    loops = {cell.place for cell in reasons_of("FuncTorchBatched").values() if cell.reason == "backend fallback"}
    assert len(loops) == 1


@checks("lite-interpreter")
def _mobile() -> None:
    assert "bool run(Stack& stack);" in text("torch/csrc/jit/mobile/interpreter.h")
    assert any(name.endswith("InterpreterState::run") for name in functions())


# -- reasons -----------------------------------------------------------------------------------------------------------


@checks("a-dispatcher")
def _others_can_register() -> None:
    library = torch().library.Library("aten", "IMPL")
    try:
        library.impl("frac", lambda x: x, "PrivateUse1")
        assert table("aten::frac")["PrivateUse1"].reason == "kernel"
    finally:
        library._destroy()
    assert table("aten::frac")["PrivateUse1"].reason != "kernel"


@checks("a-set-of-keys")
def _several_keys() -> None:
    x = torch().ones(2, dtype=torch().complex64).conj()
    assert {"CPU", "AutogradCPU", "Conjugate"} <= names_of(keys(x))
    order = key_order()
    assert order.index("CPU") < order.index("Conjugate") < order.index("AutogradCPU") < order.index("FuncTorchBatched")
    assert raw(keys(x)).highestPriorityTypeId() == C().DispatchKey.AutocastCPU


@checks("alias-keys")
def _aliases() -> None:
    for alias, cells in (("Autograd", 18), ("CompositeImplicitAutograd", 103)):
        key = getattr(C().DispatchKey, alias)
        assert C()._dispatch_is_alias_key(key)
        assert C().DispatchKeySet(key).raw_repr() == 0
        assert filled_by(alias) == cells
    cells = table("aten::_test_autograd_multiple_dispatch.fullcoverage")
    assert (cells["AutogradCUDA"].reason, cells["AutogradCPU"].reason) == ("kernel", "autograd kernel")


def filled_by(alias: str) -> int:
    """The number of entries, without Undefined, that a kernel registered for an alias fills."""
    with new_operator() as library:
        library.impl("op", lambda x: x, alias)
        return sum("then_and_now" in cell.place for key, cell in table("thenandnow::op").items() if key != "Undefined")


@checks("redispatch")
def _redispatch() -> None:
    x = torch().ones(2, requires_grad=True)
    assert list(calls_of(lambda: torch().add(x, x))) == ["aten::add"]
    header = text("aten/src/ATen/core/dispatch/Dispatcher.h")
    body = header.partition("inline Return Dispatcher::redispatch(")[2].partition("\n}")[0]
    assert "lookup(currentDispatchKeySet)" in body
    assert "getDispatchKeySetUnboxed" not in body
    assert "RecordFunction(" not in body


@checks("guard-and-mask")
def _guard_and_mask() -> None:
    x = torch().ones(2, requires_grad=True)
    neg = torch().ops.aten.neg.default
    assert neg.redispatch(raw(0x1000010001), x).grad_fn is not None  # autograd's kernel again
    assert neg.redispatch(raw(0x10001), x).grad_fn is None
    inside = seen_from_the_backend(x)
    assert inside["excluded"] & AUTOGRAD_BITS == AUTOGRAD_BITS
    assert inside["grad_fn"] is None
    assert "AutogradCPU" in names_of(inside["keys"])


def seen_from_the_backend(x: Any) -> dict[str, Any]:
    """The state that a backend kernel finds when the autograd kernel calls it."""
    found: dict[str, Any] = {}

    def kernel(x: Any) -> Any:
        found.update(excluded=excluded(), keys=keys(x), grad_fn=(x * 2).grad_fn)
        return x.clone()

    with backend_kernel_of_erfinv(kernel):
        torch().erfinv(x)
    return found


@checks("fallthrough")
def _empty_cell() -> None:
    ones = torch().ones(2)
    with new_operator() as library:
        with pytest.raises(NotImplementedError, match="Could not run 'thenandnow::op' with arguments from the 'CPU'"):
            torch().ops.thenandnow.op(ones)
        library.impl("op", lambda x: x + 1, "CPU")
        library.impl("op", torch().library.fallthrough_kernel, "AutogradCPU")
        assert torch().ops.thenandnow.op(ones).tolist() == [2, 2]
        assert table("thenandnow::op")["AutogradCPU"].falls_through


@checks("backendselect")
def _why_backend_select() -> None:
    assert "BackendSelect" in names_of(included())
    assert set_of_call("aten::randn", 0) == C().DispatchKeySet(C().DispatchKey.BackendSelect).raw_repr()
    assert table("aten::randn")["BackendSelect"].reason == "kernel"
    assert table("aten::mul.Tensor")["BackendSelect"].falls_through


@checks("front-and-back")
def _layers() -> None:
    order = key_order()
    front, back = order.index("FuncTorchDynamicLayerFrontMode"), order.index("FuncTorchDynamicLayerBackMode")
    assert order[front + 1 :] == ["PreDispatch", "PythonDispatcher"] or len(order) - front <= 5
    assert back < order.index("ADInplaceOrView") < order.index("AutogradCPU") < order.index("FuncTorchBatched") < front
    inside: list[int] = []
    torch().vmap(lambda x: inside.append(included()) or x)(torch().ones(2))
    assert {"FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"} <= names_of(inside[0])
    assert has_symbol("dynamicLayerFrontFallback")


@checks("boxing")
def _why_boxing() -> None:
    assert (len(own_operators()), left_to_the_loop()) == (3607, 2653)
    with new_operator() as library:
        library.impl("op", lambda x: x, "CPU")
        assert re.search(r"^CPU: .*\[ boxed \]", C()._dispatch_dump("thenandnow::op"), re.MULTILINE)
