"""Sequences of two keys, which go to the next or the previous Node, redispatch, guard and so on; and the cross between
forward and backward.
"""

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
    """Show the choices for the second key."""
    return Update(session.cursor, _listed(prefix))


def target(session: Session, name: str, forward: bool) -> Update:
    """Go to the nearest step of a kind."""
    step = TARGETS[name](session.cursor, forward)
    if step is None:
        return Update(session.cursor, line((f" No {name} {'after' if forward else 'before'} this step", "hint")))
    before, after = session.cursor, session.cursor.goto(step)
    return Update(after, jumped(before, after))


def no_target(session: Session, prefix: str, key: str) -> Update:
    """Report that the two keys are not a sequence."""
    if key == "escape":
        return Update(session.cursor)
    return Update(
        session.cursor,
        line((f" {shown_key(prefix)}{shown_key(key)} is not a key sequence.", "warning"), *_listed(prefix).spans),
    )


def elsewhere(session: Session, key: str) -> Update:
    """Report that the key belongs to another keymap."""
    keymap, entry = meanings(key)[0]
    does = "" if entry is None else f": {entry.help}; here that is {key_of(entry.action).first}"
    return Update(session.cursor, line((f" {shown_key(key)} is a key of --keymap {keymap}{does}", "hint")))


def _listed(prefix: str) -> Line:
    side = SIDES.get(prefix, f"{shown_key(prefix)}, then")
    choices = [part for key, name in _choices(prefix) for part in ((f"  {key} ", "keycap"), (name, ""))]
    return line((f" {side}:", "hint"), *choices)


SIDES = {NEXT: "Next", PREVIOUS: "Previous"}


def _choices(prefix: str) -> list[tuple[str, str]]:
    """The second keys with their descriptions."""
    if prefix in SIDES:
        return list(KEYS.items())
    sequences = ((key.partition(" "), entry.help) for entry in in_force().entries for key in entry.keys)
    return [(shown_key(second), BRIEF.split(text)[0]) for (first, _, second), text in sequences
            if second and first == prefix]  # fmt: skip


BRIEF = re.compile("[,:;]")
"""The pattern of the end of a help's first words."""


def cross(session: Session) -> Update:
    """Cross between a Node's forward call and its backward run. If there is no other side, a note explains why."""
    from dispatchviz.explain.things.crossing import crossing  # not needed for the first paint

    cursor, found = session.cursor, crossing(session.trace, session.cursor.at)
    if found.seq is None:
        return Update(cursor, line((f" {found.text}", "hint")))
    return Update(cursor.goto(found.seq), line((f" {found.text}", "hint"), *returns().spans))
