"""Predict mode: a move stops at a question, and an answer leads to the step. Also the places of a lesson."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.lesson_rows import BACK
from dispatchviz.views.predictions.question_rows import verdict
from dispatchviz.views.replies import NO_MORE
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide


def started(session: Session) -> Update:
    """Start predict mode."""
    session.asking.start(session.trace)
    if session.asking.ahead(session.trace, session.cursor.at) is None:
        start = key_of("jump('first')").first
        return Update(session.cursor, line((f"{NO_MORE}. {start} goes to the start", "hint")))
    score = session.asking.score(session.trace)
    before = f" {score} so far." if score else ""
    step, again = key_of("move('resume')").first, key_of("predict").first
    text = f" Predict mode: outcomes stay hidden (?) until you guess.{before}"
    keys = f"  {step} goes to the next line or question, {again} ends predict mode."
    unseen = UNSEEN if is_live(session.trace.header) and session.trace.steps_of(ev.BackwardStarted) else ""
    return Update(session.cursor, line((text, "hint"), (f"{keys}{unseen}", "dim")))


UNSEEN = " PyTorch does not report its dependency counts, so there are no questions about them."
"""The sentence about the questions that a recording of an installed PyTorch does not answer."""


def stopped(session: Session) -> Update:
    """End predict mode."""
    session.asking.on = False
    score = session.asking.score(session.trace)
    said = f": {score}" if score else ""
    return Update(session.cursor, line((f" Predict mode ended{said}", "hint")))


def forgotten(session: Session) -> Update:
    """Delete all guesses, so that all questions are asked again."""
    problem = session.asking.forget()
    key = key_of("predict").first
    return Update(session.cursor, _with(line((f" All guesses deleted. {key} starts again", "hint")), problem))


def question_on_the_way(session: Session, before: Cursor, after: Cursor) -> Update | None:
    """Return the update that asks a question in place of a move that would show its answer; None if the move shows
    none.
    """
    asked = session.asking.on_the_way(session.trace, before.at, after.at)
    return None if asked is None else Update(before.goto(asked.asked), asks=asked)


def answered(session: Session, asked: Prediction, choice: Choice | None) -> Update:
    """Go to the step that shows the answer, with a note on the guess. Without a choice, only go there."""
    problem = session.asking.answer(asked, choice)
    after = session.cursor.goto(asked.reveals)
    return Update(after, _with(verdict(session.trace, asked, choice), problem))


def guess_note(session: Session, at: int) -> Line | None:
    """The note on the guess about a step; None without a guess, or outside predict mode."""
    guess = session.asking.guesses.at(session.trace, at) if session.asking.on else None
    return None if guess is None else verdict(session.trace, *guess)


def masked(session: Session, cursor: Cursor) -> Cursor:
    """The cursor with the question whose outcomes it must hide."""
    asking, trace = session.asking, cursor.trace
    ahead = asking.ahead(trace, cursor.at) if asking.on else None
    session.search_until(len(trace) if ahead is None else ahead.first_hidden)
    if cursor.search is not session.search:
        cursor = replace(cursor, search=session.search)
    if not asking.on:
        return cursor.asked_ahead(None, "")
    score = asking.score(trace)
    return cursor.asked_ahead(ahead, f"predict: {score}" if score else "predict")


def _with(note: Line, problem: str) -> Line:
    return line(*note.spans, (f"  ({problem})" if problem else "", "warning"))


def along(session: Session, guide: Guide, forward: bool) -> Update:
    """Go to the next or the previous place of the lesson, asking its question first."""

    before, place = session.cursor, guide.moved(forward)
    if place is None:
        return Update(before.goto(guide.place.step), _end(session, guide) if forward else None)
    after = before.goto(place.step)
    return question_on_the_way(session, before, after) or Update(after)


def _end(session: Session, guide: Guide) -> Line:
    """The note at the end of a lesson."""
    score = session.asking.score(session.trace)
    answers = f" Your answers: {score}." if score else ""
    after = f" Next: dispatchviz lesson {guide.after}." if guide.after else ""
    back = key_of(BACK).first
    return line((f" End of the lesson.{answers}", "good"), after, (f"  {back} goes back", "dim"))
