"""Names of tensors in a recording: parameters, items, names after a function has ended, iterations."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.trace_index import common_variable, short_path
from dispatchviz.running import variable_names
from dispatchviz.running.held_tensors import Held, held_by
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.explain.programs import traced
from tests.explain.test_names_of_steps import OWN
from tests.steps import last_step, step

GPT = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return x + self.lin(x) * 0.5

class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        for block in self.blocks:
            nn.init.zeros_(block.lin.bias)
        self.head = nn.Linear(2, 3, bias=False)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

net = GPT()
x = torch.ones(1, 2)
for iteration in range(3):
    loss = net(x).sum()
    loss.backward()
"""


def bound(trace: Trace) -> list[tuple[str, int]]:
    """Return names and iterations in the order in which they were given. A lost name has the iteration -1."""
    return [
        (event.name, event.turn if isinstance(event, ev.NameBound) else -1)
        for event in trace
        if isinstance(event, ev.NameBound | ev.NameUnbound)
    ]


def names_at(trace: Trace, at: int) -> set[str]:
    made = [event.tensor for event in trace if isinstance(event, ev.TensorCreated) and event.seq <= at]
    return {tensor_name(trace, tensor, at) for tensor in made}


def test_parameters_are_named_by_paths_and_losses_by_iterations() -> None:
    trace = traced(GPT)
    end = last_step(trace)
    leaves = {node.leaf.name for node in backward_graph(trace, end) if node.leaf}
    assert leaves == {
        "blocks.0.lin.weight", "blocks.0.lin.bias", "blocks.1.lin.weight", "blocks.1.lin.bias", "head.weight",
    }  # fmt: skip
    assert {"loss", "loss@1", "loss@2", "head.weight.grad", "x"} <= names_at(trace, end)
    assert "loss@3" not in names_at(trace, end)


def test_a_parameter_has_its_path_from_its_creation_on() -> None:
    trace = traced(GPT)
    head = next(e.tensor for e in trace if isinstance(e, ev.NameBound) and e.name == "net.head.weight")
    made = next(e.seq for e in trace if isinstance(e, ev.TensorCreated) and e.tensor == head)
    assert tensor_name(trace, head, made) == f"head.weight (t{head})"


def test_a_number_is_shown_as_it_is() -> None:
    trace = traced("import torch\nx = torch.ones(2)\ny = x * 0.1 + 3\nz = y * (1 + 2j)")
    numbers = [event for event in trace if isinstance(event, ev.TensorCreated) and event.wrapped_number]
    assert [tensor_name(trace, event.tensor, event.seq) for event in numbers] == ["0.1", "3", "(1+2j)"]


def test_parameters_of_two_models_have_different_names() -> None:
    assert common_variable(["net.head.weight", "net.0.bias", "x"]) == "net"
    assert common_variable(["net.blocks.0.lin.weight", "block.lin.weight"]) == "net"
    assert common_variable(["a.head.weight", "b.head.weight"]) == ""
    assert common_variable(["lin.weight", "x"]) == ""
    short = [short_path(name, "net") for name in ("net.head.weight", "net.0.weight", "net.weight", "other.a.weight")]
    assert short == ["head.weight", "net.0.weight", "net.weight", "other.a.weight"]


def test_a_variable_that_goes_to_and_fro_names_what_it_names() -> None:
    trace = traced(
        "import torch\na, b = torch.ones(2), torch.zeros(2)\nx = a + 1\ny = b + 1\nz = x\nx = y\nx = z\ndel x"
    )
    assert bound(trace)[2:] == [("x", 0), ("y", 0), ("x", -1), ("z", 0)]
    x = trace[step(trace, ev.NameBound, 2)].tensor  # type: ignore[union-attr]
    assert tensor_name(trace, x, last_step(trace)) == "z"


def test_variable_that_a_function_hid_has_its_name_for_the_next_call() -> None:
    trace = traced(
        """
        import torch
        def double(a):
            x = a * 2
            return x
        x = torch.ones(2)
        z = double(x) + x
        """
    )
    added = [event for event in trace if isinstance(event, ev.BindingEntered) and event.function.endswith("__add__")]
    arguments = dict(added[0].arguments)
    assert tensor_name(trace, 0, added[0].seq) == "x"
    assert list(arguments.values())[1] == "t0"
    assert [name for name, _ in bound(trace)] == ["x", "x", "x", "z"]


def test_single_binding_statement_counts_iterations() -> None:
    trace = traced(
        """
        import torch
        h = torch.zeros(2)
        for i in range(3):
            h = h + 1
            for j in range(2):
                k = h * j
        """
    )
    assert bound(trace) == [
        ("h", 0), ("h", 1), ("k", 1), ("k", 2), ("h", 2), ("k", 3), ("k", 4), ("h", 3), ("k", 5), ("k", 6),
    ]  # fmt: skip
    assert {"earlier h (t0)", "h@1", "h@2", "h", "k@5", "k"} <= names_at(trace, last_step(trace))


