"""Operator tables: computed from PyTorch's registrations they equal PyTorch's, cell by cell and reason by reason."""

from __future__ import annotations

import gzip
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.dump import dump_table
from dispatchviz.core.kernel import Kernel
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.library import Library, Registry
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.registrations import pytorch_fallbacks, pytorch_registrations
from dispatchviz.core.schema import FunctionSchema

DATA: dict[str, Any] = json.loads(
    gzip.decompress((Path(__file__).parent.parent / "data/dispatch_tables.json.gz").read_bytes())
)
Key = DispatchKey


@pytest.fixture(scope="module")
def pytorch() -> Registry:
    """The model's operators with exactly PyTorch's registrations."""
    registry = Registry()
    for key, kernel in pytorch_fallbacks():
        registry.set_fallback(key, kernel)
    for name, schema in DATA["schemas"].items():
        op = registry.entry(name)
        op.define(FunctionSchema.parse(schema))
        for key, kernel in reversed(list(pytorch_registrations(name))):
            op.register(key, kernel)
    return registry


def _cells(op: OperatorEntry) -> dict[str, tuple[str, str, bool]]:
    return {
        cell.key.name: (cell.kernel.debug, cell.reason, cell.kernel.fallthrough)
        for cell in op.table
        if cell.kernel is not None
    }


@pytest.mark.parametrize("name", DATA["tables"])
def test_every_cell_and_reason_is_pytorchs(pytorch: Registry, name: str) -> None:
    expected = {
        key: (DATA["debug"][debug], reason, through) for key, (debug, reason, through) in DATA["tables"][name].items()
    }
    assert _cells(pytorch.operators[name]) == expected


@pytest.mark.parametrize("name", DATA["schemas"])
def test_schemas_print_as_pytorchs(name: str) -> None:
    schema = FunctionSchema.parse(DATA["schemas"][name])
    assert str(schema) == DATA["schemas"][name]
    assert schema.full_name == name


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        ("aten::add.Tensor", 0x3FD7387BFBFFFFFF),
        ("aten::mul_.Tensor", 0x3FD7387FFBFFFFFF),
        ("aten::view", 0x3FD7387E7BFFFFFF),
    ],
)
def test_masks(pytorch: Registry, name: str, mask: int) -> None:
    op = pytorch.operators[name]
    assert op.mask == mask
    assert not op.needs_backend_masks


def test_only_the_ops_that_do_something_in_backend_select_keep_it(pytorch: Registry) -> None:
    bit = 1 << 26
    kept = {name for name, op in pytorch.operators.items() if op.mask & bit}
    assert {"aten::randn", "aten::_to_copy", "aten::to.dtype_layout", "aten::empty.memory_format"} <= kept
    assert kept.isdisjoint({"aten::add.Tensor", "aten::ones_like"})


# -- experiments -------------------------------------------------------------------------------------------------------


def kernel(name: str, fallthrough: bool = False) -> Kernel:
    return Kernel(name, lambda ks, *args: name, f"registered at {name}", fallthrough=fallthrough)


def operator(*keys: Key) -> tuple[Registry, OperatorEntry]:
    registry = Registry()
    library = Library("DEF", "test", registry=registry)
    op = library.def_("op(Tensor self) -> Tensor")
    for key in keys:
        library.impl("op", kernel(key.name), key)
    return registry, op


@pytest.mark.parametrize("order", list(permutations([Key.CPU, Key.Autograd, Key.CompositeImplicitAutograd])))
def test_table_does_not_depend_on_registration_order(order: tuple[Key, ...]) -> None:
    _, op = operator(*order)
    rows = [
        line
        for line in dump_table(op).splitlines()
        if line.split(":")[0] in ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA")
    ]
    assert rows == [
        "CPU: registered at CPU [kernel]",
        "CUDA: registered at CompositeImplicitAutograd [math kernel]",
        "AutogradCPU: registered at Autograd [autograd kernel]",
        "AutogradCUDA: registered at CompositeImplicitAutograd [math kernel]",
    ]


