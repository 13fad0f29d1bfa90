"""The sub-steps of key-set cards as data: the stages of each call that begins at a step, with lines and sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.key_set_stages import stage_sentence, stages_at
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.pane_tracks import WIDTH
from dispatchviz.outputs.page.tracks import encoded
from dispatchviz.views.panes.key_set_pane import rows_at, title_at


def walk_data(trace: Trace, lines: Lines, kept: Iterable[int]) -> dict[str, object]:
    """Return for each call its step, and for each stage a list of lines, the title of the pane, the sentence."""
    lists: dict[tuple[int, ...], int] = {}
    calls = [
        [step, *(_stage(trace, step, stage, lines, lists) for stage in stages_at(trace, step))]
        for step in _calls(trace, kept)
    ]
    return {"calls": calls, "lists": encoded(lists)}


def _calls(trace: Trace, kept: Iterable[int]) -> Iterator[int]:
    there = set(kept)
    return (step for step in trace.steps_of(ev.Dispatched) if step in there)


def _stage(trace: Trace, step: int, stage: int, lines: Lines, lists: dict[tuple[int, ...], int]) -> list[int]:
    card = key_set_card(trace, step)
    assert card is not None
    rows = lines.numbers(rows_at(trace, step, WIDTH, stage))
    shown = lists.setdefault(rows, len(lists))
    return [shown, lines.text(title_at(trace, step, stage)), lines.text(stage_sentence(card, stage))]
