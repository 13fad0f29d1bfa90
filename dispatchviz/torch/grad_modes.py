"""``no_grad`` and its relatives: context managers, decorators, queries (``torch/autograd/grad_mode.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.thread.guards import InferenceMode, set_grad_mode
from dispatchviz.core.thread.thread_state import restore_state, thread
from dispatchviz.torch._C._engine import _set_grad_layout_enforcement_enabled
from dispatchviz.torch.context_decorators import DecoratorContextManager, NoParamDecoratorContextManager


class _GradMode(DecoratorContextManager):
    """A context manager that switches grad mode on entry and back on exit."""

    enabled = True

    def __enter__(self) -> None:
        self._saved = thread.state.grad_mode
        try:
            set_grad_mode(self.enabled, f"torch.{type(self).__name__}()")
        except BaseException:
            thread.state.grad_mode = self._saved
            raise

    def __exit__(self, *_: object) -> None:
        try:
            set_grad_mode(self._saved, f"leaving torch.{type(self).__name__}()")
        except BaseException:  # an exception from outside must not leave the mode set
            thread.state.grad_mode = self._saved
            raise


class no_grad(_GradMode, NoParamDecoratorContextManager):
    """Disable grad mode: no Nodes are created inside. Dispatch is unchanged, and autograd kernels still run."""

    enabled = False


class enable_grad(_GradMode, NoParamDecoratorContextManager):
    """Enable grad mode: Nodes are created inside."""


class set_grad_enabled(_GradMode):
    """Set grad mode at once; as a context manager, also restore it. Raise TypeError for anything but a bool."""

    def __init__(self, mode: Any) -> None:
        if not isinstance(mode, bool):
            found = type(mode).__name__
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {found}")
        self.enabled = mode
        self._saved = thread.state.grad_mode
        set_grad_mode(mode, f"torch.set_grad_enabled({mode})")

    def __call__(self, function: Any) -> Any:
        """Return the function in this mode, and restore the old mode at its definition."""
        set_grad_mode(self._saved, f"decorating with torch.set_grad_enabled({self.enabled})")
        return super().__call__(function)

    def __enter__(self) -> None:
        pass

    def clone(self) -> set_grad_enabled:
        """Return a new one with the same mode, which is set at once."""
        return type(self)(self.enabled)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.enabled})"


class enforce_grad_layout_policy(DecoratorContextManager):
    """Set at once whether a first gradient needs the strides of its leaf to become ``.grad`` without a copy."""

    def __init__(self, enable: bool = True) -> None:
        self.prev = thread.state.grad_layout_enforced
        _set_grad_layout_enforcement_enabled(enable)
        self.mode = enable

    def __call__(self, function: Any) -> Any:
        """Return the function in this mode, and restore the old mode at its definition."""
        thread.state.grad_layout_enforced = self.prev
        return super().__call__(function)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        thread.state.grad_layout_enforced = self.prev

    def clone(self) -> enforce_grad_layout_policy:
        """Return a new one with the same mode, which is set at once."""
        return type(self)(self.mode)


class inference_mode(DecoratorContextManager):
    """Enable inference mode: new tensors get no autograd keys inside, and the autograd keys are excluded."""

    def __new__(cls, mode: Any = True) -> Any:
        """Return the context manager, or the function if used as a decorator without parentheses."""
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self._guard = InferenceMode(self.mode)
        self._guard.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            self._guard.__exit__(*error)
        except BaseException:
            restore_state(self._guard._saved_state)
            raise

    def clone(self) -> inference_mode:
        """Return a new one with the same mode."""
        return type(self)(self.mode)


def is_grad_enabled() -> bool:
    """Return this thread's grad mode."""
    return thread.state.grad_mode


def is_inference_mode_enabled() -> bool:
    """Return this thread's inference mode."""
    return thread.state.inference_mode
