"""The add of the founding program, told step by step: whole sentences, since a wrong fact is the worst bug."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from tests.steps import step

from .founding import Tape, founding


@pytest.fixture(scope="module")
def trace() -> Trace:
    return founding()


def why(trace: Trace, kind: type[ev.Event], nth: int = 0) -> str:
    return why_here(trace, step(trace, kind, nth))


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
def test_what_is_said_of_the_add_of_x_that_requires_grad_and_y(trace: Trace, kind: type[ev.Event], nth: int) -> None:
    assert why(trace, kind, nth) == SHOWN[kind, nth]


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
