"""The call stack at a step: the user's own frames on top, then PyTorch's by its names. The running function is last.

The short form leaves out frames that are the same in every call. The complete form lists all functions with their files
and whether they are generated, or folds the common ones. The functions that the running one is known to call are listed
below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_roles import YOURS
from dispatchviz.explain.calls.call_stack import Frame, call_stack
from dispatchviz.explain.calls.folded_frames import folded
from dispatchviz.explain.calls.whole_stack import called_below, whole_stack
from dispatchviz.views.cursor.cursor_state import ShownStack
from dispatchviz.views.text.styled_line import PATH, Line, line

WIDE = 60
"""The width from which on the role of a frame is beside it."""

LONGEST_ROLE = 20

TITLES: Mapping[ShownStack, str] = {
    "short": "",
    "folded": "complete stack, folded by role",
    "whole": "complete stack",
}
"""The additions to the pane's title, in the order in which one key cycles through them."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the frames. A click goes to the step that entered the frame."""
    return frame_rows(call_stack(trace, at), width)


def rows_as(how: ShownStack, trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the stack in one of its forms."""
    return rows(trace, at, width) if how == "short" else whole_rows(trace, at, width, how == "folded", exact=False)


def whole_rows(trace: Trace, at: int, width: int, fold: bool = False, exact: bool = True) -> list[Line]:
    """The rows of every function with its role, and the known calls of the last one.

    If ``exact`` is true, files keep all folders and move to their own line if there is no room beside the function.
    Otherwise folders are shortened first.
    """
    frames = whole_stack(trace, at)
    below = called_below(trace, at, frames)
    return listed_rows(folded(frames) if fold else frames, below, width, exact)


def listed_rows(shown: Sequence[Frame], below: Sequence[Frame], width: int, exact: bool = True) -> list[Line]:
    """The rows of any complete stack. Frames with a known library are listed below its name, where that changes."""
    if not shown:
        return [NOTHING]
    roles = _roles((*shown, *below), width)
    found, library = list[Line](), ""
    for depth, frame in enumerate((*shown, *below)):
        sign = HERE if depth == len(shown) - 1 else BELOW if depth >= len(shown) else AROUND
        if frame.library and frame.library != library:
            library = frame.library
            found.append(line((f"in {library}", "dim")))
        row = _frame(frame, roles, sign, True)
        found += [*_with_file(row, frame.title, frame.file, frame.seq, _column(roles), width, exact)]
        found += _notes(frame, roles)
    return found


@lru_cache(maxsize=1024)
def _with_file(row: Line, title: str, file: str, seq: int, column: int, width: int, exact: bool) -> tuple[Line, ...]:
    """Put the file on its own line if its name, or with ``exact`` its folders, would be cut."""
    if not file:
        return (replace(row, cut=False, indent=column),)
    least = file if exact else f"…/{file.rpartition('/')[2]}"
    if row.width <= width or row.width - len(file) + len(least) <= width:
        return (row,)
    below = line(" " * column, (file, PATH), key=f"{seq} {title} file", indent=column, cut=not exact)
    return (replace(row, spans=row.spans[:-2], cut=not exact, indent=column), below)


def _column(roles: int) -> int:
    """The column at which the lines below a frame begin."""
    return roles + 4 if roles else 4


HERE, BELOW, AROUND = "▶ ", "↓ ", "  "
"""The signs of the running function, the functions that it is known to call, and the functions around it."""

NOTHING = line(("No call is running at this step.", "dim"))


def frame_rows(frames: Sequence[Frame], width: int) -> list[Line]:
    """The rows of any short stack."""
    if not frames:
        return [NOTHING]
    roles = _roles(frames, width)
    return [_frame(frame, roles, HERE if frame is frames[-1] else AROUND) for frame in frames]


def _roles(frames: Sequence[Frame], width: int) -> int:
    """The width of the column of roles."""
    return min(max(len(frame.role) for frame in frames), LONGEST_ROLE) if width >= WIDE else 0


def _notes(frame: Frame, roles: int) -> list[Line]:
    if not frame.note:
        return []
    column = _column(roles)
    return [line(" " * column, (frame.note, "dim"), indent=column, key=f"{frame.seq} {frame.title} note")]


def _frame(frame: Frame, roles: int, sign: str, says_written: bool = False) -> Line:
    written = frame.written if says_written else ""
    return _frame_row(frame.title, frame.file, frame.seq, frame.role, written, roles, sign)


@lru_cache(maxsize=1024)
def _frame_row(title: str, file: str, seq: int, role: str, written: str, roles: int, sign: str) -> Line:
    """The row of a frame, cached because most frames of a step are also those of the next step."""
    here = sign == HERE
    weight = "bold" if here else "program" if role == YOURS else "dim" if sign == BELOW else ""
    return line(
        (sign, "focus"),
        (f"{role:<{roles}.{roles}}  " if roles else "", "dim"),
        (title, weight),
        (f"  {written}" if written else "", "dim"),
        "  " if file else "",
        (file, PATH),
        key=f"{seq} {title}",
        goto=seq,
        here=here,
        cut=True,
    )
