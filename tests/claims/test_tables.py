"""What ``why OP KEY`` states of cells and changes, put to PyTorch, of a build for the CPU: many operators and keys."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")

from dispatchviz.core.keys import ALIASES, CELL, DispatchKey
from dispatchviz.core.registrations import pytorch_registry
from dispatchviz.explain.cells.why import cell_statements
from dispatchviz.explain.claims import CallVisits
from dispatchviz.explain.key_cards import key_statements
from tests.claims import check_tables
from tests.claims.asking import CHECKS

pytestmark = [pytest.mark.torch, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

REGISTRY = pytorch_registry("cpu")
KEYS = (
    *("Undefined", "CPU", "Meta", "XLA", "PrivateUse1", "QuantizedCPU", "SparseCPU", "SparseCsrCPU", "NestedTensorCPU"),
    *("MkldnnCPU", "BackendSelect", "Python", "Functionalize", "Conjugate", "ADInplaceOrView", "AutogradOther"),
    *("AutogradCPU", "AutogradXLA", "AutogradPrivateUse1", "AutogradNestedTensor", "Tracer", "AutocastCPU"),
    *("FuncTorchBatched", "FuncTorchVmapMode", "Batched", "PythonDispatcher", "SparseMeta"),
)
EVERY = 23
"""Each such operator of ATen is looked at, and these:"""

OPERATORS = (
    "relu",
    "mul.Tensor",
    "mm",
    "add.Tensor",
    "add.out",
    "sum",
    "linear",
    "to.dtype",
    "randn",
    "_to_copy",
    "view",
)
PARTS = 8

NOT_ASKED = (CallVisits,)
"""The way of a call is compared level by level with PyTorch's nested log elsewhere."""


def operators() -> list[str]:
    """Of ATen, as they are without Python's Meta kernels of the process."""
    every = sorted(name for name in REGISTRY.names() if name.startswith("aten::"))[::EVERY]
    return sorted({*every, *(f"aten::{name}" for name in OPERATORS)})


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_said_of_cells_is_so(part: int) -> None:
    asked: Counter[str] = Counter()
    wrong = []
    for operator in operators()[part::PARTS]:
        if _differs_to_begin_with(operator):
            continue
        for key in KEYS:
            for statement in cell_statements(REGISTRY.find(operator), DispatchKey[key], REGISTRY):
                for claim in statement.claims:
                    if isinstance(claim, NOT_ASKED):
                        continue
                    answer = CHECKS[type(claim)](claim, None)
                    asked[type(claim).__name__] += answer is not None
                    if answer:
                        wrong.append(f"{operator} {key}, {statement.kind}: {statement.text}\n  {claim}\n  {answer}")
    assert asked["CellAfter"] > 100
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:8])


def _differs_to_begin_with(operator: str) -> bool:
    """The twin has the table of PyTorch's own operator, or it would tell nothing."""
    own, twins = check_tables.table(operator), check_tables.table(check_tables.twin(operator).name)
    return own != twins


def test_what_is_said_of_keys_is_so() -> None:
    asked: Counter[str] = Counter()
    wrong = []
    for key in (*CELL, *ALIASES):
        for statement in key_statements(key, REGISTRY, "cpu"):
            for claim in statement.claims:
                answer = CHECKS[type(claim)](claim, None)
                asked[type(claim).__name__] += answer is not None
                if answer:
                    wrong.append(f"{key}, {statement.kind}: {statement.text}\n  {claim}\n  {answer}")
    assert asked["FallbackIs"] > 100
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:8])
