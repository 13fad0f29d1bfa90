"""Details of a Node compared with the machine's own objects, and the memory of its saved tensors."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.memory.storage_sizes import item_size, memories, plain_bytes
from dispatchviz.explain.graph.node_details import hooks, made_at, made_in, view_text
from tests.explain.programs import traced

WRITES = ("part.mul_(2)", "part.copy_(torch.ones(2))", "part.add_(other)", "base.t().neg_()", "base[1].zero_()")


@pytest.mark.parametrize("write", WRITES)
def test_copy_slices_names_the_node_that_it_keeps(write: str) -> None:
    with dispatchviz.record() as trace:
        leaf = torch.ones(2, 2, requires_grad=True)
        other = torch.ones(2, requires_grad=True)
        base = leaf * 1
        part = base[0]
        exec(write, {"torch": torch, "base": base, "part": part, "other": other})
        kept = base.grad_fn
    assert kept is not None
    assert kept.fn is not None
    graph = backward_graph(trace)
    (node,) = [node for node in graph if node.name == "CopySlices"]
    name = kept.fn.name().rpartition("::")[2]
    assert view_text(trace, node, graph.at).endswith(f", by {name}")


def test_views_name_their_root_base() -> None:
    trace = traced(
        """
        import torch
        leaf = torch.ones(2, 3, requires_grad=True)
        base = leaf * 1
        row = base[0]
        cell = row[1]
        assert cell._base is base
        plain = base + 1
        """
    )
    graph = backward_graph(trace)
    said = {node.inputs[0].name: view_text(trace, node, graph.at) for node in graph if node.inputs and node.inputs[0]}
    assert said["row"] == "row is a view of base"
    assert said["cell"] == "cell is a view of base"
    assert said["plain"] == said["base"] == ""


def test_node_has_the_call_and_line_that_made_it() -> None:
    trace = traced(
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = torch.add(x, x)
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x * 2
            @staticmethod
            def backward(ctx, grad): return grad * 2
        z = Twice.apply(y)
        """
    )
    made = {node.name: made_at(trace, node.number) for node in backward_graph(trace)}
    add, twice = made["AddBackward0"], made["TwiceBackward"]
    assert add
    assert twice
    assert (add.operator, add.line, add.place.rpartition("/")[2]) == ("aten::add.Tensor", 4, "script.py:4")
    assert isinstance(trace[add.step], ev.Dispatched)
    assert (twice.operator, twice.line) == ("Twice", 10)
    assert isinstance(trace[twice.step], ev.FunctionEntered)


def test_node_from_before_the_recording_has_no_origin() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with dispatchviz.record() as trace:
        y.sum().backward()
    graph = backward_graph(trace)
    assert [made_at(trace, node.number) is None for node in graph if node.name == "MulBackward0"] == [True]


def test_node_made_in_a_double_backward_names_the_running_node() -> None:
    trace = traced(
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = (x ** 3).sum()
        torch.autograd.grad(y, x, create_graph=True)
        """
    )
    graph = backward_graph(trace, of="all")
    runs = [event for event in trace if isinstance(event, ev.NodeStarted)]
    for node in graph:
        around = [run.node for run in runs if run.seq < node.made <= trace.ends[run.seq]]
        assert made_in(trace, node.number) == (around[0] if around else None)


def test_removed_hooks_are_gone() -> None:
    trace = traced(
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        def hook(grad): pass
        handle = y.register_hook(hook)
        handle.remove()
        """
    )
    registered = trace.steps_of(ev.HookRegistered)[0]
    node = next(node for node in backward_graph(trace) if node.name == "MulBackward0")
    assert [hook.function for hook in hooks(trace, node, registered)] == ["hook"]
    assert list(hooks(trace, node, len(trace) - 1)) == []


PROGRAM = """
import torch
whole = torch.zeros(4, 6, requires_grad=True)
part = whole[1:3, 2]
turned = whole.t()
double = whole * 2.0
wide = torch.zeros(3, dtype=torch.float64)
empty = torch.empty(0, 5)
expanded = torch.ones(2, 1).expand(2, 1000)
print([each.untyped_storage().nbytes() for each in (whole, part, turned, double, wide, empty, expanded)])
"""


def test_storage_sizes_equal_those_of_the_machine() -> None:
    trace = traced(PROGRAM)
    numbers = [event.tensor for event in trace if isinstance(event, ev.NameBound)]
    printed = next(event.text for event in trace if isinstance(event, ev.Printed))
    assert printed == f"{[sum(memories(trace, [number]).values()) for number in numbers]}\n"
    assert sum(memories(trace, numbers).values()) == 96 + 96 + 24 + 8


DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64", "complex128")


@pytest.mark.parametrize("name", DTYPES)
def test_item_sizes_equal_pytorchs(name: str) -> None:
    assert item_size(f"torch.{name}") == getattr(torch, name).itemsize


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (3 << 40, "3.0 TiB")],
)
def test_bytes_are_shown_in_binary_units(count: int, text: str) -> None:
    assert plain_bytes(count) == text
