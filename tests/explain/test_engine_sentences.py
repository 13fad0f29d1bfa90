"""Sentences of the engine: whose turn it is and why, where gradients meet, what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import why_here

from .founding import NO_NUMBER, Tape

NODES = ("MulBackward0", "ExpBackward0", "torch::autograd::AccumulateGrad", "torch::autograd::AccumulateGrad")


def why(kind: Any, *fields: Any) -> str:
    tape = Tape()
    for node, name in enumerate(NODES):
        tape.add(ev.NodeCreated, node, name, NO_NUMBER if node > 1 else node, 0, 1)
    for node, name in ((2, "a"), (3, "b")):
        tape.add(ev.NameBound, name, node)
        tape.add(ev.AccumulatorMade, node, node)
    seq = tape.add(kind, *fields)
    return why_here(tape.trace(), seq)


def started(node: int, number: int, waiting: tuple[tuple[int, int], ...], gradients: tuple[int | None, ...]) -> str:
    return why(ev.NodeStarted, node, NODES[node], number, gradients, waiting, "cpu", "caller", "", 0, 0)


def test_the_largest_number_goes_first() -> None:
    assert started(1, 1, ((0, 0),), (9,)) == (
        "ExpBackward0 runs because it has the largest sequence number of the ready Nodes, 1 (MulBackward0, seq 0, "
        "waits). Its gradient is t9."
    )


def test_accumulators_go_before_all_others_and_tie_among_themselves() -> None:
    assert started(2, NO_NUMBER, ((0, 0), (1, 1)), (9,)) == (
        "AccumulateGrad (a) runs because every AccumulateGrad has the largest sequence number (MulBackward0, seq 0; "
        "ExpBackward0, seq 1, wait). Its gradient is t9."
    )
    assert started(2, NO_NUMBER, ((3, NO_NUMBER),), (9,)) == (
        "AccumulateGrad (a) runs because no ready Node has a larger sequence number (AccumulateGrad (b) waits). Among "
        "equal numbers, the order in the heap decides. Its gradient is t9."
    )


def test_a_pass_that_is_too_deep_runs_on_a_thread_of_the_pool() -> None:
    def started(depth: int) -> str:
        return why(ev.BackwardStarted, 0, ((0, 0),), (8,), False, False, True, depth)

    assert "The caller's thread already runs 60 reentrant passes (MAX_DEPTH)" in started(61)
    assert "pool" not in started(60) + started(62)


def test_a_node_runs_even_without_any_gradient() -> None:
    assert started(0, 0, (), (None,)) == (
        "MulBackward0 runs because it is the only Node that is ready. It gets no gradient."
    )


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("stolen", "a.grad is set to the gradient t8 without a copy (because). t9 shares its memory."),
        ("copied", "a.grad gets a copy of the gradient t8 (because)."),
        ("added in place", "The gradient t8 is added to a.grad in place (because)."),
        ("added out of place", "a.grad becomes a new tensor: the old one plus the gradient t8 (because)."),
    ],
)
def test_sentence_for_each_way_to_write_grad(how: str, text: str) -> None:
    assert why(ev.GradientAccumulated, 2, 8, 9, how, "because") == text


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            (ev.GradientBuffered, 0, 0, 8, "stored", "it is the first gradient for this input"),
            "t8 is stored in the input buffer of MulBackward0. It is the first gradient to arrive there.",
        ),
        (
            (ev.GradientBuffered, 0, 1, 8, "added in place", "only the buffer holds it"),
            "Several gradients meet at MulBackward0, input 1, so t8 is added in place (only the buffer holds it).",
        ),
        (
            (ev.GradientReduced, 8, 9, (2,)),
            (
                "The gradient t8 goes to an input of shape [2], so it is summed to that shape: t9."
            ),
        ),
        (
            (ev.GradientCaptured, 2, 0, 8, 0),
            (
                "grad() requests the gradient of a. t8, which arrived at AccumulateGrad (a), becomes its first result."
            ),
        ),
        ((ev.DependencyMet, 0, 2), "A gradient has arrived at MulBackward0, which still waits for two more gradients."),
        (
            (ev.DependencyMet, 0, 0),
            "The last gradient that MulBackward0 waits for has arrived, so its count is zero and the Node is ready.",
        ),
        (
            (ev.NodeQueued, 0, 0, "cpu", ((1, 1), (0, 0))),
            (
                "MulBackward0 is ready and joins the queue of cpu. Next in this queue are ExpBackward0, seq 1, then "
                "MulBackward0, seq 0."
            ),
        ),
        ((ev.NodeFinished, 0, (8, None)), "MulBackward0 is done and returns t8 for edge 0 and nothing for edge 1."),
    ],
)  # fmt: skip
def test_gradients_on_their_way(event: tuple[Any, ...], text: str) -> None:
    assert why(*event) == text


def test_backward_start_names_roots_and_circumstances() -> None:
    assert why(ev.BackwardStarted, 0, ((0, 0), (1, 0)), (8, 9), False, True, False, 1) == (
        "The engine starts at MulBackward0 and ExpBackward0 with the gradients t8 and t9. It returns the gradient of "
        "the inputs to the caller. No leaf's .grad is written. The backward pass is itself recorded, because "
        "create_graph is True. It is reentrant: it was started inside another backward pass, which waits for it."
    )


def test_zero_count_names_the_number_of_gradients() -> None:
    with dispatchviz.record() as trace:
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
    told = [why_here(trace, event.seq) for event in trace if isinstance(event, ev.DependencyMet)]
    assert told == [
        ("The only gradient that MulBackward0 waits for has arrived, so its count is zero and the Node is ready."),
        "A gradient has arrived at AccumulateGrad (x), which still waits for one of two gradients.",
        (
            "The last of two gradients that AccumulateGrad (x) waits for has arrived, so its count is zero and the "
            "Node is ready."
        ),
    ]
