"""Groups of Nodes, and the boxes that modules and calls of one function are folded into."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.folded_modules import Boxed
from dispatchviz.explain.graph.folding import PAGE, fold_graph, fold_order
from dispatchviz.explain.graph.graph_fold import Item, Repeat, Section, boxes, repeats, sections, unfolded
from dispatchviz.explain.graph.node_groups import Cluster, groups, module_of, shared_path
from tests.explain.programs import traced
from tests.module_blocks import BLOCKS, ON_ONE_LINE, PROGRAM


@functools.cache
def net() -> Trace:
    return traced(
        """
        import torch
        from torch import nn

        def twice(x):
            return x * 2

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(2, 2), nn.Linear(2, 2)

            def forward(self, x):
                return self.last(twice(self.first(x).relu()))

        net = Net()
        shared = torch.ones(2, requires_grad=True)
        out = net(torch.ones(1, 2)) + twice(shared) + shared
        out.sum().backward()
        """
    )


def titles(cluster: Cluster) -> dict[str, list[list[str]]]:
    graph, found = backward_graph(net()), dict[str, list[list[str]]]()
    paths = groups(graph, cluster)
    for node in graph:
        found.setdefault(node.title, []).append([group.title for group in paths[node.number]])
    return found


def test_nested_calls_are_nested_groups() -> None:
    found = titles("function")
    assert found["MulBackward0"] == [["twice"], ["Net.forward", "twice"]]
    assert found["ReluBackward0"] == [["Net.forward"]]
    assert found["AddBackward0"] == [[], []]
    assert found["SumBackward0"] == [[]]


def test_calls_of_one_function_are_different_groups() -> None:
    graph = backward_graph(net())
    paths = groups(graph, "function")
    keys = [paths[node.number][-1].key for node in graph if node.name == "MulBackward0"]
    assert len(set(keys)) == 2


def calls(program: str, node: str) -> list[list[int]]:
    """Return the calls in which each Node of a name was made, numbered in order of occurrence."""
    graph, numbers = backward_graph(traced(program)), dict[tuple[str, int, int], int]()
    paths = groups(graph, "function")
    made = sorted(number for number in graph.nodes if graph.outline(number).name == node)
    return [[numbers.setdefault(group.key, len(numbers)) for group in paths[number]] for number in made]


CALLS = {
    "twice on a line": ("def f(x):\n    y = x * 2\n    return y * 3\nz = f(x) + f(x)", [[0], [0], [1], [1]]),
    "one within the other": ("def f(x):\n    y = x * 2\n    return y * 3\nz = f(f(x))", [[0], [0], [1], [1]]),
    "a loop": ("def f(x):\n    for _ in range(2): x = x * 2\n    return x\nz = f(x) + f(x)", [[0], [0], [1], [1]]),
    "recursion": (
        "def f(x, n):\n    if n: return f(x, n - 1) * f(x, n - 1)\n    return x * 2\nz = f(x, 1)",
        [[0, 1], [0, 2], [0]],
    ),
    "a function that goes on": (
        "def g(x): return x * 2\ndef f(x): return g(x) * g(x)\nz = f(x) + f(x)",
        [[0, 1], [0, 2], [0], [3, 4], [3, 5], [3]],
    ),
    "an error": (
        """def g(x):
    x = x * 2
    raise ValueError(x)
def f(x):
    try: return g(x)
    except ValueError as error: return error.args[0] * 2
