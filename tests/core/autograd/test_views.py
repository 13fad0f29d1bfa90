"""Views and in-place operations: histories that are rebuilt, and writes that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from .leaves import leaf


def names(tensor: Any) -> list[str]:
    """The names of the Nodes along the first edges."""
    found, node = [], tensor.grad_fn
    while node is not None:
        found.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def test_views_share_base_and_version(torch: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = x.t().t().view(4)
    assert view._is_view()
    assert view._base is x
    view.add_(1)
    assert (x._version, view._version, x.detach()._version, x.data._version, x.clone()._version) == (1, 1, 1, 0, 0)


def test_each_write_increments_the_version_once(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    x.add_(1)
    with torch.no_grad():
        x.mul_(2)
    torch.add(x, x, out=x)
    x.requires_grad_()
    assert x._version == 3


def test_in_place_operation_on_a_result_rebases_it(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    first = y.grad_fn
    y.add_(x)
    assert names(y) == ["AddBackward0", "MulBackward0", "AccumulateGrad"]
    assert y.grad_fn.next_functions[0][0] is first
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


def test_writing_through_a_view_changes_the_base(torch: Any) -> None:
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 10.0)
    base = x * 1
    view = base.view(2, 1)
    view.mul_(w)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert names(view) == ["AsStridedBackward0", "CopySlices", "MulBackward0", "AccumulateGrad"]
    assert [node and type(node).__name__ for node, _ in base.grad_fn.next_functions] == [
        "MulBackward0",
        "AccumulateGrad",
    ]
    base.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([10.0, 10.0], [3.0])


def test_write_through_a_view_takes_three_sequence_numbers(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    base = x * 1
    view = base.view(2, 1)
    view.add_(1)
    assert view.grad_fn._sequence_nr() == base.grad_fn._sequence_nr() + 1
    start = view.grad_fn._sequence_nr()
    view.mul_(leaf(torch, 3.0))
    assert view.grad_fn._sequence_nr() == start + 4


def test_a_base_without_grad_gets_an_empty_edge(torch: Any) -> None:
    base, u = torch.tensor([0.0, 0.0]), leaf(torch, 5.0)
    base.view(2, 1).copy_(u)
    assert type(base.grad_fn).__name__ == "CopySlices"
    (to_base, _), (to_u, _) = base.grad_fn.next_functions
    assert to_base is None
    assert to_u.variable is u
    base.backward(torch.tensor([1.0, 10.0]))
    assert u.grad.tolist() == [11.0]


def test_reading_a_stale_views_history_creates_a_node(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    base = x * 1
    view = base.view(2, 1)
    assert names(view) == ["ViewBackward0", "MulBackward0", "AccumulateGrad"]
    base.add_(1)
    start = base.grad_fn._sequence_nr()
    assert names(view) == ["AsStridedBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"]
    assert view.grad_fn._sequence_nr() == start + 1
    assert view.grad_fn is view.grad_fn
    node = view.grad_fn
    assert (node._saved_size, node._saved_stride, node._saved_storage_offset) == ((2, 1), (1, 1), 0)
    assert [list(entry.shape) for entry in node._input_metadata] == [[2, 1]]


def test_a_copy_has_two_edges(torch: Any) -> None:
    x, source = leaf(torch, 1.0, 2.0), leaf(torch, 7.0)
    y = x * 1
    y.copy_(source)
    assert type(y.grad_fn).__name__ == "CopyBackwards"
    assert y.grad_fn.name() == "torch::autograd::CopyBackwards"
    y.backward(torch.tensor([1.0, 2.0]))
    assert (x.grad.tolist(), source.grad.tolist()) == ([0.0, 0.0], [3.0])


def test_copying_into_a_plain_tensor_makes_it_a_result(torch: Any) -> None:
    plain, source = torch.tensor([0.0]), leaf(torch, 7.0)
    plain.copy_(source)
    assert (plain.is_leaf, plain.requires_grad) == (False, True)
    assert plain.grad_fn.next_functions[0] == (None, 0)


def test_leaf_moved_into_the_graph_is_an_error(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    x.requires_grad_(False)
    x.mul_(leaf(torch, 3.0))
    with pytest.raises(RuntimeError, match=r"^leaf variable has been moved into the graph interior$"):
        y.sum().backward()


def test_a_leaf_that_stopped_requiring_grad_gets_nothing(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    assert x.grad is None


LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
NO_GRAD = (
    "A view was created in no_grad mode and {} modified inplace with grad mode enabled. Given that this use case is "
    "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked)."
)
BASE = "its base or another view of its base has been"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("x.add_(1)", LEAF),
        ("x.copy_(x.detach())", LEAF),
        ("x.view(2, 1).mul_(2)", f"a view of {LEAF}"),
        ("y = x * 1\nwith torch.no_grad(): v = y.view(2, 1)\nv.add_(1)", NO_GRAD.format("is being")),
        ("y = x * 1\nwith torch.no_grad(): v = y.view(2, 1)\ny.add_(1)\nv.grad_fn", NO_GRAD.format(BASE)),
        (
            "y = x * 1\nwith torch.no_grad(): v = y.view(2, 1)\nw = v.view(1, 2)\nw.add_(1)",
            NO_GRAD.format("is being").replace("A view was", "Output 0 of View is a view of a view which was"),
        ),
        (
            "y = x * 1\nwith torch.inference_mode(): v = y.view(2, 1)\nv.add_(1)",
            NO_GRAD.format("is being")
            .replace("no_grad", "inference_mode")
            .replace("inference_mode mode", "inference mode")
            .replace("with grad mode enabled", "in normal mode"),
        ),
    ],
)
def test_forbidden_writes_are_errors(torch: Any, program: str, text: str) -> None:
    with pytest.raises(RuntimeError) as error:
        exec(program, {"torch": torch, "x": leaf(torch, 1.0, 2.0)})
    assert str(error.value) == text


def test_allowed_writes_succeed(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    with torch.no_grad():
        x.add_(1)
        x.view(2, 1).add_(1)
    x.detach().add_(1)
    x.requires_grad_(False).add_(1)
    assert x.tolist() == [5.0, 6.0]


def test_second_run_of_copy_slices_is_an_error(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    base = x * x
    base.view(2, 1).add_(1)
    base.sum().backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        base.sum().backward()


def test_grad_through_copy_slices_can_reach_only_the_base(torch: Any) -> None:
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 10.0)
    base = x * 1
    base.view(2, 1).mul_(w)
    assert torch.autograd.grad(base.sum(), x, retain_graph=True)[0].tolist() == [10.0, 10.0]
    assert torch.autograd.grad(base.sum(), w)[0].tolist() == [3.0]


def test_a_gradient_in_another_layout_is_copied_to_that_of_the_leaf(torch: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x.t().exp().sum().backward()
    assert x.grad.stride() == (2, 1)
