"""``torch.utils.checkpoint``: recompute a part of a program in backward instead of saving its tensors.

``use_reentrant=True``, a Function that runs backward within backward, is here. The other variant, which uses
saved-tensor hooks, is in ``checkpoint_frames.py``.

NB: selective checkpointing (``create_selective_checkpoint_contexts``) and ``debug=True`` are not part of the model.
So ``respect_saved_tensors_hooks``, which concerns the tensors that it saves, changes nothing.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.function import Function
from dispatchviz.torch.utils._pytree import tree_leaves
from dispatchviz.torch.utils.checkpoint_frames import (
    CheckpointError,
    current_state,
    device_type_of,
    forward_hooks,
    noop_context_fn,
    restore_state,
    set_checkpoint_early_stop,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """Replace tensors by leaves. Raise RuntimeError for anything but a tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(_detached(value) if isinstance(value, torch.Tensor) else value for value in inputs)


def _detached(tensor: Any) -> Any:
    leaf = tensor.detach()
    leaf.requires_grad = tensor.requires_grad
    return leaf


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the device number and the generator state for every tensor on a device."""
    found = [value.get_device() for value in tree_leaves(args) if isinstance(value, torch.Tensor) and value.is_cuda]
    return found, [torch.cuda.get_rng_state() for _ in found]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Set the states of the generators."""
    for _, state in zip(devices, states, strict=False):
        torch.cuda.set_rng_state(state)


def check_backward_validity(inputs: Any) -> None:
    """Warn if no tensor requires a gradient."""
    if not any(value.requires_grad for value in inputs if isinstance(value, torch.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """A Function that runs without Nodes. Its backward runs the function again with Nodes, and then runs their
    backward.
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Return the output of the function."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.before = current_state(device_type_of(args), preserve_rng_state)
        ctx.inputs = [None if isinstance(value, torch.Tensor) else value for value in args]
        ctx.tensor_indices = [index for index, value in enumerate(args) if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*(args[index] for index in ctx.tensor_indices))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> tuple[Any, ...]:
        """Return the gradients of the arguments. Raise RuntimeError for ``torch.autograd.grad`` or ``inputs=``."""
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[index] = tensor
        with restore_state(ctx.before, lambda: detach_variable(tuple(inputs)), grad=True) as leaves:
            outputs = ctx.run_function(*leaves)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, args, strict=False)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(leaf.grad if isinstance(leaf, torch.Tensor) else None for leaf in leaves)


_EXPLICIT = (
    "the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is recommended, but if you need "
    "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)


class _CheckpointedFunction:
    """A function that every call checkpoints. On a class, it is a method."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self.checkpoint_kwargs = options
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _checkpoint_impl(self.function, args, kwargs, **self.checkpoint_kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        bind = getattr(self.function, "__get__", None)
        if instance is None or bind is None:
            return self
        return type(self)(bind(instance, owner), self.checkpoint_kwargs)


_CheckpointedFunction.__module__ = "torch.utils.checkpoint"


def checkpoint(
    function: Callable[..., Any] | None = None,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], Any] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    respect_saved_tensors_hooks: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run ``function(*args)`` and recompute it in backward; without a function, return a decorator.

    Raise ValueError for options that do not go together.
    """
    options: dict[str, Any] = {
        "use_reentrant": use_reentrant,
        "preserve_rng_state": preserve_rng_state,
        "context_fn": context_fn,
        "determinism_check": determinism_check,
        "debug": debug,
        "early_stop": early_stop,
        "respect_saved_tensors_hooks": respect_saved_tensors_hooks,
    }
    if function is None and not args:
        _refuse(kwargs)
        return functools.partial(_CheckpointedFunction, options=options)
    return _checkpoint_impl(function, args, kwargs, **options)


def _refuse(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))


def _checkpoint_impl(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    use_reentrant: bool | None,
    preserve_rng_state: bool,
    context_fn: Callable[[], Any],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
    respect_saved_tensors_hooks: bool | None,
) -> Any:
    if use_reentrant is None:
        when = "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
        warnings.warn("torch.utils.checkpoint: " + _EXPLICIT.format(when), stacklevel=3)
        use_reentrant = True
    if use_reentrant:
        _refuse(kwargs)
        if context_fn is not noop_context_fn or debug or respect_saved_tensors_hooks is not None:
            raise ValueError(
                "Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported when "
                "use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if debug:
        raise NotImplementedError("checkpoint(debug=True) is not in dispatchviz's model of PyTorch")
    with forward_hooks(function, preserve_rng_state, context_fn, determinism_check, early_stop, args, kwargs):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run modules one after the other, with all segments but the last one checkpointed."""
    if use_reentrant is None:
        when = "In version 2.9 we will raise an exception if use_reentrant is not passed."
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: " + _EXPLICIT.format(when), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    _refuse(kwargs)
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())
    size = len(functions) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            _chain(functions[start:end]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return _chain(functions[end:])(input)


def _chain(functions: list[Any]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for function in functions:
            input = function(input)
        return input

    return run


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Raise NotImplementedError unless debugging is off."""
    if enabled:
        raise NotImplementedError("debug mode of checkpoints is not in dispatchviz's model of PyTorch")
    yield
