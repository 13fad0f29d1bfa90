"""``Trying to backward through the graph a second time``: which Node, which pass released it, what carried it over."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.iterations import in_iteration, iterations, on_line_in
from dispatchviz.explain.diagnosis.values import called, named_on_line, node_made, spelled, steps_of_node, variable
from dispatchviz.explain.diagnosis.words import begun, on_line
from dispatchviz.explain.sentences.sentence_claims import NodeRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MESSAGE = "Trying to backward through the graph a second time"

MOST = 100_000
"""So many Nodes of a pass are looked at."""


class Crossing(NamedTuple):
    """An edge from a Node that the first pass did not run to one that it did."""

    user: int
    old: int
    output_nr: int


class Second(NamedTuple):
    """A pass that reaches a Node which an earlier one released."""

    failure: Failure
    node: ev.NodeStarted
    first: ev.BackwardStarted
    this: ev.BackwardStarted
    ran: frozenset[int]
    """The Nodes that ran in the first pass."""


def second_backward(failure: Failure) -> Diagnosis | None:
    """The diagnosis of a Node that runs after its saved tensors were released."""
    if failure.node is None:
        return _read(failure)
    second = _second(failure)
    if second is None:
        return None
    crossing = _crossing(second)
    if crossing is None:
        return _twice(second)
    made = index(failure.trace).nodes.get(crossing.user)
    if made is None or made.seq < second.first.seq:
        return _shared(second, crossing)
    return _carried(second, crossing) if _is_carried(second, crossing) else _once(second, crossing)


def _second(failure: Failure) -> Second | None:
    trace, node = failure.trace, failure.node
    this = None if node is None else around(trace, node.seq, ev.BackwardStarted)
    if node is None or this is None:
        return None
    first = _releasing(trace, node.node, node.seq)
    if first is None:
        return None
    return Second(failure, node, first, this, frozenset(_runs(trace, first.seq, trace.ends[first.seq])))


def _releasing(trace: Trace, node: int, before: int) -> ev.BackwardStarted | None:
    """The first pass in which a Node ran and released what it had saved."""
    for step in steps_of_node(trace, node, ev.NodeStarted):
        found = around(trace, step, ev.BackwardStarted) if step < before else None
        if found is not None and not found.keep_graph:
            return found
    return None


def _read(failure: Failure) -> Diagnosis | None:
    """A line reads what a Node had saved."""
    trace, at = failure.trace, failure.raised
    for name, tensor in named_on_line(failure):
        node = index(trace).history(tensor, at)
        first = None if node is None else _releasing(trace, node, at)
        if node is None or first is None:
            continue
        text = (
            f"{begun(on_line(trace, at))} reads what {node_made(trace, node, at)}, had saved. The backward pass "
            f"of {on_line_in(trace, first.seq)} has released it."
        )
        fix = f"Read the saved tensors of {name}.grad_fn before {on_line(trace, first.seq)}."
        cause = Statement("second backward: saved tensors were read", text)
        return Diagnosis("error", at, (cause,), failure.message, (fix,), (first.seq, at))
    return None


def _runs(trace: Trace, begin: int, end: int) -> Iterator[int]:
    """The Nodes that started between two steps, in order."""
    steps = trace.steps_of(ev.NodeStarted)
    few = steps[bisect_right(steps, begin) : bisect_left(steps, end + 1)]
    return map(trace.columns.nodes.__getitem__, few)


def _crossing(second: Second) -> Crossing | None:
    """Where the way from the root to the Node enters what the first pass ran; None if the root ran there too."""
    consumers = dict[int, tuple[int, int]]()
    known = index(second.failure.trace)
    for node in _runs(second.failure.trace, second.this.seq, second.failure.raised):
        edges = known.edges.get(node)
        for edge in () if edges is None else edges.edges:
            if edge is not None:
                consumers.setdefault(edge[0], (node, edge[1]))
    current, seen = second.node.node, set[int]()
    while current in consumers and current not in seen:
        seen.add(current)
        user, output_nr = consumers[current]
        if user not in second.ran:
            return Crossing(user, current, output_nr)
        current = user
    return None


def _crossings(second: Second) -> Iterator[Crossing]:
    """All edges that enter what the first pass ran and released, in the order in which the pass meets them."""
    known, roots = index(second.failure.trace), [node for node, _ in second.this.roots]
    seen, front = set(roots), [node for node in roots if node not in second.ran]
    while front and len(seen) < MOST:
        edges = known.edges.get(user := front.pop(0))
        for edge in () if edges is None else edges.edges:
            if edge is None or edge[0] in seen:
                continue
            seen.add(edge[0])
            if edge[0] not in second.ran:
                front.append(edge[0])
            elif _has_saved(second, edge[0]):
                yield Crossing(user, *edge)


def _has_saved(second: Second, node: int) -> bool:
    """Whether a Node, or one that it leads to in what the first pass ran, had saved something."""
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


def _result(second: Second, crossing: Crossing) -> int | None:
    """The tensor that the later Node's call got from the earlier one."""
    trace, known = second.failure.trace, index(second.failure.trace)
    until = known.nodes[crossing.user].seq if crossing.user in known.nodes else len(trace)
    for step in reversed(steps_of_node(trace, crossing.old, ev.HistorySet, ev.HistoryRebased)):
        event = trace[step]
        if not isinstance(event, ev.HistorySet | ev.HistoryRebased) or step >= until:
            continue
        if event.output_nr == crossing.output_nr:
            return event.tensor
    return None


