"""The use case of sequence numbers: ``examples/collective_overlap.py``, and what the queue shows of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.queued_nodes import queue_at
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.running.program import run
from dispatchviz.trace import Trace

EXAMPLES = Path(__file__).parents[1] / "examples"
PRINTED = """\
as recorded: dense dense dense collective collective
renumbered:  collective collective dense dense dense
"""


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.chdir(EXAMPLES.parent)
    output = io.StringIO()
    outcome = run("examples/collective_overlap.py", (), output)
    assert (outcome.status, output.getvalue()) == (0, PRINTED)
    return outcome.trace


def contested(trace: Trace) -> list[tuple[str, str]]:
    """Where two branches were ready at once: the Node that ran first, and who had to wait."""
    names = {event.node: event.name for event in trace if isinstance(event, ev.NodeCreated)}
    started = [event for event in trace if isinstance(event, ev.NodeStarted)]
    waiting = [(event.name, next(iter(queue_at(trace, event)), None)) for event in started]
    return [(name, names[first.node]) for name, first in waiting if first and not name.endswith("AccumulateGrad")]


def test_the_queue_shows_who_waits(trace: Trace) -> None:
    dense = [("ExpBackward0", "NegBackward0"), ("SqrtBackward0", "NegBackward0"), ("ExpBackward0", "NegBackward0")]
    collective = [("NegBackward0", "ExpBackward0"), ("CloneBackward0", "ExpBackward0")]
    assert contested(trace) == dense + collective


def test_the_step_has_the_sentence_that_the_number_decides(trace: Trace) -> None:
    first = [event for event in trace if isinstance(event, ev.NodeStarted) and event.name == "NegBackward0"][-1]
    (other,) = [each.sequence_nr for each in queue_at(trace, first)]
    assert first.sequence_nr > other
    assert f"of the ready Nodes it has the largest sequence number, {first.sequence_nr} (ExpBackward0" in (
        why_here(trace, first.seq)
    )
    assert f", seq {other} waits)" in why_here(trace, first.seq)
