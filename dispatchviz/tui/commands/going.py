"""Going to the next or the previous Node, redispatch, guard ...: a sequence of two keys."""

from __future__ import annotations

from dispatchviz.tui.commands.move_notes import jumped
from dispatchviz.tui.cursor.targets import TARGETS
from dispatchviz.tui.keymap import NEXT, shown_key
from dispatchviz.tui.keymap import TARGETS as KEYS
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.styled_line import Line, line


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
        line((f" {shown_key(prefix)}{shown_key(key)} leads nowhere.", "warning"), *_listed(prefix).spans),
    )


def _listed(prefix: str) -> Line:
    side = "Next" if prefix == NEXT else "Previous"
    choices = [part for key, name in KEYS.items() for part in ((f"  {key} ", "keycap"), (name, ""))]
    return line((f" {side}:", "hint"), *choices)
