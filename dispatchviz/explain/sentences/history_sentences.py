"""Sentences on a tensor's ``grad_fn``: set for a result, rebased after an in-place change, regenerated for a view."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.sentence_claims import History
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index

CLAIMED = 16
"""The number of Nodes behind a ``grad_fn`` that are claimed. All of them for each Node of a chain would be
quadratic.
"""


def why_set(trace: Trace, event: ev.HistorySet) -> Statement:
    """The history of a result."""
    name, node = tensor_name(trace, event.tensor, event.seq), _node(trace, event)
    text = f"{name} gets the grad_fn {node}, so it requires grad."
    return Statement("history set", text, (_claim(trace, event),))


def why_rebased(trace: Trace, event: ev.HistoryRebased) -> Statement:
    """The history after a write: of the tensor itself, of a base written through its view, or of a view."""
    view = index(trace).views.get(event.tensor)
    if view is not None and view.seq < event.seq:
        return _regenerated(trace, event, view)
    if _name(trace, event.node) == "CopySlices":
        return _through_a_view(trace, event)
    return _in_place(trace, event)


def _in_place(trace: Trace, event: ev.HistoryRebased) -> Statement:
    name, claims = tensor_name(trace, event.tensor, event.seq), (_claim(trace, event),)
    changed, now = f"{name} was changed in place, so its history", f"Its grad_fn is now {_node(trace, event)}"
    unseen = is_unseen(trace.header, ev.RequiresGradSet)
    if not unseen and not index(trace).grad_needed(event.tensor, event.seq - 1):
        return Statement("history begins in place", f"{changed} begins here. {now}, and it requires grad.", claims)
    cause = f"{name} was changed in place" if unseen else f"{changed} is rebased"
    return Statement("history rebased", f"{cause}. {now}.{_behind(trace, event)}", claims)


def _through_a_view(trace: Trace, event: ev.HistoryRebased) -> Statement:
    name, claims = tensor_name(trace, event.tensor, event.seq), (_claim(trace, event),)
    changed, node = f"{name} was changed in place through a view of it, so its history", _node(trace, event)
    now = f"Its grad_fn is now {node}, which applies the operator's own Node to the part that was written"
    if not index(trace).grad_needed(event.tensor, event.seq - 1):
        text = f"{changed} begins here. {now}, and it requires grad."
        return Statement("history begins through a view", text, claims)
    text = f"{changed} is rebased. {now}.{_behind(trace, event)}"
    return Statement("history rebased through a view", text, claims)


def _regenerated(trace: Trace, event: ev.HistoryRebased, view: ev.ViewMade) -> Statement:
    name, base = (tensor_name(trace, tensor, event.seq) for tensor in (event.tensor, view.base))
    old = index(trace).history(event.tensor, event.seq - 1)
    gone = "" if old is None else f" The previous grad_fn, {node_title(trace, old, event.seq)}, is not part of it."
    text = (
        f"{name} is a view of {base}, and their version has changed since the grad_fn of {name} was set. The grad_fn "
        f"is therefore regenerated from the history of {base}: it is now "
        f"{_node(trace, event)}{_next(trace, event)}.{gone}"
    )
    return Statement("history of a view regenerated", text, (_claim(trace, event),))


def _node(trace: Trace, event: ev.HistorySet | ev.HistoryRebased) -> str:
    number = f", output {event.output_nr}" if event.output_nr else ""
    return f"{node_title(trace, event.node, event.seq)}{number}"


def _name(trace: Trace, node: int) -> str:
    made = index(trace).nodes.get(node)
    return plain_node(made.name) if made else ""


def _behind(trace: Trace, event: ev.HistoryRebased) -> str:
    """The Node that was the tensor's ``grad_fn``, if an edge of the new one leads to it."""
    old = index(trace).history(event.tensor, event.seq - 1)
    collected = index(trace).edges.get(event.node)
    if old is None or collected is None or all(edge is None or edge[0] != old for edge in collected.edges):
        return ""
    return f" Its previous grad_fn, {node_title(trace, old, event.seq)}, is in the new Node's next_functions."


def _next(trace: Trace, event: ev.HistoryRebased) -> str:
    collected = index(trace).edges.get(event.node)
    edge = collected.edges[0] if collected is not None and collected.edges else None
    return "" if edge is None else f", which leads to {node_title(trace, edge[0], event.seq)}"


def _claim(trace: Trace, event: ev.HistorySet | ev.HistoryRebased) -> History:
    """The claim about the Nodes from the ``grad_fn`` on along first edges, as far as the trace knows them, up to a
    limit.
    """
    known, found, node = index(trace), list[str](), event.node
    while len(found) < CLAIMED and (made := known.nodes.get(node)):
        found.append(made.name)
        collected = known.edges.get(node)
        edge = collected.edges[0] if collected is not None and collected.edges else None
        if edge is None:
            break
        node = edge[0]
    return History(event.tensor, event.output_nr, tuple(found))
