"""Gradient edges, batched gradients, and the errors of ``backward`` and ``grad`` for wrong arguments.

The tests run on the model and, with the mark ``torch``, on real PyTorch. The recorded programs (``hooks.txt``) have
more cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .leaves import leaf


def test_an_edge_is_a_named_tuple(torch: Any) -> None:
    x = leaf(torch)
    a, b = torch.autograd.graph.get_gradient_edge(x), torch.autograd.graph.GradientEdge(None, 3)
    assert a._fields == ("node", "output_nr", "ownership_token")
    assert (a.node.name(), a.output_nr, a.ownership_token) == ("torch::autograd::AccumulateGrad", 0, None)
    assert b == (None, 3, None)
    assert isinstance(a.node, torch.autograd.graph.Node)


def test_edge_of_a_second_output_has_number_one(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    _, second = x.split(2)
    edge = torch.autograd.graph.get_gradient_edge(second)
    assert edge.output_nr == 1
    (gradient,) = torch.autograd.grad((second * 3).sum(), edge)
    assert gradient.tolist() == [3.0, 3.0]


def test_edges_of_custom_functions_carry_a_token(torch: Any) -> None:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    y = Double.apply(leaf(torch))
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.ownership_token.next_functions == ((y.grad_fn, 0),)


def test_tensors_and_edges_can_be_mixed(torch: Any) -> None:
    x, z = leaf(torch), leaf(torch, 3.0, 4.0)
    y = x * z
    edge = torch.autograd.graph.get_gradient_edge
    roots, gradients = [edge(y), y.sum()], [torch.tensor([1.0, 10.0]), None]
    found = torch.autograd.grad(roots, [edge(x), z], gradients)
    assert [gradient.tolist() for gradient in found] == [[6.0, 44.0], [2.0, 22.0]]


def test_batched_gradients_give_a_batch_of_results(torch: Any) -> None:
    x, z = leaf(torch), leaf(torch, 3.0, 4.0)
    y = x * z
    batch = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    by_x, by_z = torch.autograd.grad(y, [x, z], batch, is_grads_batched=True)
    assert by_x.tolist() == [[3.0, 0.0], [0.0, 4.0], [6.0, 8.0]]
    assert by_z.tolist() == [[1.0, 0.0], [0.0, 2.0], [2.0, 4.0]]


def test_batched_gradients_of_an_unused_input(torch: Any) -> None:
    x, unused = leaf(torch), leaf(torch)
    batch = torch.ones(3, 2)
    found = torch.autograd.grad(x * x, [x, unused], batch, is_grads_batched=True, allow_unused=True)
    assert found[1] is None
    filled = torch.autograd.grad(x * x, [x, unused], batch, is_grads_batched=True, materialize_grads=True)
    assert (filled[0].shape, filled[1].tolist()) == ((3, 2), [0.0, 0.0])


def test_batched_gradients_of_a_dict_are_a_dict(torch: Any) -> None:
    x = leaf(torch)
    found = torch.autograd.grad(x * x, {"x": x}, torch.ones(1, 2), is_grads_batched=True)
    assert {name: gradient.tolist() for name, gradient in found.items()} == {"x": [[2.0, 4.0]]}


WRONG: dict[str, Callable[[Any, Any, Any, Any], object]] = {
    "TypeError: 'int' object is not iterable": lambda torch, x, s, edge: torch.autograd.grad(3, x),
    "AssertionError: Expected output to be a torch.Tensor": lambda torch, x, s, edge: torch.autograd.backward([3]),
    "RuntimeError: all inputs have to be Tensors or GradientEdges, but got int": lambda torch, x, s, edge: (
        torch.autograd.grad(s, [3])
    ),
    "TypeError: gradients can be either Tensors or None, but got int": lambda torch, x, s, edge: (
        torch.autograd.backward(s, [3])
    ),
    "RuntimeError: got 2 tensors and 1 gradients": lambda torch, x, s, edge: torch.autograd.backward([s, s], [None]),
    "TypeError: 'str' object cannot be interpreted as an integer": lambda torch, x, s, edge: torch.autograd.grad(
        s, x, create_graph="yes"
    ),
    "RuntimeError: GradientEdge's first object must be an autograd.graph.Node but got str": lambda torch, x, s, edge: (
        torch.autograd.grad(s, torch.autograd.graph.GradientEdge("node", 0))
    ),
    "TypeError: 'str' object cannot be interpreted as an integer ": lambda torch, x, s, edge: torch.autograd.grad(
        s, torch.autograd.graph.GradientEdge(edge.node, "0")
    ),
    "AttributeError: 'int' object has no attribute '_input_metadata'": lambda torch, x, s, edge: torch.autograd.grad(
        torch.autograd.graph.GradientEdge(3, 0), x
    ),
    "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of "
    "torch.Size([2]).": lambda torch, x, s, edge: torch.autograd.grad(edge, x, torch.ones(3)),
    "RuntimeError: grad can be implicitly created only for scalar outputs": lambda torch, x, s, edge: (
        torch.autograd.grad(edge, x)
    ),
    "RuntimeError: Batched grads are not supported with GradientEdge": lambda torch, x, s, edge: torch.autograd.grad(
        edge, x, torch.ones(3, 3), is_grads_batched=True
    ),
    "IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
    "convert a 0-dim tensor to a number": lambda torch, x, s, edge: torch.autograd.grad(
        s, x, torch.tensor(1.0), is_grads_batched=True
    ),
    "ValueError: vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [3, 2] for the "
    "mapped dimension": lambda torch, x, s, edge: torch.autograd.grad(
        [s, s], x, [torch.ones(3), torch.ones(2)], is_grads_batched=True
    ),
    "RuntimeError: materialize_grads cannot be used when the given input is a GradientEdge": lambda torch, x, s, edge: (
        torch.autograd.grad(s, torch.autograd.graph.get_gradient_edge(leaf(torch)), materialize_grads=True)
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_of_backward_and_grad_are_errors(torch: Any, message: str) -> None:
    x = leaf(torch)
    y = x * x
    with pytest.raises(Exception) as found:  # noqa: PT011  its type is in the message
        WRONG[message](torch, x, y.sum(), torch.autograd.graph.get_gradient_edge(y))
    assert f"{type(found.value).__name__}: {found.value}" == message.strip()


def test_will_engine_execute_node_reports_the_nodes_to_run(torch: Any) -> None:
    ask = torch._C._will_engine_execute_node
    x, z = leaf(torch), leaf(torch)
    a, b = x * 2, z * 2
    answers: list[bool] = []
    a.register_hook(lambda grad: answers.extend([ask(a.grad_fn), ask(b.grad_fn)]))
    (a + b).sum().backward(retain_graph=True)
    (a + b).sum().backward(inputs=[x], retain_graph=True)
    a.sum().backward()
    assert answers == [True, True, True, False, True, False]
    with pytest.raises(RuntimeError, match=r"should only be called during the backward pass$"):
        ask(a.grad_fn)
    with pytest.raises(RuntimeError, match=r"^_will_engine_execute_node expects an grad_fn, but got int$"):
        ask(3)


def test_checkpoints_are_valid_unless_a_part_of_the_graph_runs(torch: Any) -> None:
    valid = torch.autograd.Variable._execution_engine.is_checkpoint_valid
    x = leaf(torch)
    answers: list[bool] = []
    y = x * 2
    y.register_hook(lambda grad: answers.append(valid()))
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x)
    assert (answers, valid()) == ([True, False], True)
