"""Opening a lesson: its program runs, then the stepper opens. Without a terminal, the lesson is printed as text."""

from __future__ import annotations

import os
from pathlib import Path

from dispatchviz.cli.input_source import alone
from dispatchviz.cli.lesson_check import run_lesson, with_all_problems
from dispatchviz.cli.lesson_texts import hand_out
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import script_of
from dispatchviz.foundation.terminal_output import print_lines
from dispatchviz.lessons.answers import KeptAnswers
from dispatchviz.lessons.catalog import lesson_after
from dispatchviz.lessons.guide import Guide
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.problem import WrongLessonError, refusal
from dispatchviz.outputs.formats import suffix_of
from dispatchviz.outputs.hand_out.format import HAND_OUT, HAND_OUT_MARK, check_hand_out
from dispatchviz.outputs.page.format import PAGE, check_page
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, write_bytes, write_text
from dispatchviz.tui.terminal.support import can_run
from dispatchviz.views.keymap import QUITS, Leaving


def show_lesson(
    lesson: Lesson,
    plain: bool,
    present: bool,
    output: str | None,
    leaving: Leaving = QUITS,
    answers: Path | None = None,
    after: str | None = None,
) -> int:
    """Show a lesson, or write it to ``output``; return the exit status.

    ``answers`` is the file that keeps the learner's answers. ``after`` is the lesson that comes next; None means the
    next one in the lesson's own folder. Raise DispatchvizError if the program does not end as the lesson states, or
    another kind of file is already there.
    """
    if output is not None:
        alone("-o", plain=plain, present=present, answers=answers)
        _check_name(output)
        (check_page if _is_page(output) else check_hand_out)(output)
    guide, trace = guided(lesson, output is not None, answers, after)
    if output == STANDARD_OUTPUT:
        print_lines(hand_out(guide, trace, paper=True))
    elif output is not None and _is_page(output):
        from dispatchviz.outputs.page.player_page import player_page

        write_bytes(output, player_page(trace, guide))
        print_lines([f"{output} written"])
    elif output is not None:
        write_text(output, (HAND_OUT_MARK, "", *hand_out(guide, trace, paper=True)))
        print_lines([f"{output} written"])
    elif plain or can_run() is not None:
        print_lines(hand_out(guide, trace))
    else:
        from dispatchviz.tui.app import show

        again = (script_of(lesson.path),)
        show(trace, guide.place.step, run_arguments=again, leaving=leaving, guide=guide, presenting=present)
    return 0


def guided(
    lesson: Lesson, for_others: bool = True, answers: Path | None = None, after: str | None = None
) -> tuple[Guide, Trace]:
    """Run a lesson. Return its places and the trace, which reveals no folder if it is for others.

    Raise DispatchvizError if the program does not end as the lesson states, or a line looks like a directive and is
    none.
    """
    if lesson.problems:
        raise with_all_problems(refusal(lesson.path, lesson.problems))
    kept = None if answers is None else KeptAnswers(answers)
    outcome = run_lesson(lesson)
    ended = type(outcome.error).__name__ if outcome.error is not None else ""
    if ended != lesson.raises:
        found = outcome.error_message or "it raised nothing"
        raise DispatchvizError(f"the program of the lesson {lesson.name} does not end as the lesson states: {found}")
    trace = without_folders(outcome.trace) if for_others else outcome.trace
    try:
        return Guide(lesson, trace, lesson_after(lesson) if after is None else after, kept), trace
    except WrongLessonError as error:
        raise with_all_problems(error) from None


def _check_name(output: str) -> None:
    """Raise DispatchvizError if a lesson cannot be written under this file name."""
    suffix = os.path.splitext(output)[1]
    if output != STANDARD_OUTPUT and suffix not in ("", *HAND_OUT.suffixes, *PAGE.suffixes):
        raise DispatchvizError(f"cannot write {output}. {HAND_OUT.listed}. {PAGE.listed}")


def _is_page(output: str) -> bool:
    """Return whether the lesson is written as a page with the stepper, not as a hand-out."""
    return suffix_of(output) in PAGE.suffixes
