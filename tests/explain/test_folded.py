"""Printing is folded where a trace is shown first, and whole in the trace."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.levels import ALL, DEFAULT, steps_at
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.explain.trace_index.folded_steps import unfolded
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.testing import call
from dispatchviz.trace import Trace
from tests.steps import step


@pytest.fixture(scope="module")
def trace() -> Trace:
    x = torch.tensor([1.5, 2.0])
    with dispatchviz.record() as found:
        y = x + 1
        str(y)
        f"{y.sum():.1f}"
    return found


def test_printing_is_one_row_that_counts_its_calls(trace: Trace) -> None:
    rows = [label(trace, seq) for seq in unfolded(trace) if isinstance(trace[seq], ev.TensorFormatted)]
    assert rows == ["Tensor.__repr__ of y (t3) (90 calls)", "Tensor.__format__ of t39 (three calls)"]
    inside = {
        seq
        for event in trace
        if isinstance(event, ev.TensorFormatted)
        for seq in range(event.seq + 1, trace.ends[event.seq] + 1)
    }
    assert inside
    assert not inside.intersection(steps_at(trace, DEFAULT))
    assert inside.issubset(steps_at(trace, ALL))
    assert not any("masked_select" in line for line in text_log(trace))


def test_a_log_that_begins_inside_tells_what_is_inside(trace: Trace) -> None:
    within = step(trace, call("aten::masked_select"))
    assert any("masked_select" in line for line in text_log(trace, within))


def test_a_trace_without_printing_is_shown_whole() -> None:
    with dispatchviz.record() as found:
        torch.ones(2)
    assert list(unfolded(found)) == list(range(len(found)))


def test_printing_that_fails_is_not_folded() -> None:
    class Odd(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise ValueError("no")

    odd = torch.Tensor._make_wrapper_subclass(Odd, (2,))
    with dispatchviz.record() as found, pytest.raises(ValueError, match="no"):
        repr(odd)
    assert list(unfolded(found)) == list(range(len(found)))


def test_the_sentence_says_how_many(trace: Trace) -> None:
    assert why_here(trace, step(trace, ev.TensorFormatted)) == (
        "y (t3) is formatted by PyTorch's own Python code, which chooses width and notation with operators, in no_grad "
        "and with all modes disabled: 90 calls, none of which is recorded for backward."
    )


def test_what_a_recorder_puts_into_words_is_not_told() -> None:
    x, i = torch.ones(3), torch.tensor(1)
    with dispatchviz.record() as found:
        x[i:]
    assert not any(isinstance(event, ev.TensorFormatted) for event in found)
