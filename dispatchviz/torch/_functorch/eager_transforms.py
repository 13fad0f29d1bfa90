"""``torch.func.grad`` (``torch/_functorch/eager_transforms.py``): wraps, calls, goes backward, unwraps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from dispatchviz.core.autograd import interface, variable
from dispatchviz.core.autograd.requires_grad_flag import change_requires_grad
from dispatchviz.core.generated.python_bindings import zeros_like
from dispatchviz.core.tensor import Tensor
from dispatchviz.torch._C._functorch import (
    _grad_decrement_nesting,
    _grad_increment_nesting,
    _unwrap_for_grad,
    _wrap_for_grad,
)
from dispatchviz.torch.autograd.graph import disable_saved_tensors_hooks
from dispatchviz.torch.grad_modes import enable_grad
from dispatchviz.torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

ArgNums = int | tuple[int, ...]
T = TypeVar("T")


@contextmanager
def grad_increment_nesting() -> Iterator[int]:
    """A level of grad, for a while."""
    level = _grad_increment_nesting()
    try:
        yield level
    finally:
        _grad_decrement_nesting()


def doesnt_support_saved_tensors_hooks(function: Callable[..., T]) -> Callable[..., T]:
    """Inside of the function default saved-tensor hooks raise RuntimeError; so does the call if there are any."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        with disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with "
            "your use case."
        ):
            return function(*args, **kwargs)

    return wrapper


@doesnt_support_saved_tensors_hooks
def grad_and_value_impl(
    func: Callable[..., Any], argnums: ArgNums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """The gradient, and the function's own result. RuntimeError with PyTorch's text for what has no gradient."""
    with grad_increment_nesting() as level, enable_grad():
        args, kwargs = _wrap_all_tensors(args, level), _wrap_all_tensors(kwargs, level)
        inputs = _slice_argnums(args, argnums)
        tree_map(_create_differentiable, inputs)
        output, aux = _output_and_aux(func(*args, **kwargs), has_aux)
        flat_inputs, spec = tree_flatten(inputs)
        gradients = tree_unflatten(_autograd_grad(output, flat_inputs), spec)
        gradients, output = _undo_create_differentiable(gradients, level), _undo_create_differentiable(output, level)
        if has_aux:
            return gradients, (output, _undo_create_differentiable(aux, level))
        return gradients, output


def grad_impl(
    func: Callable[..., Any], argnums: ArgNums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The gradient alone."""
    gradients, output = grad_and_value_impl(func, argnums, has_aux, args, kwargs)
    return (gradients, output[1]) if has_aux else gradients


def _output_and_aux(output: Any, has_aux: bool) -> tuple[Tensor, Any]:
    aux = None
    if has_aux:
        if not (isinstance(output, tuple) and len(output) == 2):
            raise RuntimeError(
                "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        output, aux = output
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output._size:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{len(output._size)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    return output, aux


def _autograd_grad(output: Tensor, inputs: list[Any]) -> list[Any]:
    """Zeros for inputs that the output does not depend on."""
    if not variable.requires_grad(output):
        return [zeros_like(tensor) for tensor in inputs]
    found = interface.grad((output,), inputs, retain_graph=False, create_graph=True, allow_unused=True)
    return [zeros_like(tensor) if grad is None else grad for grad, tensor in zip(found, inputs, strict=True)]


# -- wrapping ----------------------------------------------------------------------------------------------------------


def _wrap_all_tensors(tree: Any, level: int) -> Any:
    return tree_map(lambda value: _wrap_for_grad(value, level) if isinstance(value, Tensor) else value, tree)


def _create_differentiable(value: Any) -> Any:
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return change_requires_grad(value)


def _undo_create_differentiable(tree: Any, level: int) -> Any:
    def unwrapped(value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return _unwrap_for_grad(value, level)

    return tree_map(unwrapped, tree)


# -- argnums -----------------------------------------------------------------------------------------------------------


def _slice_argnums(args: tuple[Any, ...], argnums: ArgNums) -> Any:
    """The arguments to differentiate by."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return args[_wrapped_argnum(argnums, len(args))]
    wrapped = tuple(_wrapped_argnum(argnum, len(args)) for argnum in argnums)
    if not wrapped:
        raise RuntimeError("argnums must be non-empty")
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"argnums elements must be unique, got {wrapped}")
    return tuple(args[argnum] for argnum in wrapped)


def _wrapped_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if -count <= argnum < count:
        return argnum % count
    raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
