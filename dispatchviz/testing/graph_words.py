"""The backward graph, its Nodes and leaves in words that a person would write: no numbers, no addresses."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.testing.trace_text import short_node

Part = tuple[str, int]
"""A word, and the step that it comes from."""


def graph_words(trace: Trace, backward: int | None) -> Iterator[Part]:
    """Yield the graph of a backward pass, by default the last one, from its roots on. Raise ValueError if there is no
    such pass.
    """
    if not len(trace):
        return
    drawn = backward_graph(trace, of=backward)
    marks, count = _shared(drawn), itertools.count(1)
    left: list[int | str] = []
    for k, root in enumerate(drawn.roots):
        left += [*[";"] * bool(k), root]
    left.reverse()
    met: set[int] = set()
    step = 0
    while left:  # a graph may be deeper than Python's stack
        item = left.pop()
        if isinstance(item, str):
            yield item, step
            continue
        if marks.get(item) == "":
            marks[item] = f"#{next(count)}"
        named = _named(trace, drawn, item, marks.get(item, ""))
        step = named[0][1]
        yield from named
        if item not in met:
            met.add(item)
            left += reversed(_behind(drawn, item))


def _behind(drawn: BackwardGraph, node: int) -> list[int | str]:
    """Return the Nodes that a Node leads to, with the signs between them."""
    targets = _targets(drawn, node)
    if len(targets) < 2:
        return ["→", *targets] if targets else []
    items: list[int | str] = ["→", "("]
    for k, target in enumerate(targets):
        items += [*[","] * bool(k), target]
    return [*items, ")"]


def _targets(drawn: BackwardGraph, node: int) -> list[int]:
    edges = drawn.outline(node).edges
    return [edge[0] for edge in edges if edge is not None and edge[0] in drawn.nodes]


def _shared(drawn: BackwardGraph) -> dict[int, str]:
    """Return the Nodes that several edges lead to and that lead on. Each gets a mark when it is first met."""
    uses = Counter(target for node in drawn.nodes for target in _targets(drawn, node))
    shared = [node for node in drawn.nodes if uses[node] > 1 and _targets(drawn, node)]
    return dict.fromkeys(shared, "")


def _named(trace: Trace, drawn: BackwardGraph, node: int, mark: str) -> list[Part]:
    made = index(trace).nodes.get(node)
    first, *rest = node_words(trace, node, drawn.outline(node).name, made.seq if made else 0)
    return [(first[0] + mark, first[1]), *rest]


def node_words(trace: Trace, node: int, name: str, step: int) -> list[Part]:
    """Return a Node's words: ``Add``, or ``AccumulateGrad(x)`` for that of a leaf. If ``name`` is empty, the trace
    provides the name.
    """
    made = index(trace).nodes.get(node)
    plain = short_node(name or (made.name if made else "Node"))
    leaf = index(trace).accumulators.get(node)
    variable = plain_name(trace, leaf.tensor, leaf.seq) if leaf else ""
    return [(part, step) for part in ((plain, "(", variable, ")") if variable else (plain,))]


def plain_name(trace: Trace, tensor: int, at: int) -> str:
    """Return the variable that names a tensor at a step, or did before, or will later; empty if none ever does."""
    known = index(trace)
    return known.shown(known.name(tensor, at) or known.coming_name(tensor, at) or known.lost_name(tensor, at)[0])


def numberless(word: str) -> str:
    """Remove the number of a repeated Node: ``Mul`` for ``Mul#1``."""
    return re.sub(r"#\d+$", "", word)
