"""The answers to ``why OP KEY``: they contain the answer to a learner's public question, and they are true."""

from __future__ import annotations

import pytest

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.explain.cells.cell_changes import Change
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.cells.why_cell import CellAnswer, cell_answer

K = DispatchKey
REGISTRY = pytorch("cuda")


def answer(operator: str, key: str) -> CellAnswer:
    return cell_answer(REGISTRY.find(operator), K[key], REGISTRY)


def change(found: CellAnswer, under: str, what: str = "your kernel") -> Change:
    return next(each for each in found.changes if each.under == under and what in each.what)


def words(found: CellAnswer) -> str:
    parts = [found.why, *found.called, *(sentence for each in found.changes for sentence in each.sentences)]
    return " ".join((*parts, found.table))


def test_why_a_cuda_tensor_carries_both_and_what_autograd_cuda_does() -> None:
    said = words(answer("aten::add.Tensor", "AutogradCUDA"))
    assert "has both keys, CUDA and AutogradCUDA, from the moment it is made, whether it requires grad or not" in said
    assert "VariableType::add_Tensor computes nothing itself" in said
    assert "0x1000010002 (AutogradCUDA, CUDA)" in said
    assert (
        "AutogradCUDA (VariableType::add_Tensor, autograd kernel), then CUDA (wrapper_CUDA_add_Tensor, kernel)" in said
    )


def test_alias_names_its_keys_and_the_cells_it_fills() -> None:
    found = answer("aten::add.Tensor", "AutogradCUDA")
    assert (found.cell, found.reason, found.source) == (97, "autograd kernel", "Autograd")
    assert "Autograd covers 18 keys" in found.why
    assert "when kernels are registered, not when the operator is called" in found.why
    assert "fills all their entries" in found.why
    assert "fills 62 of their entries (7 have a kernel of higher precedence)" in answer("aten::sum", "CPU").why


def test_the_list_of_the_error_is_explained() -> None:
    found = answer("aten::sum", "CPU")
    assert found.table.startswith(
        "113 of the 137 entries of the operator's dispatch table hold a kernel. The other 24 are empty: "
    )
    assert "The error lists the keys that are not empty" in found.table


def test_a_fallthrough_and_when_it_loops() -> None:
    found = change(answer("aten::sum", "CPU"), "CPU", "fallthrough")
    assert "Undefined" in " ".join(found.sentences)
    assert "recurses forever" in " ".join(found.sentences)
    looping = change(answer("aten::sum", "PythonDispatcher"), "PythonDispatcher", "fallthrough")
    assert "every FULL_AFTER set keeps PythonDispatcher" in " ".join(looping.sentences)


def test_an_empty_cell() -> None:
    found = answer("aten::exp.out", "QuantizedCPU")
    assert (found.kernel, found.reason) == ("", "missing")
    assert "Could not run 'aten::exp.out' with arguments from the 'QuantizedCPU' backend" in words(found)
    autograd = next(claim for claim in found.claims if claim.source == "Autograd")
    assert autograd.outcome == "has a kernel, but does not cover QuantizedCPU, only for autograd keys"


def test_an_operator_without_an_autograd_kernel_loses_its_gradient() -> None:
    op = OperatorEntry("demo::double", REGISTRY.fallbacks)
    op.define(parse_schema("demo::double(Tensor x) -> Tensor"), "here")
    op.register(K.CPU, Kernel("double", None, "here", boxed=True))
    said = " ".join(cell_answer(op, K.AutogradCPU, REGISTRY).called)
    assert "The gradient of an operator without an autograd kernel is lost there" in said


def test_an_ambiguous_cell() -> None:
    op = OperatorEntry("demo::both", REGISTRY.fallbacks)
    op.define(parse_schema("demo::both(Tensor x) -> Tensor"), "here")
    op.register(K.CompositeImplicitAutograd, Kernel("composite", None, "here", boxed=True))
    op.register(K.MkldnnCPU, Kernel("mkldnn", None, "here", boxed=True))
    found = cell_answer(op, K.AutogradOther, REGISTRY)
    assert found.reason == "ambiguous autogradother"
    assert "kernels of its own for MkldnnCPU" in found.why


@pytest.mark.long
@pytest.mark.parametrize("operator", ["aten::add.Tensor", "aten::linear", "aten::sum", "aten::matmul", "aten::randn"])
def test_every_cell_has_an_answer_and_trying_changes_nothing(operator: str) -> None:
    op = REGISTRY.find(operator)
    before = [(cell.kernel, cell.reason) for cell in op.table]
    for key in RUNTIME_KEYS:
        found = cell_answer(op, key, REGISTRY)
        assert found.why
        assert found.called
        assert sum(claim.taken for claim in found.claims) == (found.reason != "missing")
        assert all(text.endswith((".", ")")) for text in (found.why, *found.called)), found
    assert [(cell.kernel, cell.reason) for cell in op.table] == before


@pytest.mark.parametrize("operator", ["aten::relu", "aten::_softmax", "aten::copy_"])
def test_removed_kernel_is_not_described_as_added(operator: str) -> None:
    for key in ("CPU", "CUDA"):
        found = answer(operator, key)
        said = " ".join(next(each for each in found.changes if each.what.startswith("without")).sentences)
        assert "new kernel" not in said
        assert "never gets there" not in said


def test_call_without_its_backend_kernel_names_the_next_one() -> None:
    gone = next(each for each in answer("aten::relu", "CPU").changes if each.what.startswith("without"))
    assert gone.sentences[-1] == (
        "A call with an ordinary CPU tensor then fails, after VariableType::relu: Could not run 'aten::relu' with "
        "arguments from the 'CPU' backend."
    )
    general = next(each for each in answer("aten::mul.Tensor", "CUDA").changes if each.what.startswith("without"))
    assert general.sentences[-1] == (
        "A call with an ordinary CUDA tensor then runs VariableType::mul_Tensor, then "
        "wrapper_CompositeExplicitAutogradNonFunctional_mul_Tensor."
    )


def test_the_autograd_kernel_runs_before_not_the_derivative() -> None:
    said = words(answer("aten::sum", "CUDA"))
    assert "the operator's autograd kernel, is registered for Autograd and runs before the call reaches CUDA" in said
    assert "has run before" not in said


def test_autograd_kernel_names_the_node_it_records() -> None:
    assert "(AddBackward0)" in words(answer("aten::add.Tensor", "AutogradCPU"))
    assert "out= forms have no derivative" in words(answer("aten::add.out", "AutogradCPU"))
    assert "and the operator has a derivative for that input" in words(answer("aten::eq.Tensor", "AutogradCPU"))
    assert "derivative for ... is not implemented" in words(answer("aten::__ilshift__.Scalar", "AutogradCPU"))


def test_the_fallback_of_vmap_takes_one_example_at_a_time() -> None:
    assert "calls it once for each example" in words(answer("aten::bincount", "FuncTorchBatched"))


def test_a_kernel_may_have_help() -> None:
    """``relu`` of the CPU calls ``clamp_min``."""
    assert "with the help of operators that it calls" in words(answer("aten::relu", "CPU"))