def _name(second: Second, crossing: Crossing) -> str:
    trace, tensor = second.failure.trace, _result(second, crossing)
    made = index(trace).nodes.get(crossing.user)
    return "" if tensor is None or made is None else variable(trace, tensor, made.seq)


def _spelled(second: Second, crossing: Crossing) -> str:
    made = index(second.failure.trace).nodes.get(crossing.user)
    name = _name(second, crossing)
    return name if made is None else spelled(second.failure.trace, name, made.seq)


def _is_carried(second: Second, crossing: Crossing) -> bool:
    """Whether the variable names another tensor now: each iteration computes it from its last value."""
    name = _name(second, crossing)
    holder = index(second.failure.trace).holder(name, second.failure.raised) if name else None
    return holder is not None and holder != _result(second, crossing)


# -- what is said ------------------------------------------------------------------------------------------------------


def _released(second: Second) -> str:
    """Which Node, where it was made, and which pass released it."""
    trace, node = second.failure.trace, second.node.node
    made = index(trace).nodes.get(node)
    where = f", made on {on_line_in(trace, made.seq)}," if made is not None and on_line(trace, made.seq) else ""
    return (
        f"{node_title(trace, node, second.failure.raised)}{where} ran in the backward pass of "
        f"{on_line_in(trace, second.first.seq)}. That pass released the tensors that the Node had saved."
    )


def _said(second: Second, kind: str, text: str, fixes: tuple[str, ...], proof: tuple[int, ...] = ()) -> Diagnosis:
    failure, node = second.failure, second.node
    claims = (NodeRaises(node.node, MESSAGE),)
    made = index(failure.trace).nodes.get(node.node)
    steps = sorted({*proof, second.first.seq, node.seq, *(() if made is None else (made.seq,))})
    text = f"{_released(second)} {text}"
    return Diagnosis("error", failure.raised, (Statement(kind, text, claims),), failure.message, fixes, tuple(steps))


def _twice(second: Second) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    root = _root_name(second)
    again = f"{begun(on_line_in(trace, at))} runs the same graph again"
    text = f"{again}: it starts at the same result, {root}." if root else f"{again}."
    same = on_line(trace, second.first.seq, text=False) == on_line(trace, at, text=False) and in_iteration(trace, at)
    first = on_line(trace, second.first.seq)
    fixes = (
        f"Compute {root or 'the result'} again in each iteration, before {on_line(trace, at)}."
        if same
        else f"Call backward once: leave out {on_line(trace, at)}.",
        f"If you want both passes, the first one must keep the graph: retain_graph=True on {first}.",
    )
    return _said(second, "second backward: the same result", text, fixes)


def _root_name(second: Second) -> str:
    trace, (node, output_nr) = second.failure.trace, second.this.roots[0]
    for step in steps_of_node(trace, node, ev.HistorySet, ev.HistoryRebased):
        event = trace[step]
        if isinstance(event, ev.HistorySet | ev.HistoryRebased) and event.output_nr == output_nr:
            return called(trace, event.tensor, second.failure.raised)
    return ""


