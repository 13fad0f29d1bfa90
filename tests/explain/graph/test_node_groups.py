"""Where the Nodes of a graph come from: module, function, line, beside what the program itself did."""

from __future__ import annotations

import functools
from collections import Counter

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.node_groups import Cluster, groups, module_of, shared_path
from tests.explain.programs import traced
from tests.module_blocks import BLOCKS, ON_ONE_LINE


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


def test_functions_are_within_each_other() -> None:
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
    """Of each Node of a name the calls that it was made in, numbered in the order in which they are met."""
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


def test_generators_that_take_turns_are_not_taken_for_each_other() -> None:
    """Which of them goes on is not noted: each time they go on from another line of the program, it is a group."""
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


def test_modules_by_their_parameters() -> None:
    found = titles("module")
    assert found["AddmmBackward0"] == [["last"], ["first"]]
    assert found["AccumulateGrad (first.bias)"] == [["first"]]
    assert found["ReluBackward0"] == [[]]  # Net is the whole model: no path
    assert found["SumBackward0"] == [[]]


def test_a_leaf_is_where_all_that_use_it_are() -> None:
    assert titles("function")["AccumulateGrad (shared)"] == [[]]
    assert titles("line")["AccumulateGrad (shared)"] == [[]]


def test_lines() -> None:
    assert titles("line")["ReluBackward0"] == [["line 14: return self.last(twice(self.first(x).relu()))"]]
    assert titles("line")["MulBackward0"] == [["line 6: return x * 2"], ["line 6: return x * 2"]]


def test_none() -> None:
    assert groups(backward_graph(net()), "none") == {}


@pytest.mark.parametrize("cluster", ["module", "function", "line"])
def test_every_node_has_a_path(cluster: Cluster) -> None:
    graph: BackwardGraph = backward_graph(net())
    assert groups(graph, cluster).keys() == set(graph.nodes)


@pytest.mark.parametrize(
    ("name", "module"),
    [("layers.0.up.weight", "layers.0.up"), ("weight", ""), ("x", ""), ("loss@3", ""), ("net.a (t4)", ""), ("0.1", "")],
)
def test_the_module_of_a_parameter(name: str, module: str) -> None:
    assert module_of(name) == module


def test_what_paths_share() -> None:
    assert shared_path(["layers.11.up", "layers.11.norm1"]) == "layers.11"
    assert shared_path(["layers.1.up", "layers.11.up"]) == "layers"
    assert shared_path(["a.b", "a.b"]) == "a.b"
    assert shared_path(["a", "b"]) == shared_path([]) == ""
