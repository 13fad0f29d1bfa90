"""The actions of the keymap, as functions of the session that return a reply.

An ``Update`` is shown, a ``Question`` is asked in the bottom row, an ``Overlay`` opens over the stepper.

Elsewhere: actions that only change the visible panes (``commands/choosing_panes.py``), keys of an open text (its
screen).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from textual.screen import ModalScreen

from dispatchviz.core.record.events import ErrorRaised
from dispatchviz.explain.things.thing import CellThing
from dispatchviz.tui.commands import going, moves, predicting, searching, sharing
from dispatchviz.tui.questions.question import Question
from dispatchviz.tui.questions.typed_questions import (
    BreakpointQuestion,
    FilterQuestion,
    SearchQuestion,
    StepQuestion,
    toggle_mark,
)
from dispatchviz.views.keymap import QUIT, key_of
from dispatchviz.views.predictions.spoilers import ASKED_FIRST, hides_sentence
from dispatchviz.views.replies import (
    NO_JUMP,
    NO_THING,
    engine_shown,
    no_breakpoints,
    no_marks,
    no_traceback,
    stack_shown,
)
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.tui.screens.stepper_screen import StepperScreen


class Overlay(Struct, frozen=True):
    """A text over the stepper. It closes with the update to show, or with None."""

    make: Callable[[StepperScreen], ModalScreen[Update | None]]


Reply = Update | Question | Overlay


def whole(session: Session) -> Reply:
    """Open the full text of this step."""
    if hides_sentence(session.cursor):
        return Update(session.cursor, ASKED_FIRST)
    from dispatchviz.tui.screens.step_text_screen import StepTextScreen

    return Overlay(lambda view: StepTextScreen(session.trace, session.cursor.at, view.palette))


def glossary(session: Session) -> Reply:
    """Open the glossary with the terms of this step."""
    from dispatchviz.tui.screens.glossary_screen import GlossaryScreen

    return Overlay(lambda view: GlossaryScreen(session.trace, session.cursor.at, view.palette))


def traceback(session: Session) -> Reply:
    """Open Python's traceback of the error at this step, or of the one that ended the program."""
    from dispatchviz.tui.screens.traceback_screen import TracebackScreen
    from dispatchviz.views.details.traceback_rows import traceback_at

    if session.cursor.ahead is not None and not isinstance(session.trace[session.cursor.at], ErrorRaised):
        return Update(session.cursor, ASKED_FIRST)
    text = traceback_at(session.trace, session.cursor.at)
    if not text:
        return Update(session.cursor, line((no_traceback(bool(session.trace.steps_of(ErrorRaised))), "hint")))
    return Overlay(lambda view: TracebackScreen(text, view.palette))


def codegen(session: Session) -> Reply:
    """Open the generated code of this step's operator."""
    from dispatchviz.core.table.pytorch_registrations import pytorch_operators
    from dispatchviz.explain.codegen.operator_at_step import operator_at
    from dispatchviz.tui.screens.codegen_screen import CodegenScreen

    operator = operator_at(session.trace, session.cursor.at)
    if operator in pytorch_operators():
        return Overlay(lambda view: CodegenScreen(operator, view.palette))
    reason = (
        f"{operator} is not an operator of PyTorch, so no code is generated for it"
        if operator
        else "No operator runs at this step"
    )
    return Update(session.cursor, line((f" {reason}", "hint")))


def then_and_now(session: Session) -> Overlay:
    """Open the older statements about this step, with the facts of today and the reasons."""
    from dispatchviz.tui.screens.then_and_now_screen import ThenAndNowScreen

    return Overlay(lambda view: ThenAndNowScreen(session.cursor, view.palette))


def registration(session: Session) -> Reply:
    """Open the registrations of this step's operator."""
    from dispatchviz.explain.cells.registration.program_registrations import history_here
    from dispatchviz.explain.trace_index import statements
    from dispatchviz.tui.screens.registration_screen import RegistrationScreen
    from dispatchviz.views.details.registration_rows import refusal

    trace, at = session.trace, session.cursor.at
    history = history_here(trace, at)
    if history is None:
        return Update(session.cursor, line((f" {refusal(trace, at)}", "hint")))
    here = [step.number for step in history.steps if at <= step.step <= statements.end(trace, at)]
    first = next(step.number for step in history.steps if step.makes_operator)
    return Overlay(lambda view: RegistrationScreen(history, here[0] if here else first, view.palette))


def frames(session: Session) -> Update:
    """Show the next form of the call stack: folded, complete, short."""
    from dispatchviz.views.panes.calls_pane import TITLES

    kinds = tuple(TITLES)
    how = kinds[(kinds.index(session.cursor.frames) + 1) % len(kinds)]
    return Update(replace(session.cursor, frames=how), line((stack_shown(TITLES[how]), "hint")))


