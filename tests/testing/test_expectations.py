"""Each expectation holds where it should, and fails with the step and the words that help where it should not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.events import BackwardStarted, Dispatched, HistorySet, KernelEntered, NodeCreated, NodeStarted
from dispatchviz.core.trace import Trace
from dispatchviz.testing import (
    assert_count,
    assert_kernel_ran,
    assert_never,
    assert_same,
    assert_sequence,
    assert_subsequence,
    call,
    event,
    kernel,
    node_created,
    node_ran,
    redispatch,
)
from tests.explain.founding import founding

ADD = "aten::add.Tensor"
TRACE = founding()


def _fails(check: object, *args: object, **kwargs: object) -> str:
    assert callable(check)
    with pytest.raises(AssertionError) as caught:
        check(TRACE, *args, **kwargs)
    return str(caught.value)


def test_a_sequence_is_all_events_of_its_kinds_in_order() -> None:
    assert_sequence(TRACE, [call(ADD, "AutogradCUDA"), redispatch(ADD, "CUDA")])
    assert_sequence(TRACE, [node_ran(name) for name in ("SumBackward0", "AddBackward0", ...)])


def test_a_sequence_that_differs_says_where_first() -> None:
    assert _fails(assert_sequence, [call(ADD, "AutogradCUDA"), redispatch(ADD, "CPU")]) == (
        "differs first at event 1 (step 21):\n"
        "  expected  Dispatched(how='redispatch', operator='aten::add.Tensor', key='CPU')\n"
        "  got       redispatch aten::add.Tensor → CUDA\n"
        "      10 call aten::add.Tensor → AutogradCUDA\n"
        "  >   21 redispatch aten::add.Tensor → CUDA"
    )


def test_a_sequence_may_be_too_long_or_too_short() -> None:
    assert "differs first at event 1 (step 21):\n  expected  nothing more" in _fails(assert_sequence, [call(ADD)])
    ends = _fails(assert_sequence, [call(), redispatch(), redispatch("aten::sum")])
    assert ends.startswith("ends too soon: expected Dispatched(how='redispatch', operator='aten::sum') after\n")


def test_a_subsequence_may_have_others_between() -> None:
    assert_subsequence(TRACE, [call(ADD), kernel(under="CUDA"), event(BackwardStarted), node_ran("AddBackward0")])
    says = _fails(assert_subsequence, [redispatch(ADD), call(ADD)])
    assert "pattern 1 of 2, Dispatched(how='call', operator='aten::add.Tensor'), does not happen after step 21" in says


def test_never_and_count() -> None:
    assert_never(TRACE, redispatch(key="Meta"))
    assert_count(TRACE, event(NodeCreated), 3)
    says = _fails(assert_count, node_ran(), 2)
    assert says.startswith("NodeStarted() happens 3 times, expected twice\n")
    assert "50 run AccumulateGrad (x)" in says
    assert _fails(assert_never, node_created("AddBackward0")).startswith(
        "NodeCreated(name='AddBackward0') happens once"
    )


def test_a_kernel_under_a_key() -> None:
    assert_kernel_ran(TRACE, "VariableType::add_Tensor", under="AutogradCUDA")
    says = _fails(assert_kernel_ran, "VariableType::add_Tensor", under="CUDA")
    assert says == (
        "VariableType::add_Tensor did not run under CUDA\n"
        "  it ran under: AutogradCUDA\n"
        "  CUDA ran: wrapper_CUDA_add_Tensor"
    )


def test_within_looks_at_one_part() -> None:
    assert_never(TRACE, event(Dispatched), within=event(BackwardStarted))
    assert_sequence(TRACE, [redispatch(ADD)], within=event(KernelEntered, kernel="VariableType::add_Tensor"))
    assert "so nothing happens within it" in _fails(assert_never, call(), within=call("aten::mul.Tensor"))


def test_same_compares_traces_and_files(tmp_path: Path) -> None:
    assert_same(TRACE, founding())
    TRACE.save(tmp_path / "golden.jsonl")
    assert_same(TRACE, tmp_path / "golden.jsonl")
    assert "make it with trace.save(" in _fails(assert_same, tmp_path / "none.jsonl")
    assert (
        _fails(assert_same, Trace(TRACE.header, TRACE.events[:3])) == "the same up to step 2, but 54 steps, expected 3"
    )
    other = Trace(TRACE.header, [*TRACE.events[:7], TRACE.events[8], *TRACE.events[8:]])
    assert "differs first at event 7 (step 7)" in _fails(assert_same, other)


def test_a_field_may_be_a_value_a_condition_or_anything() -> None:
    assert_count(TRACE, event(NodeStarted, sequence_nr=lambda number: number < 2, name=...), 2)
    with pytest.raises(TypeError, match="HistorySet has no field 'nodes'; it has seq, parent, tensor, node, output_nr"):
        event(HistorySet, nodes=1)
