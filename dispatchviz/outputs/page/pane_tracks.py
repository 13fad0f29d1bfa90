"""The panes at every step, as tracks of lines.

A pane is looked at only at the steps that can change it (``changes_of``; a test makes all panes anew at every step).
Rows are made once for each input: a call's key set and cell, an operator's table, a source with a highlighted line, a
call stack, a state of the thread. The iterations of a loop share them (``shared_rows.py``). The rows about tensors,
Nodes and the engine are made once for each range of steps without events about them (``moments.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from operator import attrgetter

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import ENTERED, Frame, call_stack
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.calls.key_set_card import card_depends_on
from dispatchviz.explain.calls.operator_cells import operator_cells
from dispatchviz.explain.codegen.operator_at_step import running_operator
from dispatchviz.explain.graph.node.node_of_step import node_of_step
from dispatchviz.explain.locations.source_view import source_of, source_place
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around, user_stack
from dispatchviz.explain.trace_index.recorded_engine import is_live, recorded_release
from dispatchviz.explain.trace_index.step_tensors import parameters_of, tensors_of
from dispatchviz.explain.trace_index.tensor_numbers import outermost_call
from dispatchviz.explain.trace_index.thread_state import TELLING, thread_state
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.moments import NO_NODE, NO_TENSOR, Kinds, changes, moment
from dispatchviz.outputs.page.shared_rows import Made, Rows
from dispatchviz.outputs.page.tensor_cards import kept_card
from dispatchviz.outputs.page.tracks import Track
from dispatchviz.views.cursor.cursor_state import ShownStack
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
    SOURCE,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)
from dispatchviz.views.panes import calls_pane, engine_pane, tensors_pane
from dispatchviz.views.panes.calls_pane import frame_rows
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.panes.key_set_pane import stage_of
from dispatchviz.views.panes.memory_pane import place_of
from dispatchviz.views.panes.output_pane import NEAR
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.source_pane import view_rows

WIDTH = 100
"""The width in columns for which the panes lay out their tables."""

COSTLY = (GRAPH, TENSORS, ENGINE, NODE, STRUCTURED, MEMORY)
"""Panes that change with nearly every step. For a long program they are kept for some steps only."""

ONLY_WITH: dict[int, type[ev.Event]] = {COMPILER: ev.GraphCaptured, MEMORY: ev.VariableSaved}
"""The panes that stay empty in a trace without events of a kind. Most programs compile nothing."""


class Pane:
    """A pane from step to step."""

    def __init__(self, number: int, trace: Trace, lines: Lines) -> None:
        self._number, self._trace, self._lines = number, trace, lines
        self._usual = ON.get(number) or _always(PANES[number][1])
        self._known: dict[Hashable, Rows] = {}
        self.rows, self.empty = Track(), Track()
        self._others = [(title, made, Track()) for title, made in OTHERS.get(number, ())]

    def show(self, at: int, is_kept: bool) -> None:
        """Record the rows of a step, or that they are not kept."""
        said = nothing(self._number, self._trace, at)
        self.empty.show(at, () if said is None else (self._lines.number(said),))
        for how, made, track in self._others:
            if said is not None:
                track.show(at, ())
            elif is_kept:
                track.show(at, self._shown(at, made, how))
            else:
                track.leave_out(at)
        if said is not None:
            self.rows.show(at, ())
        elif not is_kept and self._number in COSTLY:
            self.rows.leave_out(at)
        else:
            self.rows.show(at, self._shown(at, self._usual))

    def _shown(self, at: int, usual: Callable[[Trace, int], Made], how: str | None = None) -> tuple[int, ...]:
        made = usual(self._trace, at)
        if (how, made.on) not in self._known:
            self._known[how, made.on] = Rows(self._lines, made)
        return self._known[how, made.on].numbers(made)

    def data(self) -> dict[str, object]:
        """Return the pane as the file contains it."""
        title = PANES[self._number][0]
        others = [{"title": how, "rows": track.data()} for how, _, track in self._others]
        return {
            "number": self._number,
            "title": title,
            "rows": self.rows.data(),
            "empty": self.empty.data(),
            "others": others,
        }


def panes_of(trace: Trace) -> tuple[int, ...]:
    """Return the panes of a page: all of them, except those that stay empty because of what the program does not do."""
    absent = {number for number, kind in ONLY_WITH.items() if not len(trace.steps_of(kind))}
    return tuple(number for number in PANES if number not in absent)


def pane_tracks(trace: Trace, lines: Lines, kept: Collection[int]) -> list[dict[str, object]]:
    """Return the panes. The costly ones have rows at the kept steps."""
    panes = [Pane(number, trace, lines) for number in panes_of(trace)]
    news = {at for at in range(len(trace)) if at in kept or at - 1 in kept}
    for number, pane in zip(panes_of(trace), panes, strict=True):
        for at in sorted(changes_of(number, trace) | (news if number in COSTLY or number in OTHERS else set())):
            pane.show(at, at in kept)
    return [pane.data() for pane in panes]


def changes_of(number: int, trace: Trace) -> set[int]:
    """Return the steps at which a pane may change, except that a costly one, or another content, may change at each
    step that is kept.
    """
    if number not in CHANGED_BY:
        return set(range(len(trace)))
    found = changes(trace, *CHANGED_BY[number])
    if number == CALLS:
        lines = trace.columns.lines
        found |= {at for at, (before, line) in enumerate(pairwise(lines), 1) if line != before or before == at - 1}
    elif number == THREAD and is_live(trace.header):
        found |= changes(trace, ev.Dispatched, ev.BackwardStarted)
    elif number == OUTPUT:
        found |= {step + NEAR for step in trace.steps_of(ev.Printed) if step + NEAR < len(trace)}
    return found


# -- what rows depend on -----------------------------------------------------------------------------------------------


def _always(module: str) -> Callable[[Trace, int], Made]:
    rows = rows_of(module)
    return lambda trace, at: Made(at, lambda: rows(trace, at, WIDTH))


def _by_moment(module: str, quiet: Kinds, about: Callable[[Trace, int], Hashable]) -> Callable[[Trace, int], Made]:
    """Return a function for the rows of a pane about tensors or Nodes. ``about`` names those that a step concerns."""
    rows = rows_of(module)
    return lambda trace, at: Made((moment(trace, at, quiet), about(trace, at)), lambda: rows(trace, at, WIDTH))


def _tensors(trace: Trace, at: int) -> Hashable:
    """Return the tensors of a step, the parameters they are passed to, and the call that may be writing to them."""
    return tuple(tensors_of(trace, at)), tuple(parameters_of(trace, at).items()), outermost_call(trace, at)


def _tensor_rows(trace: Trace, at: int) -> Made:
    on = moment(trace, at, NO_TENSOR), _tensors(trace, at)
    return Made(on, lambda: tensors_pane.rows(trace, at, WIDTH, kept_card))


def _engine(trace: Trace, at: int, whole: bool) -> Made:
    return Made(moment(trace, at, NO_NODE), lambda: engine_pane.rows_as(trace, at, whole))


def _key_set(trace: Trace, at: int) -> Made:
    call = at_or_around(trace, at, ev.Dispatched)
    facts, names = card_depends_on(trace, call.seq) if call else (None, ())
    on = facts, stage_of(trace[at])
    return Made(on, lambda: rows_of("key_set_pane")(trace, at, WIDTH), names=names)


def _cell(trace: Trace, at: int) -> Made:
    card = cell_card(trace, at)
    return Made(card, lambda: rows_of("cell_pane")(trace, at, WIDTH))


def _stack(trace: Trace, at: int) -> Made:
    frames = call_stack(trace, at)
    on = tuple([(frame.title, frame.file, frame.role) for frame in frames])
    return Made(on, lambda: frame_rows(frames, WIDTH), [frame.seq for frame in frames])


def _named(frames: Iterable[Frame]) -> tuple[tuple[str, str, int, str], ...]:
    return tuple((frame.title, frame.file, frame.seq, frame.role) for frame in frames)


def _whole_stack(how: ShownStack, trace: Trace, at: int) -> Made:
    """Return the input of the whole stack: the short stack, the guards between its functions, and whether the step
    enters the last function.
    """
    frames = call_stack(trace, at)
    last = frames[-1].seq if frames else -1
    guards = tuple(each.seq for each in trace.ancestors(at) if isinstance(each, ev.GuardEntered) and each.seq < last)
    enters = last == at
    return Made((_named(frames), guards, enters), lambda: calls_pane.rows_as(how, trace, at, WIDTH))


def _thread(trace: Trace, at: int) -> Made:
    """Return the input of the thread's state, apart from the steps that set it. A recording of an installed PyTorch
    shows more of it within calls, and less within a backward.
    """
    state = thread_state(trace, at)
    facts = (*map(SWITCH, (state.grad, state.inference)), *map(AUTOCAST, state.autocast), *map(GUARD, state.guards))
    set_by = (state.grad.seq, state.inference.seq, *(each.seq for each in state.autocast))
    steps = [-1 if seq is None else seq for seq in (*set_by, *(guard.seq for guard in state.guards))]
    kinds = (ev.Dispatched, ev.BackwardStarted) if is_live(trace.header) else ()
    within = tuple([at_or_around(trace, at, kind) is None for kind in kinds])
    others = (state.transforms, state.modes, state.included, state.excluded, within)
    is_set = tuple([step >= 0 for step in steps])
    return Made((facts, is_set, others), lambda: rows_of("thread_pane")(trace, at, WIDTH), steps)


SWITCH = attrgetter("on", "why")
AUTOCAST = attrgetter("device", "on", "dtype", "excluded")
GUARD = attrgetter("name", "includes", "no_longer_includes", "excludes", "no_longer_excludes", "is_mode")
"""The facts about a part of the thread's state, without the step that set it."""


