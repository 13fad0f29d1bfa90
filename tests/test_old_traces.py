"""A trace from an older version opens, and every step of it has a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

import dispatchviz
from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.graph.queued_nodes import queue_at
from dispatchviz.explain.kinds.all_kinds import label, why_here

OLD = Path(__file__).parent / "data" / "trace_of_format_1.jsonl.gz"
"""The founding program, from the version before meta and impl were spans."""
LISTING = OLD.with_name("trace_of_format_2.jsonl.gz")
"""Six branches, from the version that listed the whole ready queue for each Node that joined or left it."""

PLAIN = OLD.with_name("trace_of_format_3.dvtrace")
"""A multiplication, from the version that packed neither lines nor columns."""
IN_PARTS = OLD.with_name("trace_of_format_3_in_parts.dvtrace")
"""The same, with an index in several parts."""


@pytest.mark.parametrize("file", [PLAIN, IN_PARTS])
@pytest.mark.parametrize("cut", [0, 1])
def test_a_file_without_packs_opens(file: Path, cut: int, tmp_path: Path) -> None:
    raw = file.read_bytes()
    (tmp_path / "old.dvtrace").write_bytes(raw[: len(raw) - cut])
    trace = dispatchviz.load(tmp_path / "old.dvtrace")
    assert bool(trace.notice) == bool(cut)
    assert [event.seq for event in trace] == list(range(58))
    assert [(*call[:2], list(call[2])) for call in trace.columns.calls()][-1] == ("aten::mul.Tensor", "CPU", [45])
    assert isinstance(trace[trace.columns.parents[45]], ev.GuardEntered)


def test_a_trace_of_format_1_opens() -> None:
    trace = dispatchviz.load(OLD)
    assert trace.header.format == 1
    assert not trace.notice
    assert {event.kind for event in trace if isinstance(event, ev.Unknown)} == {"MetaComputed", "ImplRan"}
    for event in trace:
        assert label(trace, event.seq)
        assert why_here(trace, event.seq)
    (output,) = [e for e in trace if isinstance(e, ev.OutputAllocated) and e.tensor == 4]
    assert label(trace, output.seq) == "set_output_raw_strided: z (t4) (functional)"


def test_old_candidates_are_shown_in_current_words() -> None:
    trace = dispatchviz.load(OLD)
    cards = [cell_card(trace, event.seq) for event in trace if isinstance(event, ev.Dispatched)]
    outcomes = {candidate.outcome for card in cards if card for candidate in card.candidates}
    assert {"taken", "not reached", "does not cover AutogradCPU"} <= outcomes
    assert not [outcome for outcome in outcomes if "asked" in outcome or "stand" in outcome]


def test_old_ready_queue_keeps_its_listed_order() -> None:
    trace = dispatchviz.load(LISTING)
    assert trace.header.format == 2
    assert not trace.notice
    queued = [event for event in trace if isinstance(event, ev.NodeQueued)]
    started = [event for event in trace if isinstance(event, ev.NodeStarted)]
    assert [len(event.queue or ()) for event in queued] == [1, 1, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1]
    assert [len(event.waiting or ()) for event in started] == [0, 0, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0]
    for event in queued:
        assert [(each.node, each.sequence_nr) for each in queue_at(trace, event)] == list(event.queue or ())
    for run in started:
        assert [(each.node, each.sequence_nr) for each in queue_at(trace, run)] == list(run.waiting or ())
    assert [why_here(trace, run.seq).count("and more wait") for run in started] == 2 * [0] + 4 * [1] + 8 * [0]


def test_old_graph_is_drawn(tmp_path: Path) -> None:
    target = tmp_path / "graph.dot"
    dispatchviz.load(OLD).backward_graph().render(str(target))
    assert "AddBackward0" in target.read_text("utf-8")
