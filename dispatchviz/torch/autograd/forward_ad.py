"""``torch.autograd.forward_ad``: dual levels and dual tensors (``torch/autograd/forward_ad.py``).

NB: in PyTorch, ``make_dual`` also loads decompositions that give more operators a forward formula.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C.forward_ad import _enter_dual_level, _exit_dual_level, _is_fwd_grad_enabled
from dispatchviz.torch._C.forward_ad import _set_fwd_grad_enabled as switch

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current_level = -1


def exchange_current_level(level: int) -> int:
    """Set the current level and return the previous one."""
    global _current_level
    before, _current_level = _current_level, level
    return before


def enter_dual_level() -> int:
    """Enter a dual level and return its number. Raise RuntimeError if one is open."""
    global _current_level
    new_level = _enter_dual_level()
    if new_level != _current_level + 1:
        raise RuntimeError(
            "Entering a new forward AD level but the current level is not valid. Make sure you did not modify it "
            "directly."
        )
    _current_level = new_level
    return new_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Exit a dual level and clear its tangents. Raise RuntimeError if it is not the innermost."""
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _exit_dual_level(level=level)
    _current_level = level - 1


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a dual tensor: a view of ``tensor`` with a tangent. Raise RuntimeError without a level, ValueError for
    integers.
    """
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if not given._dtype.can_require_grad:
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given._dtype}")
    return ops._make_dual.call(tensor, tangent, level)


class UnpackedDualTensor(NamedTuple):
    """The return value of ``unpack_dual``."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal (a view without tangent) and the tangent or None. Without a level, return the tensor itself."""
    level = _current_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*ops._unpack_dual.call(tensor, level))


class dual_level(ContextDecorator):
    """Open a level on entry and close it on exit."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled(ContextDecorator):
    """Set forward mode AD at once; as a context manager, also restore it."""

    def __init__(self, mode: bool) -> None:
        self.prev = _is_fwd_grad_enabled()
        switch(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        switch(self.prev)
