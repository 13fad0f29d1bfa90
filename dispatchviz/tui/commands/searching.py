"""The moves to the hits of a search, which runs in slices. Hits are shown while the search continues, until a key is
pressed.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatchviz.tui.commands.move_notes import hit_note
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line


def search(session: Session, forward: bool) -> Update:
    """Go to the next or the previous hit."""
    if not session.search.query.strip():
        first = key_of("ask_search").first
        return Update(session.cursor, line((f" No search yet: {first} starts one", "hint")))
    session.search.look_from(session.cursor.at, forward)
    return next_hit(session, session.cursor, forward)


def next_hit(session: Session, origin: Cursor, forward: bool = True) -> Update:
    """Go from a cursor to the nearest hit, once it is certain which one that is."""
    hits = session.search
    hits.go_on()
    hit = hits.next(origin.at, forward)
    if hits.certain(origin.at, hit, forward):
        return _there(session, origin, origin.at if hit is None else hit, forward)
    return Update(origin, hit_note(hits, origin), goes_on=lambda: next_hit(session, origin, forward))


def _there(session: Session, origin: Cursor, hit: int, forward: bool) -> Update:
    after = origin.goto(hit)
    wrapped = after.at != origin.at and (after.at < origin.at) == forward
    return counted(session, after, "wrapped around" if wrapped else "")


def counted(session: Session, cursor: Cursor, more: str = "") -> Update:
    """Stay at a hit and count the others."""
    hits = session.search
    hits.go_on()
    goes_on = None if hits.complete else lambda: counted(session, cursor, more)
    return Update(cursor, hit_note(hits, cursor, more), goes_on=goes_on)


def nearest(session: Session, origin: Cursor) -> Update:
    """Go to the nearest hit known so far. A nearer one that is found later replaces it."""
    hits = session.search
    hits.go_on()
    hit = hits.next(origin.at)
    found = origin if hit is None else origin.goto(hit)
    return Update(found, hit_note(hits, found), goes_on=None if hits.complete else lambda: nearest(session, origin))


def meanwhile(session: Session, note: Callable[[], Line | None]) -> Callable[[], Update] | None:
    """Return the next slice of a search that continues in the background, or None if it is complete or was stopped. It
    searches near the reader first. Its hits are marked and counted beside the current note.
    """
    if session.search.complete or session.search.is_stopped:
        return None

    def next_slice() -> Update:
        session.search.look_near(session.cursor.at)
        session.search.go_on()
        return Update(session.cursor, note(), goes_on=meanwhile(session, note))

    return next_slice
