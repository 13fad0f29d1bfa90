"""The engine: the running Node, the ready queues in order, the Nodes that wait for gradients, and the Nodes that do not
run.

Sections that are not about the step are folded to one line. The plain view unfolds all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.engine_state import EngineState, engine_state
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.panes.engine.buffer_rows import leaf_rows, waiting_rows
from dispatchviz.views.panes.engine.nested_rows import callbacks_section, nested_section, streams_section
from dispatchviz.views.panes.engine.queue_rows import queue_rows
from dispatchviz.views.panes.engine.running_rows import running_rows
from dispatchviz.views.panes.engine.section import Section, in_view, section_lines
from dispatchviz.views.panes.engine.task_rows import exec_info_section, graph_task_section
from dispatchviz.views.text.styled_line import Line, line

NESTED, RUNS, LEAF, QUEUES, BUFFERS = "nested", "runs", "leaf", "queues", "buffers"
EXEC_INFO, CALLBACKS, STREAMS, TASK = "exec_info", "callbacks", "streams", "task"

SUBJECTS: dict[type[ev.Event], str] = {
    ev.BackwardStarted: TASK,
    ev.DependenciesCounted: BUFFERS,
    ev.ExecInfoPopulated: EXEC_INFO,
    ev.NodeQueued: QUEUES,
    ev.NodeStarted: RUNS,
    ev.FormulaSkipped: RUNS,
    ev.NodeFinished: RUNS,
    ev.DependencyMet: BUFFERS,
    ev.GradientBuffered: BUFFERS,
    ev.GradientAccumulated: LEAF,
    ev.GradientCaptured: EXEC_INFO,
    ev.NodeSkipped: EXEC_INFO,
    ev.FinalCallbackQueued: CALLBACKS,
    ev.FinalCallbackCalled: CALLBACKS,
    ev.StreamChanged: STREAMS,
    ev.StreamEventRecorded: STREAMS,
    ev.StreamWaited: STREAMS,
    ev.MemoryUsedOnStream: STREAMS,
    ev.BackwardFinished: TASK,
}
"""The section for each kind of step."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the engine in the backward pass at a step, with all sections unfolded, or the step at which there is
    one.
    """
    return rows_as(trace, at, whole=True)


def rows_as(trace: Trace, at: int, whole: bool) -> list[Line]:
    """The rows with all sections unfolded, or only those of the step, which then come first."""
    state = engine_state(trace, at)
    if state is None:
        return [not_yet(trace, at, ev.BackwardStarted, "No backward pass runs here")]
    if is_live(trace.header):
        return [
            _live_head(state),
            *running_rows(trace, state.running, at, False),
            *leaf_rows(trace, at),
            unseen_row(),
        ]
    subject = subject_of(trace, at)
    parts = list(_parts(trace, state, at, subject, whole))
    if not whole:
        parts.sort(key=lambda part: (RUNS, subject).index(part[0]) if part[0] in (RUNS, subject) else 2)
    return [_head(state), *(row for name, part in parts for row in in_view(part, name == subject))]


def subject_of(trace: Trace, at: int) -> str:
    """The section of a step. At the first step of a nested pass, it is the section on nested passes."""
    event = trace[at]
    if isinstance(event, ev.BackwardStarted) and event.depth:
        return NESTED
    return SUBJECTS.get(type(event), "")


def _parts(
    trace: Trace, state: EngineState, at: int, subject: str, whole: bool
) -> Iterator[tuple[str, Iterable[Line]]]:
    """Yield the sections from top to bottom."""

    def full(name: str) -> bool:
        return whole or name == subject

    backward, node = history(trace).backwards[state.started.seq], state.running
    yield NESTED, _lines(nested_section(trace, at, full(NESTED)))
    yield RUNS, running_rows(trace, node, at, full(RUNS))
    yield LEAF, leaf_rows(trace, at)
    yield QUEUES, queue_rows(trace, at, full(QUEUES))
    yield BUFFERS, waiting_rows(trace, state, at, full(BUFFERS))
    yield EXEC_INFO, _lines(exec_info_section(trace, at, full(EXEC_INFO)))
    yield CALLBACKS, _lines(callbacks_section(trace, backward, at, full(CALLBACKS)))
    yield STREAMS, _lines(streams_section(trace, backward, node, at, full(STREAMS)))
    yield TASK, section_lines(graph_task_section(trace, at, full(TASK)))


def _lines(section: Section | None) -> Iterable[Line]:
    return () if section is None else section_lines(section)


def _live_head(state: EngineState) -> Line:
    """The first line for an installed PyTorch, which does not report how many Nodes will run."""
    started = state.started
    kind = "backward" if started.accumulate else "grad"
    depth = f", depth {started.depth}" if started.depth else ""
    keeps = "keeps the graph" if started.keep_graph else "frees the graph"
    ran = f"{state.ran} Node{'' if state.ran == 1 else 's'} started"
    return line((kind, "bold"), (f"{depth}  {ran}  {keeps}", "dim"), key="ran", value=ran, goto=started.seq, cut=True)


def unseen_row() -> Line:
    """The note on facts that the model has but an installed PyTorch does not show."""
    return line(("not seen in a release build: ready queue, input buffers, skipped formulas, results of Nodes", "dim"))


def _head(state: EngineState) -> Line:
    started = state.started
    kind = "backward" if started.accumulate else "grad"
    depth = f", depth {started.depth}" if started.depth else ""
    keeps = "keeps the graph" if started.keep_graph else "frees the graph"
    ran = f"{state.ran} of {state.reached} Nodes started" if state.reached else "dependencies not counted yet"
    return line((kind, "bold"), (f"{depth}  {ran}  {keeps}", "dim"), key="ran", value=ran, goto=started.seq, cut=True)
