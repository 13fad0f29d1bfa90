"""Flatten and unflatten values that contain lists of tensors (``supports_tensorlist``).

NB: PyTorch flattens trees of any depth (``torch.utils._pytree``). Here only lists among the values are flattened,
because schemas have nothing deeper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor


class Structure(tuple[int | None, ...]):
    """A structure: per value the length of a list of tensors, or None for anything else."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the structure as PyTorch prints a tree."""
        return f"TreeSpec(tuple, None, [{_joined([_printed(length) for length in self])}])"


def _printed(length: int | None) -> str:
    return "*" if length is None else f"TreeSpec(list, None, [{_joined(['*'] * length)}])".replace("\n", "\n  ")


def _joined(items: list[str]) -> str:
    return ",\n  ".join(items)


def flatten(values: Sequence[Any], gradients: bool = False) -> tuple[list[Any], Structure]:
    """Return all values in a row, and their structure. ``gradients``: in a list, None counts as a tensor too."""
    flat: list[Any] = []
    structure: list[int | None] = []
    for value in values:
        flattened = isinstance(value, list) and all(_is_tensor(member, gradients) for member in value)
        structure.append(len(value) if flattened else None)
        flat.extend(value if flattened else (value,))
    return flat, Structure(structure)


def _is_tensor(member: Any, gradients: bool) -> bool:
    return isinstance(member, Tensor) or (gradients and member is None)


def unflatten(flat: list[Any], structure: Sequence[int | None]) -> tuple[Any, ...]:
    """Return the values that ``flatten`` received."""
    values: list[Any] = []
    at = 0
    for length in structure:
        values.append(flat[at] if length is None else flat[at : at + length])
        at += 1 if length is None else length
    return tuple(values)
