"""Texts about a step that open over the page: its tensors and Nodes, its operator's history, its traceback, its
matching step in the other direction.

For a long program they exist only for the kept steps, as the costly panes do.
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
from dispatchviz.outputs.page.moments import NO_TENSOR, WAY, moment, tensor_moment
from dispatchviz.outputs.page.pane_tracks import WIDTH
from dispatchviz.outputs.page.tracks import Track
from dispatchviz.views.details.registration_rows import history_rows, refusal
from dispatchviz.views.details.thing_rows import question_rows
from dispatchviz.views.details.traceback_rows import traceback_at, traceback_rows
from dispatchviz.views.replies import NO_THING, no_traceback
from dispatchviz.views.text.styled_line import Line, line

Rows = Callable[[Trace, int], list[Line]]


def step_texts(trace: Trace, lines: Lines, kept: Collection[int]) -> dict[str, object]:
    """Return for each action: the title, the text at each step, and the remark for steps without text."""
    known = uses(trace)
    while not known.complete:
        known.go_on()
    none = no_traceback(bool(trace.steps_of(ev.ErrorRaised)))
    return {
        "cross": _text("", "", _crossed, trace, lines, kept),
        "app.ask_thing": _text("Tensors and Nodes of this step", NO_THING, Things().rows, trace, lines, kept),
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
    """Return the row that leads to the other side of a step (forward or backward), or the reason why there is none."""
    found = crossing(trace, at)
    return [line((f" {found.text}", "hint"), goto=found.seq)]


class Things:
    """The answers about each tensor and Node of a step. They are made once for each range of steps without events about
    them.
    """

    def __init__(self) -> None:
        self._known: dict[TensorThing | NodeThing, tuple[Hashable, list[Line]]] = {}
        self._many: dict[TensorThing, bool] = {}

    def rows(self, trace: Trace, at: int) -> list[Line]:
        """Return the rows for all tensors and Nodes of a step."""
        return [row for thing in things_of(trace, at) for row in self._rows(trace, thing, at)]

    def _rows(self, trace: Trace, thing: TensorThing | NodeThing, at: int) -> list[Line]:
        now = self._moment(trace, thing, at)
        if thing not in self._known or self._known[thing][0] != now:
            self._known[thing] = now, answers(trace, thing, at)
        return self._known[thing][1]

    def _moment(self, trace: Trace, thing: TensorThing | NodeThing, at: int) -> Hashable:
        if isinstance(thing, NodeThing):
            return moment(trace, at, NO_TENSOR)
        return moment(trace, at, WAY) if self._has_many_uses(trace, thing) else tensor_moment(trace, thing.number, at)

    def _has_many_uses(self, trace: Trace, thing: TensorThing) -> bool:
        """Return whether a tensor has more uses than are listed, so that only those near the step are."""
        if thing not in self._many:
            self._many[thing] = len(used_by(trace, thing.number, uses(trace))) > MOST
        return self._many[thing]


def answers(trace: Trace, thing: TensorThing | NodeThing, at: int) -> list[Line]:
    """Return the questions about a tensor or Node, with their answers."""
    return [
        line((title(trace, thing, at), "bold"), (f"  {description(trace, thing, at)}", "dim")),
        *question_rows(trace, questions(trace, thing, at), WIDTH),
        line(),
    ]


def _traceback(trace: Trace, at: int) -> list[Line]:
    text = traceback_at(trace, at)
    return traceback_rows(text) if text else []


class _Histories:
    """The histories of operators for which the program registers something. For other operators it is the command that
    prints the history.
    """

    def __init__(self, trace: Trace) -> None:
        self._registered = trace.steps_of(ev.OperatorDefined, ev.KernelRegistered)
        self._known: dict[Hashable, list[Line]] = {}

    def rows(self, trace: Trace, at: int) -> list[Line]:
        """Return the history at a step. It is made once for each number of registrations."""
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
        yield line(f"{shown(operator)} is PyTorch's own operator, and this program registers nothing for it.")
        yield line("Its history is long and the same in every program. In a terminal: ")
        yield line(f"dispatchviz table {shown(operator)} --history")
