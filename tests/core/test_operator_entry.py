"""One operator: candidates for a dispatch table entry, masks, failing lookups, dumps. Other modules compare its
tables.
"""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table import dump
from dispatchviz.core.table.library import Library, Registry
from dispatchviz.core.table.operator_entry import OperatorEntry
from tests.core.experiments import kernel, operator, pytorch, recomputed, stored, with_fallbacks

K = DispatchKey

# -- candidates -------------------------------------------------------------------------------------------------------


def outcomes(op: OperatorEntry, key: DispatchKey) -> list[tuple[str, str, str | None]]:
    return [(c.source.name, c.outcome, c.kernel.name if c.kernel else None) for c in op.candidates(key)]


def test_candidates_have_an_outcome_each() -> None:
    op = operator(K.CUDA, K.Autograd, K.CompositeImplicitAutograd, registry=with_fallbacks())
    assert outcomes(op, K.AutogradCUDA) == [
        ("AutogradCUDA", "nothing registered", None),
        (
            "CompositeImplicitAutograd",
            "a kernel for CUDA exists, so the composite is not used",
            "CompositeImplicitAutograd",
        ),
        ("Autograd", "taken", "Autograd"),
        ("AutogradCUDA", "not reached", "autograd_fallback"),
    ]


def test_alias_without_the_key_is_reported_as_not_covering_it() -> None:
    op = operator(K.CompositeExplicitAutogradNonFunctional)
    assert outcomes(op, K.SparseCUDA) == [
        ("SparseCUDA", "nothing registered", None),
        (
            "CompositeExplicitAutogradNonFunctional",
            "does not cover SparseCUDA",
            "CompositeExplicitAutogradNonFunctional",
        ),
        ("CompositeExplicitAutograd", "nothing registered", None),
        ("CompositeImplicitAutograd", "nothing registered", None),
        ("SparseCUDA", "nothing registered", None),
    ]


def test_explicit_composite_excludes_the_implicit_one() -> None:
    op = operator(K.CompositeExplicitAutograd, K.CompositeImplicitAutograd)
    lost = next(c for c in op.candidates(K.AutogradXLA) if c.source == K.CompositeImplicitAutograd)
    assert lost.outcome == "a CompositeExplicitAutograd kernel exists, so the composite is not used"


# -- what a change recomputes -----------------------------------------------------------------------------------------


def test_removing_a_kernel_restores_the_older_one() -> None:
    registry = Registry()
    op = operator(K.CPU, registry=registry)
    library = Library("IMPL", "test", K.CPU, registry)
    library.impl("op", kernel("newer"))
    assert op.redispatch_lookup[0x10001].function(0) == "newer"
    library.reset()
    assert op.redispatch_lookup[0x10001].function(0) == "CPU"


# -- masks ------------------------------------------------------------------------------------------------------------


def test_fallthrough_key_leaves_the_mask_until_it_is_removed() -> None:
    registry = Registry()
    op = operator(K.CPU, registry=registry)
    full = op.mask
    library = Library("IMPL", "test", registry=registry)
    library.impl("op", kernel("through", fallthrough=True), K.Conjugate)
    assert op.mask == full & ~(1 << 31)
    assert op.lookup[0x80010001] == (op.table[1], 0x10001)
    library.reset()
    assert op.mask == full
    assert op.lookup[0x80010001][1] == 0x80010001


def test_a_fallthrough_for_one_backend_needs_masks_per_backend() -> None:
    op = operator(K.CPU, K.Meta, registry=with_fallbacks())
    op.register(K.AutogradCPU, kernel("through", fallthrough=True))
    assert op.masks.differ
    assert op.lookup[0x1000010001][1] == 0x10001
    assert op.lookup[0x1000018001][1] == 0x1000018001  # Meta is the highest backend: its copy counts
    assert op.mask_for(1 << 16) == op.masks.backends[0]  # no backend bit: the CPU's copy


def test_masks_are_equal_again_if_every_backend_falls_through() -> None:
    op = operator()
    op.register(K.Autograd, kernel("through", fallthrough=True))
    assert not op.masks.differ
    assert not op.mask & K.AutogradFunctionality.bits


