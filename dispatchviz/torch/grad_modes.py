"""``no_grad`` and its relatives: context managers, decorators, queries (``torch/autograd/grad_mode.py``)."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from dispatchviz.core.guards import InferenceMode, set_grad_mode
from dispatchviz.core.thread_state import thread


class _GradMode(ContextDecorator):
    """Switches grad mode on entry and back on exit."""

    enabled = True

    def __enter__(self) -> None:
        self._saved = thread.state.grad_mode
        set_grad_mode(self.enabled, f"torch.{type(self).__name__}()")

    def __exit__(self, *_: object) -> None:
        set_grad_mode(self._saved, f"leaving torch.{type(self).__name__}()")


class no_grad(_GradMode):
    """No Nodes are made inside; dispatch is unchanged, autograd kernels still run."""

    enabled = False


class enable_grad(_GradMode):
    """Nodes are made inside."""


class set_grad_enabled(_GradMode):
    """Acts at once; as a context manager it also restores the mode."""

    def __init__(self, mode: bool) -> None:
        self.enabled = mode
        self._saved = thread.state.grad_mode
        set_grad_mode(mode, f"torch.set_grad_enabled({mode})")

    def __enter__(self) -> None:
        pass


class inference_mode(ContextDecorator):
    """New tensors get no autograd keys inside, and the autograd keys are excluded."""

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self._guard = InferenceMode(self.mode)
        self._guard.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._guard.__exit__(*error)


def is_grad_enabled() -> bool:
    """Grad mode of this thread."""
    return thread.state.grad_mode


def is_inference_mode_enabled() -> bool:
    """Inference mode of this thread."""
    return thread.state.inference_mode
