"""The place where a backward pass enters a part of the graph that an earlier pass ran: the edge, the tensor, the
variable.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.iterations import Iteration, iterations
from dispatchviz.explain.diagnosis.graph_errors.values import (
    NAME,
    leaves_behind,
    spelled,
    steps_of_node,
    text_on_line,
    variable,
)
from dispatchviz.explain.trace_index.enclosing_steps import around, source_line
from dispatchviz.explain.trace_index.trace_index import index

MOST = 100_000
"""The number of Nodes of a pass that are read."""


class Crossing(NamedTuple):
    """An edge from a Node that the first pass did not run to one that it ran, or that is older than the pass."""

    user: int
    old: int
    output_nr: int


class Second(NamedTuple):
    """A pass that reaches a Node that an earlier pass released."""

    failure: Failure
    node: ev.NodeStarted
    first: ev.BackwardStarted
    this: ev.BackwardStarted
    ran: frozenset[int]
    """The Nodes that ran in the first pass."""


def second_pass(failure: Failure) -> Second | None:
    """Return the pass in which the Node raised, with the first one that released the Node, or None."""
    trace, node = failure.trace, failure.node
    this = None if node is None else around(trace, node.seq, ev.BackwardStarted)
    if node is None or this is None:
        return None
    first = releasing(trace, node.node, node.seq)
    if first is None:
        return None
    return Second(failure, node, first, this, frozenset(_runs(trace, first.seq, trace.ends[first.seq])))


def releasing(trace: Trace, node: int, before: int) -> ev.BackwardStarted | None:
    """Return the first pass in which a Node ran and released its saved variables."""
    for step in steps_of_node(trace, node, ev.NodeStarted):
        found = around(trace, step, ev.BackwardStarted) if step < before else None
        if found is not None and not found.keep_graph:
            return found
    return None


def _runs(trace: Trace, begin: int, end: int) -> Iterator[int]:
    """Yield the Nodes that started between two steps, in order."""
    steps = trace.steps_of(ev.NodeStarted)
    few = steps[bisect_right(steps, begin) : bisect_left(steps, end + 1)]
    return map(trace.columns.nodes.__getitem__, few)


def crossing_to(second: Second) -> Crossing | None:
    """Return the edge on the path from the root to the Node that enters a part older than the first pass, or else one
    that this pass ran.

    None if the root ran there too.
    """
    consumers = dict[int, tuple[int, int]]()
    known = index(second.failure.trace)
    for node in _runs(second.failure.trace, second.this.seq, second.failure.raised):
        edges = known.edges.get(node)
        for edge in () if edges is None else edges.edges:
            if edge is not None:
                consumers.setdefault(edge[0], (node, edge[1]))
    path = list(_path(second.node.node, consumers))
    later = next((each for each in path if _is_later(second, each.user)), None)
    return later or next((each for each in path if each.user not in second.ran), None)


def _path(node: int, consumers: Mapping[int, tuple[int, int]]) -> Iterator[Crossing]:
    """Yield the edges from a Node up to the root."""
    seen = set[int]()
    while node in consumers and node not in seen:
        seen.add(node)
        user, output_nr = consumers[node]
        yield Crossing(user, node, output_nr)
        node = user


def _is_later(second: Second, node: int) -> bool:
    """Return whether a Node was made after the first pass."""
    made = index(second.failure.trace).nodes.get(node)
    return made is not None and made.seq > second.first.seq


def _crossings(second: Second, is_old: Callable[[int], bool]) -> Iterator[Crossing]:
    """Yield all edges that enter an older part of the graph, in the order in which the pass meets them."""
    known, roots = index(second.failure.trace), [node for node, _ in second.this.roots]
    seen, front = set(roots), [node for node in roots if not is_old(node)]
    while front and len(seen) < MOST:
        edges = known.edges.get(user := front.pop(0))
        for edge in () if edges is None else edges.edges:
            if edge is None or edge[0] in seen:
                continue
            seen.add(edge[0])
            if not is_old(edge[0]):
                front.append(edge[0])
            elif _has_saved(second, edge[0]):
                yield Crossing(user, *edge)


def _has_saved(second: Second, node: int) -> bool:
    """Return whether a Node, or a later Node among those that the first pass ran, had saved a variable."""
    known, seen, front = index(second.failure.trace), {node}, [node]
    while front and len(seen) < MOST:
        current = front.pop()
        if steps_of_node(second.failure.trace, current, ev.VariableSaved):
            return True
        edges = known.edges.get(current)
        new = [edge[0] for edge in (() if edges is None else edges.edges) if edge is not None and edge[0] not in seen]
        seen.update(new)
        front += new
    return False


def result_of(second: Second, crossing: Crossing) -> int | None:
    """Return the tensor that the later Node's call got from the earlier one."""
    trace, known = second.failure.trace, index(second.failure.trace)
    until = known.nodes[crossing.user].seq if crossing.user in known.nodes else len(trace)
    for step in reversed(steps_of_node(trace, crossing.old, ev.HistorySet, ev.HistoryRebased)):
        event = trace[step]
        if not isinstance(event, ev.HistorySet | ev.HistoryRebased) or step >= until:
            continue
        if event.output_nr == crossing.output_nr:
            return event.tensor
    return None