def test_missing_kernel_is_not_a_fallthrough() -> None:
    assert operator().mask == 0x3FFFFFFFFFFFFFFF


# -- lookups that fail ------------------------------------------------------------------------------------------------


def failure(op: OperatorEntry, ks: int) -> str:
    with pytest.raises((NotImplementedError, RuntimeError)) as caught:
        op.redispatch_lookup[ks].function(ks)
    return str(caught.value)


def test_missing_kernel_raises_pytorchs_error() -> None:
    op = operator(K.CPU, K.Autograd, registry=with_fallbacks())
    text = failure(op, 0x10002)
    assert text.startswith(
        "Could not run 'test::op' with arguments from the 'CUDA' backend. This could be because the operator doesn't "
    )
    assert "'test::op' is only available for these backends: [CPU, Meta, BackendSelect, Python, " in text
    assert text.endswith("\n\n" + dump.dump_table(op))
    assert "AutogradHIP: registered at Autograd [autograd kernel]\n" in text


def test_empty_key_set_raises_another_error() -> None:
    text = failure(operator(K.CPU), 0)
    assert text.startswith(
        "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors)"
    )
    assert "Available functions are [CPU].\n\nCPU: registered at CPU [kernel]\n" in text


def test_backend_bits_without_functionality_raise_the_error_of_an_empty_set() -> None:
    assert failure(operator(K.CPU), 0x1).startswith("There were no tensor arguments")


def test_functionality_without_backend_has_no_name_in_the_error() -> None:
    assert "with arguments from the 'Undefined' backend" in failure(operator(K.CUDA), 0x10000)


def test_stale_entry_makes_every_failing_lookup_an_internal_error() -> None:
    op = operator(K.CompositeImplicitAutograd, K.SparseCPU)
    text = failure(op, K.Tracer.bits)
    assert text.startswith("expected_k._equalsBoxedAndUnboxed(dispatchTable_[idx]) INTERNAL ASSERT FAILED")
    assert text.endswith(f"{dump.dump_state(op)}\n\nComputed table:\n~~~~~~~~~~~\n{dump.dump_table(op)}")
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"):
        dump.check_invariants(op)


def test_stale_python_kernels_are_not_noticed_as_they_share_a_pointer() -> None:
    library = Library("DEF", "test", registry=Registry())
    op = library.def_("op(Tensor self) -> Tensor")
    composites = (K.CompositeImplicitAutograd, K.CompositeImplicitAutogradNestedTensor, K.CompositeExplicitAutograd)
    for key in (*composites[:2], K.Autograd, composites[2]):
        library.impl("op", kernel(key.name, pointer="python"), key)
    assert stored(op, K.AutogradCPU) == ("math kernel", "CompositeImplicitAutograd")
    assert recomputed(op, K.AutogradCPU) == ("autograd kernel", "Autograd")
    dump.check_invariants(op)


def test_ambiguous_entry_raises_an_explanation_when_called() -> None:
    op = operator(K.MkldnnCPU, K.CompositeImplicitAutograd)
    text = failure(op, 0x800400000)
    assert (
        "test::op has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther"
        in text
    )
    assert text.endswith(f"Canonical state\n~~~~~~~~~~~\n{dump.dump_state(op)}\n\n")


def test_redispatch_to_a_fallthrough_is_an_internal_error() -> None:
    op = operator()
    op.register(K.CPU, kernel("through", fallthrough=True))
    assert "fallthrough_kernel was executed but it should have been short-circuited" in failure(op, 0x10001)


def test_kernel_of_pytorch_without_ours_raises() -> None:
    text = failure(pytorch().operators["aten::add.Tensor"], 0x800001)
    assert text == (
        "the dispatch table entry of aten::add.Tensor for SparseCPU holds PyTorch's kernel "
        "wrapper_SparseCPU_Tensor_add (registered at build/aten/src/ATen/RegisterSparseCPU_0.cpp:388), "
        "which dispatchviz does not implement"
    )


