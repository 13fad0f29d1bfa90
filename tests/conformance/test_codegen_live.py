"""``codegen`` against the torchgen that is installed: where functions are, and what ``--real`` cuts out."""

from __future__ import annotations

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.codegen_card import NOT_GENERATED, codegen_card
from dispatchviz.explain.codegen.torchgen_output import real

pytestmark = pytest.mark.torch

OPERATORS = (
    *("add.Tensor", "add_.Tensor", "add.out", "t", "t_", "mm", "linear", "cat", "max.dim", "sum.dim_IntList", "copy_"),
    *("empty.memory_format", "_to_copy", "randn", "_softmax", "convolution", "slice.Tensor", "abs"),
)


@pytest.mark.parametrize("name", OPERATORS)
def test_functions_are_where_torchgen_puts_them(name: str) -> None:
    op = pytorch("cuda").find(f"aten::{name}")
    card, answer = codegen_card(op, "cuda"), real(op)
    written = {piece.file for piece in answer.pieces} | {NOT_GENERATED}
    assert {file.file for file in card.files} <= written
    manual = {f.pytorch.partition(":")[0] for f in card.functions if "Manual" in f.pytorch}
    assert card.functions
    for function in card.functions:
        if function.name == "autogradNotImplementedFallback" or function.here.text.startswith("Tensor_"):
            continue  # registered without a function of its own; methods of several names
        assert function.pytorch.partition(":")[0] in written | manual, function.name
    assert any(f"- func: {name}(" in piece.text for piece in answer.entries)


@pytest.mark.parametrize("name", ["xlogy.Tensor", "fft_fft", "nll_loss", "_foreach_add.Tensor", "add.Scalar_out"])
def test_operators_that_we_do_not_have(name: str) -> None:
    found = next(full for full in pytorch_operators() if full.startswith(f"aten::{name}"))
    op = pytorch("cuda").find(found)
    heads = [piece.text.partition("\n")[0] for piece in real(op).pieces]
    assert any("::call(" in head for head in heads)
    assert any("m.def(" in head for head in heads)


def test_structured_classes_are_shown() -> None:
    pieces = real(pytorch("cuda").find("aten::add.out")).of("build/aten/src/ATen/RegisterCPU_0.cpp")
    text = "\n".join(piece.text for piece in pieces)
    assert "struct structured_ufunc_add_CPU_out" in text
    assert "maybe_create_proxy" in text


def test_parts_of_files_are_torchgens() -> None:
    from torchgen.model import BaseOperatorName
    from torchgen.utils import string_stable_hash

    for name in {full.removeprefix("aten::").partition(".")[0] for full in pytorch_operators() if "aten::" in full}:
        root = BaseOperatorName.parse(name).base
        assert generated_files.root_name(name) == root
        assert generated_files.shard("Operators", root) == string_stable_hash(root) % 5