@pytest.mark.parametrize("order", list(permutations([Key.CPU, Key.Autograd, Key.CompositeImplicitAutograd])))
def test_stored_table_does_not_depend_on_registration_order_either(order: tuple[Key, ...]) -> None:
    _, whole = operator(*order)
    registry, op = operator()
    op.table  # noqa: B018  from here on every change recomputes only what it reaches
    library = Library("IMPL", "test", registry=registry)
    for key in order:
        library.impl("op", kernel(key.name), key)
    assert [(c.kernel and c.kernel.name, c.reason) for c in op.table] == [
        (c.kernel and c.kernel.name, c.reason) for c in whole.table
    ]


@pytest.mark.parametrize(
    ("first", "second", "stale"),
    [
        (Key.CompositeImplicitAutograd, Key.SparseCPU, Key.AutogradOther),
        (Key.CompositeImplicitAutograd, Key.QuantizedCPU, Key.AutogradOther),
        (Key.CompositeImplicitAutograd, Key.NestedTensorCPU, Key.AutogradNestedTensor),
        (Key.CompositeImplicitAutograd, Key.CompositeExplicitAutograd, Key.AutogradCPU),
        (Key.CompositeImplicitAutograd, Key.CompositeExplicitAutograd, Key.NestedTensorCPU),
    ],
)
def test_stale_cells_stay_as_pytorch_leaves_them(first: Key, second: Key, stale: Key) -> None:
    _, op = operator()
    op.table  # noqa: B018
    op.register(first, kernel(first.name))
    op.register(second, kernel(second.name))
    cell = op.table[op.cell_of(stale)]
    assert (cell.reason, cell.kernel and cell.kernel.name) == ("math kernel", "CompositeImplicitAutograd")
    assert op.compute(stale).reason != "math kernel"


@pytest.mark.parametrize("backend", [Key.SparseCPU, Key.NestedTensorCPU, Key.CompositeExplicitAutograd])
def test_the_opposite_order_leaves_nothing_stale(backend: Key) -> None:
    _, op = operator()
    op.table  # noqa: B018
    op.register(backend, kernel(backend.name))
    op.register(Key.CompositeImplicitAutograd, kernel("implicit"))
    assert all(
        cell.kernel is op.compute(cell.key).kernel or cell.reason == op.compute(cell.key).reason for cell in op.table
    )


def test_candidates_tell_who_lost_and_why() -> None:
    _, op = operator(Key.CUDA, Key.Autograd, Key.CompositeImplicitAutograd)
    assert [(c.source.name, c.outcome) for c in op.candidates(Key.AutogradCUDA)] == [
        ("AutogradCUDA", "nothing registered"),
        ("CompositeImplicitAutograd", "a kernel for CUDA exists, so the composite is not used"),
        ("Autograd", "taken"),
        ("AutogradCUDA", "not asked"),
    ]


def test_removal_brings_the_older_kernel_back() -> None:
    registry, op = operator(Key.CPU)
    library = Library("IMPL", "test", Key.CPU, registry=registry)
    library.impl("op", kernel("newer"))
    assert op.table[op.cell_of(Key.CPU)].function(0) == "newer"
    library.reset()
    assert op.table[op.cell_of(Key.CPU)].function(0) == "CPU"


def test_a_fallthrough_leaves_the_mask_and_comes_back() -> None:
    registry, op = operator(Key.CPU)
    full = op.mask
    library = Library("IMPL", "test", registry=registry)
    library.impl("op", kernel("through", fallthrough=True), Key.Conjugate)
    assert op.mask == full & ~(1 << 31)
    library.reset()
    assert op.mask == full


def test_a_fallthrough_for_one_backend_needs_masks_per_backend() -> None:
    _, op = operator(Key.CPU, Key.Meta)
    op.register(Key.AutogradCPU, kernel("through", fallthrough=True))
    assert op.needs_backend_masks
    assert op.lookup[0x1000010001][1] == 0x10001
    assert op.lookup[0x1000018001][1] == 0x1000018001  # Meta is the highest backend: its copy counts


