"""Questions before answers as data: each with the known facts, its choices, and the verdict on each choice."""

from __future__ import annotations

from collections.abc import Collection

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Kind, Prediction
from dispatchviz.explain.predictions.trace_predictions import REVEALING, prediction_at
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.views.predictions.question_rows import verdict
from dispatchviz.views.predictions.spoilers import ASKED_FIRST
from dispatchviz.views.replies import NO_MORE


def question_data(trace: Trace, lines: Lines, kept: Collection[int]) -> dict[str, object]:
    """Return the questions that the steps in ``kept`` answer, in order, and what must be hidden until they are
    answered.
    """
    steps = sorted(step for step in trace.steps_of(*REVEALING) if step in kept)
    topics: dict[tuple[object, ...], int] = {}
    asked = [one for step in steps if (one := prediction_at(trace, step)) is not None]
    return {
        "asked": [_question(trace, one, lines, topics.setdefault(one.topic, len(topics))) for one in asked],
        "hidden": lines.number(ASKED_FIRST),
        "none": NO_MORE.strip(),
        "cells": _cells(trace),
    }


def _question(trace: Trace, asked: Prediction, lines: Lines, topic: int) -> dict[str, object]:
    return {
        "reveals": asked.reveals,
        "question": lines.text(asked.question),
        "known": [lines.text(text) for text in asked.known],
        "choices": [lines.text(choice.text) for choice in asked.choices],
        "right": asked.choices.index(asked.right),
        "verdicts": [lines.number(verdict(trace, asked, choice)) for choice in (*asked.choices, None)],
        "topic": topic,
        "outer": asked.is_outer,
        "next": asked.kind is Kind.NEXT,
    }


def _cells(trace: Trace) -> list[list[int]]:
    """Return for each call its step, and the number of steps until its cell is chosen. Until then two panes would
    reveal the cell.
    """
    chosen = ((step, within(trace, step, ev.KernelSelected)) for step in trace.steps_of(ev.Dispatched))
    return [[step, cell.seq - step] for step, cell in chosen if cell is not None]
