"""The order in which PyTorch registers: as its libraries run their static initializers, then as Python's modules do."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.table.initialization_order import initialization_order
from dispatchviz.core.table.pytorch_registrations import pytorch_fallbacks, pytorch_registry


def test_order_of_initialization_equals_pytorchs() -> None:
    places = [
        "registered at aten/src/ATen/autocast_mode.cpp:181",
        "registered at aten/src/ATen/autocast_mode.cpp:1000",
        "registered at aten/src/ATen/functorch/BatchRulesViews.cpp:5",
        "registered at aten/src/ATen/core/VariableFallbackKernel.cpp:62",
        "registered at build/aten/src/ATen/RegisterCPU_0.cpp:1",
        "registered at build/aten/src/ATen/RegisterMeta_0.cpp:1",
        "registered at torch/csrc/autograd/generated/VariableType_3.cpp:1",
        "registered at torch/csrc/autograd/generated/TraceType_0.cpp:1",
        "registered at torch/csrc/autograd/VariableTypeManual.cpp:1",
        "registered at build/aten/src/ATen/RegisterCUDA_0.cpp:1",
        "registered at torch/csrc/inductor/resize_storage_bytes.cpp:1",
        "impl_t_t",
        "registered at torch/_meta_registrations.py:54",
        "registered at torch/_native/registry.py:276",
    ]
    assert sorted(set(places), key=initialization_order) == places


def test_later_registrations_precede_earlier_ones() -> None:
    """Check against PyTorch's dumps, which list the kernels of one key newest first."""
    compared = 0
    for operator in pytorch_registry().operators.values():
        for kernels in operator.registrations.values():
            newest_first = [initialization_order(kernel.debug) for kernel in kernels]
            assert newest_first == sorted(newest_first, reverse=True), operator.name
            compared += len(kernels) > 1
    assert compared > 600


def _files() -> list[str]:
    """C++ files of ``libtorch_cpu.so``, in the model's order."""
    places = {kernel.debug for _, kernel in pytorch_fallbacks()}
    for operator in pytorch_registry().operators.values():
        places |= {operator.debug, *(k.debug for kernels in operator.registrations.values() for k in kernels)}
    moments = sorted({initialization_order(place)._replace(line=0) for place in places})
    return [moment.file for moment in moments if moment.library == 0]


@pytest.mark.torch
def test_the_library_is_linked_in_this_order() -> None:
    torch = pytest.importorskip("torch")
    from truth.observers.elf_symbols import Library

    linked = iter(Library(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so").initialized)
    files = _files()
    assert len(files) > 100
    for file in files:  # an iterator: each is looked for behind the one before
        assert Path(file).name in linked, file


@pytest.mark.torch
def test_pytorch_promises_no_order() -> None:
    torch = pytest.importorskip("torch")
    header = Path(torch.__file__).parent / "include/ATen/core/dispatch/Dispatcher.h"
    text = " ".join(header.read_text().replace("*", " ").split())
    assert "we have no guarantees over the order in which .def() and .impl() calls are registered" in text
