"""The explanations on the founding program itself, as the machine runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.locations.source_view import source_at
from dispatchviz.explain.sentences.step_labels import WIDTH, label
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.log.torch_log import torch_log
from dispatchviz.running.program import run
from tests.cuda_kinds import cuda_is
from tests.steps import line, step, steps

from .founding import founding

SCRIPT = Path(__file__).parents[2] / "examples" / "forum.py"


@pytest.fixture(scope="module")
def trace() -> Trace:
    with cuda_is("emulated"):  # as by hand
        return run(str(SCRIPT)).trace


@pytest.fixture(scope="module")
def add(trace: Trace) -> int:
    """The step of the line ``z = torch.add(x, y)``."""
    return line(trace, 6)


@pytest.mark.parametrize(
    "kind",
    [
        ev.BindingEntered,
        ev.Dispatched,
        ev.KeySetComputed,
        ev.FallthroughSkipped,
        ev.KernelSelected,
        ev.KernelEntered,
        ev.NodeCreated,
        ev.AccumulatorMade,
        ev.EdgesCollected,
        ev.GuardEntered,
        ev.GuardLeft,
    ],
)
def test_what_must_be_shown_is_what_the_hand_made_trace_says(trace: Trace, add: int, kind: type[ev.Event]) -> None:
    by_hand = founding()
    said = [why_here(trace, seq) for seq in steps(trace, kind, within=add)]
    should = [why_here(by_hand, seq) for seq in steps(by_hand, kind, within=line(by_hand, 6))]
    assert [_same_signature(text) for text in said] == [_same_signature(text) for text in should]


def _same_signature(text: str) -> str:
    """Which signatures torch.add has is not the hand-made trace's business."""
    return text.partition("THPVariable_add.")[0]


def test_every_step_is_told_in_whole_sentences(trace: Trace) -> None:
    for event in trace:
        text = why_here(trace, event.seq)
        assert "  " not in text, (event, text)
        assert "None" not in text.partition("signature")[0].replace("None of", "").replace("(None, 0)", ""), (
            event,
            text,
        )
        if not isinstance(event, ev.SourceLine | ev.Printed):
            assert text.endswith("."), (event, text)


def test_rows_are_short(trace: Trace) -> None:
    assert max(len(label(trace, event.seq)) for event in trace) <= WIDTH + 30


def test_the_cards_of_the_add(trace: Trace, add: int) -> None:
    card = key_set_card(trace, step(trace, ev.NodeCreated, within=add))
    assert card is not None
    assert [row.title for row in card.rows] == [
        *("self = x", "other = y", "united", "included", "excluded", "mask", "effective", "AutogradCUDA"),
    ]
    assert [hex(row.raw) for row in card.rows[-2:]] == ["0x1000010002", "0x1000000002"]
    below = key_set_card(trace, step(trace, ev.ImplEntered, within=add))
    assert below is not None
    assert [row.title for row in below.rows] == [
        *("received by VariableType::add_Tensor", "& after_autograd_keyset", "passed on", "CUDA"),
    ]
    cell = cell_card(trace, step(trace, ev.NodeCreated, within=add))
    assert cell is not None
    assert (cell.index, cell.source, cell.reason) == (97, "Autograd", "autograd kernel")
    assert [candidate.source for candidate in cell.candidates if candidate.taken] == ["Autograd"]


def test_the_stack_in_the_CUDA_kernel(trace: Trace, add: int) -> None:
    assert [frame.title for frame in call_stack(trace, step(trace, ev.ImplEntered, within=add))] == [
        "z = torch.add(x, y)",
        "THPVariable_add",
        "at::_ops::add_Tensor::call",
        "VariableType::add_Tensor",
        "at::_ops::add_Tensor::redispatch",
        "wrapper_CUDA_add_Tensor",
        "structured_ufunc_add_CUDA::impl",
    ]


@pytest.mark.parametrize(
    ("kind", "nth", "words"),
    [
        (ev.NodeCreated, 0, "nodes.AddBackward0()"),
        (ev.EdgesCollected, 0, "collect_next_edges("),
        (ev.AttributeSaved, 0, "alpha"),
        (ev.GuardEntered, 0, "with AutoDispatchBelowADInplaceOrView():"),
        (ev.Dispatched, 1, "result = ops.add_Tensor.redispatch("),
        (ev.MetaEntered, 0, "op.enter_meta()"),
        (ev.OutputAllocated, 0, "add_Tensor_meta(op, "),
        (ev.HistorySet, 0, "set_history("),
        (ev.KernelReturned, 1, "return "),
    ],
)
def test_the_line_of_our_source_that_a_step_comes_from(
    trace: Trace, add: int, kind: type[ev.Event], nth: int, words: str
) -> None:
    view = source_at(trace, step(trace, kind, nth, within=add))
    assert (view.file.endswith("forum.py"), view.line) == (True, 6)
    assert view.running_line, view
    assert words in view.running_lines[view.running_line - view.running_first]


def test_the_lines_of_a_debug_build(trace: Trace) -> None:
    lines = list(torch_log(trace))
    at = lines.index(" [call] op=[aten::add.Tensor], key=[AutogradCUDA]")
    assert lines[at + 1] == "  [redispatch] op=[aten::add.Tensor], key=[CUDA]"


def test_the_log_tells_the_add_in_full_and_nothing_twice(trace: Trace, add: int) -> None:
    log = list(text_log(trace))
    reasons = " ".join(line.strip().removeprefix("| ") for line in log if line.lstrip().startswith("| "))
    for kind in (ev.KeySetComputed, ev.FallthroughSkipped, ev.KernelSelected, ev.NodeCreated, ev.EdgesCollected):
        assert reasons.count(why_here(trace, step(trace, kind, within=add))) == 1
    assert reasons.count(why_here(trace, step(trace, ev.Dispatched, 1, within=add))) == 1
