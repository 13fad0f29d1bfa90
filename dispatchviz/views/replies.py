"""Short replies to a key, which the stepper and the page both give, and the tempo of a trace that plays by itself."""

from __future__ import annotations

from dispatchviz.views.keymap import key_of, pane_key, shown_key
from dispatchviz.views.layout.pane_layout import CALLS, ENGINE
from dispatchviz.views.text.styled_line import Line, line

NEXT_ERROR = "target('error or warning', True)"


def stack_shown(title: str) -> str:
    """How much of the call stack is shown now."""
    return f" The Calls pane ({pane_key(CALLS)}) shows the {title or 'short stack'}"


def engine_shown(unfolds: bool) -> str:
    """How much of the engine is."""
    shown = "all sections" if unfolds else "only the sections of this step"
    return f" The Engine pane ({pane_key(ENGINE)}) now shows {shown}"


def no_marks() -> str:
    """Why there is no list of marks."""
    return f" No marks yet: {key_of('toggle_mark').first} sets one here"


def no_breakpoints() -> str:
    """Why there is no list of breakpoints."""
    return f" No breakpoints yet: {key_of('ask_breakpoint').first} sets one"


def no_traceback(handled: bool) -> str:
    """Why there is none; ``handled``: there were errors that were."""
    caught = f". {key_of(NEXT_ERROR).first} goes to an error that was handled" if handled else ""
    return f" No error at this step, and no error ended the program{caught}"


NO_JUMP = " No jump yet"


NO_THING = " This step involves no tensor and no Node"


def marked() -> str:
    """What is said when a mark was set."""
    stops = " and ".join(key_of(f"move('{move}')").first for move in ("resume", "resume_back"))
    return f" Mark set. {stops} stop here; {key_of('marks').first} lists all marks"


UNMARKED = " Mark removed"


ALL_STEPS, ALL_STAY = " All steps", "all steps are still shown"


def filtered(steps: str, query: str) -> str:
    """How many steps a filter lets through: ``3 of 326 steps``."""
    return f" {steps} with {query}. {key_of('ask_filter').first} Enter shows all steps again"


def breakpoint_set(place: str, stops: str, first: str) -> str:
    """What is said when a breakpoint was set; ``first`` is the first step at which it stops, empty if there is none."""
    return f" Breakpoint at {place}: {stops}{f', first at step {first}' if first else ' so far'}"


def breakpoints_key() -> str:
    """Which key lists them."""
    return f"{key_of('breakpoints').first} lists all"


def no_longer_stops(place: str) -> str:
    """What is said when one was removed."""
    return f" Breakpoint removed: {place}"


NO_BREAKPOINTS = " No breakpoints"


NO_MORE = " No more questions after this step"


ROW_SECONDS = 4.0
"""For one row, at the normal tempo."""


TEMPOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How many times as fast as that."""


FASTER, SLOWER = "detail(1)", "detail(-1)"
"""Their keys change the tempo while the trace is played; any other key stops it."""


def tempo_key(action: str) -> str:
    """Return the single key of ``FASTER`` or ``SLOWER``, as a person reads it."""
    return shown_key(next(key for key in key_of(action).keys if " " not in key))


def playing() -> Line:
    """Say which keys change the tempo."""
    return line(
        (f" Playing. {tempo_key(FASTER)} plays faster, {tempo_key(SLOWER)} slower, any other key stops", "hint")
    )


def paused(why: str = "") -> Line:
    """Say that it has stopped."""
    return line((f" Playing stopped{why}", "hint"))