def engine(session: Session) -> Update:
    """Unfold all sections of the engine pane, or only those of the step."""
    unfolds = not session.cursor.unfolds_engine
    return Update(replace(session.cursor, unfolds_engine=unfolds), line((engine_shown(unfolds), "hint")))


def marks(session: Session) -> Reply:
    """Open the list of marks."""
    if not session.marks.names:
        return Update(session.cursor, line((no_marks(), "hint")))
    from dispatchviz.tui.screens.marks_screen import MarksScreen

    return Overlay(lambda view: MarksScreen(session, view.palette))


def predict(session: Session) -> Reply:
    """Start predict mode, or end it and list the guesses."""
    if not session.asking.on:
        return predicting.started(session)
    if not len(session.asking.guesses):
        return predicting.stopped(session)
    from dispatchviz.tui.screens.guesses_screen import GuessesScreen

    return Overlay(lambda view: GuessesScreen(session, view.palette))


def breakpoints(session: Session) -> Reply:
    """Open the list of breakpoints."""
    if not session.cursor.breakpoints:
        return Update(session.cursor, line((no_breakpoints(), "hint")))
    from dispatchviz.tui.screens.breakpoints_screen import BreakpointsScreen

    return Overlay(lambda view: BreakpointsScreen(session, view.palette))


def ask_what_if(session: Session) -> Reply:
    """Open the changes to try at this step. The other run would show the answers of a lesson."""
    if session.guide is not None and session.cursor.ahead is not None:
        return Update(session.cursor, ASKED_FIRST)
    from dispatchviz.tui.comparison.what_if.what_if_screen import offered

    found = offered(session)
    if isinstance(found, Update):
        return found
    from dispatchviz.tui.comparison.what_if.what_if_screen import WhatIfScreen

    return Overlay(lambda view: WhatIfScreen(session, found, view.palette))


def visited(session: Session) -> Reply:
    """Open the list of visited places."""
    if len(session.cursor.places) == 1:
        return Update(session.cursor, line((NO_JUMP, "hint")))
    from dispatchviz.tui.screens.places_screen import PlacesScreen

    return Overlay(lambda view: PlacesScreen(session.cursor, view.palette))


def ask_thing(session: Session, row: Line | None) -> Reply:
    """Open the questions about the thing of a row, or of the step that it leads to; without a row, about the things of
    this step.
    """
    from dispatchviz.explain.things.step_things import things_of  # not needed for the first paint

    about = None if row is None else row.about
    if isinstance(about, CellThing):
        return _cell(about)
    at = session.cursor.at if row is None or row.goto is None else row.goto
    here = things_of(session.trace, at)
    things = [about, *(thing for thing in here if thing != about)] if about else here
    if not things:
        return Update(session.cursor, line((NO_THING, "hint")))
    from dispatchviz.tui.screens.things_screen import ThingsScreen

    return Overlay(lambda view: ThingsScreen(session.cursor, things, view.palette))


def go_to_row(session: Session, row: Line) -> Reply:
    """Follow a row of a pane. If it leads to no step, open the questions about its thing."""
    return ask_thing(session, row) if row.goto is None else moves.goto(session, row.goto)


def _cell(cell: CellThing) -> Overlay:
    from dispatchviz.tui.screens.cell_screen import CellScreen

    return Overlay(lambda view: CellScreen(cell, view.palette))


def help_of_pane(session: Session) -> Overlay:
    """Open the help with the keys and the description of the pane with the focus."""
    from dispatchviz.tui.screens.help_screen import HelpScreen

    return Overlay(lambda view: HelpScreen(view.focused_pane, view.palette, session.leaving))


def how_to_quit(session: Session) -> Update:
    """Answer Ctrl+C with the key that quits."""
    return Update(session.cursor, line((f" {key_of(QUIT).first} {session.leaving.said}", "hint")))


# -- texts that a page of the trace shows too --------------------------------------------------------------------------


ACTIONS: Mapping[str, Callable[..., Reply]] = {
    "move": moves.move,
    "jump": moves.jump,
    "detail": moves.detail,
    "target": going.target,
    "targets": going.targets,
    "cross": going.cross,
    "no_target": going.no_target,
    "elsewhere": going.elsewhere,
    "search": searching.search,
    "ask_step": StepQuestion,
    "ask_search": SearchQuestion,
    "ask_breakpoint": BreakpointQuestion,
    "ask_filter": FilterQuestion,
    "toggle_mark": toggle_mark,
    "marks": marks,
    "breakpoints": breakpoints,
    "what_if": ask_what_if,
    "places": visited,
    "whole": whole,
    "glossary": glossary,
    "traceback": traceback,
    "codegen": codegen,
    "then_and_now": then_and_now,
    "registration": registration,
    "frames": frames,
    "engine": engine,
    "predict": predict,
    "help": help_of_pane,
    "copy_link": sharing.copy_link,
    "open_picture": sharing.open_picture,
}
"""The actions by their names in the keymap. Arguments in the keymap follow the session."""
