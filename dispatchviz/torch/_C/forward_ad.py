"""``torch._C``: forward mode (``torch/csrc/autograd/init.cpp``)."""

from __future__ import annotations

from dispatchviz.core.autograd.forward_mode.forward_grad import enter_dual_level as _enter_dual_level
from dispatchviz.core.autograd.forward_mode.forward_grad import exit_dual_level
from dispatchviz.core.thread.thread_state import thread

__all__ = ["_enter_dual_level", "_exit_dual_level", "_is_fwd_grad_enabled", "_set_fwd_grad_enabled"]


def _exit_dual_level(*, level: int) -> None:
    """Close a level. Raise RuntimeError if it is not the innermost."""
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    exit_dual_level(level)


def _is_fwd_grad_enabled() -> bool:
    """Return whether forward mode AD is enabled in this thread."""
    return thread.state.fw_grad_mode


def _set_fwd_grad_enabled(enabled: bool) -> None:
    """Set whether forward mode AD is enabled in this thread. Raise TypeError for anything but a bool."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    thread.state.fw_grad_mode = enabled
