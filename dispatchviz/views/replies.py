"""Short replies to a key, for the stepper and the page, and the tempo of automatic playing."""

from __future__ import annotations

from dispatchviz.views.keymap import key_of, pane_key, shown_key
from dispatchviz.views.layout.pane_layout import CALLS, ENGINE
from dispatchviz.views.text.styled_line import Line, line

NEXT_ERROR = "target('error or warning', True)"


def answers_at_next() -> str:
    """The note that a clicker's next press shows the answer of a question."""
    return f"{key_of('app.page(1)').first} again shows the answer"


def stack_shown(title: str) -> str:
    """The note on the current form of the call stack."""
    return f" The Calls pane ({pane_key(CALLS)}) shows the {title or 'short stack'}"


def engine_shown(unfolds: bool) -> str:
    """The note on the sections of the engine pane."""
    shown = "all sections" if unfolds else "only the sections of this step"
    return f" The Engine pane ({pane_key(ENGINE)}) now shows {shown}"


def no_marks() -> str:
    """The note that there are no marks yet."""
    return f" No marks yet: {key_of('toggle_mark').first} sets one here"


def no_breakpoints() -> str:
    """The note that there are no breakpoints yet."""
    return f" No breakpoints yet: {key_of('ask_breakpoint').first} sets one"


def no_traceback(handled: bool) -> str:
    """The note that there is no traceback; ``handled`` is true if there were errors that the program handled."""
    caught = f". {key_of(NEXT_ERROR).first} goes to an error that was handled" if handled else ""
    return f" No error at this step, and no error ended the program{caught}"


NO_JUMP = " No jump yet"


NO_THING = " This step involves no tensor and no Node"


def marked() -> str:
    """The note after a mark was set."""
    stops = " and ".join(key_of(f"move('{move}')").first for move in ("resume", "resume_back"))
    return f" Mark set. {stops} stop here; {key_of('marks').first} lists all marks"


UNMARKED = " Mark removed"


ALL_STEPS, ALL_STAY = " All steps", "all steps are still shown"


def filtered(steps: str, query: str) -> str:
    """The note on how many steps a filter shows: ``3 of 326 steps``."""
    return f" {steps} with {query}. {key_of('ask_filter').first} Enter shows all steps again"


def breakpoint_set(place: str, stops: str, first: str) -> str:
    """The note after a breakpoint was set. ``first`` is the first step at which it stops; empty if there is none."""
    return f" Breakpoint at {place}: {stops}{f', first at step {first}' if first else ' so far'}"


def breakpoints_key() -> str:
    """The text with the key that lists breakpoints."""
    return f"{key_of('breakpoints').first} lists all"


def no_longer_stops(place: str) -> str:
    """The note after a breakpoint was removed."""
    return f" Breakpoint removed: {place}"


NO_BREAKPOINTS = " No breakpoints"


NO_MORE = " No more questions after this step"


ROW_SECONDS = 4.0
"""The seconds for one row at the normal tempo."""


TEMPOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The tempos as multiples of the normal one."""


FASTER, SLOWER = "detail(1)", "detail(-1)"
"""The actions whose keys change the tempo while the trace plays; any other key stops it."""


def tempo_key(action: str) -> str:
    """Return the single key of ``FASTER`` or ``SLOWER``, as a person reads it."""
    return shown_key(next(key for key in key_of(action).keys if " " not in key))


def playing() -> Line:
    """The note with the keys that change the tempo."""
    return line(
        (f" Playing. {tempo_key(FASTER)} plays faster, {tempo_key(SLOWER)} slower, any other key stops", "hint")
    )


def paused(why: str = "") -> Line:
    """The note that playing has stopped."""
    return line((f" Playing stopped{why}", "hint"))
