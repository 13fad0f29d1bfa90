"""A long call stack folded by role: adjacent frames that are the same in every call become one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from dispatchviz.explain.calls.call_stack import INTERPRETER, OTHER, UNNAMED, Frame

GROUPS: dict[str, str] = {
    "handle": "dispatcher",
    "dispatcher": "dispatcher",
    "kernel function": "dispatcher",
    "adapter": "dispatcher",
    "boxing": "dispatcher",
    "unboxing": "dispatcher",
    "engine": "engine",
}
"""The text for several adjacent frames of a role."""

OUTSIDE: dict[str, str] = {role: role for role in (INTERPRETER, OTHER, UNNAMED)}
"""The same texts for frames outside PyTorch, which a real process has."""


def folded(frames: Sequence[Frame], groups: Mapping[str, str] = GROUPS) -> tuple[Frame, ...]:
    """Fold adjacent frames of each group into one, which keeps their notes. The last frame, where the program is,
    stays.
    """
    runs = groupby(frames[:-1], lambda frame: groups.get(frame.role, ""))
    return (*(frame for group, run in runs for frame in _fold(group, list(run))), *frames[-1:])


def _fold(group: str, run: list[Frame]) -> Iterator[Frame]:
    if not group or len(run) == 1:
        yield from run
        return
    title = f"{len(run)} frames, {_short(run[0])} to {_short(run[-1])}"
    note = "; ".join(dict.fromkeys(part for frame in run for part in frame.note.split("; ") if part))
    yield Frame(title, "", run[0].seq, group, note, run[0].library)


def _short(frame: Frame) -> str:
    """``Dispatcher::call`` for ``c10::Dispatcher::call``, with a debugger's number before it."""
    number = re.match(r"(?:#\d+ )?", frame.title)
    start = number.end() if number is not None else 0
    return frame.title[:start] + "::".join(frame.title[start:].split("::")[-2:])
