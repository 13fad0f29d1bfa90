"""``torch.utils.hooks``: the handles that remove hooks, and the Nodes of a module's full backward hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle as RemovableHandle
from dispatchviz.torch._namespace import torch

__all__ = ["BackwardHook", "RemovableHandle"]

RemovableHandle.__module__ = "torch.utils.hooks"

Gradients = tuple[Any, ...]


class BackwardHook:
    """The full backward hooks of a module, for one call.

    The inputs pass through one identity Node and the outputs through another. When the second Node runs backward, the
    gradients of the outputs are complete. When the first has run, those of the inputs are, and the hooks are called.
    """

    def __init__(self, module: Any, user_hooks: list[Any], user_pre_hooks: list[Any]) -> None:
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.module = module
        self.grad_outputs: Any = None
        self.n_outputs = -1
        self.output_tensors_index: list[int] | None = None
        """The indices of the outputs that are tensors; None if no output requires grad."""
        self.n_inputs = -1
        self.input_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: Any) -> Any:
        """Pass the arguments through an identity."""
        args, self.input_tensors_index = self._apply_on_tensors(self._set_user_hook, args)
        self.n_inputs = len(args)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """Pass the result through an identity."""
        outputs = args if isinstance(args, tuple) else (args,)
        result, self.output_tensors_index = self._apply_on_tensors(self._set_output_hook, outputs)
        self.n_outputs = len(outputs)
        return result if isinstance(args, tuple) else result[0]

    def _apply_on_tensors(self, hang: Callable[[Any], None], args: Any) -> tuple[Any, list[int] | None]:
        index = [i for i, value in enumerate(args) if isinstance(value, torch.Tensor)]
        needed = False
        for i in index:
            needed |= args[i].requires_grad
        if not (needed and torch.is_grad_enabled()):
            return args, None
        behind = torch.nn.modules._functions.BackwardHookFunction.apply(*[args[i] for i in index])
        if len(behind) == 0:
            raise RuntimeError("Cannot set Module backward hook for a Module with no input Tensors.")
        nodes = [value.grad_fn for value in behind if value.grad_fn is not None]
        nodes = [node for node in nodes if node.name() == "BackwardHookFunctionBackward"]
        if not nodes:
            raise RuntimeError(
                "Error while setting up backward hooks. Please open an issue with a code sample to reproduce this."
            )
        hang(nodes[0])
        changed = list(args)
        for i, value in zip(index, behind, strict=True):
            changed[i] = value
        return tuple(changed) if type(args) is tuple else type(args)(*changed), index

    def _set_user_hook(self, node: Any) -> None:
        def hook(grad_input: Gradients, _: Gradients) -> Gradients | None:
            if self.grad_outputs is None:  # several backwards through the inputs, or none through the outputs
                return None
            assert self.input_tensors_index is not None, "there is a Node, so some input requires grad"
            gradients: Any = _scatter(self.input_tensors_index, grad_input, self.n_inputs)
            for user_hook in self.user_hooks:
                given = user_hook(self.module, gradients, self.grad_outputs)
                if given is None:
                    continue
                if len(given) != len(gradients):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(given)}, but expected "
                        f"{len(gradients)}"
                    )
                gradients = given
            self.grad_outputs = None
            return tuple(gradients[i] for i in self.input_tensors_index)

        node.register_hook(hook)

    def _set_output_hook(self, node: Any) -> None:
        def hook(_: Gradients, grad_output: Gradients) -> Gradients | None:
            assert self.output_tensors_index is not None, "there is a Node, so some output requires grad"
            self.grad_outputs = _scatter(self.output_tensors_index, grad_output, self.n_outputs)
            self._run_pre_hooks()
            gradients = self.grad_outputs
            if self.input_tensors_index is None:
                if self.user_hooks:
                    self._run_without_inputs()
                self.grad_outputs = None
            if gradients is None:
                return None
            return tuple(gradients[i] for i in self.output_tensors_index)

        node.register_hook(hook)

    def _run_pre_hooks(self) -> None:
        expected = len(self.grad_outputs)
        for hook in self.user_pre_hooks:
            given = hook(self.module, self.grad_outputs)
            if given is None:
                continue
            if len(given) != expected:
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(given)}, but expected "
                    f"{expected}"
                )
            self.grad_outputs = given

    def _run_without_inputs(self) -> None:
        """Call the hooks now, because no input requires grad. They cannot change anything. Hooks that run before the
        backward have run, and need no warning.
        """
        if self.user_hooks:
            self._run_hooks_without_inputs()
        self.grad_outputs = None

    def _run_hooks_without_inputs(self) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=6,
        )
        nothing = _scatter([], (), self.n_inputs)
        for hook in self.user_hooks:
            given = hook(self.module, nothing, self.grad_outputs)
            if given is not None and not (isinstance(given, tuple) and all(one is None for one in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )


def _scatter(index: Sequence[int], values: Gradients, size: int) -> Gradients:
    """Return the values at their indices, and None elsewhere."""
    result: list[Any] = [None] * size
    for i, value in zip(index, values, strict=True):
        result[i] = value
    return tuple(result)
