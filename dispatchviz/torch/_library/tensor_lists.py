"""Values with lists of tensors in them, flattened and unflattened (``supports_tensorlist``).

NB: in PyTorch, trees of any depth are spread out (``torch.utils._pytree``); here a list among the values is, which is
all that schemas have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor


class Structure(tuple[int | None, ...]):
    """Per value: the length of a list of tensors, or None for anything else."""

    __slots__ = ()

    def __repr__(self) -> str:
        """As PyTorch prints a tree."""
        return f"TreeSpec(tuple, None, [{_joined([_printed(length) for length in self])}])"


def _printed(length: int | None) -> str:
    return "*" if length is None else f"TreeSpec(list, None, [{_joined(['*'] * length)}])".replace("\n", "\n  ")


def _joined(items: list[str]) -> str:
    return ",\n  ".join(items)


def flatten(values: Sequence[Any], gradients: bool = False) -> tuple[list[Any], Structure]:
    """All values in a row; ``gradients``: in a list None counts as a tensor too."""
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
    """The values that ``flatten`` had."""
    values: list[Any] = []
    at = 0
    for length in structure:
        values.append(flat[at] if length is None else flat[at : at + length])
        at += 1 if length is None else length
    return tuple(values)
