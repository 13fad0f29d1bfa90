"""The registrations that filled a table, step by step, and the blocks that PyTorch writes."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from copy import copy
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.key_set import FULL
from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey
from dispatchviz.core.table.initialization_order import initialization_order
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_registry
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.registration.registration_history import registration_history, table_after
from dispatchviz.explain.cells.registration.registration_steps import Held, RegistrationStep, Replay
from dispatchviz.explain.cells.registration.registrations import (
    DEFINITION,
    FALLBACK,
    KERNEL,
    Registration,
    pytorch_registrations_of,
)
from dispatchviz.explain.keys.named_key_sets import tensor_set
from dispatchviz.views.cards.registration_text import ABOUT, NOT_YET
from tests.amounts import amount

K = DispatchKey


def sample(count: int, seed: int = 0) -> list[str]:
    names = sorted(pytorch_operators())
    return names if count >= len(names) else random.Random(seed).sample(names, count)


def contents(op: OperatorEntry) -> list[tuple[str, str]]:
    """The stored content of each entry."""
    return [(cell.kernel.name if cell.kernel else "", cell.reason) for cell in op.table]


def computed(op: OperatorEntry) -> list[tuple[str, str]]:
    cells = map(op.compute, RUNTIME_KEYS)
    return [(cell.kernel.name if cell.kernel else "", cell.reason) for cell in cells]


def replayed(name: str, registrations: list[Registration]) -> tuple[OperatorEntry, list[RegistrationStep]]:
    replay = Replay(name)
    steps = [replay.make(registration) for registration in registrations]
    assert replay.op is not None
    return replay.op, steps


# -- where it ends ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def registry() -> Registry:
    return pytorch_registry("cuda")


def test_the_last_step_is_the_table_and_the_mask(registry: Registry) -> None:
    for name in sample(amount(100, 4000)):
        op = registry.find(name)
        end, steps = replayed(name, pytorch_registrations_of(op, registry))
        assert contents(end) == contents(op), name
        assert (end.masks.single, end.masks.backends) == (op.masks.single, op.masks.backends), name
        held = table_after(steps)
        assert [(held[str(key)].kernel, held[str(key)].reason) for key in RUNTIME_KEYS] == contents(op), name
        assert steps[-1].stale == ()
        masks = steps[-1].masks
        assert (masks.single, masks.backends, masks.per_backend) == (op.mask, {}, False)


def shuffled(registrations: list[Registration], chance: random.Random) -> list[Registration]:
    """The registrations in another order. Kernels for one key keep their order, because the last one is active."""
    order = list(registrations)
    chance.shuffle(order)
    by_key: dict[DispatchKey | None, Iterator[Registration]] = {}
    for each in registrations:
        if each.what == KERNEL:
            by_key.setdefault(each.key, iter([r for r in registrations if r.what == KERNEL and r.key == each.key]))
    return [next(by_key[each.key]) if each.what == KERNEL else each for each in order]


def test_any_order_of_the_blocks_ends_in_the_same_table(registry: Registry) -> None:
    """Compare the computed tables. A stored entry may be out of date, as in PyTorch."""
    chance, up_to_date = random.Random(1), 0
    sets = [tensor_set(key) for key in (K.CPU, K.CUDA, K.Meta, K.SparseCPU, K.QuantizedCPU, K.NestedTensorCPU)]
    for name in ["aten::add.Tensor", "aten::linear", "aten::empty.memory_format", *sample(amount(20, 400), seed=1)]:
        op = registry.find(name)
        registrations = pytorch_registrations_of(op, registry)
        for _ in range(3):
            end, steps = replayed(name, shuffled(registrations, chance))
            assert computed(end) == contents(op), name
            if not steps[-1].stale:
                up_to_date += 1
                assert contents(end) == contents(op), name
                assert [end.mask_for(ks) for ks in sets] == [op.mask_for(ks) for ks in sets], name
    assert up_to_date > 50


# -- sentences of a step ----------------------------------------------------------------------------------------------


def steps_of(name: str) -> dict[str, RegistrationStep]:
    registry = pytorch_registry("cuda")
    return {step.block: step for step in registration_history(registry.find(name), registry, "cuda").steps}


def test_an_alias_is_resolved_when_it_is_registered() -> None:
    step = steps_of("aten::add.Tensor")[
        'TORCH_LIBRARY_IMPL(aten, Autograd, m) { m.impl("add.Tensor", TORCH_FN(VariableType::add_Tensor)); }'
    ]
    assert (step.kind, step.key, step.place) == (
        "alias kernel",
        "Autograd",
        "torch/csrc/autograd/generated/VariableType_2.cpp:10917",
    )
    assert len(step.recomputed) == 18
    with_fallback, without = step.changes
    assert with_fallback.before == Held("autograd_fallback", "backend fallback")
    assert without.before == Held("", "missing")
    assert with_fallback.after == without.after == Held("VariableType::add_Tensor", "autograd kernel")
    assert with_fallback.why.startswith("Nothing is registered for AutogradOther itself. The alias Autograd covers 18")
    assert step.sentences[-1] == "All their entries are recomputed. The kernel fills all of them."
    assert (step.calls, step.masks) == ((), step.masks_before)


def test_a_fallthrough_takes_its_key_out_of_the_mask_and_a_kernel_puts_it_back() -> None:
    steps = steps_of("aten::empty.memory_format")
    falls = steps["TORCH_LIBRARY_IMPL(_, BackendSelect, m) { m.fallback(torch::CppFunction::makeFallthrough()); }"]
    bit = K.BackendSelect.bits
    assert [(call.key, call.has_fallthrough) for call in falls.calls] == [("BackendSelect", True)]
    assert (falls.masks_before.single & bit, falls.masks.single & bit) == (bit, 0)
    kernel = steps[
        "TORCH_LIBRARY_IMPL(aten, BackendSelect, m) "
        '{ m.impl("aten::empty.memory_format", TORCH_FN(empty_memory_format)); }'
    ]
    assert [(call.key, call.has_fallthrough) for call in kernel.calls] == [("BackendSelect", False)]
    assert kernel.masks.single & bit == bit


def test_kernels_come_before_the_definition_and_make_the_entry() -> None:
    steps = list(steps_of("aten::linear").values())
    first = next(step for step in steps if step.makes_operator)
    assert (first.kind, first.key, first.number) == ("kernel", "AutocastCUDA", 7)
    assert not any(step.exists for step in steps[:6])
    assert first.masks_before.single == FULL
    defined = next(step for step in steps if step.kind == "definition")
    assert (defined.changes, defined.recomputed) == ((), ())
    assert defined.sentences[-1].endswith(
        "It fills no entry. 11 kernels have been registered before it, under the name alone."
    )


def test_a_cell_is_out_of_date_for_a_while() -> None:
    """PyTorch's own load does so to eight operators: a NestedTensor kernel after the composite's."""
    steps = list(steps_of("aten::linear").values())
    stale = [step for step in steps if step.stale]
    assert {step.stale for step in stale} == {("AutogradNestedTensor",)}
    assert stale[0].key == "NestedTensorCPU"
    assert "AutogradNestedTensor is now out of date" in stale[0].sentences[-1]
    after = steps[stale[-1].number]
    assert (after.key, after.sentences[-1]) == ("Autograd", "AutogradNestedTensor was out of date, and is no longer.")


def test_chosen_keys_limit_the_reported_cells() -> None:
    registry = pytorch_registry("cuda")
    history = registration_history(registry.find("aten::add.Tensor"), registry, "cuda", [K.AutogradCPU])
    assert [step.kind for step in history.steps] == ["fallback", "alias kernel"]
    assert {changed.keys for step in history.steps for changed in step.changes} == {("AutogradCPU",)}


# -- beside PyTorch ---------------------------------------------------------------------------------------------------

ROW = re.compile(r"^(\w+): (fallthrough )?.*\[([a-z ]+)\]$", re.MULTILINE)


def kernel(key: DispatchKey, fallthrough: bool = False) -> Registration:
    return Registration(
        KERNEL, "", "", key, Kernel(f"k{key}", None, "", boxed=True, fallthrough=fallthrough, pointer=1)
    )


def fallback(key: DispatchKey, fallthrough: bool = False) -> Registration:
    return replace(kernel(key, fallthrough), what=FALLBACK)


DEFINED = Registration(DEFINITION, "", "", schema="ns::f(Tensor x) -> Tensor")
HISTORIES: dict[str, list[Registration]] = {
    "backend, then autograd": [DEFINED, kernel(K.CPU), kernel(K.Autograd), kernel(K.AutogradCPU)],
    "kernels before the definition": [kernel(K.CompositeImplicitAutograd), kernel(K.CPU), DEFINED],
    "composite, then explicit": [DEFINED, kernel(K.CompositeImplicitAutograd), kernel(K.CompositeExplicitAutograd)],
    "explicit, then composite": [DEFINED, kernel(K.CompositeExplicitAutograd), kernel(K.CompositeImplicitAutograd)],
    "not functional": [DEFINED, kernel(K.CompositeExplicitAutogradNonFunctional), kernel(K.SparseCPU)],
    "nested": [DEFINED, kernel(K.CompositeImplicitAutograd), kernel(K.NestedTensorCPU), kernel(K.Autograd)],
    "ambiguous": [DEFINED, kernel(K.CompositeImplicitAutograd), kernel(K.MkldnnCPU)],
    "batched": [DEFINED, kernel(K.FuncTorchBatchedDecomposition), kernel(K.FuncTorchBatched)],
    "fallthrough of one backend": [DEFINED, kernel(K.AutogradCPU, True), kernel(K.Autograd), kernel(K.AutogradCPU)],
    "fallthrough of an alias": [DEFINED, kernel(K.Autograd, True), kernel(K.AutogradCPU)],
    "instead of a fallthrough": [
        DEFINED,
        kernel(K.BackendSelect),
        kernel(K.ADInplaceOrView),
        kernel(K.Conjugate, True),
    ],
    "fallback": [kernel(K.CPU), fallback(K.HIP), fallback(K.IPU, True), DEFINED, kernel(K.HIP), kernel(K.AutogradIPU)],
}
FROM_PYTORCH = (
    *("aten::add.Tensor", "aten::linear", "aten::empty.memory_format", "aten::conj_physical", "aten::matmul"),
    *("aten::zeros_like", "aten::view", "aten::sum"),
)
"""Operators whose registrations are made on a new operator of a real PyTorch, one by one."""


class Live:
    """An operator in a real PyTorch."""

    def __init__(self, torch: Any, number: int) -> None:
        self.C, self.torch, self.namespace = torch._C, torch, f"steps{number}"
        self.name = f"{self.namespace}::f"
        self.blocks: list[Any] = []

    def make(self, made: Registration) -> None:
        wildcard = made.what == FALLBACK
        block = self.C._dispatch_library(
            "IMPL" if made.what != DEFINITION else "FRAGMENT", "_" if wildcard else self.namespace, ""
        )
        self.blocks.append(block)
        if made.kernel is None:
            block.define("f(Tensor x) -> Tensor", "")
            return
        assert made.key is not None
        function = self.torch.library.fallthrough_kernel if made.kernel.fallthrough else _never
        if wildcard and made.kernel.fallthrough:
            block.fallback_fallthrough(made.key.name)
        elif wildcard:
            block.fallback(made.key.name, function)
        else:
            block.impl("f", made.key.name, function, False)

    def table(self) -> dict[str, tuple[bool, str]]:
        """Key to whether calls skip it, and the tag; cells without a kernel are left out."""
        rows = ROW.findall(self.C._dispatch_dump_table(self.name))
        return {key: (bool(through), reason) for key, through, reason in rows}

    def out_of_date(self) -> bool:
        try:
            self.C._dispatch_check_invariants(self.name)
        except RuntimeError:
            return True
        return False

    def undo(self) -> None:
        while self.blocks:
            self.blocks.pop().reset()


def _never(*_: Any) -> None:
    raise AssertionError("nobody calls it")


def beside_pytorch(torch: Any, number: int, registrations: list[Registration]) -> tuple[int, int]:
    """The number of steps, and at how many cells were out of date."""
    live, replay = Live(torch, number), Replay("ns::f")
    for each in pytorch_registrations_of(pytorch_registry("cpu").find("aten::add.Tensor"), pytorch_registry("cpu")):
        if each.what == FALLBACK:
            replay.make(each)
    stale = 0
    try:
        for made in registrations:
            step = replay.make(made)
            live.make(made)
            if replay.op is None:
                continue
            cells = [replay.op.compute(key) for key in RUNTIME_KEYS]
            ours = {str(cell.key): (cell.falls_through, cell.reason) for cell in cells if cell.kernel is not None}
            assert live.table() == ours, step
            assert live.out_of_date() == bool(step.stale), step
            stale += bool(step.stale)
            _same_fallthroughs(torch, live, replay.op)
    finally:
        live.undo()
    return len(registrations), stale


def _same_fallthroughs(torch: Any, live: Live, op: OperatorEntry) -> None:
    """Compare the keys that a call skips: PyTorch gets a set and returns the highest key that does not fall through."""
    for name in ("AutogradCPU", "AutogradMeta", "BackendSelect", "ADInplaceOrView", "Conjugate"):
        key = DispatchKey[name]
        if op.kernel(key) is not None:
            kernel = op.kernel(key)
            falls = torch._C._dispatch_kernel_for_dispatch_key_is_fallthrough(live.name, name)
            assert falls == (kernel is not None and kernel.fallthrough)
            backend = key.bits & 0xFFFF or DispatchKey.CPU.bits
            assert bool(op.mask_for(key.bits | backend) & key.functionality.bits) != falls


@pytest.mark.torch
@pytest.mark.parametrize("name", HISTORIES)
def test_each_step_is_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, stale = beside_pytorch(torch, list(HISTORIES).index(name), HISTORIES[name])
    assert (stale > 0) == (name in ("composite, then explicit", "nested"))


@pytest.mark.torch
def test_each_step_of_pytorchs_own_operators_is_as_on_a_new_one() -> None:
    torch = pytest.importorskip("torch")
    registry, made = pytorch_registry("cpu"), 0
    for number, name in enumerate(FROM_PYTORCH):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made += beside_pytorch(torch, 100 + number, list(_as_python_can(torch, registry, name)))[0]
    assert made > 100


def _as_python_can(torch: Any, registry: Registry, name: str) -> Iterator[Registration]:
    """An operator's registrations but its fallbacks, and but for keys that no Python kernel can be registered for."""
    for each in pytorch_registrations_of(registry.find(name), registry):
        if each.what == DEFINITION:
            yield DEFINED
        elif each.what == KERNEL and torch._C._parse_dispatch_key(str(each.key)) is not None and each.kernel:
            kernel = copy(each.kernel)
            kernel.pointer = 1
            yield replace(each, kernel=kernel)


