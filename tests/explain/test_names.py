"""Tensors have the user's names from the step that binds them, and lose them when the variable moves on."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.step_sentences import statements
from dispatchviz.explain.trace_index.display_names import (
    described,
    node_name,
    node_title,
    tensor_name,
    tensor_names,
    with_names,
)
from dispatchviz.foundation.english import capital
from tests.steps import last_step, step, steps

from .founding import ACCUMULATE, ADD, EXPANDED, SUM, Tape, X, Y, Z, founding
from .programs import traced

TRACE = founding()
END = last_step(TRACE)


def test_a_name_holds_from_the_step_that_binds_it() -> None:
    bound = step(TRACE, ev.NameBound, 2)
    assert tensor_name(TRACE, Z, bound - 1) == "z (t2)"
    assert tensor_name(TRACE, Z, bound) == "z"
    assert tensor_name(TRACE, SUM, END) == "t3"


@pytest.mark.parametrize("name", ["loss", "loss (t3)"])
def test_a_sentence_that_begins_with_a_variable_begins_with_a_small_letter(name: str) -> None:
    assert capital(f"{name} does not require grad", (name,)) == f"{name} does not require grad"
    assert capital("none of them requires grad", (name,)) == "None of them requires grad"


def test_a_hook_is_kept_by_the_variable_as_the_program_writes_it() -> None:
    trace = traced("""\
        import torch
        weight = torch.ones(2, requires_grad=True)
        weight.register_hook(print)
        loss = weight.sum()
        loss.retain_grad()
        loss.mul_(2)
    """)
    said = [why.text for at in trace.steps_of(ev.HookRegistered) for why in statements(trace, at)]
    assert [text.split()[0] for text in said] == ["weight", "SumBackward0", "loss"]


def test_the_gradient_of_a_leaf_is_called_after_it_once_it_is_written() -> None:
    written = step(TRACE, ev.GradientAccumulated)
    assert tensor_name(TRACE, EXPANDED + 1, written - 1) == "t6"
    assert tensor_name(TRACE, EXPANDED + 1, written) == "x.grad"


def test_a_variable_that_moves_on_takes_its_name_along() -> None:
    tape = Tape()
    for name, tensor in (("a", 0), ("b", 0), ("b", 1), ("a", 1)):
        tape.add(ev.NameBound, name, tensor)
    trace = tape.trace()
    bound = steps(trace, ev.NameBound)
    assert [tensor_name(trace, 0, at) for at in bound] == ["a", "b", "a", "earlier b (t0)"]
    assert [tensor_name(trace, 1, at) for at in bound] == ["b (t1)", "b (t1)", "b", "a"]


def test_names_of_several_tensors_are_said_once_each() -> None:
    assert tensor_names(TRACE, [X, Y, X], END) == "x and y"
    assert tensor_names(TRACE, [X, Y, Z], END) == "x, y and z"


def test_nodes() -> None:
    assert node_name(TRACE, ADD) == "AddBackward0 (n0)"
    assert node_title(TRACE, ADD) == "AddBackward0"
    assert node_name(TRACE, ACCUMULATE) == node_title(TRACE, ACCUMULATE) == "AccumulateGrad (x)"
    assert node_name(TRACE, 99) == "Node (n99)"


def test_nodes_of_one_name_are_told_apart() -> None:
    tape = Tape()
    for node in range(2):
        tape.add(ev.NodeCreated, node, "AddBackward0", node, 0, 1)
    assert [node_title(tape.trace(), node) for node in range(2)] == ["AddBackward0 (n0)", "AddBackward0 (n1)"]


def test_a_leaf_that_is_named_late() -> None:
    tape = Tape()
    tape.add(ev.NodeCreated, 0, "torch::autograd::AccumulateGrad", 2**64 - 1, 0, 1)
    tape.add(ev.AccumulatorMade, 0, 7)
    bound = tape.add(ev.NameBound, "w", 7)
    trace = tape.trace()
    assert node_name(trace, 0, at=bound - 1) == "AccumulateGrad (w (t7))"
    assert node_name(trace, 0) == node_name(trace, 0, at=bound) == "AccumulateGrad (w)"


def test_texts_with_numbers() -> None:
    assert with_names(TRACE, "[t0, t1], t12, at0", END) == "[x, y], t12, at0"


def test_what_a_tensor_is() -> None:
    assert described(TRACE, SUM, len(TRACE)) == "[] float32 on cuda:0"
    assert described(TRACE, 99, len(TRACE)) == ""
