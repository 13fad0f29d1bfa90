"""The autograd kernel of a custom operator (``torch/_library/autograd.py``).

If an argument requires grad, the call goes through a Function created for the operator. Its forward redispatches, and
its backward is the user's. Otherwise the kernel only redispatches. Both happen under ``AutoDispatchBelowAutograd``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.keys.key_set import DispatchKeySet, after_autograd_keyset
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowAutograd
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch._library.schema_properties import takes_tensor_lists, with_defaults
from dispatchviz.torch._library.tensor_lists import Structure, flatten, unflatten
from dispatchviz.torch._ops import OpOverload
from dispatchviz.torch.autograd.function import Function
from dispatchviz.torch.tags import Tag


class Formula(Protocol):
    """The user's ``backward`` and ``setup_context`` of an operator, which may change later."""

    _backward_fn: Callable[..., Any] | None
    _setup_context_fn: Callable[..., Any] | None


@dataclass
class Info:
    """The formula of an operator that ``custom_op`` did not define."""

    _backward_fn: Callable[..., Any] | None
    _setup_context_fn: Callable[..., Any] | None


@dataclass
class _Call:
    """The key set and keyword-only arguments of a call, passed as the last input of the Function."""

    keyset: DispatchKeySet
    keyword_only: dict[str, Any]


@dataclass
class _Structures:
    """The structures of inputs and outputs that contain lists of tensors."""

    inputs: Structure
    outputs: Structure = field(default_factory=Structure)
    several: bool = False


def make_autograd_impl(op: OpOverload, formula: Formula) -> Callable[..., Any]:
    """Return a kernel for the key Autograd that takes the key set."""
    return _AutogradKernel(op, formula)