def blocks(name: str, build: str = "cuda") -> list[Registration]:
    registry = pytorch_registry(build)
    return pytorch_registrations_of(registry.find(name), registry)


def test_blocks_of_every_form() -> None:
    found = {each.place.rpartition("/")[2].partition(":")[0]: each.block for each in blocks("aten::add.Tensor")}
    assert found["RegisterSchema.cpp"] == (
        'TORCH_LIBRARY(aten, m) { m.def("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", ...); }'
    )
    assert (
        found["BatchRulesBinaryOps.cpp"]
        == 'TORCH_LIBRARY_IMPL(aten, FuncTorchBatched, m) { m.impl("add.Tensor", ...); }'
    )
    assert found["_meta_registrations.py"] == 'torch.library.Library("aten", "IMPL", "Meta").impl("add.Tensor", ...)'
    fragment = [each.block for each in blocks("inductor::_reinterpret_tensor")]
    assert (
        "TORCH_LIBRARY_FRAGMENT(inductor, m) "
        '{ m.impl("_reinterpret_tensor", torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, ...)); }'
    ) in fragment
    assert blocks("_test::cat")[-1].block == 'torch::RegisterOperators().op("_test::cat", ...);'


def plain(code: str) -> str:
    return re.sub(r"\s", "", code)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["add.Tensor", "empty.memory_format", "narrow"])
