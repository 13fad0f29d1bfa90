"""``dispatchviz`` alone in a terminal: show the home screen, open what its reader chooses, and return to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from dispatchviz.cli.trace_folders import kept_files, places
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.foundation.garbage_collection import collect_rarely
from dispatchviz.foundation.shipped_examples import FOLDER, examples, is_lesson, located
from dispatchviz.tui.home.home_list import QUESTIONS, TRACE, Entry, Home, program_entries
from dispatchviz.tui.home.home_replies import Chosen
from dispatchviz.tui.home.home_rows import FIRST
from dispatchviz.tui.home.kept_trace import as_typed, facts_of, trace_entry
from dispatchviz.tui.terminal.keymaps import use_from_environment
from dispatchviz.views.keymap import GOES_HOME
from dispatchviz.views.text.console import Console


def run_home() -> int:
    """Open the home screen until its reader quits. Raise EndedBySignal if a signal ends it."""
    collect_rarely()
    import dispatchviz.tui.home.home_app  # noqa: F401

    home = Home(program_entries(examples()), _traces(), QUESTIONS).goto(0).noted(FIRST)
    if wrong := use_from_environment():
        home = home.noted(wrong, "warning")
    return keep_open(home, _traces, _traces_with_facts, _shown)


Traces = Callable[[], tuple[Entry, ...]]
"""A function that returns the rows of the traces that exist now."""

Shown = Callable[[Chosen], tuple[str, str]]
"""A function that shows the reader's choice; it returns a remark and its role."""


def keep_open(home: Home, traces: Traces, with_facts: Traces, shown: Shown) -> int:
    """Show the home screen and each choice, until the reader quits. Raise EndedBySignal if a signal ends it."""
    from dispatchviz.tui.home.home_app import show

    while True:
        home, chosen = show(home, _look_up, with_facts)
        if chosen is None:
            return 0
        text, role = _carried_out(chosen, shown)
        home = _back_from(chosen, replace(home, traces=traces())).noted(text, role)


def _look_up(command: str, typed: str) -> Callable[[Console], Iterable[str]]:
    from dispatchviz.cli.looked_up import look_up  # click, which the first screen does not need

    return look_up(command, typed)


def _traces() -> tuple[Entry, ...]:
    return tuple(entry for path in kept_files() if (entry := trace_entry(path)))


def _traces_with_facts() -> tuple[Entry, ...]:
    return tuple(entry for path in kept_files() if (entry := trace_entry(path, facts_of(path))))


def _back_from(chosen: Chosen, home: Home) -> Home:
    """Return the home screen with the cursor where it was, or on the new trace if the file that ran has no row."""
    left = next((at for at, entry in enumerate(home.entries) if entry.kind == TRACE), None)
    ran = not chosen.name and left is not None and Path(chosen.source).stem == home.entries[left].name
    return home.goto(left) if ran and left is not None else home


def _carried_out(chosen: Chosen, shown: Shown) -> tuple[str, str]:
    """Show the choice until the stepper is closed; return a remark and its role.

    A program cannot end the home screen, except by ending the process. Raise EndedBySignal if a signal asks for that.
    """
    environment = dict(os.environ)
    try:
        return shown(chosen)
    except KeyboardInterrupt:
        return f"{chosen.source}: interrupted", "hint"
    except EndedBySignal as end:
        if end.number != signal.SIGINT:
            raise
        return f"{chosen.source}: interrupted", "hint"
    except DispatchvizError as error:
        return str(error), "error"
    finally:
        os.environ.clear()
        os.environ.update(environment)


def _shown(chosen: Chosen) -> tuple[str, str]:
    from dispatchviz.cli.followed_run import first_trace, followed
    from dispatchviz.cli.input_source import trace_in
    from dispatchviz.tui.show import show

    if is_lesson(Path(chosen.source)):
        return _lesson(chosen)
    file = followed(chosen.source)
    trace = first_trace(file) if file else trace_in(chosen.source)
    if trace is None:
        return _run(chosen)
    if len(trace):
        show(trace, None, chosen.source, run_arguments=(), followed=file, leaving=GOES_HOME)
        return "", ""
    return trace.notice or f"{chosen.source}: nothing was recorded, so there are no steps to show", "hint"


def _lesson(chosen: Chosen) -> tuple[str, str]:
    """Open a shipped lesson; return a remark that names the next one."""
    from dispatchviz.cli.lesson_show import show_lesson
    from dispatchviz.lessons.catalog import lesson_after
    from dispatchviz.lessons.lesson_file import read_lesson

    lesson = read_lesson(Path(located(chosen.source)))
    show_lesson(lesson, plain=False, present=False, output=None, leaving=GOES_HOME)
    after = lesson_after(lesson)
    return (f"The next lesson is {after}", "hint") if after else ("", "")


def _run(chosen: Chosen) -> tuple[str, str]:
    """Run a program as ``dispatchviz run`` does. Its trace is kept even if all went well."""
    from dispatchviz.cli.chosen_engine import chosen_engine
    from dispatchviz.cli.script_run import conclude, kept, run_script
    from dispatchviz.tui.show import show

    place = next(places(_kept_as(chosen)), None)
    save = str(place) if place else None
    outcome = run_script(chosen.source, (), "auto", save, engine=chosen_engine(None, chosen.source))
    with kept(outcome, save):
        show(outcome.trace, None, save or "", run_arguments=(chosen.source,), leaving=GOES_HOME)
    status = conclude(outcome, save)
    if not len(outcome.trace):
        return f"{chosen.source}: nothing was recorded, so there are no steps to show", "hint"
    if outcome.error is not None:
        return outcome.error_message, "error"
    ended = f"{chosen.source} ended with exit status {status}" if status else chosen.source
    return f"{ended}; the trace is kept: dispatchviz open {as_typed(place)}" if place else ended, "hint"


def _kept_as(chosen: Chosen) -> str:
    """Return the name for the trace. It includes the folder, because several examples share a file name."""
    folders = Path(chosen.source).with_suffix("").parts
    return "-".join(folders[folders.index(FOLDER) + 1 :]) if chosen.name and FOLDER in folders else chosen.source