# -- dumps ------------------------------------------------------------------------------------------------------------


def test_dump_lists_registrations_in_the_order_of_key_values() -> None:
    op = operator(K.Autograd, K.CPU, K.Tracer)
    op.register(K.CPU, Kernel("python", None, "registered at here", boxed=True))
    op.register(K.Conjugate, Kernel("through", None, "registered at there", boxed=True, fallthrough=True))
    assert dump.dump_state(op).splitlines() == [
        "name: test::op",
        "schema: test::op(Tensor self) -> Tensor",
        "debug: registered at test.py:1",
        "alias analysis kind: FROM_SCHEMA",
        "Conjugate: registered at there :: (none) [ fallthrough boxed ]",
        "Tracer: registered at Tracer :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
        "CPU: registered at here :: (none) [ boxed ]",
        "CPU (inactive): registered at CPU :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
        "Autograd[alias]: registered at Autograd :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
    ]


def test_undefined_operator_is_dumped_without_a_schema() -> None:
    op = OperatorEntry("test::op", {})
    op.register(K.CPU, Kernel("python", None, "registered at here", boxed=True))
    assert dump.dump_state(op) == "name: test::op\nschema: (none)\nCPU: registered at here :: (none) [ boxed ]\n"


# -- conventions ------------------------------------------------------------------------------------------------------


def boxed_operator(schema: str, key: DispatchKey, function: Any, boxed: bool) -> OperatorEntry:
    library = Library("DEF", "test", registry=Registry())
    op = library.def_(schema)
    library.impl(op.name, Kernel("k", function, "", boxed=boxed), key)
    return op


def test_boxed_kernel_accepts_typed_arguments() -> None:
    def add(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
        right, left = stack.pop(), stack.pop()
        stack.append((op.name, ks, left + right))

    op = boxed_operator("f(int a, int b) -> int", K.CPU, add, boxed=True)
    assert op.redispatch_lookup[0x10001].function(0x10001, 2, 3) == ("test::f", 0x10001, 5)


@pytest.mark.parametrize(
    ("schema", "pushed", "returned"),
    [
        ("f(int a) -> ()", [], None),
        ("f(int a) -> (int, int)", [1, 2], (1, 2)),
        ("f(int(a!) a) -> int(a!)", ["what the kernel pushed"], 7),
        ("f(*, int(a!) a, int(b!) b) -> (int(b!), int(a!))", [0, 0], (8, 7)),
    ],
)
def test_typed_caller_of_an_in_place_operator_gets_its_argument(schema: str, pushed: list[Any], returned: Any) -> None:
    def push(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
        stack[:] = pushed

    op = boxed_operator(schema, K.CPU, push, boxed=True)
    args = (7, 8)[: len(op.schema.arguments)]
    assert op.redispatch_lookup[0x10001].function(0x10001, *args) == returned


@pytest.mark.parametrize(
    ("returns", "result", "stack"),
    [("()", None, ["below"]), ("int", 5, ["below", 5]), ("(int, int)", (5, 6), ["below", 5, 6])],
)
def test_typed_kernel_accepts_a_stack(returns: str, result: Any, stack: list[Any]) -> None:
    op = boxed_operator(f"f(int a, int b) -> {returns}", K.CPU, lambda ks, a, b: result, boxed=False)
    given = ["below", 1, 2]
    op.redispatch_lookup[0x10001].boxed(0x10001, given)
    assert given == stack


def test_boxed_kernel_gets_the_callers_stack() -> None:
    seen: list[Any] = []
    op = boxed_operator("f(int a) -> int", K.CPU, lambda op, ks, stack: seen.append(stack), boxed=True)
    stack = [1]
    op.redispatch_lookup[0x10001].boxed(0x10001, stack)
    assert seen[0] is stack


def test_missing_kernel_raises_for_a_stack_too() -> None:
    with pytest.raises(NotImplementedError, match="Could not run 'test::op'"):
        operator(K.CPU).redispatch_lookup[0x10002].boxed(0x10002, [])