def test_a_missing_kernel_raises_pytorchs_words() -> None:
    _, op = operator(Key.CPU)
    with pytest.raises(NotImplementedError, match=r"Could not run 'test::op' with arguments from the 'CUDA' backend\."):
        op.redispatch_lookup[0x10002].function(0x10002)
    with pytest.raises(NotImplementedError, match="There were no tensor arguments to this function"):
        op.redispatch_lookup[0].function(0)


def test_a_kernel_that_only_pytorch_has_says_so() -> None:
    registry = Registry()
    op = registry.entry("aten::add.Tensor")
    op.define(FunctionSchema.parse(DATA["schemas"]["aten::add.Tensor"]))
    for key, only in pytorch_registrations("aten::add.Tensor"):
        op.register(key, only)
    with pytest.raises(NotImplementedError, match=r"holds PyTorch's kernel .* which dispatchviz does not implement"):
        op.redispatch_lookup[0x800001].function(0x800001)


# -- libraries ---------------------------------------------------------------------------------------------------------


def test_a_second_def_library_is_refused() -> None:
    registry = Registry()
    Library("DEF", "test", registry=registry, where="a.py:1")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace test"):
        Library("DEF", "test", registry=registry, where="b.py:2")


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda r: Library("FRAGMENT", "_", registry=r),
            "cannot define TORCH_LIBRARY_FRAGMENT with the wildcard namespace _",
        ),
        (
            lambda r: Library("IMPL", "test", registry=r).def_("f() -> ()"),
            "Cannot define an operator inside of a TORCH_LIBRARY_IMPL",
        ),
        (
            lambda r: Library("DEF", "test", registry=r).def_("other::f() -> ()"),
            r"Explicitly provided namespace \(other\)",
        ),
        (
            lambda r: Library("IMPL", "test", registry=r).impl("other::f", kernel("k")),
            r"Explicitly provided namespace \(other\)",
        ),
        (
            lambda r: Library("IMPL", "test", Key.CPU, r).impl("f", kernel("k"), Key.CUDA),
            r"dispatch key \(CUDA\) is inconsistent",
        ),
        (
            lambda r: Library("FRAGMENT", "test", registry=r).fallback(kernel("k"), Key.CPU),
            "Cannot define an operator inside of a",
        ),
        (lambda r: Library("IMPL", "test", registry=r).fallback(kernel("k"), Key.CPU), "only a single namespace"),
        (lambda r: r.find("test::nothing"), r"Could not find schema for test::nothing\."),
    ],
)
def test_refusals(act: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        act(Registry())


def test_a_dangling_kernel_is_found_but_cannot_be_called() -> None:
    registry = Registry()
    Library("IMPL", "test", registry=registry).impl("op", kernel("k"))
    with pytest.raises(RuntimeError, match="but we found an implementation; did you forget to def"):
        registry.find("test::op")


def test_two_definitions_of_one_operator() -> None:
    library = Library("DEF", "test", registry=Registry())
    library.def_("op(Tensor self) -> Tensor")
    with pytest.raises(RuntimeError, match=r"Tried to register an operator .* multiple times"):
        library.def_("op(Tensor self) -> Tensor")


def test_a_second_fallback_is_refused_but_for_private_use() -> None:
    registry = Registry()
    library = Library("IMPL", "_", registry=registry)
    library.fallback(kernel("a"), Key.Tracer)
    with pytest.raises(
        RuntimeError, match="Tried to register multiple backend fallbacks for the same dispatch key Tracer"
    ):
        library.fallback(kernel("b"), Key.Tracer)
    library.fallback(kernel("a"), Key.AutogradPrivateUse1)
    library.fallback(kernel("b"), Key.AutogradPrivateUse1)
    assert registry.fallbacks[Key.AutogradPrivateUse1].name == "b"
