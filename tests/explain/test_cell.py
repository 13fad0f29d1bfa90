"""The cell card."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.cell_card import cell_card
from tests.steps import step

from .founding import founding


def test_the_cell_of_the_dispatch_around_a_step() -> None:
    trace = founding()
    card = cell_card(trace, step(trace, ev.NodeCreated))
    assert card is not None
    assert (card.operator, card.key, card.index) == ("aten::add.Tensor", "AutogradCUDA", 97)
    assert (card.kernel, card.reason, card.source) == ("VariableType::add_Tensor", "autograd kernel", "Autograd")
    assert card.registered == "registered at torch/csrc/autograd/generated/VariableType_2.cpp:10455"
    assert [(candidate.source, candidate.taken) for candidate in card.candidates] == [
        ("AutogradCUDA", False),
        ("CompositeImplicitAutograd", False),
        ("Autograd", True),
        ("fallback of AutogradCUDA", False),
    ]


def test_the_innermost_dispatch_counts() -> None:
    trace = founding()
    card = cell_card(trace, step(trace, ev.MetaEntered))
    assert card is not None
    assert (card.key, card.index, card.kernel) == ("CUDA", 2, "wrapper_CUDA_add_Tensor")


def test_no_card_outside_a_dispatch() -> None:
    assert cell_card(founding(), 0) is None
