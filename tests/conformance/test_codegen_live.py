"""The installed torchgen: the places of functions, the parts cut out of its texts, the stored texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.codegen_card import NOT_GENERATED, codegen_card
from dispatchviz.explain.codegen.generated_files import root_name
from dispatchviz.explain.codegen.kept_texts import Everything, everything, kept, kept_operators, release
from dispatchviz.explain.codegen.torchgen_cuts import generated_files_in, pieces_of
from dispatchviz.explain.codegen.torchgen_output import generate, groups, real
from dispatchviz.explain.codegen.torchgen_texts import DERIVATIVES, NATIVE_FUNCTIONS, RealPiece
from dispatchviz.explain.codegen.torchgen_yaml import Entries, packaged
from tests.amounts import THOROUGH

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
def test_texts_of_operators_outside_the_model_are_found(name: str) -> None:
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


torch: Any = pytest.importorskip("torch")


FAMILIES = ("add", "mul", "mm", "t", "transpose", "copy", "empty", "relu", "sum", "view", "softmax", "max", "linear")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of torchgen's output for a few families, or for all."""
    folder = tmp_path_factory.mktemp("torchgen")
    generate(packaged(), folder, lambda yaml: "".join(yaml.parts) if THOROUGH else yaml.of_families(*FAMILIES))
    return folder


def family(name: str) -> str:
    return root_name(name.partition(".")[0]).strip("_")


def comparable(piece: RealPiece) -> tuple[str, str]:
    """Return a piece without the parts that depend on torchgen's other entries.

    The numbers of tag sets vary by run, the declarations of a header are in the order in which the keys are first
    named, and the last statement of a file ends in two semicolons.
    """
    if piece.file.endswith("_native.h"):
        return piece.file, "\n".join(sorted(piece.text.splitlines()))
    return piece.file, re.sub(r"\btags_\d+", "tags_N", piece.text).rstrip(";")


def test_stored_texts_equal_the_output_of_torchgen(written: Path) -> None:
    assert torch.__version__.startswith(release())
    compared = [name for name in kept_operators() if THOROUGH or family(name) in FAMILIES]
    assert len(compared) > 40
    grouped = groups(written)
    for name in compared:
        found = kept(name)
        assert found is not None
        assert found.group == grouped.get(name, ())
        pieces = pieces_of(pytorch("cuda").find(f"aten::{name}"), written)
        assert [*map(comparable, found.pieces)] == [*map(comparable, pieces)], name


def test_stored_entries_are_complete_and_have_the_right_lines() -> None:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    folder, entries = packaged(), Entries(packaged())
    paths = {NATIVE_FUNCTIONS: "ATen/native/native_functions.yaml", DERIVATIVES: "autograd/derivatives.yaml"}
    lines = {file: (folder / path).read_text().splitlines() for file, path in paths.items()}
    parsed = {file: yaml.load("\n".join(text), loader) for file, text in lines.items()}
    heads = {(file, _head(entry)): entry for file, of in parsed.items() for entry in of}
    for name in kept_operators():
        found = kept(name)
        assert found is not None
        assert found.entries == tuple(entries.of(name))
        for entry in found.entries:
            assert lines[entry.file][entry.line - 1] == entry.text.partition("\n")[0]
            (own,) = yaml.load(entry.text, loader)
            assert own == heads[entry.file, _head(own)]
    assert [len(parsed[file]) for file in paths] == [everything().functions, everything().derivatives]


def _head(entry: dict[str, Any]) -> str:
    return str(entry.get("func") or entry.get("name"))


@pytest.mark.skipif(not THOROUGH, reason="torchgen must write everything")
def test_the_size_of_the_generated_code_is_that_of_torchgen(written: Path) -> None:
    texts = [path.read_text() for path, _ in generated_files_in(written)]
    assert everything()[2:] == Everything(0, 0, len(texts), sum(text.count("\n") for text in texts))[2:]
