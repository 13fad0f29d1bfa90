"""The conj, neg and zero bits, and the fallbacks that resolve them; whole programs are in ``truth/programs``."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.call.dispatcher import redispatch_boxed
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.math_bits.conj_neg_fallback import writes
from dispatchviz.core.record import events as ev
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.registry import process
from dispatchviz.core.tensor import conj_neg_bits

CONJ, NEG, ZERO = 0x9480010001, 0x9500010001, 0x9600010001
"""The sets of reference section 2.5, as the tensor has them."""


def complex_tensor() -> Any:
    return torch.tensor([1 + 2j, 3 - 4j])


def steps(function: Any) -> list[tuple[str, str, str, int]]:
    """The dispatch steps at the top, without those of calls that kernels make."""
    with dispatchviz.record() as trace:
        function()
    return [
        (event.how, event.operator, str(event.key), event.key_set)
        for event in trace
        if isinstance(event, ev.Dispatched)
    ]


def test_tensors_with_bits_have_these_key_sets() -> None:
    x = complex_tensor()
    assert x.conj()._ks == CONJ
    assert x.conj().imag._ks == x.real._neg_view()._ks == NEG
    assert torch._efficientzerotensor((2,))._ks == ZERO
    assert torch._efficientzerotensor((2,), device="meta")._ks == 0x1600018000
    with torch.inference_mode():
        assert complex_tensor().conj()._ks == 0x8080010001


def test_add_of_conj_tensors_goes_through_autograd_and_the_fallback() -> None:
    """The rows of reference section 5.5: 0x1080010001, then Conjugate, then the kernel."""
    x = complex_tensor()
    y = x.conj()
    found = [step for step in steps(lambda: torch.add(y, y)) if step[1] == "aten::add.Tensor"]
    assert found == [
        ("call", "aten::add.Tensor", "AutogradCPU", 0x1080010001),
        ("redispatch", "aten::add.Tensor", "Conjugate", 0x80010001),
        ("redispatchBoxed", "aten::add.Tensor", "CPU", 0x10001),
    ]


def test_view_of_a_conj_tensor_never_sees_the_key() -> None:
    y = complex_tensor().conj()
    assert [step[2:] for step in steps(lambda: y.view(2, 1))] == [
        ("AutogradCPU", 0x1400010001),
        ("ADInplaceOrView", 0x400010001),
        ("CPU", 0x10001),
    ]


def test_setting_a_bit_changes_the_set_and_is_recorded() -> None:
    x = complex_tensor()
    with dispatchviz.record() as trace:
        y = x.conj()
        y.conj()
    changed = [event for event in trace if isinstance(event, ev.KeySetChanged)]
    assert [(e.before, e.after) for e in changed] == [(0x9400010001, CONJ), (CONJ, 0x9400010001)]
    assert changed[0].tensor != changed[1].tensor


def test_setting_an_existing_bit_is_not_recorded() -> None:
    y = complex_tensor().conj()
    with dispatchviz.record() as trace:
        conj_neg_bits.set_conj(y, True)
        conj_neg_bits.set_neg(y, False)
    assert not [event for event in trace if isinstance(event, ev.KeySetChanged)]


def test_a_real_tensor_gets_no_conj_bit() -> None:
    x = torch.tensor([1.0])
    with pytest.raises(
        RuntimeError, match=r"isComplexType\(typeMetaToScalarType\(dtype\(\)\)\) INTERNAL ASSERT FAILED"
    ):
        conj_neg_bits.set_conj(x, True)
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"):
        torch._conj(x)
    conj_neg_bits.set_conj(x, False)
    assert x._ks == 0x9400010001


def test_resolved_copies_only_if_the_bits_need_it() -> None:
    x = complex_tensor()
    assert conj_neg_bits.resolved(x) is x._array
    assert conj_neg_bits.resolved(x.conj()).tolist() == [1 - 2j, 3 + 4j]
    assert conj_neg_bits.resolved(x.conj()._neg_view()).tolist() == [-1 + 2j, -3 - 4j]
    assert conj_neg_bits.resolved(torch._efficientzerotensor((2,))).tolist() == [0.0, 0.0]
    assert conj_neg_bits.resolved(torch.ones(2, device="meta")) is None
    assert conj_neg_bits.resolved(torch.tensor(1j).conj()).shape == ()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("a::f(Tensor x) -> Tensor", None),
        ("a::f(Tensor(a) x) -> Tensor(a)", False),
        ("a::f_(Tensor(a!) x, Tensor y) -> Tensor(a!)", True),
        ("a::f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", True),
    ],
)
def test_schema_writes_views_or_does_neither(schema: str, expected: bool | None) -> None:
    assert writes(parse_schema(schema), "", "") is expected


def test_a_schema_that_writes_and_makes_views_is_refused() -> None:
    schema = parse_schema("a::f(Tensor(a) x, Tensor(b!) y) -> Tensor(a)")
    with pytest.raises(
        RuntimeError, match=r"^Unsupported operator for conjugate fallback: a::fconjugate fallback doesn"
    ):
        writes(schema, "conjugate fallback: ", "conjugate fallback")


def test_only_arguments_with_the_bit_are_cloned() -> None:
    x = complex_tensor()
    stack = [x, x.conj(), 1]
    redispatch_boxed(process.find("aten::add.Tensor"), 0x80010001, stack)
    assert stack[0]._array.tolist() == [2, 6]
    names = [step[1] for step in steps(lambda: torch.add(x, x.conj()))]
    assert names.count("aten::clone") == 1


def test_memory_shared_with_a_written_argument_is_read_as_it_was() -> None:
    """x and its conjugate share memory. The clone of the written argument keeps both right."""
    x = complex_tensor()
    y = x.conj()
    y.sub_(x)
    assert x._array.tolist() == [4j, -8j]
    assert y.tolist() == [-4j, 8j]


def test_overlap_is_computed_in_bytes_across_dtypes() -> None:
    x = complex_tensor()
    parts = torch.view_as_real(x)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        torch.add(parts, 1, out=parts.t())


def test_a_zero_tensor_has_no_memory_and_a_trace_shows_none() -> None:
    with dispatchviz.record() as trace:
        torch._efficientzerotensor((2,))
    created = next(event for event in trace if isinstance(event, ev.TensorCreated))
    assert (created.key_set, created.storage) == (ZERO, -1)


@pytest.mark.parametrize("key", ["Conjugate", "Negative", "ZeroTensor", "Meta", "Functionalize"])
def test_fallbacks_of_conj_neg_and_zero_run(key: str) -> None:
    kernel = process.fallbacks[DispatchKey[key]]
    assert kernel.function is not None
    assert not kernel.fallthrough
