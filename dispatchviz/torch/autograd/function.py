"""``torch.autograd.Function`` and its ctx (``torch/autograd/function.py``).

A Function is a class of static methods. Its metaclass creates a second class, ``_backward_cls``, whose instances are
the ``ctx`` of a call and the ``grad_fn`` of its results. The implementation below it is in ``core/autograd/function``.

Functions inside ``vmap``, ``grad`` and the other transforms are in ``_functorch/autograd_function.py``.

NB: PyTorch also has ``NestedIOFunction``, which nothing has used for years.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from typing_extensions import deprecated

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.basic_nodes import DelayedError
from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.core.autograd.variables.requires_grad_flag import set_requires_grad
from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.functorch_tls import are_transforms_active
from dispatchviz.core.layers.functorch.tensor_wrapper import unwrap_if_dead
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch.grad_modes import no_grad

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]

AUTOGRAD_FUNCTION_COUNTER = itertools.count()
"""The counter that numbers every Function that is defined."""

_MODULE = "torch.autograd.function"
"""The module of the classes of Nodes in their repr."""
_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)
_NO_FORWARD = "You must implement the forward function for custom autograd.Function."
_NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
_NO_JVP = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
_NO_VMAP = (
    "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
)
_BOTH = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)
_NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)


class FunctionCtx:
    """The methods of ``ctx`` for a forward or ``setup_context``."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for the backward (``saved_tensors``), which checks that they were not modified."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for the jvp. Raise AssertionError for anything but tensors."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark inputs that were modified in place. The forward must return them."""
        self.dirty_tensors = args

    @deprecated(
        "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls "
        "to `set_()` are not tracked",
        category=FutureWarning,
    )
    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing."""

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark outputs that are not differentiable."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether undefined gradients are materialized as zeros for the backward."""
        self.materialize_grads = value


_ContextMethodMixin = FunctionCtx


class _HookMixin:
    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Callable[..., Any]) -> tuple[Any, RemovableHandle]:
        hooks = OrderedDict() if backward_hooks is None else backward_hooks
        return hooks, RemovableHandle(hooks, hook)


class BackwardCFunction(FunctionBase, FunctionCtx, _HookMixin):
    """Base class of the Nodes of Functions."""

    __slots__ = ("__dict__",)

    def _get_user_fn(self) -> Callable[..., Any]:
        function: Any = self._forward_cls
        if function.backward is not Function.backward and function.vjp is not Function.vjp:
            raise RuntimeError(_BOTH)
        return self._forward_cls._user_backward()

    def apply(self, *args: Any) -> Any:  # type: ignore[override]  # of a Function it is a class method
        """Run the user's backward; the engine calls ``evaluate`` with a list of gradients."""
        if len(args) == 1 and type(args[0]) is list:
            return self._thp_evaluate(args[0])
        boxed = getattr(self._forward_cls, "boxed_grads_call", False)
        return self._get_user_fn()(self, list(args)) if boxed else self._get_user_fn()(self, *args)

    def apply_boxed(self, *args: Any) -> Any:
        """Run the user's backward with the gradients in a list, which the backward may empty."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """Run the user's jvp."""
        return self._forward_cls.jvp(self, *args)  # type: ignore[attr-defined]  # of every Function

    def _compiled_autograd_key(self) -> tuple[int, ...]:
        key: tuple[int, ...] = self._forward_cls._compiled_autograd_key(self)
        return key


class FunctionMeta(type):
    """The metaclass of Functions, which creates the Node class of each Function."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        backward: Any = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": _MODULE})
        backward._autograd_function_id = next(AUTOGRAD_FUNCTION_COUNTER)
        cls._backward_cls = backward
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """A Function without functorch transforms."""

    __slots__ = ("__dict__",)

    clear_saved_tensors_on_access = False
    """Release the tensors when ``ctx.saved_tensors`` is read, so that it can be read only once."""
    boxed_grads_call = False
    """Pass the gradients to the backward in one list, which it may empty."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation: ``forward(ctx, *args)``, or ``forward(*args)`` if there is a ``setup_context``."""
        raise NotImplementedError(_NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what the backward needs, after a forward that has no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return one gradient per argument of the forward, for one gradient per output."""
        raise NotImplementedError(_NO_BACKWARD)

    vjp = backward
    """Another name for ``backward``. A Function has one of the two."""

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return one tangent per output, for one tangent per argument of the forward."""
        raise NotImplementedError(_NO_JVP)

    @classmethod
    def _user_backward(cls) -> Callable[..., Any]:
        """Return the user's ``backward`` or ``vjp``, depending on which one is overridden."""
        return cls.backward if cls.vjp is Function.vjp else cls.vjp


class Function(_SingleLevelFunction):
    """Base class of users' Functions. They have a static ``forward`` and ``backward``, and are called by ``apply``."""

    generate_vmap_rule = False
    """True if PyTorch generates a rule for ``vmap``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise RuntimeError: instances cannot be called, unlike long ago."""
        raise RuntimeError(_LEGACY)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The batch rule of the Function."""
        raise NotImplementedError(_NO_VMAP)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function. Raise RuntimeError inside transforms if it has no ``setup_context``."""
        own_setup = cls.setup_context is not _SingleLevelFunction.setup_context
        if own_setup:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if not are_transforms_active():
            args = tuple([unwrap_if_dead(arg) if isinstance(arg, Tensor) else arg for arg in args])
            return super().apply(*args, **kwargs)
        if not own_setup:
            raise RuntimeError(_NEEDS_SETUP)
        from dispatchviz.torch._functorch.autograd_function import (
            custom_function_call,
        )  # circular: it needs this module

        return custom_function_call(cls, *args, **kwargs)

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, ...]:
        return (ctx._autograd_function_id,)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a backward that cannot be differentiated: it runs without grad mode, and differentiating its results
    raises.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not thread.state.grad_mode or not any(isinstance(arg, Tensor) and requires_grad(arg) for arg in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        error = DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(several)
        )
        return error(*[_requiring_grad(value) for value in several])

    return wrapper


def _requiring_grad(value: Tensor | None) -> Tensor | None:
    """Return an alias that requires grad, so that its grad_fn raises."""
    if value is None:
        return None
    alias: Tensor = ops.detach.call(value)
    set_requires_grad(alias, True)
    return alias


class InplaceFunction(Function):
    """A subclass for old code."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
