"""Questions before answers as data: each with the known facts, its choices, and the verdict on each choice."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.explain.predictions.trace_predictions import REVEALING, prediction_at
from dispatchviz.explain.predictions.typed_answers import normal
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.views.panes.empty_titles import NONE_LATER, NONE_LATER_HERE
from dispatchviz.views.predictions.question_rows import verdict
from dispatchviz.views.predictions.spoilers import ASKED_FIRST, asks_for_next, first_on_line, telling_kernels
from dispatchviz.views.replies import NO_MORE


def question_data(
    trace: Trace, lines: Lines, kept: Collection[int], own: Mapping[int, Prediction]
) -> dict[str, object]:
    """Return the questions that the steps in ``kept`` answer, in order, and what must be hidden until they are
    answered. ``own`` has the questions of a lesson.
    """
    steps = sorted({*own, *(step for step in trace.steps_of(*REVEALING) if step in kept)})
    topics: dict[tuple[object, ...], int] = {}
    asked = [one for step in steps if (one := own.get(step) or prediction_at(trace, step)) is not None]
    return {
        "asked": [_question(trace, one, lines, topics.setdefault(one.topic, len(topics))) for one in asked],
        "hidden": lines.number(ASKED_FIRST),
        "none": NO_MORE.strip(),
        "none_later": [NONE_LATER, NONE_LATER_HERE],
        "cells": _cells(trace),
    }


def _question(trace: Trace, asked: Prediction, lines: Lines, topic: int) -> dict[str, object]:
    found: dict[str, object] = {
        "reveals": asked.reveals,
        "question": lines.text(asked.question),
        "known": [lines.text(text) for text in asked.known],
        "choices": [lines.text(choice.text) for choice in asked.choices],
        "right": asked.choices.index(asked.right) if asked.choices else 0,
        "verdicts": [lines.number(verdict(trace, asked, choice)) for choice in (*_answers(asked), None)],
        "topic": topic,
        "outer": asked.is_outer,
        "next": asks_for_next(trace, asked),
        "line": first_on_line(trace, asked),
    }
    if asked.shown_from:
        found["hides"] = asked.shown_from
    if telling := telling_kernels(trace, asked):
        found["telling"] = telling
    if not asked.choices:
        found["accepts"] = normal(asked.right.text)
    return found


def _answers(asked: Prediction) -> tuple[Choice, ...]:
    """Return the choices. If the reader types the answer, they are the right one and any other one."""
    return asked.choices or (asked.right, Choice(TYPED, ""))


TYPED = "TYPED"
"""A placeholder for the text that the reader typed."""


def _cells(trace: Trace) -> list[list[int]]:
    """Return for each call its step, and the number of steps until its cell is chosen. Until then two panes would
    reveal the cell.
    """
    chosen = ((step, within(trace, step, ev.KernelSelected)) for step in trace.steps_of(ev.Dispatched))
    return [[step, cell.seq - step] for step, cell in chosen if cell is not None]
