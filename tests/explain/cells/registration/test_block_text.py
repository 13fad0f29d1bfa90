"""Blocks as PyTorch writes them: beside what torchgen generates and what the headers name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.explain.cells.registration.registrations import Registration, pytorch_registrations_of
from dispatchviz.views.cards.registration_text import ABOUT, NOT_YET


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
