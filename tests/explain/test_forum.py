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
def test_forum_trace_matches_the_hand_made_trace(trace: Trace, add: int, kind: type[ev.Event]) -> None:
    by_hand = founding()
    said = [why_here(trace, seq) for seq in steps(trace, kind, within=add)]
    should = [why_here(by_hand, seq) for seq in steps(by_hand, kind, within=line(by_hand, 6))]
    assert [_same_signature(text) for text in said] == [_same_signature(text) for text in should]


def _same_signature(text: str) -> str:
    """Replace the signatures of torch.add, which the hand-made trace does not describe."""
    return text.partition("THPVariable_add.")[0]


def test_every_step_has_whole_sentences(trace: Trace) -> None:
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


def test_log_shows_the_add_in_full_and_nothing_twice(trace: Trace, add: int) -> None:
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
        "AutogradCUDA is the highest key left, so it wins. x and y are CUDA tensors, and every ordinary CUDA tensor "
        "has this key from the moment it is made. Only x requires grad. That makes no difference here: requires_grad "
        "never changes a tensor's dispatch keys."
    ),
    (ev.FallthroughSkipped, 0): (
        "ADInplaceOrView and BackendSelect were in the key set too, but aten::add.Tensor has only fallthroughs there "
        '("go on to the next key"), so the operator\'s mask removes them. The fallthroughs of ADInplaceOrView and '
        "BackendSelect are the keys' fallbacks, which serve every operator without a kernel of its own there "
        "(VariableFallbackKernel.cpp, BackendSelectFallbackKernel.cpp)."
    ),
    (ev.KernelSelected, 0): (
        "The dispatch table of aten::add.Tensor holds VariableType::add_Tensor for AutogradCUDA. It is registered for "
        "the alias key Autograd. Nothing is registered for AutogradCUDA itself, so the alias fills this entry, as it "
        "does for every autograd key without a kernel of higher precedence."
    ),
    (ev.NodeCreated, 0): (
        "x requires grad, so the call of aten::add.Tensor is recorded as the Node AddBackward0, sequence number 0. "
        "When several Nodes are ready, the engine runs the newest one (largest sequence number) first."
    ),
    (ev.GuardEntered, 0): (
        "The guard AutoDispatchBelowADInplaceOrView adds the autograd keys and ADInplaceOrView to the thread-local "
        "exclude set until it ends, because autograd has already been handled, so calls that the kernels below make "
        "are not recorded again."
    ),
    (ev.GuardLeft, 0): (
        "The guard AutoDispatchBelowADInplaceOrView ends and restores the thread-local sets, so calls can reach "
        "autograd again."
    ),
    (ev.HistorySet, 0): ("z (t2) gets the grad_fn AddBackward0, so it requires grad."),
}


@pytest.mark.parametrize(("kind", "nth"), SHOWN)
def test_sentences_of_add_if_only_x_requires_grad(by_hand: Trace, kind: type[ev.Event], nth: int) -> None:
    assert why(by_hand, kind, nth) == SHOWN[kind, nth]


OTHERS = {
    (False, True, ev.EdgesCollected): (
        "AddBackward0 gets two edges, one per input. The first, for self (x), is empty, because x does not require "
        "grad. The second, for other (y), leads to AccumulateGrad (y). An empty edge is kept so that edge i belongs to "
        "input i. In Python, next_functions is ((None, 0), (AccumulateGrad, 0))."
    ),
    (True, True, ev.EdgesCollected): (
        "AddBackward0 gets two edges, one per input. The first, for self (x), leads to AccumulateGrad (x). The second, "
        "for other (y), leads to AccumulateGrad (y). In Python, next_functions is ((AccumulateGrad, 0), "
        "(AccumulateGrad, 0))."
    ),
    (False, False, ev.NoNodeMade): ("Neither x nor y requires grad, so no Node is recorded for aten::add.Tensor."),
}


@pytest.mark.parametrize(("x_grad", "y_grad", "kind"), OTHERS)
def test_sentences_of_add_if_other_tensors_require_grad(x_grad: bool, y_grad: bool, kind: type[ev.Event]) -> None:
    assert why(founding(x_grad, y_grad), kind) == OTHERS[x_grad, y_grad, kind]


@pytest.mark.parametrize(
    ("x_grad", "y_grad", "note"),
    [
        (False, True, "Only y requires grad."),
        (True, True, "x and y require grad."),
        (False, False, "None of them requires grad."),
    ],
)
def test_no_key_depends_on_requires_grad(x_grad: bool, y_grad: bool, note: str) -> None:
    rule = "That makes no difference here: requires_grad never changes a tensor's dispatch keys."
    assert why(founding(x_grad, y_grad), ev.KeySetComputed).endswith(f" {note} {rule}")


OFF = "off. The autograd kernels still run, but they record no Nodes until it is on again."
ON = "on, so operators record Nodes again."


@pytest.mark.parametrize(
    ("enabled", "why", "text"),
    [
        (False, "torch.no_grad()", f"torch.no_grad() switches grad mode {OFF}"),
        (True, "leaving torch.no_grad()", f"Leaving torch.no_grad() switches grad mode back {ON}"),
        (False, "backward without create_graph", f"The backward pass without create_graph switches grad mode {OFF}"),
    ],
)
def test_grad_mode_is_no_key(enabled: bool, why: str, text: str) -> None:
    tape = Tape()
    at = tape.add(ev.GradModeChanged, enabled, why)
    assert why_here(tape.trace(), at) == text