def test_generated_blocks_are_torchgens(name: str) -> None:
    pytest.importorskip("torchgen")
    from dispatchviz.explain.codegen.torchgen_output import real

    answer, compared = real(pytorch_registry("cuda").find(f"aten::{name}")), 0
    for each in blocks(f"aten::{name}"):
        written = [plain(piece.text) for piece in answer.of(each.place) if "m." in piece.text]
        if not written:
            continue
        statement = each.block.removesuffix(" }").partition(" { ")[2]
        parts = [plain(part) for part in statement.split("...")]
        assert any(all(part in text for part in parts) for text in written), each
        compared += 1
    assert compared > 4


@pytest.mark.torch
def test_names_of_members_are_in_the_headers() -> None:
    torch = pytest.importorskip("torch")
    headers = Path(torch.__file__).parent / "include/ATen/core/dispatch"
    text = "".join(
        (headers / f"{name}.h").read_text() for name in ("OperatorEntry", "DispatchKeyExtractor", "Dispatcher")
    )
    names = re.findall(r"\b\w+_\b|\bset\w+|\brequires\w+", f"{ABOUT} {NOT_YET} nonFallthroughKeysPerBackend_")
    assert len(names) >= 6
    assert [name for name in (*names, "requiresBitsetPerBackend_") if name not in text] == []