z = f(x) + f(x)""",
        [[0, 1], [0], [2, 3], [2]],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_from_one_line_are_different_groups(name: str) -> None:
    program, expected = CALLS[name]
    begin = "import torch\nx = torch.ones(2, requires_grad=True)\n"
    assert calls(f"{begin}{program}\nz.sum().backward()\n", "MulBackward0") == expected


def test_alternating_generators_are_separate_groups() -> None:
    """The trace does not show which generator continues, so each continuation from another line of the program is a
    group.
    """
    program = """
        import torch
        x = torch.ones(2, requires_grad=True)
        def each(x):
            yield x * 2
            yield x * 3
        one, other = each(x), each(x)
        a = next(one), next(other)
        b = next(one)
        (a[0] + a[1] + b).sum().backward()
    """
    assert calls(program, "MulBackward0") == [[0], [0], [1]]


def test_modules_that_one_line_calls_are_different_groups() -> None:
    graph = backward_graph(traced(ON_ONE_LINE))
    found = Counter(path[0].title for path in groups(graph, "module").values() if path)
    assert found.keys() == {f"model.{at}" for at in range(BLOCKS + 1)}
    assert len({found[f"model.{block}"] for block in range(BLOCKS)}) == 1


def test_module_is_identified_by_its_parameters() -> None:
    found = titles("module")
    assert found["AddmmBackward0"] == [["last"], ["first"]]
    assert found["AccumulateGrad (first.bias)"] == [["first"]]
    assert found["ReluBackward0"] == [[]]  # Net is the whole model, so it has no path
    assert found["SumBackward0"] == [[]]


def test_leaf_is_in_the_common_group_of_its_users() -> None:
    assert titles("function")["AccumulateGrad (shared)"] == [[]]
    assert titles("line")["AccumulateGrad (shared)"] == [[]]


def test_line_groups_have_the_text_of_the_line() -> None:
    assert titles("line")["ReluBackward0"] == [["line 14: return self.last(twice(self.first(x).relu()))"]]
    assert titles("line")["MulBackward0"] == [["line 6: return x * 2"], ["line 6: return x * 2"]]


def test_cluster_none_has_no_groups() -> None:
    assert groups(backward_graph(net()), "none") == {}


@pytest.mark.parametrize("cluster", ["module", "function", "line"])
def test_every_node_has_a_path(cluster: Cluster) -> None:
    graph: BackwardGraph = backward_graph(net())
    assert groups(graph, cluster).keys() == set(graph.nodes)


@pytest.mark.parametrize(
    ("name", "module"),
    [("layers.0.up.weight", "layers.0.up"), ("weight", ""), ("x", ""), ("loss@3", ""), ("net.a (t4)", ""), ("0.1", "")],
)
def test_module_path_is_a_prefix_of_the_parameter_path(name: str, module: str) -> None:
    assert module_of(name) == module


def test_shared_path_is_the_common_beginning() -> None:
    assert shared_path(["layers.11.up", "layers.11.norm1"]) == "layers.11"
    assert shared_path(["layers.1.up", "layers.11.up"]) == "layers"
    assert shared_path(["a.b", "a.b"]) == "a.b"
    assert shared_path(["a", "b"]) == shared_path([]) == ""


@pytest.fixture(scope="module")
def graph() -> BackwardGraph:
    return backward_graph(traced(PROGRAM))


def boxed(graph: BackwardGraph, *opened: str, is_folded: bool = False) -> dict[str, set[int]]:
    """Return the Nodes in each box, by module."""
    fold, order = fold_graph(graph, 100, (), "module", Boxed(opened, is_folded)), fold_order(graph)
    assert Counter(unfolded(fold).names) == Counter(node.name for node in graph)
    return {each.module: {order[at] for at in range(each.start, each.stop)} for each in sections(fold.items)}


def within(graph: BackwardGraph, module: str) -> set[int]:
    return {node for node, path in groups(graph, "module").items() if any(group.title == module for group in path)}


def test_a_box_has_all_nodes_of_an_outermost_module(graph: BackwardGraph) -> None:
    found = boxed(graph)
    assert found.keys() == {f"net[{block}]" for block in range(BLOCKS)}
    assert all(nodes == within(graph, module) for module, nodes in found.items())


def test_opened_module_shows_its_submodules_as_boxes(graph: BackwardGraph) -> None:
    assert boxed(graph, "net[1]").keys() == {"net[0]", "net[1].up", "net[1].down", "net[2]", "net[3]"}
    assert boxed(graph, "net[1]", "net[1].up").keys() == {"net[0]", "net[1].down", "net[2]", "net[3]"}
    assert boxed(graph, "net[1]")["net[1].up"] == within(graph, "net[1].up")


def test_module_that_fills_an_iteration_is_opened(graph: BackwardGraph) -> None:
    fold = fold_graph(graph, 100, (), "module", Boxed())
    assert [repeat.iterations for repeat in repeats(fold.items)] == [BLOCKS]
    assert boxed(graph, is_folded=True).keys() == {"*.up", "*.down"}


def test_module_that_fills_the_graph_is_opened() -> None:
    graph = backward_graph(traced(PROGRAM.replace(f"range({BLOCKS})", "range(1)")))
    assert boxed(graph).keys() == {"net[0].up", "net[0].down"}


def test_modules_called_on_one_line_are_separate_boxes() -> None:
    graph = backward_graph(traced(ON_ONE_LINE))
    blocks = {f"model.{block}" for block in range(BLOCKS)}
    found = boxed(graph)
    assert found.keys() == {*blocks, f"model.{BLOCKS}"}
    assert len({len(found[block]) for block in blocks}) == 1
    inner = {"model.1.net.0", "model.1.net.2", "model.1.norm"}
    assert boxed(graph, "model.1").keys() == found.keys() - {"model.1"} | inner


def test_graph_without_modules_has_no_boxes() -> None:
    graph = backward_graph(traced("import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n"))
    assert boxed(graph) == {}


CALLING = """
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
for iteration in range(8):
    x = block(x, torch.ones(2, requires_grad=True), {choice})
x.sum().backward()
"""


def call_boxes(items: Sequence[Item]) -> list[Section]:
    found: list[Section] = []
    for item in items:
        found += call_boxes(item.body) if isinstance(item, Repeat) else [item] if isinstance(item, Section) else []
    return found


def graph_of(trace: Trace) -> BackwardGraph:
    return backward_graph(trace)


def test_call_within_an_iteration_is_one_box() -> None:
    graph = graph_of(traced(CALLING.replace("{choice}", "one")))
    fold = fold_graph(graph, 100)
    assert {section.function for section in call_boxes(fold.items)} == {
        "one",
        "block",
    }  # the last iteration differs from all others
    assert boxes(fold.items) <= boxes(fold_graph(graph, 100, (), "module").items)
    assert Counter(unfolded(fold).names) == Counter(node.name for node in graph)


def test_similar_calls_of_two_functions_are_not_one_box() -> None:
    graph = graph_of(traced(CALLING.replace("{choice}", "other if iteration == 3 else one")))
    assert not {section.function for section in call_boxes(fold_graph(graph, 100).items)} & {
        "one",
        "other",
    }


def test_small_graph_folds_no_calls() -> None:
    graph = graph_of(traced("import torch\ndef f(x):\n    return x * x\nx = f(torch.ones(2, requires_grad=True))\n"))
    fold = fold_graph(graph, 100)
    assert boxes(fold.items) <= PAGE
    assert call_boxes(fold.items) == []


def test_requested_nodes_are_drawn() -> None:
    graph = graph_of(traced(CALLING.replace("{choice}", "one")))
    asked = next(node for node in graph if node.name == "ExpBackward0")
    fold = fold_graph(graph, 100, [str(asked.sequence_nr)])
    drawn = [item for item in fold.items if isinstance(item, int)]
    assert any(fold.names[item] == "ExpBackward0" for item in drawn)
