"""What the reader asks of a step and sees over the page: the things in it, its history, its traceback, its other side.

Of a long program this is there for the steps that are kept, as the costly panes are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.explain.cells.registration.program_registrations import operator_here, program_registrations
from dispatchviz.explain.things.answer import MOST
from dispatchviz.explain.things.crossing import crossing
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.tensor_questions import description, questions, title, used_by
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.things.uses import uses
from dispatchviz.explain.trace_index import statements
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.moments import NO_TENSOR, WAY, moment
from dispatchviz.outputs.page.pane_tracks import WIDTH
from dispatchviz.outputs.page.tracks import Track
from dispatchviz.views.details.registration_rows import history_rows, refusal
from dispatchviz.views.details.thing_rows import question_rows
from dispatchviz.views.details.traceback_rows import traceback_at, traceback_rows
from dispatchviz.views.replies import NO_THING, no_traceback
from dispatchviz.views.text.styled_line import Line, line

Rows = Callable[[Trace, int], list[Line]]


def step_texts(trace: Trace, lines: Lines, kept: Collection[int]) -> dict[str, object]:
    """By action: the title of its text, the text at each step, what is said where there is none."""
    known = uses(trace)
    while not known.complete:
        known.go_on()
    none = no_traceback(bool(trace.steps_of(ev.ErrorRaised)))
    return {
        "cross": _text("", "", _crossed, trace, lines, kept),
        "app.ask_thing": _text("Tensors and Nodes of this step", NO_THING, _Things().rows, trace, lines, kept),
        "traceback": _text("Python's traceback", none, _traceback, trace, lines, kept),
        "registration": _text("How its table was filled", "", _Histories(trace).rows, trace, lines, kept),
    }


def _text(heading: str, none: str, rows: Rows, trace: Trace, lines: Lines, kept: Collection[int]) -> dict[str, object]:
    track = Track()
    for at in range(len(trace)):
        if at in kept:
            track.show(at, lines.numbers(rows(trace, at)))
        else:
            track.leave_out(at)
    return {"title": heading, "none": none, "rows": track.data()}


def _crossed(trace: Trace, at: int) -> list[Line]:
    """Where the other side of a step is, or why there is none."""
    found = crossing(trace, at)
    return [line((f" {found.said}", "hint"), goto=found.seq)]


class _Things:
    """What can be asked of each thing of a step; made once for as long as nothing is told of tensors and Nodes."""

    def __init__(self) -> None:
        self._known: dict[TensorThing | NodeThing, tuple[int, list[Line]]] = {}
        self._many: dict[TensorThing | NodeThing, bool] = {}

    def rows(self, trace: Trace, at: int) -> list[Line]:
        """One thing below the other."""
        return [row for thing in things_of(trace, at) for row in self._rows(trace, thing, at)]

    def _rows(self, trace: Trace, thing: TensorThing | NodeThing, at: int) -> list[Line]:
        now = moment(trace, at, WAY if self._has_many_uses(trace, thing) else NO_TENSOR)
        if thing not in self._known or self._known[thing][0] != now:
            self._known[thing] = now, _asked(trace, thing, at)
        return self._known[thing][1]

    def _has_many_uses(self, trace: Trace, thing: TensorThing | NodeThing) -> bool:
        """So many that those near a step are told."""
        if thing not in self._many:
            used = used_by(trace, thing.number, uses(trace)) if isinstance(thing, TensorThing) else []
            self._many[thing] = len(used) > MOST
        return self._many[thing]


def _asked(trace: Trace, thing: TensorThing | NodeThing, at: int) -> list[Line]:
    """What can be asked of a thing, and the answers."""
    return [
        line((title(trace, thing, at), "bold"), (f"  {description(trace, thing, at)}", "dim")),
        *question_rows(trace, questions(trace, thing, at), WIDTH),
        line(),
    ]


def _traceback(trace: Trace, at: int) -> list[Line]:
    text = traceback_at(trace, at)
    return traceback_rows(text) if text else []


class _Histories:
    """Of operators that the program registers something for; of all others the command that tells it."""

    def __init__(self, trace: Trace) -> None:
        self._registered = trace.steps_of(ev.OperatorDefined, ev.KernelRegistered)
        self._known: dict[Hashable, list[Line]] = {}

    def rows(self, trace: Trace, at: int) -> list[Line]:
        """Those of a step; made once for as many registrations."""
        until = statements.end(trace, at) if isinstance(trace[at], ev.SourceLine) else at
        on = operator_here(trace, at), bisect_right(self._registered, until)
        if on not in self._known:
            self._known[on] = list(_history(trace, at, on[0]))
        return self._known[on]


def _history(trace: Trace, at: int, operator: str) -> Iterator[Line]:
    if not operator:
        yield line(f"{refusal(trace, at)}.")
    elif any(program_registrations(trace, operator, len(trace) - 1)):
        yield from history_rows(trace, at, WIDTH)
    elif operator not in pytorch_operators():
        yield line(f"{refusal(trace, at)}.")
    else:
        yield line(f"{shown(operator)} is PyTorch's, and this program registers nothing for it.")
        yield line("Its history is long and the same in every program. In a terminal: ")
        yield line(f"dispatchviz table {shown(operator)} --history")
