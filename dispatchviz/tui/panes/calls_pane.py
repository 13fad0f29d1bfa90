"""The call stack at a step, in PyTorch's names: outermost first, the running function last."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.tui.text.styled_line import PATH, Line, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """A row per frame; a click goes to the step that entered it."""
    frames = call_stack(trace, at)
    if not frames:
        return [line(("No call is running at this step.", "dim"))]
    last = len(frames) - 1
    found = []
    for depth, frame in enumerate(frames):
        here = depth == last
        found.append(
            line(
                ("▶ " if here else "  ", "focus"),
                (frame.title, "bold" if here else "program" if depth == 0 else ""),
                "  " if frame.file else "",
                (frame.file, PATH),
                key=f"{frame.seq} {frame.title}",
                goto=frame.seq,
                here=here,
                cut=True,
            )
        )
    return found
