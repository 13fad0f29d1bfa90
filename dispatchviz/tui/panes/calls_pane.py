"""The call stack at a step: the user's own frames on top, then PyTorch's by its names; the running function last."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_roles import YOURS
from dispatchviz.explain.calls.call_stack import Frame, call_stack
from dispatchviz.tui.text.styled_line import PATH, Line, line

WIDE = 60
"""From this width on a frame's role stands beside it."""

LONGEST_ROLE = 20


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """A row per frame; a click goes to the step that entered it."""
    return frame_rows(call_stack(trace, at), width)


def frame_rows(frames: Sequence[Frame], width: int) -> list[Line]:
    """The same of any stack."""
    if not frames:
        return [line(("No call is running at this step.", "dim"))]
    roles = min(max(len(frame.role) for frame in frames), LONGEST_ROLE) if width >= WIDE else 0
    return [_frame(frame, roles, depth == len(frames) - 1) for depth, frame in enumerate(frames)]


def _frame(frame: Frame, roles: int, here: bool) -> Line:
    weight = "bold" if here else "program" if frame.role == YOURS else ""
    return line(
        ("▶ " if here else "  ", "focus"),
        (f"{frame.role:<{roles}.{roles}}  " if roles else "", "dim"),
        (frame.title, weight),
        "  " if frame.file else "",
        (frame.file, PATH),
        key=f"{frame.seq} {frame.title}",
        goto=frame.seq,
        here=here,
        cut=True,
    )
