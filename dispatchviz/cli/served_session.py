"""The process of a browser's session of ``dispatchviz serve``: a home screen with the files that a teacher offers.

Two things restrict a reader to these files. ``foundation/reader_rights.py`` disables every key that leads to other
files. Behind it, the process itself writes only in its own folder and the file of answers, and starts no other program.
A program that tries gets a ``PermissionError``.
"""

from __future__ import annotations

import fcntl
import os
import resource
import sys
import tempfile
import termios
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from dispatchviz.cli.end_by_signal import die
from dispatchviz.cli.home import keep_open
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.foundation.reader_rights import give_up_files, permits
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.serving.offer import Kind, Offer, Offered
from dispatchviz.tui.home.home_list import PROGRAM, QUESTIONS, TRACE, Entry, Home
from dispatchviz.tui.home.home_replies import Chosen
from dispatchviz.views.keymap import GOES_HOME

GROUPS = {Kind.LESSON: "Lessons", Kind.SCRIPT: "Programs", Kind.TRACE: "Traces"}
"""The headings above the offered files."""

COMMANDS = {Kind.LESSON: "lesson", Kind.SCRIPT: "run", Kind.TRACE: "open"}
"""The commands that open the same file at a terminal."""

BEGINS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn")
"""Python's audit events for starting another program."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

DEVICES = "/dev/"
"""Files here keep nothing: the terminal, ``/dev/null``."""


def main() -> int:
    """Show the offer in ``sys.argv`` until the reader quits; return the exit status."""
    offer = Offer.decoded(sys.argv[1])
    _take_terminal()
    _restrict(offer)
    try:
        return keep_open(_home(offer), partial(_traces, offer), partial(_traces, offer), partial(_shown, offer))
    except EndedBySignal as end:
        die(end.number)
        return 128 + end.number
    except DispatchvizError as error:
        complain(str(error))
        return error.status


def _take_terminal() -> None:
    """Make standard input the controlling terminal of this session, so that Ctrl+C and a hang-up reach the process."""
    with suppress(OSError):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


# -- what a session must not do ---------------------------------------------------------------------------------------


def _restrict(offer: Offer) -> None:
    give_up_files()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # Ctrl+\ ends a running program, which must leave no core file
    sys.dont_write_bytecode = True
    folders = [tempfile.gettempdir(), *([os.path.dirname(os.path.abspath(offer.answers))] if offer.answers else [])]
    sys.addaudithook(partial(refuse, tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)))


def refuse(folders: Sequence[str], event: str, arguments: tuple[object, ...]) -> None:
    """Raise PermissionError for anything that a session must not do. It may write in ``folders`` only."""
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & WRITES and isinstance(path, str | bytes | os.PathLike):
            file = os.path.realpath(os.fsdecode(path))
            if not os.path.join(file, "").startswith(
                (*folders, DEVICES)
            ):  # an unnamed file is opened through its folder
                raise PermissionError(f"a served session writes no files: {file}")
    elif event in BEGINS:
        raise PermissionError("a served session starts no other program")


# -- what it shows ----------------------------------------------------------------------------------------------------


def _home(offer: Offer) -> Home:
    programs = tuple(_entry(each) for each in offer.files if each.kind is not Kind.TRACE)
    questions = tuple(each for each in QUESTIONS if permits(f"ask({each.target!r})"))
    note = "Enter opens a lesson or runs a program; q comes back here"
    if offer.answers:
        note = f"You are {Path(offer.answers).stem}: your answers in lessons are kept for your teacher. {note}"
    return Home(programs, _traces(offer), questions).goto(0).noted(note)


def _traces(offer: Offer) -> tuple[Entry, ...]:
    return tuple(_entry(each) for each in offer.files if each.kind is Kind.TRACE)


def _entry(offered: Offered) -> Entry:
    kind = TRACE if offered.kind is Kind.TRACE else PROGRAM
    named = offered.name if offered.kind is Kind.LESSON else offered.path
    command = f"dispatchviz {COMMANDS[offered.kind]} {named}"
    return Entry(kind, offered.path, GROUPS[offered.kind], offered.name, offered.shows, command)


def _shown(offer: Offer, chosen: Chosen) -> tuple[str, str]:
    """Show one of the offered files and no other; return a remark and its role."""
    from dispatchviz.tui.terminal.support import can_run

    offered = next((each for each in offer.files if each.path == chosen.source), None)
    if offered is None:
        raise DispatchvizError(f"{chosen.source} is not offered here")
    if (why_not := can_run()) is not None:
        return f"{offered.name} cannot be shown: {why_not}", "warning"
    match offered.kind:
        case Kind.LESSON:
            return _lesson(offer, offered)
        case Kind.SCRIPT:
            return _script(offered)
        case Kind.TRACE:
            return _trace(offered)


def _lesson(offer: Offer, offered: Offered) -> tuple[str, str]:
    from dispatchviz.cli.lesson_show import show_lesson
    from dispatchviz.foundation.shipped_examples import located
    from dispatchviz.lessons.lesson_file import read_lesson

    names = [each.name for each in offer.files if each.kind is Kind.LESSON]
    after = "".join(names[names.index(offered.name) + 1 :][:1])
    answers = Path(offer.answers) if offer.answers else None
    show_lesson(read_lesson(Path(located(offered.path))), False, False, None, GOES_HOME, answers, after)
    return (f"The next lesson is {after}", "hint") if after else ("", "")


def _script(offered: Offered) -> tuple[str, str]:
    from dispatchviz.cli.chosen_engine import chosen_engine
    from dispatchviz.cli.script_run import run_script
    from dispatchviz.tui.show import show

    outcome = run_script(offered.path, (), "auto", None, engine=chosen_engine(None, offered.path))
    if not len(outcome.trace):
        return f"{offered.name}: nothing was recorded, so there are no steps to show", "hint"
    show(outcome.trace, None, "", run_arguments=(), pager=False, leaving=GOES_HOME)
    return (outcome.error_message, "error") if outcome.error is not None else ("", "")


def _trace(offered: Offered) -> tuple[str, str]:
    from dispatchviz.trace import Trace
    from dispatchviz.tui.show import show

    trace = Trace.load(offered.path)
    if not len(trace):
        return trace.notice or f"{offered.name}: there are no steps to show", "hint"
    show(trace, None, "", run_arguments=(), pager=False, leaving=GOES_HOME)
    return "", ""
