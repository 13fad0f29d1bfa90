"""From backward to the forward call of a Node, and from a call to the run of the Node that it made."""

from __future__ import annotations

from dispatchviz.tui.commands.move_notes import returns
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


def cross(session: Session) -> Update:
    """To the other side; where there is none, a note says why."""
    from dispatchviz.explain.things.crossing import crossing  # not for the first paint

    cursor, found = session.cursor, crossing(session.trace, session.cursor.at)
    if found.seq is None:
        return Update(cursor, line((f" {found.said}", "hint")))
    return Update(cursor.goto(found.seq), line((f" {found.said}", "hint"), *returns().spans))
