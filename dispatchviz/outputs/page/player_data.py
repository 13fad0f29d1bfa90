"""All data that a page shows of a trace, as one value for JSON."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING

from dispatchviz.core.record.events import BackwardStarted, ErrorRaised, ProgramRaised
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.joined_columns import in_memory
from dispatchviz.explain.diagnosis.mistakes import mistakes
from dispatchviz.explain.kinds.all_kinds import rule
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.sentences.glossary import TERMS
from dispatchviz.explain.trace_index.recorded_engine import why_chosen
from dispatchviz.explain.trace_index.thread_state import TELLING, thread_state
from dispatchviz.foundation.shown_text import quoted
from dispatchviz.outputs.page.gallery_links import GalleryLinks
from dispatchviz.outputs.page.graph_data import graph_data
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.kept_steps import kept_steps
from dispatchviz.outputs.page.key_data import key_data
from dispatchviz.outputs.page.moments import changes
from dispatchviz.outputs.page.pane_tracks import pane_tracks, panes_of
from dispatchviz.outputs.page.places_data import places_data
from dispatchviz.outputs.page.question_data import question_data
from dispatchviz.outputs.page.remarks_data import remarks_data
from dispatchviz.outputs.page.step_texts import step_texts
from dispatchviz.outputs.page.then_data import then_data
from dispatchviz.outputs.page.tracks import Track
from dispatchviz.outputs.page.tree_data import tree_data
from dispatchviz.outputs.page.walk_data import walk_data
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.lesson_rows import said
from dispatchviz.views.pane_help import ABOUT, LEGEND
from dispatchviz.views.screen_bars import (
    direction,
    engine_spans,
    first_notes,
    lines_of_sentence,
    place_at_depth,
    sentence_at,
    short,
)
from dispatchviz.views.session import Session
from dispatchviz.views.text import code_colors
from dispatchviz.views.text.marked_terms import with_terms
from dispatchviz.views.text.styled_line import Line, Span, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide

FORMAT = 1
"""The version of the data. The page that reads it is in the same file."""


def player_data(trace: Trace, guide: Guide | None = None, links: GalleryLinks | None = None) -> dict[str, object]:
    """Return the data of a page for a trace that has steps. ``guide`` is the lesson of the page, if there is one;
    ``links`` are those of its gallery.
    """
    code_colors.load()
    trace = _in_memory(trace)
    lines, kept = Lines(), kept_steps(trace)
    mistakes(trace)
    first = Session(trace).cursor.at
    why, where = _bars(trace, lines)
    panes = panes_of(trace)
    data = {
        "format": FORMAT,
        "program": trace.header.program,
        "engine": lines.number(line(*engine_spans(trace), *_reason(trace))),
        "notices": trace.notices,
        "first_notes": lines.numbers(with_terms(trace, note) for note in _first_notes(trace, first)),
        "glossary": [(term.name, term.in_prose or term.words, term.meaning) for term in TERMS],
        "count": len(trace),
        "first": first,
        "level": DEFAULT,
        "why": why,
        "where": where,
        "tree": tree_data(trace, lines),
        "panes": pane_tracks(trace, lines, kept),
        "walk": walk_data(trace, lines, kept),
        "questions": question_data(trace, lines, kept, {} if guide is None else guide.questions),
        "graph": graph_data(trace, lines, kept),
        "places": places_data(trace),
        "texts": step_texts(trace, lines, kept),
        "then": then_data(trace, lines),
        "keys": key_data(panes),
        "remarks": remarks_data(guide, links),
        "about": {number: lines.text(text) for number, text in ABOUT.items() if number in (STEPS, *panes)},
        "legend": LEGEND,
        "left_out": lines.number(_left_out(trace)),
        "lesson": None if guide is None else _lesson(trace, guide, lines),
        "elsewhere": () if guide is None else _elsewhere(trace, guide, lines),
    }
    return {**data, "lines": lines.data()}


def _in_memory(trace: Trace) -> Trace:
    """Return the trace with all of its events and columns in memory, because a page reads each of them many times."""
    if isinstance(trace.events, tuple):
        return trace
    return Trace(trace.header, tuple(trace.events), trace.notice, in_memory(trace.columns))


def _reason(trace: Trace) -> list[Span]:
    """Return the span on why ``--engine auto`` chose the engine."""
    reason = why_chosen(trace.header)
    return [(f"; {reason}", "hint")] if reason else []


def _bars(trace: Trace, lines: Lines) -> tuple[dict[str, object], dict[str, object]]:
    """Return the sentence and rule of each step, and the place of each step."""
    why, where, known = Track(), Track(), dict[Hashable, tuple[int, ...]]()
    marked = cache(lambda row: lines.number(with_terms(trace, row)))
    placed = cache(lambda *place: (lines.number(line(*place_at_depth(*place))),))
    news, depths = changes(trace, *TELLING, BackwardStarted), trace.depths
    for at, event in enumerate(trace):
        if at in news:
            now = direction(trace, at), short(thread_state(trace, at))
        sentence = sentence_at(trace, at)
        on = sentence, rule(event), type(event), event.message if isinstance(event, ErrorRaised | ProgramRaised) else ""
        if on not in known:
            known[on] = tuple(map(marked, lines_of_sentence(trace, event, sentence)))
        why.show(at, known[on])
        where.show(at, placed(depths[at], *now))
    return why.data(), where.data()


def _first_notes(trace: Trace, first: int) -> list[Line]:
    """Return a summary of the program and the keys that matter. For a program that stopped with an error it is empty,
    because the last step gives the reason.
    """
    return [] if isinstance(trace[first], ProgramRaised) else first_notes(trace, first)


def _left_out(trace: Trace) -> Line:
    """Return the line that a pane shows at a step for which it is not in the file."""
    text = "Not in this file: in a long program, steps that repeat others come without this pane."
    program = trace.header.program
    if not program.endswith(".py"):
        return line((text, "dim"))
    command = f"dispatchviz run --step {STEP} {quoted(program)}"
    return line((f"{text} In a terminal: ", "dim"), (command, ""))


STEP = "STEP"
"""A placeholder for the number of the step."""


def _lesson(trace: Trace, guide: Guide, lines: Lines) -> list[dict[str, object]]:
    """Return the places of a lesson in order: the step, its rows, whether the reader is asked there."""
    session = Session(trace, guide=guide)
    found = []
    for number, place_of in enumerate(guide.places):
        guide.at = number
        shown = said(session, session.cursor.goto(place_of.step))
        rows = lines.numbers(with_terms(trace, row) for row in shown.rows)
        found.append({"step": place_of.step, "rows": rows, "asks": place_of.asks, "alone": shown.alone})
    guide.at = 0
    return found


def _elsewhere(trace: Trace, guide: Guide, lines: Lines) -> tuple[int, ...]:
    """Return the lesson's text for steps other than its own."""
    session = Session(trace, guide=guide)
    return lines.numbers(said(session, session.cursor.goto(0 if guide.place.step else 1)).rows)
