"""The claims of ``why OP KEY`` about entries and changes, checked against the installed build of PyTorch, for many
operators.
"""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")

from dispatchviz.core.keys.keys import ALIASES, CELL, DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.explain.cells.why_cell import cell_statements
from dispatchviz.explain.keys.key_cards import key_statements
from dispatchviz.explain.kinds.all_kinds import statements
from dispatchviz.explain.sentences.sentence_claims import SchemaOf
from dispatchviz.explain.sentences.table_claims import FilledCells
from tests.amounts import amount, some
from tests.claims import check_tables
from tests.claims.checks import CHECKS
from tests.explain.programs import traced

pytestmark = [pytest.mark.torch, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

REGISTRY = pytorch_registry(check_tables.BUILD)
KEYS = (
    *("Undefined", "CPU", "Meta", "XLA", "PrivateUse1", "QuantizedCPU", "SparseCPU", "SparseCsrCPU", "NestedTensorCPU"),
    *("MkldnnCPU", "BackendSelect", "Python", "Functionalize", "Conjugate", "ADInplaceOrView", "AutogradOther"),
    *("AutogradCPU", "AutogradXLA", "AutogradPrivateUse1", "AutogradNestedTensor", "Tracer", "AutocastCPU"),
    *("FuncTorchBatched", "FuncTorchVmapMode", "Batched", "PythonDispatcher", "SparseMeta"),
)
EVERY = amount(46, 23)
"""The step between the operators of ATen that are checked, in addition to these:"""

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


def operators() -> list[str]:
    """The operators of ATen, without the Meta kernels that Python registers in this process."""
    every = sorted(name for name in REGISTRY.names() if name.startswith("aten::"))[::EVERY]
    return sorted({*every, *(f"aten::{name}" for name in OPERATORS)})


@pytest.mark.parametrize("part", some(range(PARTS), 2))
def test_claims_about_table_entries_hold(part: int) -> None:
    asked: Counter[str] = Counter()
    wrong = []
    for operator in operators()[part::PARTS]:
        if _differs_to_begin_with(operator):
            continue
        for key in KEYS:
            for statement in cell_statements(REGISTRY.find(operator), DispatchKey[key], REGISTRY):
                for claim in statement.claims:
                    answer = CHECKS[type(claim)](claim, None)
                    asked[type(claim).__name__] += answer is not None
                    if answer:
                        wrong.append(f"{operator} {key}, {statement.kind}: {statement.text}\n  {claim}\n  {answer}")
    assert asked["CellAfter"] > 100
    assert asked["CallVisits"] > 100
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:8])


def _differs_to_begin_with(operator: str) -> bool:
    """Return whether the twin differs from PyTorch's own operator, so that it would prove nothing.

    All kernels of a twin share one function. So PyTorch's check does not see that an entry holds the composite kernel
    where it should hold the autograd kernel.
    """
    registered = {key.name for key in REGISTRY.find(operator).registrations}
    if {"Autograd", "CompositeImplicitAutograd"} <= registered:
        return True
    own, twins = check_tables.table(operator), check_tables.table(check_tables.twin(operator).name)
    return own != twins


def test_claims_about_keys_hold() -> None:
    asked: Counter[str] = Counter()
    wrong = []
    for key in (*CELL, *ALIASES):
        for statement in key_statements(key, REGISTRY, check_tables.BUILD):
            for claim in statement.claims:
                answer = CHECKS[type(claim)](claim, None)
                asked[type(claim).__name__] += answer is not None
                if answer:
                    wrong.append(f"{key}, {statement.kind}: {statement.text}\n  {claim}\n  {answer}")
    assert asked["FallbackIs"] > 100
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:8])


@pytest.mark.parametrize("before", ["", 'lib.impl("f", lambda x: x, "CPU")'])
def test_claims_about_a_new_operator_hold(before: str) -> None:
    import torch

    namespace = f"claims_{bool(before)}".lower()
    define = 'lib.define("f(Tensor x, int n=3) -> Tensor")'
    trace = traced(f"import torch\nlib = torch.library.Library('{namespace}', 'FRAGMENT')\n{before}\n{define}\n")
    (defined,) = [event.seq for event in trace if isinstance(event, ev.OperatorDefined)]
    claims = [claim for statement in statements(trace, defined) for claim in statement.claims]
    assert {type(claim) for claim in claims} == {SchemaOf, FilledCells}
    lib = torch.library.Library(namespace, "FRAGMENT")
    if before:
        lib.impl("f", lambda x: x, "CPU")
    lib.define("f(Tensor x, int n=3) -> Tensor")
    for claim in claims:
        if isinstance(claim, FilledCells):
            assert claim.cells == len(check_tables.table(claim.operator) or ())
        else:
            assert CHECKS[type(claim)](claim, None) == ""


def test_claims_about_fallthroughs_and_redispatch_hold() -> None:
    """An internal error if a set that is passed on has the key; FULL_AFTER sets keep PythonDispatcher."""
    import torch

    lib = torch.library.Library("claims_through", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", torch.library.fallthrough_kernel, "CPU")
    with pytest.raises(RuntimeError, match="fallthrough"):
        torch.ops.claims_through.f.default.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1))
    with pytest.raises(NotImplementedError, match="There were no tensor arguments to this function"):
        torch.ops.claims_through.f(torch.ones(1))  # the mask removes the key, and no key is left below autograd
    for key in ("CPU", "AutogradCPU", "BackendSelect"):
        assert torch._C._dispatch_keyset_full_after(getattr(torch._C.DispatchKey, key)).has(
            torch._C.DispatchKey.PythonDispatcher
        )


def test_a_fallthrough_at_the_backend_of_an_operator_of_pytorch_ends_at_undefined() -> None:
    import torch

    with torch.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("relu", torch.library.fallthrough_kernel, "CPU")
        with pytest.raises(NotImplementedError, match="There were no tensor arguments to this function"):
            torch.relu(torch.ones(1))
    assert torch.relu(torch.ones(1)) == 1