def _shared(second: Second, crossing: Crossing) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    tensor = _result(second, crossing)
    name = "its result" if tensor is None else called(trace, tensor, index(trace).nodes[crossing.user].seq)
    root = _root_name(second)
    text = (
        f"{begun(on_line_in(trace, at))} reaches it again, because {root or 'this result'} is computed from {name} too."
    )
    lines = f"{on_line(trace, second.first.seq, text=False)} and {on_line(trace, at, text=False)}"
    fixes = (
        f"Add the results and call backward once, in place of {lines}.",
        f"Or keep the graph in the first pass: retain_graph=True on {on_line(trace, second.first.seq)}.",
    )
    return _said(second, "second backward: a shared part", text, fixes)


def _carried(second: Second, crossing: Crossing) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    user = index(trace).nodes[crossing.user].seq
    name = _spelled(second, crossing)
    old = index(trace).nodes.get(crossing.old)
    before, now = iterations(trace, old.seq if old else second.first.seq)[:1], iterations(trace, user)[:1]
    carried = (
        f"{name} carries its result from iteration {before[0].number} into iteration {now[0].number}"
        if before and now and before[0][:3] == now[0][:3] and before != now
        else f"{name} keeps its result after that pass"
    )
    text = (
        f"{carried}: {on_line(trace, user)} computes from it. So {on_line_in(trace, at)} reaches the Node a second "
        "time."
    )
    names = dict.fromkeys([name, *(each for each in _carriers(second) if each != name)])
    cut = f"{', '.join(names)} = {', '.join(f'{each}.detach()' for each in names)}"
    fixes = (
        f"Cut the history before {on_line(trace, user, text=False)} uses {listed(list(names))} again: {cut}.",
        "retain_graph=True is no help in a loop: the graph, and the time of each pass, would grow with each iteration.",
    )
    return _said(second, "second backward: carried over", text, fixes, (user,))


def _carriers(second: Second) -> list[str]:
    """All variables that carry a released part over."""
    return [_spelled(second, each) for each in _crossings(second) if _is_carried(second, each)]


def _once(second: Second, crossing: Crossing) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    user, tensor = index(trace).nodes[crossing.user].seq, _result(second, crossing)
    name = "its result" if tensor is None else called(trace, tensor, user)
    old = index(trace).nodes.get(crossing.old)
    made = on_line(trace, old.seq) if old is not None else ""
    computed = f"{name} was computed only once{f', on {made}' if made else ''}"
    again = f"{on_line_in(trace, user)} uses it again. So {on_line_in(trace, at)} reaches the Node again."
    line = on_line(trace, old.seq, text=False) if old is not None else "its line"
    fixes = (
        f"Compute {name} anew for each backward pass: run {line} again before {on_line(trace, user, text=False)}.",
        f"If {name} needs no gradient there, use {name}.detach() on {on_line(trace, user, text=False)}.",
    )
    return _said(second, "second backward: computed once", f"{computed}, and {again}", fixes, (user,))


def shared_with(failure: Failure, before: int) -> tuple[str, int, ev.BackwardStarted] | None:
    """What this pass shares with the last pass before a step: its variable, the step that used it there, that pass."""
    trace, known = failure.trace, index(failure.trace)
    node = failure.node
    this = None if node is None else around(trace, node.seq, ev.BackwardStarted)
    earlier = [step for step in trace.steps_of(ev.BackwardStarted) if step < before]
    first = trace[earlier[-1]] if earlier else None
    if node is None or this is None or not isinstance(first, ev.BackwardStarted):
        return None
    second = Second(failure, node, first, this, frozenset(_runs(trace, first.seq, trace.ends[first.seq])))
    for crossing in _crossings(second):
        users = [each for each in second.ran if _leads_to(trace, each, crossing.old)]
        if users and (name := _name(second, crossing)):
            return name, known.nodes[users[0]].seq, first
    return None


def _leads_to(trace: Trace, node: int, other: int) -> bool:
    edges = index(trace).edges.get(node)
    return edges is not None and any(edge is not None and edge[0] == other for edge in edges.edges)
