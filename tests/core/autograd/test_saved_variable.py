"""Saved variables: what Nodes keep, when they refuse to give it, when they drop it."""

from __future__ import annotations

from typing import Any

import pytest

SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def modified(what: str, version: int) -> str:
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what} is at version {version}; expected version {version - 1} instead. Hint: enable anomaly detection to "
        "find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def test_an_input_is_saved_as_the_very_same_object(torch: Any) -> None:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y


def test_what_no_valid_edge_needs_is_not_saved(torch: Any) -> None:
    x, plain = leaf(torch, 2.0), torch.tensor([3.0])
    z = x * plain
    assert z.grad_fn._saved_self is None
    assert z.grad_fn._saved_other is plain
    with torch.no_grad():
        x.add_(1)
    z.sum().backward()


def test_a_number_is_saved_as_a_tensor(torch: Any) -> None:
    saved = (leaf(torch, 2.0) * 3).grad_fn._saved_other
    assert (saved.tolist(), saved.dtype) == (3, torch.int64)


def test_an_output_is_saved_without_a_cycle(torch: Any) -> None:
    y = leaf(torch, 0.0).exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved is not y.grad_fn._saved_result
    assert saved.grad_fn is y.grad_fn
    assert (saved.tolist(), saved.output_nr) == ([1.0], 0)


def test_attributes_and_unsigned_integers(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    assert torch.add(x, x, alpha=3).grad_fn._saved_alpha == 3
    node = x.sum(-1).grad_fn
    assert (node._saved_dim, node._saved_keepdim, node._saved_self_sym_sizes) == ((2**64 - 1,), False, (2,))
    assert x.pow(-3).grad_fn._saved_exponent == -3


def test_saved_attributes_are_read_only(torch: Any) -> None:
    node = (leaf(torch, 2.0) * 3).grad_fn
    with pytest.raises(AttributeError):
        node._saved_other = 3
    with pytest.raises(AttributeError):
        node._saved_nothing  # noqa: B018


def test_a_graph_that_saved_something_runs_once(torch: Any) -> None:
    x = leaf(torch, 2.0)
    z = (x * x).sum()
    z.backward()
    with pytest.raises(RuntimeError) as error:
        z.backward()
    assert str(error.value) == SECOND_TIME
    y = x * x
    y.backward(torch.tensor([1.0]))
    with pytest.raises(RuntimeError) as error:
        y.grad_fn._saved_self  # noqa: B018
    assert str(error.value) == SECOND_TIME


def test_a_graph_that_saved_nothing_runs_again(torch: Any) -> None:
    x = leaf(torch, 2.0)
    z = (x + x).sum()
    z.backward()
    z.backward()
    assert x.grad.tolist() == [4.0]


def test_retain_graph(torch: Any) -> None:
    x = leaf(torch, 2.0)
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [8.0]


def test_only_nodes_that_ran_are_freed(torch: Any) -> None:
    x = leaf(torch, 2.0)
    y = x.exp()
    torch.autograd.grad(y.sum(), y)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([7.389056])


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("y = x.exp(); y.add_(1); z = y", modified("[torch.FloatTensor [2]], which is output 0 of Add,", 1)),
        ("y = x * 2; z = y * y; y.add_(1)", modified("[torch.FloatTensor [2]], which is output 0 of Add,", 1)),
        ("y = plain; z = x * y; y.add_(1)", modified("[torch.FloatTensor [2]]", 1)),
        ("y = plain.clone(); z = x * y; y.view(2, 1).add_(1)", modified("[torch.FloatTensor [2]]", 1)),
        ("y = x * 2; v = y.view(2, 1); z = v * v; y.add_(1)", None),
        ("y = plain.double(); z = x.double() * y; y.add_(1)", modified("[torch.DoubleTensor [2]]", 1)),
    ],
)
def test_what_was_saved_must_not_change(torch: Any, program: str, text: str | None) -> None:
    if text is None:
        text = modified("[torch.FloatTensor [2, 1]], which is output 0 of AsStridedBackward0,", 1)
        text = text.replace("AsStridedBackward0", "AsStrided")
    names = {"x": leaf(torch, 1.0, 2.0), "plain": torch.tensor([3.0, 4.0])}
    exec(program, names)
    with pytest.raises(RuntimeError) as error:
        names["z"].sum().backward()
    if "exp" in program:  # an output names the operation that made it
        text = text.replace("of Add,", "of Exp,")
    assert str(error.value) == text


def test_an_input_that_was_detached_in_place(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    z = y * y
    y.detach_()
    with pytest.raises(
        RuntimeError, match=r"^Trying to use a saved tensor that has been detached in-place, i\.e\. with"
    ):
        z.sum().backward()
    assert z.grad_fn._saved_self is y


def test_an_in_place_result_is_saved_with_the_new_version(torch: Any) -> None:
    y = leaf(torch, 0.0) * 1
    y.exp_()
    y.sum().backward()
    assert y._version == 1


def test_an_in_place_operation_saves_a_clone_of_the_old_value(torch: Any) -> None:
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    y = x * 1
    y.mul_(w)
    saved = y.grad_fn._saved_self
    assert (saved.grad_fn.name(), saved.tolist()) == ("CloneBackward0", [2.0])
    assert saved.grad_fn._sequence_nr() == y.grad_fn._sequence_nr() + 1
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0], [2.0])
