"""What one call of a function made is one box: only of one function, only if that makes the picture smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.folding import PAGE, fold_graph
from dispatchviz.explain.graph.graph_fold import Item, Repeat, Section, boxes, unfolded
from tests.explain.programs import traced

PROGRAM = """
import torch

def one(x, w):
    return [x * w + (x * w).sin() * (x + w).cos() + x * (w * w).exp()][0]

def other(x, w):
    return [x * w + (x * w).sin() * (x + w).cos() + x * (w * w).exp()][0]

def block(x, w, function):
    a = function(x, w)
    b = x * a + a.sin() * (x + a).cos()
    c = b * a + b.sin() * (b + a).cos()
    return c * b + c.sin() * (c + b).cos() + x

x = torch.ones(2, requires_grad=True)
for turn in range(8):
    x = block(x, torch.ones(2, requires_grad=True), {choice})
x.sum().backward()
"""


def sections(items: Sequence[Item]) -> list[Section]:
    found: list[Section] = []
    for item in items:
        found += sections(item.body) if isinstance(item, Repeat) else [item] if isinstance(item, Section) else []
    return found


def graph_of(trace: Trace) -> BackwardGraph:
    return backward_graph(trace)


def test_a_call_within_a_turn_is_one_box() -> None:
    graph = graph_of(traced(PROGRAM.replace("{choice}", "one")))
    fold = fold_graph(graph, 100)
    assert {section.function for section in sections(fold.items)} == {"one", "block"}  # the last turn is like no other
    assert boxes(fold.items) <= boxes(fold_graph(graph, 100, (), "module").items)
    assert Counter(unfolded(fold).names) == Counter(node.name for node in graph)


def test_calls_of_two_functions_in_turns_that_are_alike_are_no_box_of_one() -> None:
    graph = graph_of(traced(PROGRAM.replace("{choice}", "other if turn == 3 else one")))
    assert not {section.function for section in sections(fold_graph(graph, 100).items)} & {"one", "other"}


def test_small_pictures_are_left_alone() -> None:
    graph = graph_of(traced("import torch\ndef f(x):\n    return x * x\nx = f(torch.ones(2, requires_grad=True))\n"))
    fold = fold_graph(graph, 100)
    assert boxes(fold.items) <= PAGE
    assert sections(fold.items) == []


def test_what_somebody_asks_for_is_drawn() -> None:
    graph = graph_of(traced(PROGRAM.replace("{choice}", "one")))
    asked = next(node for node in graph if node.name == "ExpBackward0")
    fold = fold_graph(graph, 100, [str(asked.sequence_nr)])
    drawn = [item for item in fold.items if isinstance(item, int)]
    assert any(fold.names[item] == "ExpBackward0" for item in drawn)
