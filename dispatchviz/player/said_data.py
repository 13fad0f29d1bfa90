"""Short remarks of the page in the stepper's words, with names in capitals where the page puts what it knows."""

from __future__ import annotations

from dispatchviz.explain.sentences.step_counts import LAST, PART, PLACE
from dispatchviz.lessons.guide import Guide
from dispatchviz.tui.actions import NO_JUMP, engine_shown, no_breakpoints, no_marks, stack_shown
from dispatchviz.tui.commands import autoplay, stopping
from dispatchviz.tui.commands.guiding import page_end
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.panes.calls_pane import TITLES
from dispatchviz.tui.questions.filter_question import ALL, STAY, kept
from dispatchviz.tui.questions.mark_question import UNMARKED, marked


def said_data(guide: Guide | None) -> dict[str, object]:
    """By a name that the page's scripts use."""
    return {
        "place": PLACE.format(step="STEP", count="COUNT"),
        "last": LAST,
        "marked": marked(),
        "unmarked": UNMARKED,
        "no_marks": no_marks(),
        "no_jump": NO_JUMP,
        "all": ALL,
        "stay": STAY,
        "kept": kept(PART, "QUERY"),
        "breakpoint": f"{stopping.set_at('PLACE', 'STOPS', 'FIRST')}  {stopping.listed()}",
        "no_breakpoint": stopping.gone("PLACE"),
        "none": stopping.NONE,
        "no_breakpoints": no_breakpoints(),
        "stacks": [stack_shown(title) for title in TITLES.values()],
        "engines": [engine_shown(unfolds) for unfolds in (False, True)],
        "playing": autoplay.playing().plain,
        "paused": autoplay.paused().plain,
        "the_end": autoplay.paused(": this is the last row").plain,
        "tempos": autoplay.TEMPOS,
        "row_seconds": autoplay.ROW_SECONDS,
        "goes_on": (goes_on := key_of("move('resume')").first),
        "skip": f"Esc or {goes_on} goes on: skips this question",
        "lesson_end": "" if guide is None else page_end(guide, "SCORE"),
    }
