"""Custom Functions inside functorch transforms (``torch/_functorch/autograd_function.py``).

The call passes from layer to layer, without the dispatcher. A layer of ``grad`` or ``jvp`` calls a Function created for
it. That Function unwraps its arguments, calls the layer below and wraps the results, so each level has a Node of its
own, whose backward is the user's. A layer of ``vmap`` calls the user's ``vmap``, or a Function generated from the
user's (``vmapified_function.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from dispatchviz.core.layers.functorch.ad_interpreters import ADInterpreter
from dispatchviz.core.layers.functorch.dynamic_layer import current_layer, temporarily_popped
from dispatchviz.core.layers.functorch.functorch_tls import are_transforms_active
from dispatchviz.core.layers.functorch.interpreter import VmapInterpreter
from dispatchviz.core.layers.functorch.tensor_wrapper import unwrap_if_dead
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoFwGradMode, AutoGradMode
from dispatchviz.torch._C._functorch import _add_batch_dim, _unwrap_for_grad, _wrap_for_grad
from dispatchviz.torch._functorch.restored_vmap import unwrap_batched, wrap_batched
from dispatchviz.torch._functorch.vmapified_function import unpack_outputs, vmapify_autograd_function
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.utils._pytree import (
    TreeSpec,
    _broadcast_to_and_flatten,
    tree_all,
    tree_flatten,
    tree_leaves,
    tree_map_only,
    tree_unflatten,
)

NO_OUT_DIMS = "not specified"
_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The argument ``info`` of a user's ``vmap``."""

    batch_size: int
    randomness: str


def custom_function_call(function: Any, *operands: Any) -> Any:
    """Call the Function at the innermost interpreter; below the last one, call the Function itself."""
    if not are_transforms_active():
        return function.apply(*operands)
    operands = tree_map_only(Tensor, unwrap_if_dead, operands)
    interpreter = current_layer().interpreter
    if isinstance(interpreter, ADInterpreter):
        lifted = tree_map_only(Tensor, interpreter.lift, operands)
        return generate_single_level_function(interpreter, function).apply(*lifted)
    assert isinstance(interpreter, VmapInterpreter)
    return _call_under_vmap(interpreter, function, operands)


# -- grad and jvp ------------------------------------------------------------------------------------------------------


@contextmanager
def _lower(interpreter: ADInterpreter) -> Iterator[None]:
    """Lower to the level below the transform, in the grad mode outside of it."""
    with ExitStack() as stack:
        if not interpreter.prev_mode:
            stack.enter_context(interpreter.mode_below())
        stack.enter_context(temporarily_popped())
        yield


def generate_single_level_function(interpreter: ADInterpreter, function: Any) -> Any:
    """Return a Function for this level, with the user's backward and jvp."""
    level = interpreter.level

    def forward(*operands: Any) -> Any:
        unwrapped = tree_map_only(Tensor, lambda tensor: _unwrap_for_grad(tensor, level), operands)
        with AutoGradMode(True, "the level below"), AutoFwGradMode(True), _lower(interpreter):
            output = custom_function_call(function, *unwrapped)
        return _wrap_outputs_maintaining_identity(
            output, unwrapped, operands, lambda tensor: _wrap_for_grad(tensor, level)
        )

    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        return function.setup_context(ctx, inputs, output)

    def backward(ctx: Any, *grads: Any) -> Any:
        return function.backward(ctx, *grads)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        return function.jvp(ctx, *tangents)

    body = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "jvp": staticmethod(jvp),
        "setup_context": staticmethod(setup_context),
    }
    base = torch.autograd.function._SingleLevelFunction
    return type(base)(f"{function.__name__}Generated", (base,), body)


def _wrap_outputs_maintaining_identity(
    outputs: Any, unwrapped: Any, operands: Any, wrap: Callable[..., Tensor], out_dims: Any = NO_OUT_DIMS
) -> Any:
    """Wrap the outputs. An output that is an input is returned as the original input."""
    given = {id(inner): outer for inner, outer in zip(tree_leaves(unwrapped), tree_leaves(operands), strict=True)}
    flat, spec = tree_flatten(outputs)
    dims = [()] * len(flat) if out_dims == NO_OUT_DIMS else [(dim,) for dim in _flat_dims(out_dims, spec)]
    found = []
    for output, dim in zip(flat, dims, strict=True):
        if isinstance(output, Tensor):
            output = given[id(output)] if id(output) in given else wrap(output, *dim)
        found.append(output)
    return tree_unflatten(found, spec)


def _flat_dims(out_dims: Any, spec: TreeSpec) -> list[Any]:
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {spec}. {_MORE}"
        )
    return dims


# -- vmap --------------------------------------------------------------------------------------------------------------


def _call_under_vmap(interpreter: VmapInterpreter, function: Any, operands: tuple[Any, ...]) -> Any:
    """Call the Function under vmap. Raise RuntimeError if it has no batch rule, or two."""
    overridden = function.vmap is not torch.autograd.Function.vmap
    if function.generate_vmap_rule:
        if overridden:
            raise RuntimeError(
                f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an "
                "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap "
                f"staticmethod to avoid ambiguity. {_MORE}"
            )
        return _by_generated_rule(interpreter, function, operands)
    if not overridden:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and "
            f"implement the vmap staticmethod or set generate_vmap_rule=True. {_MORE}"
        )
    return _by_users_rule(interpreter, function, operands)


def _by_users_rule(interpreter: VmapInterpreter, function: Any, operands: tuple[Any, ...]) -> Any:
    level = interpreter.level
    unwrapped, in_dims = unwrap_batched(operands, level)
    with temporarily_popped():
        if tree_all(lambda dim: dim is None, in_dims):
            return custom_function_call(function, *operands)
        result = function.vmap(VmapInfo(interpreter.batch_size, interpreter.randomness), in_dims, *unwrapped)
    _check_two_elements(result)

    def wrap(output: Tensor, dim: int | None) -> Tensor:
        return output if dim is None else _add_batch_dim(output, dim, level)

    output, out_dims = result
    return _wrap_outputs_maintaining_identity(output, unwrapped, operands, wrap, out_dims)


def _check_two_elements(result: Any) -> None:
    expected = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
        "with the output. "
    )
    if not isinstance(result, tuple):
        raise RuntimeError(f"{expected}Got a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(f"{expected}Got {len(result)} returns instead")


def _by_generated_rule(interpreter: VmapInterpreter, function: Any, operands: tuple[Any, ...]) -> Any:
    unwrapped, in_dims = unwrap_batched(operands, interpreter.level)
    vmapped = vmapify_autograd_function(function, in_dims, interpreter.batch_size, interpreter.randomness)
    with temporarily_popped():
        outputs = custom_function_call(vmapped, *unwrapped)
    outputs, out_dims = unpack_outputs(outputs)
    return wrap_batched(outputs, out_dims, interpreter.level)