def name_of(second: Second, crossing: Crossing) -> str:
    """Return the variable through which the later call got the tensor; empty if the recording does not have it."""
    trace, tensor = second.failure.trace, result_of(second, crossing)
    made = index(trace).nodes.get(crossing.user)
    if tensor is None or made is None:
        return ""
    return variable(trace, tensor, made.seq) or _assigned(trace, tensor, made.seq)


def _assigned(trace: Trace, tensor: int, user: int) -> str:
    """Return ``self.h``, if the line ``self.h = ...`` made the tensor and the line that uses it reads ``self.h``."""
    made = index(trace).tensors.get(tensor)
    target, equals, _ = text_on_line(trace, made.seq).partition(" = ") if made is not None else ("", "", "")
    found = bool(equals) and NAME.fullmatch(target) and reads(trace, target, user)
    return target if found else ""


def reads(trace: Trace, name: str, seq: int) -> bool:
    """Return whether the line of a step reads a variable or the object that holds it. An assignment to it is not
    enough.
    """
    target, equals, value = text_on_line(trace, seq).partition(" = ")
    holder = name.partition("[")[0]
    return re.search(rf"(?<![\w.]){re.escape(holder)}(?!\w)", value if equals else target) is not None


def spelled_name(second: Second, crossing: Crossing) -> str:
    """Return that variable as the line spells it."""
    made = index(second.failure.trace).nodes.get(crossing.user)
    name = name_of(second, crossing)
    return name if made is None else spelled(second.failure.trace, name, made.seq)


def is_carried(second: Second, crossing: Crossing) -> bool:
    """Return whether the variable names another tensor now, because each iteration computes it from its last value."""
    trace, name, tensor = second.failure.trace, name_of(second, crossing), result_of(second, crossing)
    holder = index(trace).holder(name, second.failure.raised) if name else None
    if holder is not None or tensor is None or not name:
        return holder is not None and (holder != tensor or index(trace).history(holder, len(trace)) != crossing.old)
    made, user = index(trace).tensors.get(tensor), index(trace).nodes.get(crossing.user)
    return made is not None and user is not None and _same_line(trace, made.seq, user.seq)


def _same_line(trace: Trace, step: int, other: int) -> bool:
    lines = source_line(trace, step), source_line(trace, other)
    return None not in lines and len({(line.file, line.line) for line in lines if line is not None}) == 1


def in_one_loop(second: Second, crossing: Crossing) -> tuple[Iteration, Iteration] | None:
    """Return the iterations of one loop in which the tensor was made and used, if they differ."""
    trace, known = second.failure.trace, index(second.failure.trace)
    old, user = known.nodes.get(crossing.old), known.nodes.get(crossing.user)
    made, used = (iterations(trace, each.seq) if each is not None else () for each in (old, user))
    for one in made:
        for other in used:
            if one[:3] == other[:3]:
                return (one, other) if one != other else None
    return None


class Shared(NamedTuple):
    """The part of the graph that a pass shares with an earlier one."""

    name: str
    """The variable of the shared tensor."""
    user: int
    """The step that made the Node that used it for the earlier pass."""
    first: ev.BackwardStarted
    """The earlier pass."""
    alone: bool
    """True if the passes share nothing else."""


def pass_before(failure: Failure, before: int) -> Second | None:
    """Return this pass together with the last one before a step."""
    trace, node = failure.trace, failure.node
    this = None if node is None else around(trace, node.seq, ev.BackwardStarted)
    earlier = [step for step in trace.steps_of(ev.BackwardStarted) if step < before]
    first = trace[earlier[-1]] if earlier else None
    if node is None or this is None or not isinstance(first, ev.BackwardStarted):
        return None
    return Second(failure, node, first, this, frozenset(_runs(trace, first.seq, trace.ends[first.seq])))


def shared_with(second: Second, without: int) -> Shared | None:
    """Return the tensor that this pass shares with the earlier one, other than one computed from a leaf."""
    trace, known = second.failure.trace, index(second.failure.trace)
    crossings = list(_crossings(second, second.ran.__contains__))
    alone = len({result_of(second, each) for each in crossings}) == 1
    for crossing in crossings:
        tensor, name = result_of(second, crossing), name_of(second, crossing)
        users = [each for each in second.ran if _leads_to(trace, each, crossing.old)]
        if not users or not name or tensor is None:
            continue
        if without not in leaves_behind(trace, tensor, known.nodes[users[0]].seq):
            return Shared(name, known.nodes[users[0]].seq, second.first, alone)
    return None


def _leads_to(trace: Trace, node: int, other: int) -> bool:
    edges = index(trace).edges.get(node)
    return edges is not None and any(edge is not None and edge[0] == other for edge in edges.edges)


def carriers(second: Second) -> list[str]:
    """Return all variables that carry a released part over."""
    found = _crossings(second, lambda node: not _is_later(second, node))
    return [spelled_name(second, each) for each in found if is_carried(second, each)]
