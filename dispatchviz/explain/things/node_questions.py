"""Questions about a Node: its maker, its saved tensors, the targets of its gradients, its runs.

Answers are about the whole recording. Names in them are those of the step at which the question is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.things.answer import MOST, Answer, Question, nearest
from dispatchviz.explain.things.keepers import freed_at, is_freed, keepers, losses, unknown_tensors
from dispatchviz.explain.things.made_by import by
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.display_names import attribute, grad_name, node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

KEPT = "Who keeps it alive?"

NODES_LOOKED_AT = 2_000
"""The number of Nodes that are searched for the leaves that a Node leads to."""

LONGEST_PATH = 5
"""The longest path to a leaf that is written in full. In longer paths the middle Nodes are counted."""


def node_questions(trace: Trace, node: int, at: int) -> list[Question]:
    """Return all questions, in the order in which they are shown."""
    return [
        Question("Who made it?", tuple(_origins(trace, node, at)), none="it was made before the recording began"),
        _of_steps(trace, node, at, "What did it save?", (ev.VariableSaved, ev.VariableNotSaved, ev.VariablesReleased),
                  "no tensor"),
        Question("Where do its gradients go? (next_functions: the Node, and which of its inputs)",
                 *_cut(list(_edges(trace, node, at))), none="no edges are recorded"),
        Question("Which leaves does it lead back to?", *_cut(list(_leaves(trace, node, at))),
                 none=f"none among the nearest {NODES_LOOKED_AT:,} Nodes"),
        _of_steps(trace, node, at, "When does the engine run it?", (ev.NodeStarted, ev.NodeSkipped, ev.NodeFinished),
                  "it does not run in this recording", gradients=True),
        _kept(trace, node, at),
        Question("When is it freed?", tuple(_end(trace, node, at)), none=_no_end(trace)),
    ]  # fmt: skip


def _cut(answers: Sequence[Answer]) -> tuple[tuple[Answer, ...], int]:
    return tuple(answers[:MOST]), max(len(answers) - MOST, 0)


def _of_steps(
    trace: Trace,
    node: int,
    at: int,
    asked: str,
    kinds: tuple[type[ev.Event], ...],
    none: str,
    gradients: bool = False,
) -> Question:
    """Return a question whose answers are a Node's events of some kinds."""
    codes = {trace.columns.code(kind) for kind in kinds}
    steps = [step for step in history(trace).events.steps(node) if trace.columns.kinds[step] in codes]
    if gradients:
        steps = sorted((*steps, *_written(trace, node, steps)))
    nearest_steps = nearest(steps, at)
    answers = (answer for step in nearest_steps if (answer := _answer(trace, trace[step], at)) is not None)
    return Question(asked, tuple(answers), len(steps) - len(nearest_steps), none)