IMPORTING = """
import json, sys
libraries, calls = [], []
def watch(frame, event, called):
    if event != "c_call" or frame.f_globals["__name__"] != "torch.library":
        return
    here = frame.f_locals
    if called.__name__ in ("define", "impl"):
        name = str(here.get("name") or here.get("schema")).rpartition("::")[2].partition("(")[0]
        calls.append((f"{here['self'].ns}::{name}", here.get("dispatch_key") or ""))
    elif called.__name__ == "_dispatch_library" and "filename" in here:
        file = here["filename"].rpartition("site-packages/")[2]
        libraries.append((f"{file}:{here['lineno']}", here["kind"], here["ns"], here["dispatch_key"]))
sys.setprofile(watch)
import torch
sys.setprofile(None)
print(json.dumps({"libraries": libraries, "calls": calls}))
"""
"""Libraries, by place; then definitions and kernels: operator and key, or no key for a definition."""


@pytest.fixture(scope="module")
def imported() -> dict[str, list[Any]]:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=True)
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


@pytest.mark.torch
def test_modules_run_in_the_order_of_the_model(imported: dict[str, list[Any]]) -> None:
    seen: dict[str, list[str]] = {}
    for name, key in imported["calls"]:
        seen.setdefault(name, []).append(key)
    compared = 0
    for name, operator in pytorch_registry("cpu").operators.items():
        ours = [(initialization_order(k.debug), str(key)) for key, ks in operator.registrations.items() for k in ks]
        ours = [each for each in ours if each[0].file.endswith(".py")]
        if name.startswith("_native::"):
            continue  # PyTorch numbers them, and which there are depends on the GPU's compilers that are installed
        if len({moment for moment, _ in ours}) > 1:
            compared += 1
            assert [key for _, key in sorted(ours, key=itemgetter(0))] == [key for key in seen[name] if key], name
    assert compared > 20


@pytest.mark.torch
def test_blocks_are_as_they_are_written(imported: dict[str, list[Any]]) -> None:
    registry, one_of = pytorch_registry("cuda"), dict[str, str]()
    for name, op in registry.operators.items():
        places = [op.debug, *(kernel.debug for kernels in op.registrations.values() for kernel in kernels)]
        one_of |= {place: name for place in places if ".py" in place}
    written = set()
    for name in set(one_of.values()):
        for each in pytorch_registrations_of(registry.find(name), registry):
            if found := re.match(r'torch\.library\.Library\("(\w+)", "(\w+)"(?:, "(\w+)")?\)', each.block):
                written.add((each.place, found[2], found[1], found[3] or ""))
    assert len(written) > 15
    assert written <= set(map(tuple, imported["libraries"]))
