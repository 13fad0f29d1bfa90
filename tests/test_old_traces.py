"""A trace that an older version wrote opens, and every step of it is told."""

from __future__ import annotations

from pathlib import Path

import dispatchviz
from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.explain.sentences.step_sentences import why_here

OLD = Path(__file__).parent / "data" / "trace_of_format_1.jsonl.gz"
"""The founding program, by the version before meta and impl were spans."""


def test_a_trace_of_format_1_opens() -> None:
    trace = dispatchviz.load(OLD)
    assert trace.header.format == 1
    assert not trace.notice
    assert {event.kind for event in trace if isinstance(event, ev.Unknown)} == {"MetaComputed", "ImplRan"}
    for event in trace:
        assert label(trace, event.seq)
        assert why_here(trace, event.seq)
    (output,) = [e for e in trace if isinstance(e, ev.OutputAllocated) and e.tensor == 4]
    assert label(trace, output.seq) == "set_output_raw_strided: t4 (functional)"


def test_its_graph_is_drawn(tmp_path: Path) -> None:
    target = tmp_path / "graph.dot"
    dispatchviz.load(OLD).backward_graph().render(str(target))
    assert "AddBackward0" in target.read_text("utf-8")
