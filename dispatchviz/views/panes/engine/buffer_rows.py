"""The input buffers: the Nodes that wait and for how many edges, the gradients that arrived and their sources, and how
gradients that meet are summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.engine.accumulation import ACCUMULATE_GRAD, accumulation
from dispatchviz.explain.graph.engine.arrivals import Arrival, arrivals
from dispatchviz.explain.graph.engine.buffer_conditions import INPUT_BUFFER, Condition, buffer_conditions
from dispatchviz.explain.graph.engine.exec_info import topological_nr
from dispatchviz.explain.graph.engine_state import EngineState, left_of
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.display_names import grad_name, node_title, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.views.panes.engine.section import FEW, MANY, more
from dispatchviz.views.text.styled_line import Line, line

MOST_ARRIVALS = 8
"""The maximum number of gradients to list per input; the last ones are listed."""


def waiting_rows(trace: Trace, state: EngineState, at: int, whole: bool) -> Iterator[Line]:
    """Yield the Node of the event first with all of its arrived gradients. The other Nodes show theirs only if
    ``whole`` is true.
    """
    backward, event = backward_around(trace, at), trace[at]
    if backward is None:
        return
    if isinstance(event, ev.DependenciesCounted):
        yield from _counts(trace, event)
    own = _own(trace, at)
    nodes = [each.node for each in state.waiting if each.node != own]
    shown = nodes[: MANY if whole else FEW]
    if own is not None or shown:
        yield line(("Input buffers", "title"), ("  of Nodes that wait for gradients", "dim"))
    if own is not None:
        yield from _node(trace, backward, own, at, full=True)
    for node in shown:
        yield from _node(trace, backward, node, at, full=whole)
    yield from more(len(nodes) - len(shown))


def _counts(trace: Trace, event: ev.DependenciesCounted) -> Iterator[Line]:
    """Yield the number of edges into each Node. Nodes below the minimum are found but not followed."""
    yield line(("dependencies_", "title"), ("  edges into each Node, in order of discovery", "dim"))
    for node, count in event.counts[:MANY]:
        number = topological_nr(trace, node, event.seq)
        ends = f"  topological_nr {number} < {event.min_topo_nr}: its edges are not counted"
        yield line(f"  {count:>3} ", (node_title(trace, node, event.seq), "name"),
                   (ends if number < event.min_topo_nr else "", "dim"), about=NodeThing(node), cut=True)  # fmt: skip
    yield from more(len(event.counts) - MANY)


def _own(trace: Trace, at: int) -> int | None:
    """The Node that receives a gradient in this step; None if there is none."""
    event = trace[at]
    return event.node if isinstance(event, ev.GradientBuffered | ev.DependencyMet) else None


def _node(trace: Trace, backward: Backward, node: int, at: int, full: bool) -> Iterator[Line]:
    left = left_of(trace, backward, node, at)
    came = arrivals(trace, backward, node, at)
    said, role = _waits(backward, node, left)
    yield line(
        "  · ",
        (node_title(trace, node, at), "name"),
        (f"  {said}", role),
        ("" if full else _brief(trace, came, at), ""),
        key=f"waits {node}",
        about=NodeThing(node),
        value=said,
        goto=next((each.buffered.seq for of in reversed(came.values()) for each in reversed(of)), None),
        cut=True,
    )
    if full:
        for number, found in sorted(came.items()):
            yield from _input(trace, number, found, at)


def _waits(backward: Backward, node: int, left: int) -> tuple[str, str]:
    count = backward.counts.get(node, left)
    if not backward.needs(node) and not backward.captures(node):
        return f"not needed: gradients from its {count} edge{'' if count == 1 else 's'} are dropped", "dim"
    return (
        (f"waits for {left} of {count} edge{'' if count == 1 else 's'}", "warning")
        if left
        else ("all gradients have arrived", "")
    )


def _brief(trace: Trace, came: dict[int, list[Arrival]], at: int) -> str:
    """The arrived gradients in short, by input."""
    last = [(number, found[-1]) for number, found in sorted(came.items())]
    names = (f"{number}: {_held(trace, each, at)} {each.buffered.how}" for number, each in last)
    return f"  input {', '.join(names)}" if came else ""


def _held(trace: Trace, last: Arrival, at: int) -> str:
    return "a sum" if last.holds is None else tensor_name(trace, last.holds, at)


def _input(trace: Trace, number: int, found: list[Arrival], at: int) -> Iterator[Line]:
    left_out = len(found) - MOST_ARRIVALS
    if left_out > 0:
        yield line((f"    input {number}: earlier gradients are not listed", "dim"))
    for place, each in enumerate(found):
        if place >= left_out:
            held = found[place - 1].holds if place else None
            yield from _arrival(trace, number, each, held, at)


def _arrival(trace: Trace, number: int, each: Arrival, held: int | None, at: int) -> Iterator[Line]:
    event = each.buffered
    source = "the caller" if each.source is None else node_title(trace, each.source, at)
    edge = "" if each.edge is None else f", edge {each.edge}"
    to = f" → {_held(trace, each, at)}" if event.how != "stored" else ""
    yield line(f"    input {number}: ", (tensor_name(trace, event.tensor, at), "name"), f" from {source}{edge}",
               (f"  {event.how}{to}", "dim"), goto=event.seq, about=TensorThing(event.tensor), indent=6)  # fmt: skip
    if event.seq == at and event.how != "stored":
        yield line((f"      in place only if all of these hold ({INPUT_BUFFER}):", "dim"), indent=6)
        yield from condition_rows(buffer_conditions(trace, event, held), 6)


def leaf_rows(trace: Trace, at: int) -> Iterator[Line]:
    """Yield how ``.grad`` was written, at that step and until its AccumulateGrad finishes."""
    event = _written(trace, at)
    if event is None:
        return
    found = accumulation(trace, event)
    case = f"  {ACCUMULATE_GRAD}" if is_live(trace.header) else f"  case {found.case} of {ACCUMULATE_GRAD}"
    yield line(
        (f"{grad_name(trace, event.tensor, at)} ", "title"),
        (event.how, "bold"),
        (case, "dim"),
        goto=event.seq,
        about=TensorThing(event.tensor),
        indent=2,
    )
    yield line((f"  {found.effect}", "dim"), indent=2)
    if is_live(trace.header):
        return
    yield from condition_rows(found.conditions, 2)


def _written(trace: Trace, at: int) -> ev.GradientAccumulated | None:
    event = trace[at]
    if isinstance(event, ev.GradientAccumulated):
        return event
    if isinstance(event, ev.NodeFinished) and event.parent is not None:
        inside = trace.children(event.parent)
        return next((each for each in inside if isinstance(each, ev.GradientAccumulated)), None)
    return None


SIGNS = {True: ("✓", ""), False: ("✗", "removed"), None: ("–", "dim")}


def condition_rows(conditions: Iterable[Condition], indent: int) -> Iterator[Line]:
    """Yield one row for each condition."""
    for term in conditions:
        sign, role = SIGNS[term.holds]
        means = term.means if term.holds is not None else "not evaluated"
        means = f"false: {means}" if term.holds is False else means
        decides = ("  ← decides", "focus") if term.decides else ("", "")
        yield line(" " * indent, (f"{sign} ", role), (term.asked, "name"), decides, (f"  {means}", "dim"),
                   indent=indent + 2)  # fmt: skip
