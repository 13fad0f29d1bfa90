"""Tensors that share memory, and tensors that move to another memory, compared with the storages of a real PyTorch."""

from __future__ import annotations

import io
from itertools import combinations
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.things.tensor_questions import tensor_questions
from dispatchviz.explain.things.uses import uses
from dispatchviz.explain.trace_index.tensor_card import TensorCard, tensor_card
from dispatchviz.running.program import run
from dispatchviz.trace import Trace

Pairs = frozenset[tuple[str, str]]

PROGRAMS = {
    "set_ to a tensor": """
        x = torch.ones(2)
        y = torch.zeros(3)
        v = x[:1]
        w = y[1:]
        x.set_(y)
    """,
    "set_ to a storage": """
        x = torch.ones(2)
        y = torch.zeros(6)
        x.set_(y.untyped_storage(), 2, (2, 2), (2, 1))
    """,
    "set_ to nothing": """
        x = torch.ones(2)
        y = x.view(2, 1)
        x.set_()
    """,
    "set_ twice": """
        x = torch.ones(2)
        y = torch.zeros(3)
        z = torch.zeros(4)
        x.set_(y)
        x.set_(z)
    """,
    "data": """
        x = torch.ones(2)
        y = torch.zeros(3)
        v = x[:1]
        x.data = y
    """,
    "set_ after data": """
        x = torch.ones(2)
        y = torch.zeros(3)
        z = torch.zeros(4)
        x.data = y
        y.set_(z)
    """,
    "sizes alone": """
        x = torch.ones(2, 3)
        y = torch.zeros(3)
        v = x[0]
        x.t_()
    """,
}


def source(name: str) -> str:
    return "import torch\n" + "\n".join(text.strip() for text in PROGRAMS[name].strip().splitlines())


def traced(name: str) -> Trace:
    return run("-", (), io.StringIO(), source(name).encode()).trace


def named(trace: Trace) -> dict[str, int]:
    return {event.name: event.tensor for event in trace if isinstance(event, ev.NameBound)}


def cards(trace: Trace, at: int) -> dict[str, TensorCard]:
    found = {name: tensor_card(trace, tensor, at) for name, tensor in named(trace).items()}
    return {name: card for name, card in found.items() if card is not None}


def told(trace: Trace) -> Pairs:
    """The pairs of tensors that the cards of the last step list as sharing memory."""
    last = cards(trace, len(trace) - 1)
    return frozenset((a, b) for a, b in combinations(sorted(last), 2) if b in last[a].mates and a in last[b].mates)


EXPECTED = {
    "set_ to a tensor": {("v", "x"): False, ("w", "x"): True, ("x", "y"): True, ("w", "y"): True},
    "set_ to a storage": {("x", "y"): True},
    "set_ to nothing": {("x", "y"): False},
    "set_ twice": {("x", "z"): True, ("x", "y"): False},
    "data": {("x", "y"): True, ("v", "x"): False},
    "set_ after data": {("x", "y"): False, ("y", "z"): True},
    "sizes alone": {("v", "x"): True, ("x", "y"): False},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_model_knows_which_tensors_share_memory(name: str) -> None:
    pairs = told(traced(name))
    assert {pair: pair in pairs for pair in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_pytorch_agrees_on_tensors_that_share_memory(name: str) -> None:
    variables: dict[str, Any] = {}
    exec(source(name), variables)
    import torch

    tensors = {each: value for each, value in variables.items() if isinstance(value, torch.Tensor)}
    storages = {each: value.untyped_storage()._cdata for each, value in tensors.items()}
    shared = frozenset((a, b) for a, b in combinations(sorted(tensors), 2) if storages[a] == storages[b])
    assert told(traced(name)) == shared


def test_set_names_the_new_memory_sizes_and_strides() -> None:
    trace = traced("set_ to a tensor")
    (at,) = trace.steps_of(ev.GeometryChanged)
    before, after = cards(trace, at - 1), cards(trace, at)
    assert (before["x"].shape, after["x"].shape) == ((2,), (3,))
    assert before["x"].storage == before["v"].storage != before["y"].storage == after["x"].storage
    assert why_here(trace, at) == (
        "x now uses the memory that set_ was given. It stays the same tensor, with sizes [3] and strides [1]."
    )
    answers = {
        question.asked: [answer.text for answer in question.answers]
        for question in tensor_questions(trace, named(trace)["y"], len(trace) - 1, uses(trace).finish())
    }
    assert answers["Who shares its memory?"] == [
        "w began to share its memory",
        "x took it by set_.source_Storage_storage_offset",
    ]
