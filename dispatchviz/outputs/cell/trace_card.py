"""A trace in a notebook: the program, the reason why it ended as it did, the backward graph, the log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.sentences.statement import number_of_steps, parts_of
from dispatchviz.explain.trace_index.recorded_engine import engine_text, why_chosen
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.cell.html import block, folded, image, paragraph
from dispatchviz.outputs.hand_out.marks import fenced, plain
from dispatchviz.outputs.log.log_filter import LogFilter
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.picture.graph_picture import backward_graph
from dispatchviz.outputs.without_folders import new_name, without_folders

LEVEL = "calls"
MOST = 300
"""The number of rows of the log that a notebook keeps."""

FRAMELESS = "Is there no interactive page above this text?"
TRUST = (
    "The page is in the notebook and appears once the notebook is trusted: use the command Trust Notebook in "
    "JupyterLab, or run jupyter trust with the file's name. It needs no kernel. Sites that remove frames show only "
    "this text."
)


def trace_html(trace: Trace, level: str = LEVEL, picture: bool = True, player: str = "") -> str:
    """Return the card of a trace as HTML. ``player`` is a frame above the card; where frames are removed, the card
    remains.
    """
    trace = without_folders(trace)
    log = folded(f"The log of {number_of_steps(len(trace))}", block(_log(trace, level)), is_open=not player)
    drawn = trace_svg(trace) if picture else None
    graph = "" if drawn is None else image(drawn, f"The backward graph of {trace.header.program}")
    if graph:
        graph = folded("The backward graph", graph, is_open=not player)
    hint = folded(FRAMELESS, paragraph(TRUST)) if player else ""
    return f"<div>{player}{''.join(map(paragraph, _sentences(trace)))}{graph}{log}{hint}</div>"


def trace_markdown(trace: Trace, level: str = LEVEL) -> str:
    """Return the card as Markdown, without the picture."""
    trace = without_folders(trace)
    sentences = [plain(shown(sentence)) for sentence in _sentences(trace)]
    return "\n\n".join([*sentences, "\n".join(fenced("\n".join(_log(trace, level))))])


def trace_svg(trace: Trace) -> str | None:
    """Return the backward graph as SVG, or None if there is none."""
    if not trace.steps_of(ev.NodeCreated):
        return None
    graph = backward_graph(without_folders(trace))
    return graph.svg() if len(graph) else None


def trace_text(trace: Trace) -> str:
    """Return one line about a trace."""
    program, engine = shown(new_name(trace.header.program)), shown(engine_text(trace.header))
    return f"<Trace of {program} on {engine}: {number_of_steps(len(trace))}>"


def _sentences(trace: Trace) -> list[str]:
    header = trace.header
    found = [f"{header.program} on {engine_text(header)}: {number_of_steps(len(trace))}."]
    found += [f"{reason}." for reason in [why_chosen(header)] if reason]
    found += [f"Note: {notice}" for notice in trace.notices]
    if len(trace) and isinstance(trace[len(trace) - 1], ev.ProgramRaised):
        parts = parts_of(why_here(trace, len(trace) - 1))
        found += [f"{name}: {text}" if name else text for name, text in parts]
    return found


def _log(trace: Trace, level: str) -> Sequence[str]:
    """Return the first rows of the log, without its head."""
    head = 2 if why_chosen(trace.header) else 1
    try:
        rows = list(islice(text_log(trace, 0, LogFilter(level)), head, MOST + head + 1))
    except DispatchvizError as error:
        return [str(error)]
    if len(rows) > MOST:
        rows[MOST:] = ["", "... show() opens the stepper, which shows all of it"]
    return rows
