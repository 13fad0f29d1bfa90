"""``backward`` and ``grad``: gradients, requested inputs, refusals, captures."""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.core.autograd.engine.captured_backward import capture, execution_order
from dispatchviz.core.autograd.engine.compiled_autograd import CompiledNodeArgs, SwapSavedVariables
from dispatchviz.core.autograd.graph.basic_nodes import Identity
from dispatchviz.core.autograd.graph.node import Gradients, Node, TraceableFunction
from dispatchviz.core.autograd.variables.variable import gradient_edge
from dispatchviz.core.tensor.tensor import Tensor

from .leaves import leaf


def test_founding_program_has_these_gradients(torch: Any) -> None:
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_(), torch.tensor([1.0, 1.0])
    torch.add(x, y).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert y.grad is None


def test_a_broadcast_gradient_is_summed(torch: Any) -> None:
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_(), leaf(torch, 1.0, 1.0)
    (x + y).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]
    column = torch.tensor([[1.0], [2.0]], requires_grad=True)
    number = torch.tensor(3.0, requires_grad=True)
    (x.detach() * column * number).sum().backward()
    assert column.grad.tolist() == [[9.0], [21.0]]
    assert number.grad.tolist() == 17.0


def test_products_and_powers_have_these_gradients(torch: Any) -> None:
    x, y = leaf(torch, 2.0, 3.0), leaf(torch, 4.0, 5.0)
    (x * y + x.pow(2) - x / y).sum().backward()
    assert x.grad.tolist() == pytest.approx([4 + 4 - 1 / 4, 5 + 6 - 1 / 5])
    assert y.grad.tolist() == pytest.approx([2 + 2 / 16, 3 + 3 / 25])


def test_gradients_of_one_leaf_add_up_over_calls(torch: Any) -> None:
    x = leaf(torch, 2.0)
    (x * 3).backward(torch.tensor([1.0]))
    first = x.grad
    (x * 4).backward(torch.tensor([1.0]))
    assert x.grad is first
    assert (x.grad.tolist(), x.grad._version) == ([7.0], 1)
    (x * 1).backward(torch.tensor([1.0]), create_graph=False)
    assert x.grad.tolist() == [8.0]


def test_gradients_of_two_roots_add_up(torch: Any) -> None:
    x = leaf(torch, 2.0)
    a, b = x * 3, x * x
    torch.autograd.backward([a, b, a], [torch.tensor([1.0]), None, torch.tensor([10.0])])
    assert x.grad.tolist() == [3 + 4 + 30]


def test_a_leaf_may_be_a_root(torch: Any) -> None:
    x = leaf(torch, 2.0)
    given = torch.tensor([5.0])
    x.backward(given)
    given.add_(1)
    assert x.grad.tolist() == [5.0]


def test_the_root_gradient_is_cast(torch: Any) -> None:
    x = leaf(torch, 2.0)
    (x * 2).backward(torch.tensor([3], dtype=torch.int64))
    assert x.grad.dtype is torch.float32
    assert x.grad.tolist() == [6.0]


