"""The panes that a step needs most, by its kind of event, and those of them that fit on a screen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import KINDS
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    COMPILER,
    ENGINE,
    GRAPH,
    KEYS,
    MEMORY,
    NODE,
    OUTPUT,
    PANE_NAMES,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
    Frame,
    columns,
    least,
    steps_rows,
)

_NUMBERS = {name: number for number, name in PANE_NAMES.items()}

NEEDED = {kind: tuple(_NUMBERS[pane] for pane in record.panes) for kind, record in KINDS.items() if record.panes}
"""The panes that show most about each kind of step, best first."""

OTHERWISE = (
    SOURCE,
    COMPILER,
    KEYS,
    CALLS,
    GRAPH,
    STRUCTURED,
    TENSORS,
    CELL,
    THREAD,
    ENGINE,
    OUTPUT,
    TABLE,
    NODE,
    MEMORY,
)
"""The order of the other panes. With it, few panes appear and disappear between steps."""

ON_REQUEST = (TABLE, NODE, MEMORY)
"""The panes that are shown only if the reader chooses them."""

UNTITLED = (CALLS, CELL, STRUCTURED, TABLE, THREAD, COMPILER)
"""The empty panes that are not shown as a title: the title of the key set already says that there is no call, the
header shows the thread state, and most programs compile nothing.
"""

OWN_TITLES = 1
"""The maximum number of empty panes chosen by the reader that a column shows as titles; if rows are scarce, the maximum
on the screen.
"""

TITLES_FROM = 20
"""The number of rows from which on a column has room for the titles of empty panes."""


class Shown(NamedTuple):
    """The panes beside the steps."""

    panes: list[int]
    shrunk: set[int]
    """The empty panes, which are shrunk to their title row."""


def order(event: ev.Event, own: Iterable[int] = (), ahead: Iterable[int] = ()) -> list[int]:
    """All panes beside the steps that may be shown, the reader's choices first.

    ``ahead`` are panes that look ahead within the row. They come before the source, whose lines are steps anyway.
    """
    own, usual = list(own), (*NEEDED.get(type(event), ()), *OTHERWISE)
    before = usual.index(SOURCE)
    wanted = (*own, *usual[:before], *ahead, *usual[before:])
    return [pane for pane in dict.fromkeys(wanted) if pane != STEPS and (pane in own or pane not in ON_REQUEST)]


def chosen(
    wanted: Collection[int],
    width: int,
    height: int,
    frame: Frame,
    says_nothing: Callable[[int], bool],
    own: Collection[int] = (),
    stays_empty: Callable[[int], bool] = lambda pane: False,
) -> Shown:
    """Choose the panes that fit, in the given order. Empty panes are shrunk if there is room for titles. One that stays
    empty until the end has no title, unless the reader chose it.

    At least one pane beside the steps is always shown, even an empty one.
    """
    rows = max(height - sum(frame), 0)
    shrunk = {pane for pane in wanted if says_nothing(pane)}
    if len(shrunk) == len(wanted):
        shrunk.remove(next(iter(wanted)))
    found = set[int]()
    for column in columns(width):
        beside = [pane for pane in wanted if pane in column]
        asked = [pane for pane in beside if pane in shrunk and pane in own][:OWN_TITLES]
        if rows < TITLES_FROM and found & shrunk:
            asked = []
        room = rows - steps_rows(rows) - len(asked)
        open_ = _fitting([pane for pane in beside if pane not in shrunk], room)
        titles = [pane for pane in beside if pane in shrunk and pane not in own and _is_titled(pane, rows)]
        titles = [pane for pane in titles if not stays_empty(pane)]
        found.update((*open_, *asked, *titles[: max(room - sum(map(least, open_)), 0)]))
    return Shown(sorted(found), shrunk & found)


def _is_titled(pane: int, rows: int) -> bool:
    return rows >= TITLES_FROM and pane not in UNTITLED


def _fitting(wanted: Iterable[int], room: int) -> list[int]:
    """The panes that fit into a column, best first; the best one always fits."""
    taken, used = list[int](), 0
    for pane in wanted:
        if used + least(pane) <= room or not taken:
            taken.append(pane)
            used += least(pane)
    return taken
