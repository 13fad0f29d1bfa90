"""``torch.autograd.functional``: numbers, shapes of results, error texts.

The tests run on the model and, with the mark ``torch``, on real PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def square(x: Any) -> Any:
    return x * x


def cube_sum(x: Any) -> Any:
    return (x * x * x).sum()


def mixed(x: Any, z: Any) -> Any:
    return (x * x * z).sum()


def two(x: Any, z: Any) -> Any:
    return x * z, (x + z).sum()


def lists(value: Any) -> Any:
    return [lists(one) for one in value] if isinstance(value, tuple) else value.tolist()


def given(torch: Any) -> tuple[Any, Any, Any]:
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([1.0, 10.0])


def test_vjp_returns_outputs_and_gradients(torch: Any) -> None:
    x, z, v = given(torch)
    vjp = torch.autograd.functional.vjp
    assert lists(vjp(square, x, v)) == [[1.0, 4.0], [2.0, 40.0]]
    assert lists(vjp(two, (x, z), (v, torch.tensor(2.0)))) == [[[3.0, 8.0], 10.0], [[5.0, 42.0], [3.0, 22.0]]]
    assert lists(vjp(cube_sum, x)) == [9.0, [3.0, 12.0]]


def test_jvp_returns_outputs_and_tangents(torch: Any) -> None:
    x, z, v = given(torch)
    jvp = torch.autograd.functional.jvp
    assert lists(jvp(square, (x,), (v,))) == [[1.0, 4.0], [2.0, 40.0]]
    assert lists(jvp(two, (x, z), (v, v))) == [[[3.0, 8.0], 10.0], [[4.0, 60.0], 22.0]]


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_products_with_the_hessian(torch: Any, name: str) -> None:
    x, z, v = given(torch)
    product = getattr(torch.autograd.functional, name)
    assert lists(product(cube_sum, x, v)) == [9.0, [6.0, 120.0]]
    assert lists(product(mixed, (x, z), (v, v))) == [19.0, [[8.0, 120.0], [2.0, 40.0]]]


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_has_these_numbers(torch: Any, vectorize: bool) -> None:
    x, z, _ = given(torch)
    jacobian = torch.autograd.functional.jacobian
    assert lists(jacobian(square, x, vectorize=vectorize)) == [[2.0, 0.0], [0.0, 4.0]]
    assert lists(jacobian(two, (x, z), vectorize=vectorize)) == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[1.0, 1.0], [1.0, 1.0]],
    ]
    assert lists(jacobian(lambda x, z: x * 1, (x, z), vectorize=vectorize))[1] == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("vectorize", [False, True])
def test_hessian_has_these_numbers(torch: Any, vectorize: bool) -> None:
    x, z, _ = given(torch)
    hessian = torch.autograd.functional.hessian
    assert lists(hessian(cube_sum, x, vectorize=vectorize)) == [[6.0, 0.0], [0.0, 12.0]]
    diagonal = [[2.0, 0.0], [0.0, 4.0]]
    assert lists(hessian(mixed, (x, z), vectorize=vectorize)) == [
        [[[6.0, 0.0], [0.0, 8.0]], diagonal],
        [diagonal, [[0.0, 0.0], [0.0, 0.0]]],
    ]


def test_results_have_a_graph_only_with_create_graph(torch: Any) -> None:
    x, _, v = given(torch)
    x.requires_grad_()
    plain, recorded = (torch.autograd.functional.vjp(square, x, v, create_graph=flag)[1] for flag in (False, True))
    assert (plain.requires_grad, recorded.requires_grad) == (False, True)
    recorded.sum().backward()
    assert x.grad.tolist() == [2.0, 20.0]


WRONG: dict[str, Callable[[Any, Any, Any, Any], object]] = {
    "TypeError: The inputs given to vjp must be either a Tensor or a tuple of Tensors but the given inputs has type "
    "<class 'int'>.": lambda f, x, z, v: f.vjp(square, 3, v),
    "TypeError: The outputs of the user-provided function given to jvp must be either a Tensor or a tuple of Tensors "
    "but the value at index 1 has type <class 'int'>.": lambda f, x, z, v: f.jvp(lambda x: (x, 3), x, v),
    "RuntimeError: The vector v can only be None if the user-provided function returns a single Tensor with a single "
    "element.": lambda f, x, z, v: f.vjp(square, x),
    "RuntimeError: The vector v can only be None if the input to the user-provided function is a single Tensor with a "
    "single element.": lambda f, x, z, v: f.jvp(square, x),
    "RuntimeError: v is a tuple of invalid length: should be 2 but got 1.": lambda f, x, z, v: f.jvp(two, (x, z), v),
    "RuntimeError: The given v should contain a single Tensor.": lambda f, x, z, v: f.vjp(square, x, (v, v)),
    "RuntimeError: Entry 0 in v has invalid size: should be torch.Size([2]) but got "
    "torch.Size([]).": lambda f, x, z, v: f.jvp(square, (x,), v.sum()),
    "RuntimeError: The function given to hvp should return a single Tensor": lambda f, x, z, v: f.hvp(
        two, (x, z), (v, v)
    ),
    "RuntimeError: The Tensor returned by the function given to vhp should contain a single element": (
        lambda f, x, z, v: f.vhp(square, x, v)
    ),
    "RuntimeError: Output 0 of the user-provided function does not require gradients. The outputs must be computed in "
    "a differentiable manner from the input when running in strict mode.": lambda f, x, z, v: f.vjp(
        lambda x: x.detach(), x, v, strict=True
    ),
    "RuntimeError: The output of the user-provided function is independent of input 1. This is not allowed in strict "
    "mode.": lambda f, x, z, v: f.vjp(lambda x, z: x * 1, (x, z), v, strict=True),
    "RuntimeError: Output 0 of the user-provided function is independent of input 1. This is not allowed in strict "
    "mode.": lambda f, x, z, v: f.jacobian(lambda x, z: x * 1, (x, z), strict=True),
    "RuntimeError: torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
    "Please either set `strict=False` or `vectorize=False`.": lambda f, x, z, v: f.jacobian(
        square, x, strict=True, vectorize=True
    ),
    "RuntimeError: While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input 0 is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
    "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example).": lambda f, x, z, v: f.hessian(lambda x: x.sum(), x, strict=True),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_of_functional_are_errors(torch: Any, message: str) -> None:
    with pytest.raises((TypeError, RuntimeError)) as found:
        WRONG[message](torch.autograd.functional, *given(torch))
    assert f"{type(found.value).__name__}: {found.value}" == message
