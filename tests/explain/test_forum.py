"""The explanations of the founding program, step by step: by hand and as the machine runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.locations.source_view import source_at
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.log.torch_log import torch_log
from dispatchviz.running.program import run
from tests.cuda_kinds import cuda_is
from tests.steps import line, step, steps

from .founding import Tape, founding

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


@pytest.fixture(scope="module")
def by_hand() -> Trace:
    return founding()


def why(by_hand: Trace, kind: type[ev.Event], nth: int = 0) -> str:
    return why_here(by_hand, step(by_hand, kind, nth))


SHOWN = {
    (ev.KeySetComputed, 0): (
        "AutogradCUDA is the highest key left and wins: x and y are CUDA tensors, and every ordinary CUDA tensor "
        "has it from the moment it is made. Only x requires grad, y does not; no key depends on that."
    ),
    (ev.FallthroughSkipped, 0): (
        "ADInplaceOrView and BackendSelect were in the set too, but aten::add.Tensor has no kernel to run there: "
        'their cells hold a fallthrough ("go on to the next key"), and the operator\'s mask removes such keys. They '
        "are the keys' own fallbacks, used by every operator that registers nothing else there "
        "(VariableFallbackKernel.cpp, BackendSelectFallbackKernel.cpp)."
    ),
    (ev.KernelSelected, 0): (
        "The AutogradCUDA cell of aten::add.Tensor holds VariableType::add_Tensor, the kernel registered to the alias "
        "key Autograd. Nothing is registered for AutogradCUDA itself, so the alias filled this cell when the table was "
        "built, as it did for every autograd key without a kernel of higher precedence."
    ),
    (ev.NodeCreated, 0): (
        "x requires grad, so the call of aten::add.Tensor is recorded as a Node: AddBackward0, sequence "
        "number 0. Of several ready Nodes the engine runs the one with the largest sequence number first."
    ),
    (ev.GuardEntered, 0): (
        "Until the guard AutoDispatchBelowADInplaceOrView ends, the thread excludes the autograd keys and "
        "ADInplaceOrView: autograd has already been handled, so calls that the kernels below make are not recorded "
        "again."
    ),
    (ev.GuardLeft, 0): (
        "The guard AutoDispatchBelowADInplaceOrView ends and restores the sets that it saved: calls from here on "
        "can reach autograd again."
    ),
    (ev.HistorySet, 0): ("z (t2) gets its history: its grad_fn is AddBackward0, so it requires grad."),
}


@pytest.mark.parametrize(("kind", "nth"), SHOWN)
def test_what_is_said_of_the_add_of_x_that_requires_grad_and_y(by_hand: Trace, kind: type[ev.Event], nth: int) -> None:
    assert why(by_hand, kind, nth) == SHOWN[kind, nth]


OTHERS = {
    (False, True, ev.EdgesCollected): (
        "AddBackward0 gets two edges, one per input: the first, for self (x), is empty, because x does not require "
        "grad; the second, for other (y), leads to AccumulateGrad (y). An empty edge is kept, so that the indices of "
        "edges are those of the inputs. In Python: next_functions is ((None, 0), (AccumulateGrad, 0))."
    ),
    (True, True, ev.EdgesCollected): (
        "AddBackward0 gets two edges, one per input: the first, for self (x), leads to AccumulateGrad (x); the second, "
        "for other (y), leads to AccumulateGrad (y). "
        "In Python: next_functions is ((AccumulateGrad, 0), (AccumulateGrad, 0))."
    ),
    (False, False, ev.NoNodeMade): (
        "None of x and y requires grad, so aten::add.Tensor is not recorded for backward: no Node is made."
    ),
}


@pytest.mark.parametrize(("x_grad", "y_grad", "kind"), OTHERS)
def test_what_is_said_where_others_require_grad(x_grad: bool, y_grad: bool, kind: type[ev.Event]) -> None:
    assert why(founding(x_grad, y_grad), kind) == OTHERS[x_grad, y_grad, kind]


@pytest.mark.parametrize(
    ("x_grad", "y_grad", "note"),
    [
        (False, True, "Only y requires grad, x does not; no key depends on that."),
        (True, True, "That x and y require grad changes nothing here: no key depends on it."),
        (False, False, "None of them requires grad; no key depends on that."),
    ],
)
def test_no_key_depends_on_requires_grad(x_grad: bool, y_grad: bool, note: str) -> None:
    assert why(founding(x_grad, y_grad), ev.KeySetComputed).endswith(note)


OFF = "off: no key changes and the autograd kernels still run, but they make no Nodes until it is on again."
ON = "on: operators record Nodes again."


@pytest.mark.parametrize(
    ("enabled", "why", "text"),
    [
        (False, "torch.no_grad()", f"torch.no_grad() switches grad mode {OFF}"),
        (True, "leaving torch.no_grad()", f"Leaving torch.no_grad() puts grad mode back {ON}"),
        (False, "backward without create_graph", f"The backward pass without create_graph switches grad mode {OFF}"),
    ],
)
def test_grad_mode_is_no_key(enabled: bool, why: str, text: str) -> None:
    tape = Tape()
    at = tape.add(ev.GradModeChanged, enabled, why)
    assert why_here(tape.trace(), at) == text
