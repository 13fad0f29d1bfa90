"""``generate_vmap_rule``: a Function generated from a user's, whose forward, backward and jvp each run under a vmap.

Mirrors ``vmapify_autograd_function`` of ``torch/_functorch/autograd_function.py``. The forward returns the batch
dimensions of the outputs as one more output.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C._functorch import current_level
from dispatchviz.torch._functorch.restored_vmap import restore_vmap, unwrap_batched
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.utils._pytree import tree_flatten, tree_unflatten


def vmapify_autograd_function(function: Any, in_dims: Any, batch_size: int, randomness: str) -> Any:
    """Return the Function for a batch."""
    how = batch_size, randomness

    def forward(*operands: Any) -> Any:
        outputs, out_dims = restore_vmap(function.forward, in_dims, *how)(*operands)
        return (outputs, out_dims) if isinstance(outputs, Tensor) else (*outputs, out_dims)

    def setup_context(ctx: Any, inputs: Any, outputs: Any) -> None:
        outputs, out_dims = unpack_outputs(outputs)

        def inner(inputs: Any, outputs: Any) -> None:
            wrapped = CtxCustomSave(ctx, current_level())
            function.setup_context(wrapped, inputs, outputs)
            shapes = tuple(each.shape if isinstance(each, Tensor) else None for each in inputs)  # type: ignore[attr-defined]
            _noted(ctx, "_pt_input_shapes", generated, shapes)
            _noted(ctx, "_pt_saved_tensors_bdims_stack", generated, wrapped._pt_saved_tensors_bdims)

        restore_vmap(inner, (in_dims, out_dims), *how)(inputs, outputs)
        _noted(ctx, "_pt_out_dims", generated, out_dims)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        def without_context(saved_tensors: Any, tangents: Any) -> Any:
            return function.jvp(CtxWithSavedTensors(ctx, saved_tensors), *tangents)

        dims = ctx._pt_saved_tensors_bdims_stack[id(generated)], _tangents_in_dims(in_dims, tangents)
        found, found_dims = restore_vmap(without_context, dims, *how)(ctx.saved_tensors, tangents)
        result = _reductify(found, found_dims, ctx._pt_out_dims[id(generated)], batch_size)
        return (*result, None)

    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        given, out_dims = grad_outputs[:-1], _as_tuple(ctx._pt_out_dims[id(generated)])
        dims = tuple(None if grad is None else dim for grad, dim in zip(given, out_dims, strict=False))

        def without_context(inputs: Any) -> Any:
            saved_tensors, grads = inputs
            return function.backward(CtxWithSavedTensors(ctx, saved_tensors), *grads)

        all_dims = ((ctx._pt_saved_tensors_bdims_stack[id(generated)], dims),)
        found, found_dims = restore_vmap(without_context, all_dims, *how)((ctx.saved_tensors, given))
        return _reductify(found, found_dims, in_dims, batch_size, ctx._pt_input_shapes[id(generated)])

    body = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "jvp": staticmethod(jvp),
        "setup_context": staticmethod(setup_context),
        "generate_vmap_rule": True,
    }
    base = torch.autograd.Function
    generated = type(base)(f"Vmapped{function.__name__}", (base,), body)
    return generated


def unpack_outputs(outputs: tuple[Any, ...]) -> tuple[Any, Any]:
    """Split the outputs from their batch dimensions."""
    out_dims = outputs[-1]
    return (outputs[:-1] if isinstance(out_dims, tuple) else outputs[0]), out_dims


def _noted(ctx: Any, name: str, generated: Any, value: Any) -> None:
    """Store a value in a table of ctx, under the Function: a Function for a batch may itself be batched."""
    if not hasattr(ctx, name):
        setattr(ctx, name, {})
    getattr(ctx, name)[id(generated)] = value


# -- ctx ---------------------------------------------------------------------------------------------------------------


class WrappedCtx:
    """A wrapper around a ctx with some attributes of its own. It raises RuntimeError if the ctx has these already."""

    _pt_reserved_attrs: tuple[str, ...] = ("_pt_reserved_attrs", "_pt_inner_ctx")

    def __init__(self, ctx: Any) -> None:
        reserved = type(self)._pt_reserved_attrs
        if not isinstance(ctx, WrappedCtx) and any(hasattr(ctx, name) for name in reserved):
            raise RuntimeError(
                f"PyTorch reserves the {reserved} field on ctx. Please name your fields on ctx something else to "
                "avoid name collision."
            )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A wrapper around a ctx with other saved tensors."""

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Any:
        """The other saved tensors."""
        return self._pt_new_saved_tensors


class CtxCustomSave(WrappedCtx):
    """A wrapper around a ctx that saves the unwrapped tensors and their batch dimensions."""

    _pt_reserved_attrs = ("_pt_saved_tensors_bdims", "_pt_current_level", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, current_level: int) -> None:
        super().__init__(ctx)
        self._pt_saved_tensors_bdims: Any = ()
        self._pt_current_level = current_level

    def save_for_backward(self, *tensors: Any) -> None:
        """Save the unwrapped tensors for the backward, and keep their batch dimensions."""
        unwrapped, self._pt_saved_tensors_bdims = unwrap_batched(tensors, self._pt_current_level)
        self._pt_inner_ctx.save_for_backward(*unwrapped)

    def save_for_forward(self, *tensors: Any) -> None:
        """Save the unwrapped tensors for the jvp, and keep their batch dimensions."""
        unwrapped, self._pt_saved_tensors_bdims = unwrap_batched(tensors, self._pt_current_level)
        self._pt_inner_ctx.save_for_forward(*unwrapped)


# -- gradients in the form of the inputs -------------------------------------------------------------------------------


def _tangents_in_dims(in_dims: Any, tangents: tuple[Any, ...]) -> Any:
    dims, spec = tree_flatten(in_dims)
    flat = tree_flatten(tangents)[0]
    found = [None if tangent is None else dim for dim, tangent in zip(dims, flat, strict=True)]
    return tree_unflatten(found, spec)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _reductify(grads: Any, grad_dims: Any, input_dims: Any, batch_size: int, shapes: Any = None) -> tuple[Any, ...]:
    """Move the batch dimension of gradients to that of the inputs; sum it for inputs without one."""
    grads, grad_dims, input_dims = _as_tuple(grads), _as_tuple(grad_dims), _as_tuple(input_dims)
    shapes = (None,) * len(grads) if shapes is None else shapes
    parts = zip(grads, grad_dims, input_dims, shapes, strict=False)
    return tuple(_reductified(grad, dim, input_dim, batch_size, shape) for grad, dim, input_dim, shape in parts)


def _reductified(grad: Any, dim: int | None, input_dim: int | None, batch_size: int, shape: Any) -> Any:
    if grad is None or (dim is None and input_dim is None):
        return grad
    if input_dim is None:
        return grad.sum(dim)
    if dim is None:
        grad = grad.unsqueeze(input_dim)
        size = list(grad.shape)
        size[input_dim] = batch_size
        grad, dim = grad.expand(size), input_dim
    if shape is not None:
        return torch.vmap(torch.Tensor.sum_to_size, in_dims=(dim, None), out_dims=input_dim)(grad, shape)
    return grad if input_dim == dim else grad.movedim(dim, input_dim)