def test_a_module_is_not_kept_alive_and_not_asked() -> None:
    class Shy(model.nn.Linear):
        def __getattribute__(self, name: str) -> object:
            asked.append(name)
            return super().__getattribute__(name)

    asked: list[str] = []
    shy, x = Shy(2, 2), model.ones(2)
    asked.clear()
    with dispatchviz.record() as trace:
        x + 1
        assert not asked
        gone = weakref.ref(shy)
        del shy
        x + 2  # the frame's own copy of its variables is made anew
        gc.collect()
        assert gone() is None
    assert "shy.weight" in dict(bound(trace))


def test_a_module_with_other_members_is_looked_at_again(tmp_path: Path) -> None:
    trace = traced(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
        net.append(torch.nn.BatchNorm1d(1))
        net.double()
        net[0] = torch.nn.Linear(1, 1, bias=False)
        del net[0]
        x = torch.ones(2)
        """
    )
    batch_norm = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert [name.removeprefix("net.") for name, iteration in bound(trace) if not iteration] == [
        "0.weight", *(f"1.{name}" for name in batch_norm), "1.running_mean", "1.running_var", "0.weight",
        *(f"0.{name}" for name in batch_norm), "x",
    ]  # fmt: skip
    lost = [name for name, iteration in bound(trace) if iteration]
    assert set(lost) == {"net.0.weight", *(f"net.1.{name}" for name in batch_norm)}


def test_a_module_that_gets_its_first_parameter_later_is_looked_at_again() -> None:
    trace = traced(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Tanh())
        x = net(torch.ones(1))
        net.append(torch.nn.Linear(1, 1, bias=False))
        y = net(x)
        """
    )
    assert ("net.1.weight", 0) in bound(trace)


def test_parts_of_a_module_are_found_deeper_than_pythons_stack() -> None:
    deep: model.nn.Module = model.nn.Linear(1, 1, bias=False)
    for _ in range(sys.getrecursionlimit()):
        deep = model.nn.Sequential(deep)
    *_, last = held_by(deep, lambda held: False)
    assert last[0] == ".0" * sys.getrecursionlimit() + ".weight"


def test_a_module_without_parameters_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []

    def search(value: object, is_named: Callable[[object], bool]) -> Held:
        searched.append(type(value).__name__)
        return held_by(value, is_named)

    monkeypatch.setattr(variable_names, "held_by", search)
    net = model.nn.Sequential(model.nn.Tanh())
    with dispatchviz.record():
        for _ in range(5):
            net(model.ones(1))
    assert searched.count("Sequential") == 1


def test_attributes_are_called_as_the_program_writes_them() -> None:
    trace = traced(OWN["objects"])
    end = last_step(trace)
    assert {"net.w3", "lin.weight", "lin.weight.grad"} <= names_at(trace, end)
    assert not {"net.size", "net.count", "net._w2"} & {name for name, _ in bound(trace)}
    assert [name for name, _ in bound(trace) if name in ("net.w1", "net.w3")] == ["net.w1"] * 3 + ["net.w3", "net.w1"]


def test_a_tensor_that_an_expression_binds_has_its_name() -> None:
    trace = traced(
        """
        import torch
        if (x := torch.ones(2)).sum() > 0:
            y = (half := x * 0.5) + half
        for step in range(2):
            total = (part := x + step).sum()
        """
    )
    given = [(name, iteration) for name, iteration in bound(trace) if iteration >= 0]
    assert [name for name, _ in given] == ["x", "half", "y", "part", "total", "part", "total"]
    assert {iteration for name, iteration in given if name == "part"} == {0}, "its iteration is unknown"
    called = step(trace, event(ev.BindingEntered, function="Tensor.sum"))
    assert tensor_name(trace, next(e.tensor for e in trace if isinstance(e, ev.NameBound)), called) == "x"


def test_returned_tensor_has_the_callers_name() -> None:
    trace = traced("""\
        import torch

        def double(a):
            h = a * 2
            return h

        def twice(x, n):
            if n == 0:
                return x
            h = twice(x * 2, n - 1)
            return h

        def items(x):
            for step in range(2):
                item = x * step
                yield item

        x = torch.ones(2)
        y = double(x)
        z = twice(x, 2)
        for v in items(x):
            w = v + 1
        same = x
        end = y + z
    """)
    names = [(event.name, event.tensor) for event in trace if isinstance(event, ev.NameBound)]
    order = ["x", "h", "y", "h", "z", "item", "v", "w", "item", "v", "w", "end"]
    assert [name for name, _ in names] == order, "x keeps its own while a function that gets it runs, and beside same"
    tensor = dict(names)
    assert [tensor_name(trace, tensor[name], len(trace) - 1) for name in ("y", "z", "v")] == ["y", "z", "v"]


def test_parameters_of_a_deleted_module_lose_their_names() -> None:
    trace = traced("""
        import torch
        net = torch.nn.Linear(1, 1)
        del net
        other = torch.nn.Linear(1, 1)
        other = None
        end = 1
    """)
    gone = [event.name for event in trace if isinstance(event, ev.NameUnbound)]
    assert gone == ["net.weight", "net.bias", "other.weight", "other.bias"]
