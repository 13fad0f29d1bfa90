"""Moves of the cursor, and the note that each leaves."""

from __future__ import annotations

from dispatchviz.tui.commands.move_notes import hit_note, jumped, no_stop, went_nowhere
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.styled_line import line

RESUMES = {"resume": True, "resume_back": False}
"""The moves that go to a stop, and whether they go forward."""


def move(session: Session, how: str) -> Update:
    """A step; ``how`` is a method of the cursor."""
    before, after = session.cursor, getattr(session.cursor, how)()
    if how in RESUMES and before.stop(RESUMES[how]) is None:
        return Update(after, no_stop(after, RESUMES[how]))
    return Update(after, None if after.at != before.at else went_nowhere(before, how))


def jump(session: Session, how: str) -> Update:
    """A jump, which leaves a note; ``how`` is a method of the cursor."""
    before, after = session.cursor, getattr(session.cursor, how)()
    return Update(after, jumped(before, after) if after.at != before.at else went_nowhere(before, how))


def goto(session: Session, step: int) -> Update:
    """To a step by its number."""
    before, after = session.cursor, session.cursor.goto(step)
    return Update(after, jumped(before, after) if after.at != before.at else None)


def search(session: Session, forward: bool) -> Update:
    """To the next or the previous hit."""
    before, hits = session.cursor, session.search
    if not hits.query.strip():
        return Update(
            before, line((f" Nothing searched for yet: {key_of('ask_search').first} starts a search", "hint"))
        )
    after = before.search(hits.matches, forward)
    wrapped = after.at != before.at and (after.at < before.at) == forward
    return Update(after, hit_note(hits, after, "went round the end" if wrapped else ""))