def test_backward_with_inputs_writes_only_these_leaves(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    middle = x * y
    (middle * 2).backward(torch.tensor([1.0]), inputs=[y, middle])
    assert (x.grad, y.grad.tolist(), middle.grad.tolist()) == (None, [4.0], [2.0])


def test_grad_does_not_touch_the_leaves(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    z = x * y
    to_y, to_z = torch.autograd.grad((z * z).sum(), [y, z])
    assert (to_y.tolist(), to_z.tolist(), x.grad, y.grad) == ([24.0], [12.0], None, None)


def test_grad_accepts_a_dict_and_one_tensor(torch: Any) -> None:
    x = leaf(torch, 2.0)
    assert torch.autograd.grad((x * x).sum(), {"x": x})["x"].tolist() == [4.0]
    assert torch.autograd.grad((x * x).sum(), x)[0].tolist() == [4.0]


def test_unused_input_is_an_error_unless_allowed(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    with pytest.raises(RuntimeError) as error:
        torch.autograd.grad((x * x).sum(), [x, y])
    assert str(error.value) == (
        "The differentiated Tensor at index 1 appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )
    assert torch.autograd.grad((x * x).sum(), [y], allow_unused=True) == (None,)
    (zero,) = torch.autograd.grad((x * x).sum(), [y], materialize_grads=True)
    assert (zero.tolist(), zero.requires_grad) == ([0.0], False)
    text = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
    with pytest.raises(ValueError, match=text):
        torch.autograd.grad((x * x).sum(), [y], materialize_grads=True, allow_unused=False)
    (x * x).sum().backward(inputs=[y])
    assert y.grad is None


def test_unused_input_takes_a_sequence_number(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    z = (x * x).sum()
    torch.autograd.grad(z, [y], allow_unused=True)
    assert (x * 1).grad_fn._sequence_nr() == z.grad_fn._sequence_nr() + 2


def test_several_roots_take_a_sequence_number(torch: Any) -> None:
    x = leaf(torch, 2.0)
    a, b = x * 3, x * 4
    torch.autograd.backward([a, b], [torch.tensor([1.0])] * 2)
    assert (x * 1).grad_fn._sequence_nr() == b.grad_fn._sequence_nr() + 2


@pytest.mark.parametrize(
    ("roots", "gradients", "error", "text"),
    [
        ("xx", None, RuntimeError, "grad can be implicitly created only for scalar outputs"),
        ("x", "3", TypeError, "gradients can be either Tensors or None, but got int"),
        ("xy", "x", RuntimeError, "got 2 tensors and 1 gradients"),
        ("p", "p", RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"),
        ("xp", "xp", RuntimeError, "element 1 of tensors does not require grad and does not have a grad_fn"),
        (
            "x",
            "s",
            RuntimeError,
            "Mismatch in shape: grad_output[0] has a shape of {0}([]) and output[0] has a shape of {0}([2]).",
        ),
    ],
)
def test_wrong_roots_are_refused(
    torch: Any, roots: str, gradients: str | None, error: type[Exception], text: str
) -> None:
    named = {
        "x": leaf(torch, 1.0, 2.0) * 1,
        "y": leaf(torch, 1.0, 2.0) * 1,
        "p": torch.tensor([1.0, 2.0]),
        "s": torch.tensor(1.0),
        "3": 3,
    }
    with pytest.raises(error) as raised:
        torch.autograd.backward([named[n] for n in roots], gradients and [named[n] for n in gradients])
    assert str(raised.value) == text.format("torch.Size")


def test_wrong_inputs_are_refused(torch: Any) -> None:
    x = leaf(torch, 1.0)
    for act, text in (
        (lambda: (x * 1).backward(inputs=[]), "`inputs` argument to `backward()` cannot be empty."),
        (lambda: torch.autograd.grad(x * 1, []), "`inputs` argument to `grad()` cannot be empty."),
        (lambda: torch.autograd.grad(x * 1, [3]), "all inputs have to be Tensors or GradientEdges, but got int"),
        (
            lambda: torch.autograd.grad(x * 1, [torch.tensor([1.0])]),
            "One of the differentiated Tensors does not require grad",
        ),
        (
            lambda: (x * 1).backward(inputs=[torch.tensor([1.0])]),
            "can't retain_grad on Tensor that has requires_grad=False",
        ),
    ):
        with pytest.raises(RuntimeError) as error:
            act()
        assert str(error.value) == text


def test_a_gradient_without_root_is_undefined_not_zero(torch: Any) -> None:
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    z = x * y
    z.register_hook(lambda grad: None)
    z.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0], None))
    z.sum().backward()
    assert (x.grad.tolist(), y.grad) == ([1.0], None)


def test_second_order_gradients_are_right(torch: Any) -> None:
    x = leaf(torch, 2.0, 3.0)
    (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    assert first.requires_grad
    (second,) = torch.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([12.0, 27.0], [12.0, 18.0])
    assert not second.requires_grad


def test_formulas_run_in_alphabetical_order(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    z = x * y
    gradient = leaf(torch, 1.0)
    to_x, to_y = torch.autograd.grad(z, [x, y], gradient, create_graph=True)
    numbers = [z.grad_fn._sequence_nr(), to_y.grad_fn._sequence_nr(), to_x.grad_fn._sequence_nr()]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]


def test_an_accumulated_gradient_with_history_is_a_new_tensor(torch: Any) -> None:
    x = leaf(torch, 2.0)
    torch.autograd.backward((x * x).sum(), inputs=[x])
    before = x.grad
    (first,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    assert first.grad_fn.name() == "AddBackward0"
    assert x.grad is before


def test_create_graph_works_under_no_grad(torch: Any) -> None:
    x = leaf(torch, 2.0)
    y = (x * x).sum()
    with torch.no_grad():
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        assert not torch.is_grad_enabled()
    assert first.requires_grad
    y = (x * x).sum()
    assert not torch.autograd.grad(y, x)[0].requires_grad
    assert torch.is_grad_enabled()


def test_leaves_with_one_number_run_in_this_order(torch: Any) -> None:
    log: list[int] = []
    leaves = [leaf(torch, float(i)) for i in range(4)]
    for i, one in enumerate(leaves):
        one.register_hook(lambda grad, i=i: log.append(i))
    a, b = leaves[0] * leaves[1], leaves[2] * leaves[3]
    (a * b).sum().backward()
    assert log == [2, 3, 0, 1]


def test_raising_the_number_of_a_branch_runs_it_first(torch: Any) -> None:
    log: list[str] = []
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    early, late = x * 2, y * 2
    for name, tensor in (("early", early), ("late", late)):
        tensor.register_hook(lambda grad, name=name: log.append(name))
    (early + late).sum().backward()
    early, late = x * 2, y * 2
    for name, tensor in (("early", early), ("late", late)):
        tensor.register_hook(lambda grad, name=name: log.append(name))
    early.grad_fn._set_sequence_nr(2**64 - 1)
    (early + late).sum().backward()
    assert log == ["late", "early", "early", "late"]


def test_the_engine_is_usable_after_an_error(torch: Any) -> None:
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)

    def fail(grad: Any) -> None:
        raise ValueError("no")

    a, b = x * y, x * 3
    handle = a.register_hook(fail)
    total = (b + a).sum()
    with pytest.raises(ValueError, match=r"^no$"):
        total.backward(retain_graph=True)
    handle.remove()
    total.backward()
    assert y.grad.tolist() == [1.0]


def test_backward_inside_a_hook_runs(torch: Any) -> None:
    x, other = leaf(torch, 1.0), leaf(torch, 5.0)

    def nested(grad: Any) -> Any:
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            (other * other).sum().backward()
        return grad * other.grad

    y = x * 2
    y.register_hook(nested)
    y.sum().backward()
    assert (x.grad.tolist(), other.grad.tolist()) == ([20.0], [10.0])


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Any:
        ctx.save_for_backward(x, weight)
        return torch.mul(x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        return torch.mul(grad, weight), torch.mul(grad, x)


def model_leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def loss(x: Any, y: Any) -> Tensor:
    """Return a loss with saved inputs, outputs, views, an in-place operator, and a Function."""
    z = (x * y).exp() * 2
    z.view(2, 1).mul_(y.view(2, 1))
    result: Tensor = (Scale.apply(z, y) + x).sum()
    return result


def gradients(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    grads = x._grad, y._grad
    x._grad = y._grad = None
    return tuple(grad.tolist() for grad in grads)  # type: ignore[union-attr]


def test_replay_with_its_own_tensors_equals_the_backward() -> None:
    x, y = model_leaf(1.0, 2.0), model_leaf(0.5, -1.0)
    out = loss(x, y)
    captured = capture([gradient_edge(out)])
    captured.replay([torch.tensor(1.0)], captured.tensors)
    replayed = gradients(x, y)
    torch.autograd.backward(out)
    assert gradients(x, y) == replayed


def test_a_replay_with_the_tensors_of_another_graph_gives_its_gradients() -> None:
    x, y = model_leaf(1.0, 2.0), model_leaf(0.5, -1.0)
    a, b = model_leaf(0.25, 1.5), model_leaf(2.0, 0.75)
    captured, other = capture([gradient_edge(loss(x, y))]), capture([gradient_edge(loss(a, b))])
    assert captured.key == other.key
    captured.replay([torch.tensor(1.0)], other.tensors)
    assert (x._grad, y._grad) == (None, None), "the leaves are among the tensors"
    replayed = gradients(a, b)
    torch.autograd.backward(loss(a, b))
    assert gradients(a, b) == replayed


def test_different_graphs_have_different_keys() -> None:
    x = model_leaf(1.0, 2.0)
    programs: list[Any] = [x * 2, x * 2.5, x + 2, x.exp(), (x * 2).exp(), x.view(2, 1), x.view(1, 2)]
    keys = {capture([gradient_edge(y)]).key for y in programs}
    assert len(keys) == len(programs) - 1, "the factor is a tensor, and tensors may differ"


def test_execution_order_equals_the_order_of_the_engine() -> None:
    x, y = model_leaf(1.0, 2.0), model_leaf(0.5, -1.0)
    out = loss(x, y)
    planned, ran = execution_order([gradient_edge(out)]), []
    for node in planned:
        node.register_prehook(lambda _, node=node: ran.append(node))
    torch.autograd.backward(out)
    assert ran == planned


def test_replay_with_several_roots_runs_hooks() -> None:
    x = model_leaf(1.0, 2.0)
    a, b = torch.exp(x), torch.mul(x, x)
    b.grad_fn.register_hook(lambda ins, _: tuple(None if grad is None else grad * 10 for grad in ins))
    captured = capture([gradient_edge(a), gradient_edge(b)])
    ones = torch.tensor([1.0, 1.0])
    captured.replay([ones, ones], captured.tensors)
    replayed = x._grad
    x._grad = None
    torch.autograd.backward([a, b], [ones, ones])
    assert replayed is not None
    assert x._grad is not None
    assert replayed.tolist() == x._grad.tolist()


def test_a_replay_leaves_the_graph_as_it_was() -> None:
    x, y = model_leaf(1.0, 2.0), model_leaf(0.5, -1.0)
    z = torch.mul(x, y)
    captured = capture([gradient_edge(z)])
    captured.replay([torch.tensor([1.0, 1.0])], [*captured.tensors[:1], model_leaf(5.0, 5.0), *captured.tensors[2:]])
    assert z.grad_fn._saved_self is x
    assert z.grad_fn._saved_other is y
    with pytest.raises(ValueError, match="as many saved tensors"):
        captured.replay([torch.tensor([1.0, 1.0])], captured.tensors[1:])
    with pytest.raises(ValueError, match="as many saved tensors"):
        z.grad_fn.apply_with_saved([torch.tensor([1.0, 1.0])], SwapSavedVariables([x]))
    assert z.grad_fn._saved_self is x


def test_released_graph_cannot_be_captured() -> None:
    x = model_leaf(1.0, 2.0)
    y = torch.exp(x)
    torch.autograd.backward(y.sum())
    with pytest.raises(RuntimeError, match="second time"):
        capture([gradient_edge(y)])


def test_node_with_unknown_state_cannot_be_captured() -> None:
    class Secretive(Node):
        def apply(self, grads: Gradients) -> Gradients:
            return grads

    with pytest.raises(NotImplementedError, match=r"^compiled_args not implemented: Secretive$"):
        Secretive().compiled_args(CompiledNodeArgs())
    with pytest.raises(NotImplementedError, match=r"^apply_with_saved not implemented: Secretive$"):
        Secretive().apply_with_saved([None], SwapSavedVariables([]))


def test_compiled_autograd_key_contains_the_function_id() -> None:
    x, y = model_leaf(1.0), model_leaf(2.0)
    node = Scale.apply(x, y).grad_fn
    args = CompiledNodeArgs()
    node.compiled_args(args)
    assert (node._autograd_function_id,) in args.key
    assert args.tensors == [x, y]
    type(node)._compiled_autograd_key = lambda self: 3
    try:
        with pytest.raises(RuntimeError, match="_compiled_autograd_key should return tuple of ints"):
            node.compiled_args(CompiledNodeArgs())
    finally:
        del type(node)._compiled_autograd_key


# -- the other virtual functions of a Node ----------------------------------------------------------------------------


def test_generated_nodes_are_traceable_and_those_of_views_are_not() -> None:
    x: Any = model_leaf(1.0, 2.0)
    assert (x * 2).grad_fn.is_traceable()
    assert isinstance((x * 2).grad_fn, TraceableFunction)
    assert not x.view(2, 1).grad_fn.is_traceable()
    assert not (x * 2).grad_fn.passes_state_transparently()


def test_should_compute_output_accepts_edges_and_ranges() -> None:
    x: Any = model_leaf(1.0, 2.0)
    node = (x * 2).grad_fn
    assert [node.should_compute_output(i) for i in (0, 1)] == [True, False]
    assert node.should_compute_output_any(range(1, 2), range(1))
    assert not node.should_compute_output_any(range(1, 2))
    assert not node.should_compute_output_any()
    with pytest.raises(RuntimeError, match="Index out of range"):
        node.should_compute_output(2)


def test_will_release_variables_is_called_before_the_release() -> None:
    log: list[str] = []

    class Careful(Identity):
        def will_release_variables(self) -> None:
            log.append("will release")

        def apply(self, grads: Gradients) -> Gradients:
            log.append("apply")
            return super().apply(grads)

        def release_variables(self) -> None:
            log.append("release")

    x = model_leaf(1.0, 2.0)
    y: Any = torch.exp(x)
    node = Careful()
    node.set_next_edges([gradient_edge(y)])
    y._output_nr, y._grad_fn = node.add_input_metadata(y), node
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert log == ["apply", "will release", "apply", "release"]