def _origins(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    made = index(trace).nodes.get(node)
    if made is not None and made.known:
        yield Answer("made before the recording began; first used", made.seq)
    elif made is not None:
        who = by(trace, made.seq)
        yield Answer(f"made by {who}" if who else "made", made.seq)
    codes = tuple(map(trace.columns.code, (ev.HistorySet, ev.HistoryRebased, ev.AccumulatorMade)))
    steps = [step for step in history(trace).events.making(node) if trace.columns.kinds[step] in codes]
    for step in nearest(steps, at):
        tensor = trace.columns.tensors[step]
        name = tensor_name(trace, tensor, at)
        of_leaf = trace.columns.kinds[step] == codes[2]
        yield Answer(
            f"writes {attribute(name, 'grad')}" if of_leaf else f"is grad_fn of {name}", step, TensorThing(tensor)
        )


def _edges(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    edges = history(trace).edges(node, len(trace))
    if edges is None:
        return
    behind = edges.inputs if len(edges.inputs) == len(edges.edges) else [("", None)] * len(edges.edges)
    for place, (edge, (argument, _)) in enumerate(zip(edges.edges, behind, strict=True)):
        of = f" for {argument}" if argument else ""
        if edge is None:
            yield Answer(f"[{place}] (None, 0){of}", edges.seq)
        else:
            text = f"[{place}] ({node_title(trace, edge[0], at)}, {edge[1]}){of}"
            first = history(trace).events.first(edge[0])
            yield Answer(text, first if first < len(trace) else edges.seq, NodeThing(edge[0]))


def _leaves(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    for leaf, path in paths_to_leaves(trace, node):
        made = index(trace).accumulators[leaf]
        yield Answer(
            f"{tensor_name(trace, made.tensor, at)}, by {_path(trace, path)}", made.seq, TensorThing(made.tensor)
        )


def paths_to_leaves(trace: Trace, node: int) -> Iterator[tuple[int, list[int]]]:
    """Yield each AccumulateGrad that the edges of a Node lead to, with the shortest path to it, both ends included."""
    known, came_from, waiting = index(trace), {node: node}, deque([node])
    while waiting and len(came_from) < NODES_LOOKED_AT:
        here = waiting.popleft()
        if here in known.accumulators:
            yield here, _way(came_from, here)
        for target in history(trace).targets(here):
            if target not in came_from:
                came_from[target] = here
                waiting.append(target)


def _way(came_from: dict[int, int], end: int) -> list[int]:
    way = [end]
    while came_from[way[-1]] != way[-1]:
        way.append(came_from[way[-1]])
    return way[::-1]


def _path(trace: Trace, path: Sequence[int]) -> str:
    names = [plain_node(made.name) if (made := index(trace).nodes.get(node)) else "Node" for node in path]
    if len(names) > LONGEST_PATH:
        names[2:-2] = [f"{len(names) - 4} more"]
    return " → ".join(names)


# -- end of a tensor -------------------------------------------------------------------------------------------------


def _kept(trace: Trace, node: int, at: int) -> Question:
    """Return the question of a Node's owners at the step, or at its creation if that is later."""
    made = index(trace).nodes.get(node)
    at = at if made is None else max(at, made.seq)
    if is_freed(trace, node, at):
        return Question(KEPT, (), none="nothing: it has been freed")
    kept = list(keepers(trace, node, at))
    answers, more = _cut(kept)
    return Question(KEPT, (*answers, *_cut(list(losses(trace, node, at)))[0]), more, _unknown(trace, node, at))


def _no_end(trace: Trace) -> str:
    return "the recording does not show it" if is_unseen(trace.header, ev.NodeDeleted) else "not in this recording"


def _unknown(trace: Trace, node: int, at: int) -> str:
    """Return the text if no owner is known. Some owner exists, because the Node has not been freed."""
    tensors = [tensor_name(trace, tensor, at) for tensor in unknown_tensors(trace, node, at)[:MOST]]
    or_tensor = f"{listed(tensors, 'or')}, whose grad_fn it is, or " if tensors else ""
    return f"{or_tensor}a Python reference, which the recording does not show"


def _end(trace: Trace, node: int, at: int) -> Iterator[Answer]:
    end = freed_at(trace, node)
    if end is not None:
        along = "" if end.by is None else f", with {node_title(trace, end.by, at)}"
        yield Answer(f"freed{along}", end.seq, None if end.by is None else NodeThing(end.by))


# -- facts about a Node in an event ----------------------------------------------------------------------------------


def _answer(trace: Trace, event: ev.AnyEvent, at: int) -> Answer | None:
    match event:
        case ev.VariableSaved(tensor=None):
            return Answer(f"{event.name}, which is undefined", event.seq)
        case ev.VariableSaved(tensor=int(tensor)):
            version = ", packed by a hook" if event.packed else f" (version {event.version})"
            return Answer(f"{tensor_name(trace, tensor, at)} as {event.name}{version}", event.seq, TensorThing(tensor))
        case ev.VariableNotSaved():
            return Answer(f"not {event.name}: edge {event.edge}, the only one that needs it, is empty", event.seq)
        case ev.VariablesReleased():
            return Answer("frees what it saved", event.seq)
        case ev.NodeStarted():
            return Answer(f"runs, receives {_gradients(trace, event.gradients, at)}", event.seq)
        case ev.NodeSkipped():
            return Answer("is popped but not run, because its gradients are not needed", event.seq)
        case ev.NodeFinished():
            return Answer(f"returns {_gradients(trace, event.gradients, at)}", event.seq)
        case ev.GradientAccumulated():
            name = grad_name(trace, event.tensor, at)
            return Answer(f"writes {name}: {event.how}", event.seq, TensorThing(event.tensor))
        case _:
            return None


def _gradients(trace: Trace, tensors: Sequence[int | None], at: int) -> str:
    shown = ["None" if tensor is None else tensor_name(trace, tensor, at) for tensor in tensors[:MOST]]
    return listed(shown) + (", …" if len(tensors) > MOST else "") or "nothing"


def _written(trace: Trace, node: int, steps: Sequence[int]) -> Iterator[int]:
    """Yield the steps at which an accumulating Node writes the gradient, within its runs."""
    made = index(trace).accumulators.get(node)
    if made is None:
        return
    runs = [step for step in steps if trace.columns.kinds[step] == trace.columns.code(ev.NodeStarted)]
    written = index(trace).steps_about(made.tensor, ev.GradientAccumulated)
    for run in runs:
        yield from (step for step in written if run < step <= trace.ends[run])