class _AutogradKernel:
    """The autograd kernel, called as ``kernel(keyset, *args, **keyword_only)``."""

    def __init__(self, op: OpOverload, formula: Formula) -> None:
        self._op = op
        self._schema = op._entry.schema
        self._formula = formula
        self._has_lists = takes_tensor_lists((*self._schema.arguments, *self._schema.returns))
        self._positional = sum(not argument.kwarg_only for argument in self._schema.arguments)
        self._has_keywords = any(argument.kwarg_only for argument in self._schema.arguments)
        name = f"GeneratedBackwardFor_{op._namespace}_{op._opname}_{op._overloadname}"
        forward = self._forward_of_lists if self._has_lists else self._forward
        backward = self._backward_of_lists if self._has_lists else self._backward
        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        self._function: type[Function] = type(name, (Function,), members)
        self.__name__ = "autograd_impl"

    def __call__(self, keyset: DispatchKeySet, *args: Any, **keyword_only: Any) -> Any:
        """Run the kernel. Raise RuntimeError for an out= operator with an argument that requires grad."""
        call = _Call(keyset, keyword_only)
        recorded = thread.state.grad_mode and any(map(_requires_grad, args))
        if Tag.out in self._op.tags:
            self._check_out(recorded or (thread.state.grad_mode and any(map(_requires_grad, keyword_only.values()))))
            return self._below(call, args)
        if not recorded:
            return self._below(call, args)
        return self._apply_to_lists(*args, call) if self._has_lists else self._function.apply(*args, call)

    def _check_out(self, recorded: bool) -> None:
        if recorded:
            raise RuntimeError(
                f"{self._op._opname}(): functions with out=... arguments don't support automatic differentiation, but "
                "one of the arguments requires grad."
            )

    def _below(self, call: _Call, args: Sequence[Any]) -> Any:
        with AutoDispatchBelowAutograd():
            return self._redispatch(call, args)

    def _redispatch(self, call: _Call, args: Sequence[Any]) -> Any:
        below = call.keyset & DispatchKeySet.from_raw_repr(after_autograd_keyset)
        return self._op.redispatch(below, *args, **call.keyword_only)

    # -- the Function -------------------------------------------------------------------------------------------------

    def _forward(self, ctx: Any, *inputs: Any) -> Any:
        args, call = inputs[:-1], inputs[-1]
        with AutoDispatchBelowAutograd():
            result = self._redispatch(call, args)
            if self._formula._setup_context_fn is not None:
                self._setup(ctx, args, call, result)
        return result

    def _setup(self, ctx: Any, args: tuple[Any, ...], call: _Call, result: Any) -> None:
        setup = self._formula._setup_context_fn
        assert setup is not None, "checked before"
        inputs, keyword_only = with_defaults(self._schema, args, call.keyword_only)
        if self._has_keywords:
            setup(ctx=ctx, inputs=inputs, keyword_only_inputs=keyword_only, output=result)
        else:
            setup(ctx=ctx, inputs=inputs, output=result)

    def _backward(self, ctx: Any, *grads: Any) -> Any:
        """Run the user's backward. Raise RuntimeError if there is none."""
        backward = self._formula._backward_fn
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {self._op} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        needed = ctx.needs_input_grad
        ctx.needs_input_grad = needed[:-1]
        try:
            result = backward(ctx, *grads)
        finally:
            ctx.needs_input_grad = needed
        inputs = len(needed) - 1
        self._check_count(inputs, len(result) if isinstance(result, tuple) else 1)
        if not isinstance(result, tuple):
            return result, None
        if any(grad is not None for grad in result[inputs:]):
            raise RuntimeError(
                f"The backward formula for {self._op} returned a non-None gradient for an input that was not passed to "
                "the operator. Defaulted inputs that were not passed through autograd must return None."
            )
        return (*(result[:inputs] if self._has_lists else result), None)

    def _check_count(self, inputs: int, found: int) -> None:
        """Raise RuntimeError unless there is a gradient for each input, or for each positional argument."""
        if found in (inputs, self._positional):
            return
        expected = f"{inputs}" if inputs == self._positional else f"{inputs} or {self._positional}"
        raise RuntimeError(
            f"The backward formula for {self._op} returned an incorrect number of gradients (expected {expected}, got "
            f"{found}). Expected one gradient for each forward input, or for each positional input to the operator. "
            "Use None for inputs that do not require a gradient."
        )

    # -- lists of tensors ---------------------------------------------------------------------------------------------

    def _apply_to_lists(self, *args: Any) -> Any:
        """Apply the Function to flattened lists, because a Function takes and returns only tensors."""
        flat, structure = flatten(args)
        structures = _Structures(structure)
        outputs = unflatten(list(self._function.apply(*flat, structures)), structures.outputs)
        return outputs if structures.several else outputs[0]

    def _forward_of_lists(self, ctx: Any, *inputs: Any) -> Any:
        structures: _Structures = inputs[-1]
        result = self._forward(ctx, *unflatten(list(inputs[:-1]), structures.inputs))
        structures.several = isinstance(result, tuple)
        flat, structures.outputs = flatten(result if structures.several else (result,))
        ctx._pt_metadata = structures
        return tuple(flat)

    def _backward_of_lists(self, ctx: Any, *grads: Any) -> Any:
        """Run the user's backward for lists. Raise RuntimeError if the gradients do not have the structure of the
        inputs.
        """
        structures: _Structures = ctx._pt_metadata
        needed = ctx.needs_input_grad
        ctx.needs_input_grad = unflatten(list(needed[:-1]), structures.inputs)
        try:
            result = self._backward(ctx, *unflatten(list(grads), structures.outputs))
        finally:
            ctx.needs_input_grad = needed
        flat, structure = flatten(result, gradients=True)
        if structure != structures.inputs:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: "
                f"{structure} (return from backward), {structures.inputs} (inputs)"
            )
        return (*flat, None)


def _requires_grad(value: Any) -> bool:
    """Return whether a tensor, or one in a list, requires grad."""
    if isinstance(value, (list, tuple)):
        return any(map(_requires_grad, value))
    return isinstance(value, Tensor) and requires_grad(value)
