"""The rows at the top: the program, the step, the filter, what cuda is, what is not in the trace."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.events import BackwardStarted
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import part_of, place_of
from dispatchviz.explain.trace_index.lookups import uses_cuda
from dispatchviz.explain.trace_index.recorded_engine import engine_text, is_live
from dispatchviz.explain.trace_index.thread_state import ThreadState, thread_state
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.text.line_fitting import LONGEST, cut_text, path_end, shorter
from dispatchviz.views.text.styled_line import Line, Span, line

LONGEST_FILTER = 24
"""Cells for the text of a filter."""


LONGEST_STATE = 40
"""Cells for the thread's state."""

MOST_NOTICES = 3
"""So many rows tell what is not in the trace and what is wrong with its file."""


def header_rows(cursor: Cursor, width: int) -> list[Line]:
    """One row, two where one does not hold them, and a row for each sentence about what is not in the trace."""
    header = cursor.trace.header
    name, cuda = header.program[-LONGEST:], engine_spans(cursor.trace)
    position, filtered = _position(cursor), _filter(cursor)
    joined = line(" ", (name, "bold"), *position, " ", *filtered, *cuda)
    if joined.width < width:
        rows = [joined]
    else:
        program = path_end(name, width - 2 - line(*position).width)
        rows = [line(" ", (program, "bold"), *position), line(*filtered, *cuda)]
    return [*rows, *_notices(cursor.trace)]


def _notices(trace: Trace) -> list[Line]:
    """A row for each; the last one has all that are left."""
    first, others = trace.notices[: MOST_NOTICES - 1], " · ".join(trace.notices[MOST_NOTICES - 1 :])
    return [line((" ! ", "warning"), (cut_text(text), "warning")) for text in (*first, others) if text]


def engine_spans(trace: Trace) -> tuple[Span, ...]:
    """Which PyTorch was observed; of the model what ``cuda`` is, if the program uses it."""
    if is_live(trace.header):
        return (" on ", "dim"), (cut_text(engine_text(trace.header)), "")
    return ((" cuda: ", "dim"), (cut_text(trace.header.cuda), "")) if uses_cuda(trace) else ()


def _position(cursor: Cursor) -> tuple[Span, ...]:
    step = position(cursor)
    recording = (("  recording", "warning"),) if cursor.is_growing else ()
    score = ((f"  {cursor.score}", "good"),) if cursor.score else ()
    return ("  ", ""), (step, "hint"), *recording, *score, *place(cursor.trace, cursor.at)


def place(trace: Trace, at: int) -> tuple[Span, ...]:
    """How deep a step is, in which direction the program runs there, what the thread carries."""
    direction = "backward" if runs_backward(trace, at) else "forward"
    state = short(thread_state(trace, at))
    shown = ((f"  {shorter(state, LONGEST_STATE)}", "warning"),) if state else ()
    return (f"  depth {trace.depths[at]}  {direction}", ""), *shown


def position(cursor: Cursor) -> str:
    """Which step of how many, and how fast they come if they come by themselves."""
    return "  ".join(filter(None, (place_of(cursor.at, len(cursor.trace)), cursor.playing)))


def _filter(cursor: Cursor) -> tuple[Span, ...]:
    """What is shown of how many steps, as long as a filter hides some."""
    if cursor.shown is None or not cursor.filter_text:
        return ()
    shown = f"{shorter(cursor.filter_text, LONGEST_FILTER)}  {part_of(len(cursor.shown), len(cursor.trace))}"
    clears = f" · {key_of('ask_filter').first} Enter clears "
    return (" filter: ", "dim"), (shown, "warning"), (clears, "dim")


def runs_backward(trace: Trace, at: int) -> bool:
    """Whether a step belongs to a run of the engine."""
    return isinstance(trace[at], BackwardStarted) or any(isinstance(a, BackwardStarted) for a in trace.ancestors(at))


def short(state: ThreadState) -> str:
    """The state in a few words; empty if it is as a thread begins."""
    return " · ".join(_short(state))


def _short(state: ThreadState) -> Iterator[str]:
    if state.inference.on:
        yield "inference mode"
    elif not state.grad.on:
        yield "no_grad" if state.grad.why == "torch.no_grad()" else "grad mode off"
    yield from (f"autocast {each.device}" for each in state.autocast if each.on)
    yield from state.transforms
    yield from state.modes
    guards = sum(not guard.is_mode for guard in state.guards)
    if guards:
        yield f"{guards} guard{'' if guards == 1 else 's'}"
