"""ForwardGrad and ForwardADLevel: dual levels, and the tangents of a tensor
(``torch/csrc/autograd/forward_grad.{h,cpp}``).

A level is open for the whole process, not for a thread. While none is open, no tensor has a tangent, and kernels only
check that ``levels`` is empty. ``forward_ad.py`` sets and reads tangents.

Rule 1: PyTorch allows one level at a time.
Rule 2: leaving a level drops its tangents from all tensors that still have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.core.tensor.tensor import Tensor


class ForwardGrad:
    """The tangents of one tensor, or of one saved variable, by level."""

    __slots__ = ("__weakref__", "content")

    def __init__(self) -> None:
        self.content: dict[int, Tensor] = {}

    def set_value(self, tangent: Tensor, level: int) -> None:
        """Set the tangent. Raise RuntimeError if the level is not open."""
        ForwardADLevel.get_by_idx(level).grads[self] = None
        self.content[level] = tangent

    def value(self, level: int) -> Tensor | None:
        """Return the tangent; None if there is none."""
        return self.content.get(level)


class ForwardADLevel:
    """One dual level, with weak references to the ForwardGrads that have tangents of it."""

    __slots__ = ("grads", "index")

    def __init__(self, index: int) -> None:
        self.index = index
        self.grads: WeakKeyDictionary[ForwardGrad, None] = WeakKeyDictionary()
        """The ForwardGrads in the order in which they got tangents, so that a program gives the same trace each
        time.
        """

    @staticmethod
    def get_by_idx(index: int) -> ForwardADLevel:
        """Return an open level. Raise RuntimeError if it is not open."""
        if index >= len(levels):
            raise RuntimeError(
                "Trying to access a forward AD level with an invalid index. This index was either not created or is "
                "already deleted."
            )
        return levels[index]

    def clear(self) -> int:
        """Drop its tangents. Return how many there were."""
        holders = [grad for grad in self.grads if grad.content.pop(self.index, None) is not None]
        self.grads.clear()
        return len(holders)


levels: list[ForwardADLevel] = []
"""The open levels, the innermost last."""


def exchange_levels(other: list[ForwardADLevel]) -> list[ForwardADLevel]:
    """Replace the open levels, and return them."""
    before = levels[:]
    levels[:] = other
    return before


def enter_dual_level() -> int:
    """Open a level and return its number (``get_next_idx``). Raise RuntimeError if one is open."""
    if levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = ForwardADLevel(len(levels))
    levels.append(level)
    if recorder.active is not None:
        recorder.active.dual_level_entered(level.index)
    return level.index


def exit_dual_level(index: int) -> None:
    """Close the innermost level (``release_idx``). Raise RuntimeError if that is another one, or if none is open."""
    if index != len(levels) - 1:
        raise RuntimeError(
            "Exiting a forward AD level that is not the last that was created is not support. Ensure they are released "
            "in the reverse order they were created."
        )
    if index < 0:
        raise RuntimeError("No forward AD level was created so you cannot exit it.")
    cleared = levels.pop().clear()
    if recorder.active is not None:
        recorder.active.dual_level_left(index, cleared)
