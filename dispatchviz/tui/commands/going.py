"""Sequences of two keys, which lead to the next or the previous Node, redispatch or guard; and crossing to the other
pass."""

from __future__ import annotations

import re

from dispatchviz.tui.commands.move_notes import jumped, returns
from dispatchviz.tui.terminal.keymaps import meanings
from dispatchviz.views.cursor.targets import TARGETS
from dispatchviz.views.keymap import NEXT, PREVIOUS, in_force, key_of, shown_key
from dispatchviz.views.keymap import TARGETS as KEYS
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line


def targets(session: Session, prefix: str) -> Update:
    """What the second key may be."""
    return Update(session.cursor, _listed(prefix))


def target(session: Session, name: str, forward: bool) -> Update:
    """To the nearest of a kind."""
    step = TARGETS[name](session.cursor, forward)
    if step is None:
        return Update(session.cursor, line((f" No {name} {'after' if forward else 'before'} this step", "hint")))
    before, after = session.cursor, session.cursor.goto(step)
    return Update(after, jumped(before, after))


def no_target(session: Session, prefix: str, key: str) -> Update:
    """The second key leads nowhere."""
    if key == "escape":
        return Update(session.cursor)
    return Update(
        session.cursor,
        line((f" {shown_key(prefix)}{shown_key(key)} is not a key sequence.", "warning"), *_listed(prefix).spans),
    )


def elsewhere(session: Session, key: str) -> Update:
    """The key does nothing here, but in another keymap."""
    keymap, entry = meanings(key)[0]
    does = "" if entry is None else f": {entry.help}; here that is {key_of(entry.action).first}"
    return Update(session.cursor, line((f" {shown_key(key)} is a key of --keymap {keymap}{does}", "hint")))


def _listed(prefix: str) -> Line:
    side = SIDES.get(prefix, f"{shown_key(prefix)}, then")
    choices = [part for key, name in _choices(prefix) for part in ((f"  {key} ", "keycap"), (name, ""))]
    return line((f" {side}:", "hint"), *choices)


SIDES = {NEXT: "Next", PREVIOUS: "Previous"}


def _choices(prefix: str) -> list[tuple[str, str]]:
    """The second keys, and what each does."""
    if prefix in SIDES:
        return list(KEYS.items())
    sequences = ((key.partition(" "), entry.help) for entry in in_force().entries for key in entry.keys)
    return [(shown_key(second), BRIEF.split(text)[0]) for (first, _, second), text in sequences
            if second and first == prefix]  # fmt: skip


BRIEF = re.compile("[,:;]")
"""Where the first words of a help end."""


def cross(session: Session) -> Update:
    """To the other side; where there is none, a note says why."""
    from dispatchviz.explain.things.crossing import crossing  # not for the first paint

    cursor, found = session.cursor, crossing(session.trace, session.cursor.at)
    if found.seq is None:
        return Update(cursor, line((f" {found.said}", "hint")))
    return Update(cursor.goto(found.seq), line((f" {found.said}", "hint"), *returns().spans))
