"""``Flatten`` and ``Unflatten`` (``torch/nn/modules/flatten.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn.modules.module import Module


class Flatten(Module):
    """Flatten the dimensions from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """``input.flatten``."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the dimensions for the repr."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one dimension into several. Raise TypeError for a size that is not a tuple of ints."""

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._require_tuple_int(unflattened_size)
        elif isinstance(dim, str):
            self._require_tuple_tuple(unflattened_size)
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_tuple(self, input: Any) -> None:
        if not isinstance(input, tuple):
            raise TypeError(f"unflattened_size must be a tuple of tuples, but found type {type(input).__name__}")
        for index, element in enumerate(input):
            if not isinstance(element, tuple):
                raise TypeError(
                    "unflattened_size must be tuple of tuples, "
                    f"but found element of type {type(element).__name__} at pos {index}"
                )

    def _require_tuple_int(self, input: Any) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}")
        for index, element in enumerate(input):
            if not isinstance(element, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, "
                    f"but found element of type {type(element).__name__} at pos {index}"
                )

    def forward(self, input: Any) -> Any:
        """``input.unflatten``."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the dimension and its sizes for the repr."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
