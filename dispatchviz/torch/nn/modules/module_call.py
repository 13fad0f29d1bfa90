"""Calls of a module: its hooks and its ``forward`` (``Module._call_impl``).

Not here: the Nodes of full backward hooks (``torch/utils/hooks.py``).
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.core.seam import recorder
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.global_hooks import Hook
from dispatchviz.torch.nn.modules.global_hooks import hooks as everywhere
from dispatchviz.torch.utils.hooks import BackwardHook

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)


class WrappedHook:
    """A hook whose first argument is the module, held by a weak reference."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the hook. Raise RuntimeError once the module is destroyed."""
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)


class CallMixin:
    """The part of ``Module`` that registers hooks and runs them."""

    _backward_hooks: Any
    _backward_pre_hooks: Any
    _forward_hooks: Any
    _forward_hooks_always_called: Any
    _forward_hooks_with_kwargs: Any
    _forward_pre_hooks: Any
    _forward_pre_hooks_with_kwargs: Any
    _is_full_backward_hook: bool | None
    forward: Callable[..., Any]

    # -- registering --------------------------------------------------------------------------------------------------

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_output)``, which runs when the outputs' gradients are computed and may return
        others.
        """
        return _added(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Register a hook of the old kind, on the grad_fn of the output. Raise RuntimeError if there are full ones."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_MIXED)
        self._is_full_backward_hook = False
        return _added(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_input, grad_output)``, which may return other gradients of the inputs. Raise
        RuntimeError if there are old ones.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(_MIXED)
        self._is_full_backward_hook = True
        return _added(self._backward_hooks, hook, prepend)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, args)``, which runs before ``forward`` and may return other arguments."""
        handle = _added(self._forward_pre_hooks, hook, prepend, [self._forward_pre_hooks_with_kwargs])
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, args, output)``, which runs after ``forward`` and may return another output."""
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _added(self._forward_hooks, hook, prepend, extra)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    # -- calling ------------------------------------------------------------------------------------------------------

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.active
        if rec is None:
            return self._call_impl(*args, **kwargs)
        failed = True
        _users_frame = rec.module_called(self)  # where calls within this one find it (``running/call_sites.py``)
        try:
            result = self._call_impl(*args, **kwargs)
            failed = False
            return result
        finally:
            rec.module_left(failed)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or everywhere.has_forward_or_backward_hooks()
        ):
            return self.forward(*args, **kwargs)
        call = _Call(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.run_remaining_hooks()
            raise

    __call__: Callable[..., Any] = _wrapped_call_impl

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """Return the full hooks and the old ones, with those of all modules first."""
        found: dict[bool | None, list[Hook]] = {True: [], False: []}
        for kind, hooks in (
            (everywhere.is_full_backward_hook, everywhere.backward),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            if kind is not None:
                found[kind] += hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*everywhere.backward_pre.values(), *self._backward_pre_hooks.values()]


def _added(hooks: Any, hook: Hook, prepend: bool = False, extra: Any = None) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook, extra_dict=extra)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class _Call:
    """One call of a module that has hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()
        """The hooks with ``always_call`` that have run."""

    def run(self) -> Any:
        """Run the pre hooks, ``forward`` and the hooks. The identities of the backward hooks enclose all but the pre
        hooks.
        """
        module = self.module
        full, old = module._get_backward_hooks()
        pre = module._get_backward_pre_hooks()
        for number, hook in [*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()]:
            self._run_pre_hook(number, hook)
        backward_hook = BackwardHook(module, full, pre) if full or pre else None
        if backward_hook is not None:
            self.args = backward_hook.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for number, hook in [*everywhere.forward.items(), *module._forward_hooks.items()]:
            if number in module._forward_hooks_always_called or number in everywhere.forward_always_called:
                self.called.add(number)
            self._run_hook(hook, number in everywhere.forward_with_kwargs or self._takes_kwargs(number))
        if backward_hook is not None:
            self._set_up_output(backward_hook)
        if old:
            _register_on_grad_fn(module, old, self.args, self.result)
        return self.result

    def _takes_kwargs(self, number: int) -> bool:
        return number in self.module._forward_hooks_with_kwargs

    def _run_pre_hook(self, number: int, hook: Hook) -> None:
        if number not in self.module._forward_pre_hooks_with_kwargs:
            given = hook(self.module, self.args)
            if given is not None:
                self.args = given if isinstance(given, tuple) else (given,)
            return
        given = hook(self.module, self.args, self.kwargs)
        if given is None:
            return
        if not isinstance(given, tuple) or len(given) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {given}."
            )
        self.args, self.kwargs = given

    def _run_hook(self, hook: Hook, with_kwargs: bool) -> None:
        kwargs = (self.kwargs,) if with_kwargs else ()
        given = hook(self.module, self.args, *kwargs, self.result)
        if given is not None:
            self.result = given

    def _set_up_output(self, backward_hook: BackwardHook) -> None:
        if not isinstance(self.result, (torch.Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(self.result)}",
                stacklevel=5,
            )
        self.result = backward_hook.setup_output_hook(self.result)

    def run_remaining_hooks(self) -> None:
        """Run the remaining hooks with ``always_call`` after an error. Their own errors are only warnings."""
        for kind, number, hook, with_kwargs in self._always_called():
            if number in self.called:
                continue
            try:
                self._run_hook(hook, with_kwargs)
            except Exception as error:
                warnings.warn(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error!s}",
                    stacklevel=4,
                )

    def _always_called(self) -> Iterator[tuple[str, int, Hook, bool]]:
        for number, hook in everywhere.forward.items():
            if number in everywhere.forward_always_called:
                yield "global module", number, hook, False
        for number, hook in self.module._forward_hooks.items():
            if number in self.module._forward_hooks_always_called:
                yield "module", number, hook, self._takes_kwargs(number)


# -- the old kind of backward hooks -----------------------------------------------------------------------------------


def _register_on_grad_fn(module: Any, hooks: list[Hook], args: Any, result: Any) -> None:
    """Register the hooks as post hooks of the Node that made the first tensor of the output."""
    first = result
    while not isinstance(first, torch.Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, torch.Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(WrappedHook(hook, module))
    reason = _misses_gradients(args, result, node)
    if reason:
        warnings.warn(reason, FutureWarning, stacklevel=5)


_FULL = " Please use register_full_backward_hook to get the documented behavior."
_OLD = "deprecated and will be removed in future versions. This hook will be missing some"


def _misses_gradients(args: Any, result: Any, node: Any) -> str:
    """Return the reason that a non-full backward hook misses gradients of the module, or an empty string."""
    outputs = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is "
            f"{_OLD} of the grad_output.{_FULL}"
        )
    inputs = args if isinstance(args, tuple) else (args,)
    if not all(isinstance(value, torch.Tensor) for value in inputs):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            f"Tensors is {_OLD} of the grad_input.{_FULL}"
        )
    makers = {output.grad_fn for output in outputs if output.grad_fn is not None}
    if not makers or (len(makers) == 1 and node not in makers):
        return f"Using a non-full backward hook when outputs are nested in python data structure is {_OLD} grad_output."
    if len(makers) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes is "
            f"{_OLD} grad_output.{_FULL}"
        )
    before = {value.grad_fn for value in inputs if value.grad_fn is not None}
    if before != {function for function, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is "
            f"{_OLD} grad_input.{_FULL}"
        )
    return ""
