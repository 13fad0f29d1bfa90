"""What is said of the program itself: names, errors, registrations, how it ended."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, rule, why_here
from tests.explain.programs import traced


def told(trace: Trace, *kinds: type[ev.Event]) -> list[str]:
    return [why_here(trace, event.seq) for event in trace if isinstance(event, kinds)]


@pytest.fixture(scope="module")
def registered() -> Trace:
    return traced(
        """
        import torch
        lib = torch.library.Library("words", "DEF")
        lib.define("double(Tensor x) -> Tensor")
        lib.impl("double", lambda x: x * 2, "CPU")
        """
    )


def test_the_registration_comes_before_its_effect(registered: Trace) -> None:
    kernel, cells = told(registered, ev.KernelRegistered, ev.CellsRecomputed)
    assert kernel == "<lambda> is registered at CPU for words::double."
    assert cells == "With that, one cell of words::double changes: CPU."
    recomputed = next(event for event in registered if isinstance(event, ev.CellsRecomputed))
    assert label(registered, recomputed.seq) == "1 cell of words::double changed"


def test_ctrl_c_interrupts_and_is_no_error() -> None:
    trace = traced("import torch\nraise KeyboardInterrupt\n")
    assert told(trace, ev.ProgramRaised) == ["The program was interrupted at line 2 (Ctrl+C)."]
    assert label(trace, len(trace) - 1) == "interrupted"


def test_an_error_without_a_message_has_no_colon() -> None:
    trace = traced("import torch\nassert torch.ones(1) is None\n")
    assert told(trace, ev.ProgramRaised) == ["AssertionError ended the program at line 2."]
    assert label(trace, len(trace) - 1) == "AssertionError"


def test_a_name_is_a_variable() -> None:
    trace = traced("import torch\ny = torch.ones(2)\n")
    bound = next(event for event in trace if isinstance(event, ev.NameBound))
    assert label(trace, bound.seq) == "y = t0"
    assert why_here(trace, bound.seq).startswith("y now refers to t0, ")


def test_why_a_tensor_of_numbers_is_made_behind_guards() -> None:
    trace = traced("import torch\ny = torch.tensor([1.0])\n")
    guards = told(trace, ev.GuardEntered)
    assert any("Tracer: torch.jit.trace is not to record how a tensor is made of Python's numbers" in g for g in guards)
    assert any(
        "no mode and no transform may intercept the making of a new tensor, or wrap it before it is finished" in g
        for g in guards
    )
    assert not any("asked for that" in guard for guard in guards)


def test_a_key_has_one_fallback_and_many_kernels() -> None:
    fallback = ev.KernelRegistered(0, None, "", "Tracer", "k", False)
    kernel = ev.KernelRegistered(0, None, "aten::add.Tensor", "CPU", "k", False)
    assert rule(fallback).text == "A key has one fallback, for all operators; registering a second one is an error."
    assert rule(kernel).text.startswith("The newest kernel of a key is the active one")
