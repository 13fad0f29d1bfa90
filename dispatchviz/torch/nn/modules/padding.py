"""Padding (``torch/nn/modules/padding.py``): one class for each kind of padding and number of dimensions."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.nn.modules.module import Module

# -- the other end -----------------------------------------------------------------------------------------------------


class _CircularPadNd(Module):
    padding: Any
    _dims = 0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._dims)

    def _check_input_dim(self, input: Any) -> None:
        rank = self._dims + 1
        if input.dim() not in (rank, rank + 1):
            raise ValueError(f"expected {rank}D or {rank + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        """Return ``F.pad``. Raise ValueError for an input of another rank."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")

    def extra_repr(self) -> str:
        """Return the lengths for the repr."""
        return f"{self.padding}"


class CircularPad1d(_CircularPadNd):
    """Pad both ends of the last dimension with the values from the other end."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pad both ends of the last two dimensions with the values from the other end."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad both ends of the last three dimensions with the values from the other end."""

    _dims = 3


# -- a number ----------------------------------------------------------------------------------------------------------


class _ConstantPadNd(Module):
    padding: Any
    _dims = 0

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.value = value
        self.padding = ntuple(padding, 2 * self._dims)

    def forward(self, input: Any) -> Any:
        """``F.pad``."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the lengths and the number for the repr."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad both ends of the last dimension with a number."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad both ends of the last two dimensions with a number."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad both ends of the last three dimensions with a number."""

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pad both ends of the last dimension with 0."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the lengths for the repr."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad both ends of the last two dimensions with 0."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the lengths for the repr."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad both ends of the last three dimensions with 0."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the lengths for the repr."""
        return f"{self.padding}"


# -- padding with values of the input ----------------------------------------------------------------------------------


class _EdgePadNd(Module):
    padding: Any
    _dims = 0
    _mode = ""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._dims)

    def forward(self, input: Any) -> Any:
        """``F.pad``."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the lengths for the repr."""
        return f"{self.padding}"


class _ReflectionPadNd(_EdgePadNd):
    _mode = "reflect"


class _ReplicationPadNd(_EdgePadNd):
    _mode = "replicate"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror the last dimension at both ends."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror the last two dimensions at both ends."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror the last three dimensions at both ends."""

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the first and last element of the last dimension."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the first and last elements of the last two dimensions."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the first and last elements of the last three dimensions."""

    _dims = 3
