"""The moves of the cursor with their notes, including those through the sub-steps of a key-set card."""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.explain.calls.key_set_stages import stages_at
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.tui.commands.move_notes import jumped, no_stop, went_nowhere
from dispatchviz.tui.commands.predicting import along, question_on_the_way
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.cursor_state import next_stop
from dispatchviz.views.layout.pane_layout import KEYS
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


def walk(cursor: Cursor) -> Cursor:
    """Go to the next sub-step of the key-set card at this step; after the last one, to the next step."""
    stages = stages_at(cursor.trace, cursor.at)
    follow = [stage for stage in stages if cursor.stage is None or stage > cursor.stage]
    return _at_stage(cursor, follow[0]) if follow else cursor.into()


def walk_back(cursor: Cursor) -> Cursor:
    """Go back by one sub-step of the key-set card; before the first one, to the previous step."""
    if cursor.stage is None:
        before = cursor.into_back()
        stages = stages_at(before.trace, before.at) if before.at != cursor.at else ()
        return _at_stage(before, stages[-1]) if stages else before
    earlier = [stage for stage in stages_at(cursor.trace, cursor.at) if stage < cursor.stage]
    return _at_stage(cursor, earlier[-1] if earlier else None)


def _at_stage(cursor: Cursor, stage: int | None) -> Cursor:
    return replace(cursor, stage=stage, follows=False)


RESUMES = {"resume": True, "resume_back": False}
"""The moves that go to a stop; True for forward moves."""


WALKS = {"into": walk, "into_back": walk_back}
"""The moves that replace steps while the key-set pane has the focus."""


def move(session: Session, how: str) -> Update:
    """Take a step; ``how`` is a method of the cursor. A step that would answer a question stops before it."""
    before = session.cursor
    if how in RESUMES and session.guide is not None:
        return along(session, session.guide, RESUMES[how])
    walks = WALKS.get(how) if session.focused_pane == KEYS else None
    after = getattr(before, how)() if walks is None else walks(before)
    if (question := question_on_the_way(session, before, after)) is not None:
        return question
    if how in RESUMES and next_stop(before, RESUMES[how]) is None:
        return Update(after, no_stop(after, RESUMES[how]))
    moved = (after.at, after.stage, after.opened) != (before.at, before.stage, before.opened)
    return Update(after, None if moved else went_nowhere(before, how))


def page(session: Session, rows: int) -> Update:
    """Move by a number of rows in the list."""
    after = session.cursor.page(rows)
    return question_on_the_way(session, session.cursor, after) or Update(after)


def jump(session: Session, how: str) -> Update:
    """Jump and leave a note; ``how`` is a method of the cursor."""
    before, after = session.cursor, getattr(session.cursor, how)()
    return Update(after, jumped(before, after) if after.at != before.at else went_nowhere(before, how))


def goto(session: Session, step: int) -> Update:
    """Go to a step by its number."""
    before, after = session.cursor, session.cursor.goto(step)
    return Update(after, jumped(before, after) if after.at != before.at else None)


def detail(session: Session, levels: int) -> Update:
    """Show more or fewer kinds of steps in the list."""
    outline = session.cursor.outline
    if outline is None or not 0 <= outline.level + levels < len(LEVELS):
        return Update(
            session.cursor,
            line((" This is the most detail: every step" if levels > 0 else " This is the least detail", "hint")),
        )
    after = session.cursor.outlined(outline.at_level(outline.level + levels))
    return Update(after, line((f" {LEVELS[outline.level + levels].help}", "hint")))
