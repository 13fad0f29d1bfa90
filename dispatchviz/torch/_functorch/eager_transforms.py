"""``torch.func.grad`` and ``vjp`` (``torch/_functorch/eager_transforms.py``): wrap, call, run backward, unwrap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from dispatchviz.core.autograd.variables.requires_grad_flag import change_requires_grad
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.restoring_state import restores_state
from dispatchviz.torch._C._functorch import (
    _grad_decrement_nesting,
    _grad_increment_nesting,
    _unwrap_for_grad,
    _wrap_for_grad,
    get_unwrapped,
    is_functorch_wrapped_tensor,
)
from dispatchviz.torch._functorch.argnums import ArgNums, slice_argnums
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.graph import disable_saved_tensors_hooks
from dispatchviz.torch.grad_modes import enable_grad
from dispatchviz.torch.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

Function = Callable[..., Any]
T = TypeVar("T")


@contextmanager
def grad_increment_nesting() -> Iterator[int]:
    """Open a level of grad for a block and yield its number."""
    level = _grad_increment_nesting()
    try:
        yield level
    finally:
        _grad_decrement_nesting()


def doesnt_support_saved_tensors_hooks(function: Callable[..., T]) -> Callable[..., T]:
    """Disable default saved-tensor hooks inside the function. The call raises RuntimeError if there are some
    already.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        with disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with "
            "your use case."
        ):
            return function(*args, **kwargs)

    return wrapper


# -- grad --------------------------------------------------------------------------------------------------------------


@restores_state
@doesnt_support_saved_tensors_hooks
def grad_and_value_impl(
    func: Function, argnums: ArgNums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the gradient and the function's own result. Raise RuntimeError with PyTorch's message if there is no
    gradient.
    """
    with grad_increment_nesting() as level, enable_grad():
        args, kwargs = wrap_all_tensors(args, level), wrap_all_tensors(kwargs, level)
        inputs = slice_argnums(args, argnums)
        tree_map(create_differentiable, inputs)
        output, aux = _output_and_aux(func(*args, **kwargs), has_aux, "grad_and_value(f)(*args)")
        _check_one_number(output)
        flat_inputs, spec = tree_flatten(inputs)
        gradients = tree_unflatten(_autograd_grad([output], flat_inputs), spec)
        gradients, output = undo_create_differentiable(gradients, level), undo_create_differentiable(output, level)
        if has_aux:
            return gradients, (output, undo_create_differentiable(aux, level))
        return gradients, output


def grad_impl(func: Function, argnums: ArgNums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the gradient alone."""
    gradients, output = grad_and_value_impl(func, argnums, has_aux, args, kwargs)
    return (gradients, output[1]) if has_aux else gradients


def _output_and_aux(output: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def _check_one_number(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output._size:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{len(output._size)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def _autograd_grad(
    outputs: list[Any],
    inputs: list[Any],
    grad_outputs: list[Any] | None = None,
    retain_graph: bool = False,
    create_graph: bool = True,
) -> list[Any]:
    """Return the gradients, with zeros for inputs that no output depends on."""
    indices = [index for index, out in enumerate(outputs) if out.requires_grad]
    if not indices:
        return [torch.zeros_like(tensor) for tensor in inputs]
    given = None if grad_outputs is None else [grad_outputs[index] for index in indices]
    found = torch.autograd.grad(
        [outputs[index] for index in indices],
        inputs,
        given,
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
    )
    return [torch.zeros_like(tensor) if grad is None else grad for grad, tensor in zip(found, inputs, strict=True)]


# -- vjp ---------------------------------------------------------------------------------------------------------------


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return the outputs of ``func`` and its vector-Jacobian product, a function of cotangents of the outputs.

    ``has_aux``: ``func`` also returns auxiliary data, which comes third. Raise RuntimeError with PyTorch's message for
    outputs or cotangents that do not fit.
    """
    return vjp_with_argnums(func, *primals, has_aux=has_aux)


@restores_state
@doesnt_support_saved_tensors_hooks
def vjp_with_argnums(func: Function, *primals: Any, argnums: ArgNums | None = None, has_aux: bool = False) -> Any:
    """Return the outputs and the vector-Jacobian product by some of the arguments; None means all."""
    with grad_increment_nesting() as level:
        with enable_grad():
            primals = wrap_all_tensors(primals, level)
            inputs = primals if argnums is None else slice_argnums(primals, argnums)
            tree_map(create_differentiable, inputs)
            output, aux = _output_and_aux(func(*primals), has_aux, "vjp(f, *primals)")
            aux = undo_create_differentiable(aux, level) if has_aux else None
            flat_output, output_spec = tree_flatten(output)
            assert_non_empty_tensor_output(flat_output, "vjp(f, *primals)")
            flat_inputs, inputs_spec = tree_flatten(inputs)
            results = undo_create_differentiable(output, level)
            for each in flat_output:
                _check_has_gradients(each)

        def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
            if create_graph is None:
                create_graph = torch.is_grad_enabled()
            flat_cotangents, spec = tree_flatten(cotangents)
            _check_same_structure(spec, output_spec)
            with _disable_inference_mode():
                found = _autograd_grad(flat_output, flat_inputs, flat_cotangents, retain_graph, create_graph)
            return tree_unflatten(found, inputs_spec)

    return (results, vjp_fn, aux) if has_aux else (results, vjp_fn)


@contextmanager
def _disable_inference_mode() -> Iterator[None]:
    """Disable inference mode for a block, and keep the grad modes."""
    if not torch.is_inference_mode_enabled():
        yield
        return
    modes = torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()
    with torch.inference_mode(False):
        torch._C._set_grad_enabled(modes[0])
        torch._C._set_fwd_grad_enabled(modes[1])
        yield


def assert_non_empty_tensor_output(output: list[Any], api: str) -> None:
    """Raise RuntimeError if there are no outputs, or some are not tensors."""
    if not output or (len(output) == 1 and output[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {output})")
    for each in output:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(each)}")


def _check_has_gradients(output: Tensor) -> None:
    if not output._dtype.can_require_grad:
        raise RuntimeError(
            "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
            f"{output._dtype}"
        )


def _check_same_structure(cotangents: TreeSpec, output: TreeSpec) -> None:
    if output != cotangents:
        raise RuntimeError(
            "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
            f"cotangents: {_shown(cotangents)}, primal output: {_shown(output)}"
        )


class _Star:
    def __repr__(self) -> str:
        return "*"


def _shown(spec: TreeSpec) -> str:
    """Return the text of ``treespec_pprint``."""
    return repr(tree_unflatten([_Star()] * spec.num_leaves, spec))


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor inside a transform's wrapper, recursively unless ``recurse`` is False. For debugging only."""
    if not is_functorch_wrapped_tensor(tensor):
        return tensor
    value = get_unwrapped(tensor)
    return debug_unwrap(value) if recurse else value


def wrap_all_tensors(tree: Any, level: int) -> Any:
    """Wrap every tensor at this level."""
    return tree_map(lambda value: _wrap_for_grad(value, level) if isinstance(value, Tensor) else value, tree)


def create_differentiable(value: Any) -> Any:
    """Set ``requires_grad``, which users may not do there. Raise ValueError for anything but a tensor."""
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return change_requires_grad(value)


def undo_create_differentiable(tree: Any, level: int) -> Any:
    """Unwrap every tensor to the level below. Raise RuntimeError for anything but a tensor."""

    def unwrapped(value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return _unwrap_for_grad(value, level)

    return tree_map(unwrapped, tree)