def _source(trace: Trace, at: int) -> Made:
    place, operator = source_place(trace, at), running_operator(trace, at)
    lines, callers = _program_lines(trace, place.line)
    elsewhere = bool(recorded_release(trace.header))
    on = lines, place.kernel, place.running, operator
    return Made(on, lambda: view_rows(source_of(trace, place), operator, elsewhere), callers)


@lru_cache(maxsize=64)
def _program_lines(trace: Trace, line: int) -> tuple[Hashable, Sequence[int]]:
    """Return the program's line and those that called its function, and the steps of the callers."""
    stack = user_stack(trace, line) if line >= 0 else ()
    return tuple((each.file, each.line, each.function) for each in stack), [each.seq for each in stack[:-1]]


def _table(trace: Trace, at: int) -> Made:
    cells = operator_cells(trace, at)
    chosen = cells and (cells.operator, cells.chosen.cell, cells.chosen.kernel, cells.chosen.reason, cells.registered)
    return Made(chosen, lambda: rows_of("table_pane")(trace, at, WIDTH))


CHANGED_BY: dict[int, tuple[type[ev.Event], ...]] = {
    KEYS: (ev.Dispatched, ev.FallthroughSkipped, ev.KernelSelected),
    CELL: (ev.Dispatched,),
    TABLE: (ev.Dispatched,),
    CALLS: (ev.SourceLine, *ENTERED),
    THREAD: TELLING,
    OUTPUT: (ev.Printed,),
    GRAPH: (ev.NodeCreated,),
    ENGINE: (ev.BackwardStarted,),
    TENSORS: (ev.TensorCreated,),
    STRUCTURED: (ev.KernelEntered, ev.MetaEntered),
    MEMORY: (ev.VariableSaved,),
}
"""The kinds of events that change a pane, or that make it empty. A pane that is not listed may change at every step."""

OTHERS: dict[int, Sequence[tuple[str, Callable[[Trace, int], Made]]]] = {
    CALLS: [(title, partial(_whole_stack, how)) for how, title in calls_pane.TITLES.items() if how != "short"],
    ENGINE: [("", partial(_engine, whole=True))],
}
"""Other contents of a pane that a reader can choose, in the order of the key: title and rows."""

ON: dict[int, Callable[[Trace, int], Made]] = {
    KEYS: _key_set,
    CELL: _cell,
    CALLS: _stack,
    SOURCE: _source,
    TABLE: _table,
    THREAD: _thread,
    GRAPH: _by_moment("graph_pane", NO_NODE, lambda trace, at: None),
    NODE: _by_moment("node_pane", NO_NODE, node_of_step),
    TENSORS: _tensor_rows,
    MEMORY: _by_moment("memory_pane", NO_TENSOR, lambda trace, at: place_of(trace, at, WIDTH)),
    ENGINE: partial(_engine, whole=False),
}
"""Panes whose rows are the same at many steps."""
