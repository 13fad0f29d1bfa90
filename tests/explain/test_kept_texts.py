"""What is kept of torchgen's texts, and how a file is named."""

from __future__ import annotations

from dispatchviz.core.record.events import Dispatched
from dispatchviz.explain.codegen.kept_texts import FOLDER, kept, kept_operators
from dispatchviz.explain.codegen.torchgen_texts import named

from .founding import founding


def test_the_founding_programs_operators_are_kept() -> None:
    called = {event.operator.removeprefix("aten::") for event in founding() if isinstance(event, Dispatched)}
    assert called - {*kept_operators()} == set()
    assert kept("xlogy.Tensor") is None


def test_every_form_of_an_operator_is_kept() -> None:
    assert {"add.Tensor", "add_.Tensor", "add.out", "add.Scalar", "add_.Scalar"} <= {*kept_operators()}


def test_pytorchs_licence_is_beside_its_texts() -> None:
    licence = (FOLDER / "LICENSE").read_text("utf-8")
    assert licence.startswith("From PyTorch:")
    assert "Redistributions in binary form must reproduce the above copyright" in licence


def test_a_file_may_be_named_in_short() -> None:
    found = kept("add.Tensor")
    assert found is not None
    files = [*found.files()]
    whole = "torch/csrc/autograd/generated/VariableType_2.cpp"
    for name in (whole, "generated/VariableType_2.cpp", "VariableType_2.cpp", "VariableType.cpp", "VariableType"):
        assert named(files, name) == [whole]
    assert named(files, "Functions.cpp") == ["torch/csrc/autograd/generated/Functions.cpp"]
    assert named(files, "VariableType_3.cpp") == []
    assert [len(named(files, name)) for name in ("Functions", "UfuncCPU_add", "add_native.h")] == [2, 1, 1]
