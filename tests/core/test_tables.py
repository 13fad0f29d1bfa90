"""Operator tables computed from PyTorch's registrations equal PyTorch's, entry by entry and reason by reason."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import pytest

from dispatchviz.core.kernel.kernel_names import kernel_name
from dispatchviz.core.keys.key_set import subtract, table_index
from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey
from dispatchviz.core.table import dump
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import (
    is_structured,
    pytorch_fallbacks,
    pytorch_operators,
    pytorch_registrations,
    pytorch_version,
)
from tests.core.experiments import pytorch, recorded, tables

pytestmark = pytest.mark.record("dispatch_tables")

K = DispatchKey


def cells(op: OperatorEntry) -> dict[str, list[Any]]:
    """The debug text, reason and fallthrough of every valid entry of the stored table."""
    valid = ((cell.key.name, cell.kernel, cell.reason) for cell in op.table if cell.kernel is not None)
    return {key: [kernel.debug, reason, kernel.fallthrough] for key, kernel, reason in valid}


@pytest.mark.parametrize("name", tables()["tables"])
def test_every_entry_and_reason_equals_pytorchs(name: str) -> None:
    op = recorded().operators[name]
    assert cells(op) == tables()["tables"][name]
    assert dump.stale_keys(op) == []


@pytest.mark.long
def test_tables_of_all_operators_equal_pytorchs() -> None:
    """Compare their digests. ``make conformance`` compares them entry by entry."""
    found = {name: cells(op) for name, op in recorded().operators.items()}
    assert {name for name, table in found.items() if digest(table) != tables()["digests"][name]} == set()


def digest(table: dict[str, list[Any]]) -> str:
    """The digest of a table, as ``truth/recorders/dispatch_tables.py`` computes it."""
    lines = (f"{key}: {debug} {reason} {through}\n" for key, (debug, reason, through) in table.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def test_comparison_covers_all_operators_and_entries() -> None:
    """Check that an empty file cannot pass."""
    sample = [cell for table in tables()["tables"].values() for cell in table.values()]
    assert list(tables()["digests"]) == list(pytorch_operators())
    assert (len(tables()["digests"]), tables()["cells"]) == (3607, 331_428)
    assert len(tables()["tables"]) > 250
    assert len(sample) > 25_000
    assert set(Counter(reason for _, reason, _ in sample)) == {
        "kernel", "default backend kernel", "nested kernel", "math kernel", "autograd kernel", "batched kernel",
        "backend fallback",
    }  # fmt: skip


def test_both_files_come_from_one_pytorch() -> None:
    assert tables()["torch"] == pytorch_version()


def test_taken_candidate_is_the_kernel_of_the_entry() -> None:
    for op in map(recorded().find, tables()["tables"]):
        for key in RUNTIME_KEYS:
            taken = [candidate for candidate in op.candidates(key) if candidate.outcome == "taken"]
            cell = op.compute(key)
            assert [(c.kernel, c.reason, c.source) for c in taken] == (
                [(cell.kernel, cell.reason, cell.source)] if cell.kernel else []
            )


# -- masks and worked examples ----------------------------------------------------------------------------------------

INCLUDED, EXCLUDED = 0x404000000, 0x1FF8000000000
CLEARED = (
    *(K.BackendSelect, K.ADInplaceOrView, K.AutocastCPU, K.AutocastMTIA, K.AutocastMAIA, K.AutocastXPU),
    *(K.AutocastMPS, K.AutocastCUDA, K.FuncTorchVmapMode, K.VmapMode),
)


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        ("aten::add.Tensor", 0x3FD7387BFBFFFFFF),
        ("aten::mul_.Tensor", 0x3FD7387FFBFFFFFF),
        ("aten::view", 0x3FD7387E7BFFFFFF),
        ("aten::randn", 0x3FFFFFFFFFFFFFFF & ~sum(k.bits & ~0xFFFF for k in CLEARED[1:8])),
    ],
)
def test_masks_equal_pytorchs(name: str, mask: int) -> None:
    assert pytorch().operators[name].mask == mask


@pytest.mark.long
def test_no_operator_of_pytorch_needs_masks_per_backend() -> None:
    assert not any(op.masks.differ for op in pytorch().operators.values())


@pytest.mark.parametrize(
    ("name", "arguments", "included", "excluded", "effective", "picked"),
    [
        ("aten::add.Tensor", 0x9400010001, INCLUDED, EXCLUDED, 0x1000010001, "AutogradCPU"),
        ("aten::add.Tensor", 0x801400010002, INCLUDED, EXCLUDED, 0x1000010002, "AutogradCUDA"),
        ("aten::add.Tensor", 0x809400010003, INCLUDED, EXCLUDED, 0x1000010003, "AutogradCUDA"),
        ("aten::add.Tensor", 0x9400010001, 0x4000000, 0x1FFB800000000, 0x10001, "CPU"),
        ("aten::add.Tensor", 0x8000010001, 0x4000000, 0x1FFB800000000, 0x10001, "CPU"),
        ("aten::mul_.Tensor", 0x9400010001, INCLUDED, EXCLUDED, 0x1400010001, "AutogradCPU"),
        ("aten::mul_.Tensor", 0x9400010001, 0x4000000, 0x1FFB800000000, 0x400010001, "ADInplaceOrView"),
        ("aten::view", 0x9400010001, INCLUDED, EXCLUDED, 0x1400010001, "AutogradCPU"),
        ("aten::view", 0x8000010001, INCLUDED, EXCLUDED, 0x400010001, "ADInplaceOrView"),
        ("aten::view", 0x8000010001, 0x4000000, 0x1FFB800000000, 0x10001, "CPU"),
        ("aten::mm", 0x9400010001, INCLUDED, 0x1FF0000000000, 0x9000010001, "AutocastCPU"),
        ("aten::add.Tensor", 0x9400010001, INCLUDED, 0x1FF0000000000, 0x1000010001, "AutogradCPU"),
        (
            *("aten::add.Tensor", 0x2009400010001, 0x200000424000000, EXCLUDED),
            *(0x202001020010001, "FuncTorchDynamicLayerFrontMode"),
        ),
        ("aten::randn", 0, INCLUDED, EXCLUDED, 0x4000000, "BackendSelect"),
        ("aten::randn", 0, INCLUDED, EXCLUDED | 0x3C00000000, 0x4000000, "BackendSelect"),
        ("aten::add.Tensor", 0x9480010001, INCLUDED, EXCLUDED, 0x1080010001, "AutogradCPU"),
        ("aten::view", 0x9480010001, INCLUDED, EXCLUDED, 0x1400010001, "AutogradCPU"),
        ("aten::add.Tensor", 0x9400800001, INCLUDED, EXCLUDED, 0x1000800001, "AutogradCPU"),
        ("aten::add.Tensor", 0xC00400000, INCLUDED, EXCLUDED, 0x800400000, "AutogradOther"),
        ("aten::add.Tensor", 0x9400010001, 0x100000414000000, EXCLUDED, 0x100001010010001, "PythonTLSSnapshot"),
    ],
)
def test_worked_examples_have_these_kernels(
    name: str, arguments: int, included: int, excluded: int, effective: int, picked: str
) -> None:
    cell, ks = pytorch().operators[name].lookup[subtract(arguments | included, excluded)]
    assert (hex(ks), cell.key.name, cell.index) == (hex(effective), picked, table_index(effective))


# -- the stored tables ------------------------------------------------------------------------------------------------


def test_there_are_38_fallbacks() -> None:
    found = dict(pytorch_fallbacks())
    assert len(found) == 38
    assert {key.name for key, kernel in found.items() if kernel.fallthrough} == {k.name for k in CLEARED}
    assert found[K.AutogradCUDA].name == "autograd_fallback"
    assert found[K.Python].file == "aten/src/ATen/core/PythonFallbackKernel.cpp"


@pytest.mark.parametrize(
    ("name", "key", "called", "file"),
    [
        ("aten::add.Tensor", "CPU", "wrapper_CPU_add_Tensor", "build/aten/src/ATen/RegisterCPU_0.cpp"),
        ("aten::add.out", "CPU", "wrapper_CPU_add_out_out", "build/aten/src/ATen/RegisterCPU_0.cpp"),
        ("aten::mul_.Tensor", "CPU", "wrapper_CPU_mul__Tensor", "build/aten/src/ATen/RegisterCPU_0.cpp"),
        ("aten::add.Tensor", "SparseCPU", "wrapper_SparseCPU_Tensor_add", None),
        ("aten::view", "CPU", "wrapper_CPU__view", "build/aten/src/ATen/RegisterCPU_3.cpp"),
        ("aten::empty.memory_format", "CPU", "wrapper_CPU_memory_format_empty", None),
        ("aten::max.dim_max", "CPU", "wrapper_CPU_max_out_dim_max", None),
        ("aten::transpose.int", "CompositeExplicitAutograd", "wrapper_CompositeExplicitAutograd_int_transpose", None),
        (
            "aten::add.Tensor",
            "Autograd",
            "VariableType::add_Tensor",
            "torch/csrc/autograd/generated/VariableType_2.cpp",
        ),
        ("aten::add.out", "Autograd", "VariableType::add_out_out", None),
        ("aten::copy_", "Autograd", "VariableType::copy_", "torch/csrc/autograd/VariableTypeManual.cpp"),
        ("aten::copy_", "ADInplaceOrView", "ADInplaceOrView::copy_", "torch/csrc/autograd/VariableTypeManual.cpp"),
        ("aten::mul_.Tensor", "ADInplaceOrView", "ADInplaceOrView::mul__Tensor", None),
        ("aten::view", "AutogradNestedTensor", "VariableType::view_AutogradNestedTensor", None),
        ("aten::randn", "Autograd", "autogradNotImplementedFallback", None),
        ("aten::add.Tensor", "Tracer", "TraceType::add_Tensor", None),
        ("aten::randn", "BackendSelect", "randn", "build/aten/src/ATen/RegisterBackendSelect.cpp"),
        ("aten::mul_.Tensor", "Functionalize", "functionalization::mul__Tensor", None),
        ("aten::reshape", "Functionalize", "native::reshape", None),
        ("aten::add.Tensor", "FuncTorchBatched", "add_Tensor (BatchRulesBinaryOps.cpp)", None),
        ("aten::add.Tensor", "Meta", "add_Tensor (_meta_registrations.py)", "torch/_meta_registrations.py"),
        ("aten::view", "Conjugate", "fallthrough_kernel", "aten/src/ATen/ConjugateFallback.cpp"),
    ],
)
def test_kernel_names_equal_pytorchs(name: str, key: str, called: str, file: str | None) -> None:
    front = next(kernel for k, kernel in pytorch_registrations(name, "cpu") if k.name == key)
    assert front.name == called
    assert file is None or front.file == file


def test_a_kernel_without_a_known_location_has_a_name_too() -> None:
    assert kernel_name("mine::op(Tensor x) -> Tensor", "CPU", "somewhere", False) == "op"


def test_an_unknown_operator_has_no_registrations() -> None:
    assert list(pytorch_registrations("aten::nothing")) == []
    assert not is_structured("aten::nothing")


def test_a_plain_import_of_torch_puts_python_kernels_in_front_of_meta() -> None:
    kernels = [kernel for key, kernel in pytorch_registrations("aten::add.Tensor", "cpu") if key == K.Meta]
    assert [(kernel.boxed, kernel.file.rpartition("/")[2].split("_")[0]) for kernel in kernels] == [
        (True, ""),
        (False, "RegisterMeta"),
    ]
