"""``dispatchviz`` alone in a terminal: the home screen, what its reader chooses there, and the home screen again."""

from __future__ import annotations

import signal
from dataclasses import replace

from dispatchviz.cli.trace_folders import kept_files, places
from dispatchviz.errors import DispatchvizError, EndedBySignal
from dispatchviz.garbage_collection import collector_waits
from dispatchviz.shipped_examples import examples
from dispatchviz.tui.home.home_list import QUESTIONS, Entry, Home, program_entries
from dispatchviz.tui.home.home_replies import Chosen
from dispatchviz.tui.home.home_rows import FIRST
from dispatchviz.tui.home.kept_trace import facts_of, trace_entry


def run_home() -> int:
    """Opens the home screen until its reader quits."""
    with collector_waits():
        from dispatchviz.tui.home.home_app import show

    from dispatchviz.cli.looked_up import look_up

    home = Home(program_entries(examples()), _traces(), QUESTIONS).goto(0).noted(FIRST)
    while True:
        home, chosen = show(home, look_up, _traces_with_facts)
        if chosen is None:
            return 0
        text, role = _carried_out(chosen)
        home = replace(home.noted(text, role), traces=_traces())


def _traces() -> tuple[Entry, ...]:
    return tuple(entry for path in kept_files() if (entry := trace_entry(path)))


def _traces_with_facts() -> tuple[Entry, ...]:
    return tuple(entry for path in kept_files() if (entry := trace_entry(path, facts_of(path))))


def _carried_out(chosen: Chosen) -> tuple[str, str]:
    """Shows it, until the stepper is closed; returns a remark and its role.

    Nothing that a program does ends the home screen, but an end of the process. Raises EndedBySignal if a signal asks
    for that, StepperError if the stepper fails.
    """
    try:
        return _shown(chosen)
    except KeyboardInterrupt:
        return f"{chosen.source}: interrupted", "hint"
    except EndedBySignal as end:
        if end.number != signal.SIGINT:
            raise
        return f"{chosen.source}: interrupted", "hint"
    except DispatchvizError as error:
        return str(error), "error"


def _shown(chosen: Chosen) -> tuple[str, str]:
    from dispatchviz.cli.followed_run import first_trace, followed
    from dispatchviz.cli.input_source import trace_in
    from dispatchviz.screen import show

    file = followed(chosen.source)
    trace = first_trace(file) if file else trace_in(chosen.source)
    if trace is None:
        return _run(chosen)
    if not len(trace):
        return f"{chosen.source} has no steps: nothing was recorded", "hint"
    show(trace, None, chosen.source, run_arguments=(), followed=file)
    return "", ""


def _run(chosen: Chosen) -> tuple[str, str]:
    """Runs a program as ``dispatchviz run`` does; its trace is kept, also if all went well."""
    from dispatchviz.cli.script_run import conclude, kept, run_script
    from dispatchviz.screen import show

    place = next(places(chosen.name or chosen.source), None)
    save = str(place) if place else None
    outcome = run_script(chosen.source, (), "auto", save)
    if not len(outcome.trace):
        return f"{chosen.source}: nothing was recorded, so there are no steps to show", "hint"
    with kept(outcome, save):
        show(outcome.trace, None, save or "", run_arguments=(chosen.source,))
    conclude(outcome, save)
    return (outcome.error_message, "error") if outcome.error else ("", "")
