"""What a line of another thread does is not taken for what the line above it does: in the log and in the list."""

from __future__ import annotations

import re

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.row_texts import row_texts
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.other_threads import has_threads, line_elsewhere, lines_meanwhile
from dispatchviz.outputs.log.text_log import text_log
from tests.steps import line
from truth import programs

from .programs import traced

MEANWHILE = """\
import threading
import torch
x = torch.ones(2, requires_grad=True)
ready, go = threading.Event(), threading.Event()
def forward():
    y = (ready.set() or go.wait() and x) * 2
thread = threading.Thread(target=forward)
thread.start()
ready.wait()
go.set()
thread.join()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(MEANWHILE)


def call(trace: Trace) -> int:
    """The call of ``mul`` in the thread."""
    calls = (event for event in trace if isinstance(event, ev.Dispatched) and event.operator == "aten::mul.Tensor")
    return next(event.seq for event in calls)


def test_the_line_that_goes_on(trace: Trace) -> None:
    begun, at = line(trace, 6), call(trace)
    assert has_threads(trace)
    assert line_elsewhere(trace, at) == begun
    assert line_elsewhere(trace, line(trace, 10)) is None
    assert lines_meanwhile(trace, at, at) == [begun]


def test_the_log_says_which_line_goes_on(trace: Trace) -> None:
    log = [*text_log(trace)]
    said = next(place for place, text in enumerate(log) if "goes on" in text)
    assert log[said].strip() == "> (line 6 in forward goes on, in another thread than above)"
    assert re.match(r" *\d+ > line (10|11)  ", log[said - 1])


def test_the_list_says_of_a_row_that_it_is_of_another_thread(trace: Trace) -> None:
    outline = Outline(trace, 0)
    assert ("line 6, another thread", "program") in row_texts(outline, call(trace))[1]
    rows = [row_texts(outline, item) for item in outline.children(None)]
    (row,) = [facts for _, facts in rows if any("mul" in text for text, _ in facts)]
    assert ("with line 6 of another thread", "program") in row


@pytest.mark.parametrize("subject", ["hooks", "engine", "functions"])
def test_one_thread_alone_has_no_such_lines(subject: str) -> None:
    for source in list(programs.SUBJECTS[subject].values())[::4]:
        if "thread" not in source:
            assert not has_threads(traced(source))


def test_the_line_around_a_step_is_that_of_its_own_thread(trace: Trace) -> None:
    around = source_line(trace, call(trace))
    assert around is not None
    assert (around.line, around.function) == (6, "forward")
