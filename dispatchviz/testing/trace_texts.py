"""Properties of a trace to compare with a text: ``assert graph(trace) == "Sum → Add → AccumulateGrad(x)"``.

Each function returns a ``TraceText``. If a comparison fails, pytest's report shows the first difference. Names of Nodes
are short: ``Add`` is ``AddBackward0``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from dispatchviz.core.record.events import Dispatched, HookRan, NodeStarted, VariableSaved
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing.events_of_kind import events_of
from dispatchviz.testing.failures import failed, still
from dispatchviz.testing.graph_words import Part, graph_words, node_words, numberless, plain_name
from dispatchviz.testing.known_names import check_name, check_names
from dispatchviz.testing.patterns import call
from dispatchviz.testing.trace_text import SIGNS, TraceText


def graph(trace: Trace, backward: int | None = None) -> TraceText:
    """Return the backward graph from its roots to the leaves: ``Sum → Add → AccumulateGrad(x)``.

    If a Node has several edges, their targets are in brackets: ``Mul → (AccumulateGrad(x), AccumulateGrad(y))``. Edges
    that lead nowhere are left out. A Node that several edges lead to, and that leads on, has a number that identifies
    it when it appears again: ``Add → (Exp → Mul#1 → AccumulateGrad(x), Mul#1)``.

    The graph is that of the last backward pass, or of the one that ``backward`` names, counted from 0. Without any pass
    it has all Nodes, starting at those that no edge leads to. Raise ValueError if there is no such pass.
    """
    quiet = still(trace)
    return TraceText(list(graph_words(quiet, backward)), "graph(trace)", partial(_check_nodes, quiet))


def node_order(trace: Trace, backward: int | None = None) -> TraceText:
    """Return the Nodes in the order in which the engine runs them, of all backward passes or of one: ``Sum, Add,
    AccumulateGrad(x)``.

    Raise ValueError if there is no such pass.
    """
    quiet = still(trace)
    ran = (node_words(quiet, event.node, event.name, event.seq) for event in events_of(quiet, NodeStarted, backward))
    return TraceText(list(_joined(ran, ",")), "node_order(trace)", partial(_check_nodes, quiet))


def hook_order(trace: Trace, backward: int | None = None) -> TraceText:
    """Return the functions of the hooks that the engine calls, in order, of all backward passes or of one: ``scale,
    log``.

    Raise ValueError if there is no such pass.
    """
    ran = ([(event.function, event.seq)] for event in events_of(still(trace), HookRan, backward))
    return TraceText(list(_joined(ran, ",")), "hook_order(trace)")


def saved(trace: Trace) -> TraceText:
    """Return the values that Nodes save for backward: ``Mul(other=w, self=x), Exp(result)``. The name of an unnamed
    tensor is left out.
    """
    quiet = still(trace)
    nodes: dict[int, list[VariableSaved]] = {}
    for event in events_of(quiet, VariableSaved):
        nodes.setdefault(event.node, []).append(event)
    parts = (_saved_by(quiet, node, events) for node, events in nodes.items())
    return TraceText(list(_joined(parts, ",")), "saved(trace)")


def keys(trace: Trace, operator: Any) -> TraceText:
    """Return the keys that the calls of an operator go to: ``AutogradCPU → CPU``. Different ways appear once each,
    separated by ``;``.

    Raise AssertionError if the operator is never called.
    """
    __tracebackhide__ = True
    ways = key_ways(trace, operator)
    different = {tuple(key for key, _ in way): way for way in reversed(ways)}
    parts = (_joined(([part] for part in way), "→") for way in reversed(different.values()))
    return TraceText(list(_joined(parts, ";")), "keys(trace, ...)", partial(_check_keys, trace))


def key_ways(trace: Trace, operator: Any) -> list[list[Part]]:
    """Return, for each call of an operator, the keys that it goes to by redispatches. Raise AssertionError if there is
    no call.
    """
    __tracebackhide__ = True
    pattern = call(operator)
    check_names(trace, [pattern])
    ways: dict[int, list[Part]] = {}
    call_of: dict[int, int] = {}
    quiet = still(trace)
    for event in events_of(quiet, Dispatched):
        begun = event.seq if pattern.matches(event) else _call_around(quiet, event, call_of)
        if begun is not None:
            call_of[event.seq] = begun
            ways.setdefault(begun, []).append((event.key, event.seq))
    if not ways:
        raise failed(trace, f"{pattern!r} never happens, so it goes to no key")
    return list(ways.values())


def _call_around(trace: Trace, event: Dispatched, call_of: dict[int, int]) -> int | None:
    """Return the wanted call that a redispatch of the same operator belongs to."""
    if not event.is_redispatch:
        return None
    outer = next((each for each in trace.ancestors(event.seq) if isinstance(each, Dispatched)), None)
    return None if outer is None or outer.operator != event.operator else call_of.get(outer.seq)


def _saved_by(trace: Trace, node: int, events: Sequence[VariableSaved]) -> Iterator[Part]:
    yield from node_words(trace, node, "", events[0].seq)
    yield "(", events[0].seq
    for k, event in enumerate(events):
        yield from [(",", event.seq)] * bool(k)
        yield event.name, event.seq
        name = "undefined" if event.tensor is None else plain_name(trace, event.tensor, event.seq)
        yield from [("=", event.seq), (name, event.seq)] if name else ()
    yield ")", events[-1].seq


def _joined(parts: Iterable[Iterable[Part]], sign: str) -> Iterator[Part]:
    """Yield the parts with a sign between them."""
    for number, part in enumerate(parts):
        for k, (word, step) in enumerate(part):
            yield from [(sign, step)] * (number > 0 and k == 0)
            yield word, step


# -- names ------------------------------------------------------------------------------------------------------------


def _check_nodes(trace: Trace, words: Sequence[str]) -> None:
    """Check the names of Nodes, but not those of leaves, which the program chooses."""
    __tracebackhide__ = True
    for k, word in enumerate(words):
        is_leaf = k > 1 and words[k - 1] == "(" and words[k - 2] == "AccumulateGrad"
        if word not in SIGNS and not is_leaf:
            check_name(trace, "short Node", numberless(word))


def _check_keys(trace: Trace, words: Sequence[str]) -> None:
    __tracebackhide__ = True
    for word in words:
        if word not in SIGNS:
            check_name(trace, "key", word)
