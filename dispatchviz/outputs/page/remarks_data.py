"""Short remarks of the page in the stepper's words. Words in capitals are placeholders that the page fills in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.explain.sentences.statement import LAST, PART, PLACE
from dispatchviz.lessons.catalog import all_lessons
from dispatchviz.outputs.page.gallery_links import GalleryLinks, links_at_end
from dispatchviz.views.keymap import key_of
from dispatchviz.views.panes.ahead import WHERE
from dispatchviz.views.panes.calls_pane import TITLES
from dispatchviz.views.replies import (
    ALL_STAY,
    ALL_STEPS,
    NO_BREAKPOINTS,
    NO_JUMP,
    ROW_SECONDS,
    TEMPOS,
    UNMARKED,
    answers_at_next,
    breakpoint_set,
    breakpoints_key,
    engine_shown,
    filtered,
    marked,
    no_breakpoints,
    no_longer_stops,
    no_marks,
    paused,
    playing,
    stack_shown,
)

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide


def remarks_data(guide: Guide | None, links: GalleryLinks | None = None) -> dict[str, object]:
    """Return the remarks by the names that the page's scripts use."""
    return {
        "place": PLACE.format(step="STEP", count="COUNT"),
        "last": LAST,
        "marked": marked(),
        "unmarked": UNMARKED,
        "no_marks": no_marks(),
        "no_jump": NO_JUMP,
        "all": ALL_STEPS,
        "stay": ALL_STAY,
        "kept": filtered(PART, "QUERY"),
        "breakpoint": f"{breakpoint_set('PLACE', 'STOPS', 'FIRST')}  {breakpoints_key()}",
        "no_breakpoint": no_longer_stops("PLACE"),
        "none": NO_BREAKPOINTS,
        "no_breakpoints": no_breakpoints(),
        "stacks": [stack_shown(title) for title in TITLES.values()],
        "engines": [engine_shown(unfolds) for unfolds in (False, True)],
        "playing": playing().plain,
        "paused": paused().plain,
        "the_end": paused(": this is the last row").plain,
        "tempos": TEMPOS,
        "row_seconds": ROW_SECONDS,
        "goes_on": (goes_on := key_of("move('resume')").first),
        "again": answers_at_next(),
        "ahead": WHERE,
        "skip": [f"Esc or {goes_on} skips this question", "Esc skips this question"],
        "lesson_end": "" if guide is None else _lesson_end(guide, "SCORE", links),
        "links": links_at_end(links) if links else (),
    }


def _lesson_end(guide: Guide, score: str, links: GalleryLinks | None) -> str:
    """Return the end of a lesson, for a reader who may have neither a keyboard nor the next lesson. It names that
    lesson if it ships and the page is in no gallery, where a link follows.
    """
    back, step = key_of("move('resume_back')").first, key_of("move('into')").first
    end = (
        f" That was the lesson.{score} {back} or ◀◀ goes back through it. You can now go to every step: "
        f"{step} or ▶ takes the next one."
    )
    if links or guide.after not in {path.stem for path in all_lessons(None)}:
        return end
    after = (
        f"The next lesson is {guide.after}: ask the person who gave you this page, "
        "or make it with dispatchviz in a terminal:"
    )
    return f"{end} {after} dispatchviz lesson {guide.after} -o {guide.after}.html"
