"""Hashes of results: their inputs, the results that have one, and recordings without them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.events import BindingEntered, Container, Dispatched, KernelEntered, ResultHashed
from dispatchviz.core.record.recorders.result_hash import result_hash
from dispatchviz.core.record.trace_file import Trace


def test_hash_depends_on_dtype_shape_and_numbers() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    same = (x.clone(), x.t().contiguous().t(), x.cuda(), torch.tensor([[2.0, 4.0], [6.0, 8.0]]) / 2)
    assert {result_hash(each) for each in (x, *same)} == {result_hash(x)}
    others = (x.t(), x.double(), x.reshape(4), x + 1, x[:1], x.to(torch.bfloat16))
    assert len({result_hash(each) for each in (x, *others)}) == len(others) + 1


def test_all_nan_and_both_zeros_have_one_hash() -> None:
    payload = np.array([0x7FC00001, 0xFFC00000, 0x7F800001], np.uint32).view(np.float32)
    assert result_hash(torch.from_numpy(payload)) == result_hash(torch.full((3,), float("nan")))
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64):
        zero = torch.zeros(2, dtype=dtype)
        assert result_hash(-zero) == result_hash(zero)
        assert result_hash(zero[0]) == result_hash(-zero[0])
    x = torch.tensor([complex(float("nan"), 1.0)])
    assert result_hash(x) != result_hash(torch.tensor([complex(float("nan"), 2.0)]))


def test_conj_and_neg_bits_are_resolved_before_hashing() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert result_hash(x.conj()) == result_hash(x.conj().resolve_conj())
    assert result_hash(x.conj().imag) == result_hash(-x.imag)


def test_tensor_without_memory_has_no_hash() -> None:
    assert result_hash(torch.ones(2, device="meta")) is None
    assert result_hash(torch.ones(0)) is not None


def test_every_dtype_has_a_hash() -> None:
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        assert result_hash(torch.ones(2, dtype=dtype)) != result_hash(torch.zeros(2, dtype=dtype))


# -- recordings -------------------------------------------------------------------------------------------------------


def program() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    y = (x[0] * 2).sum()
    y.backward()
    torch.ops.aten.add(x, x)
    with torch.inference_mode():
        z = torch.empty(2)
        z.fill_(1)
        z.add_(1)
        z.add_(1)
        torch.vmap(torch.sin)(torch.ones(2))
    with torch.no_grad():
        x.mul_(2)


def recorded(hashes: bool) -> Trace:
    with dispatchviz.record("p.py", hashes=hashes) as trace:
        program()
    return trace


def within(trace: Trace, event: ResultHashed) -> str:
    """The operator whose kernel computed it."""
    return next(each.operator for each in trace.ancestors(event.seq) if isinstance(each, Dispatched))


def test_hashes_are_added_to_the_usual_events() -> None:
    program()  # what is made at the first use
    with_hashes, without = recorded(True), recorded(False)
    numbers: dict[int | None, int | None] = {None: None}
    kept: list[Any] = []
    for event in with_hashes:
        if not isinstance(event, ResultHashed):
            numbers[event.seq] = len(kept)
            kept.append(event)
    moved = [msgspec.structs.replace(each, seq=numbers[each.seq], parent=numbers[each.parent]) for each in kept]
    assert [type(each) for each in moved] == [type(each) for each in without]
    for one, other in zip(moved, without, strict=True):
        if not isinstance(one, Container) or isinstance(one, Dispatched | KernelEntered | BindingEntered):
            assert (one.seq, one.parent) == (other.seq, other.parent)
    assert not without.steps_of(ResultHashed)


def test_only_computed_results_have_a_hash() -> None:
    trace = recorded(True)
    hashed = [event for event in trace if isinstance(event, ResultHashed)]
    operators = {within(trace, event) for event in hashed}
    assert {"aten::fill_.Scalar", "aten::mul.Tensor", "aten::add_.Tensor", "aten::sin"} <= operators
    assert not {name for name in operators if "empty" in name or name in ("aten::select.int", "aten::expand")}
    twice = [event.hash for event in hashed if within(trace, event) == "aten::add_.Tensor"]
    assert len(twice) == 2, "once each: the outer kernels pass on what the inner one computed"
    assert twice[0] != twice[1]


def test_file_names_optional_kinds_only_if_present() -> None:
    assert "ResultHashed" in recorded(True).columns.kind_names
    assert "ResultHashed" not in recorded(False).columns.kind_names


@pytest.mark.parametrize("suffix", [".dvtrace", ".jsonl"])
def test_hashes_are_kept_in_files(suffix: str) -> None:
    trace = recorded(True)
    again = Trace.decoded(trace.encoded(suffix), "t")
    assert list(again) == list(trace)
    assert len(again.steps_of(ResultHashed)) == len(trace.steps_of(ResultHashed)) > 0
