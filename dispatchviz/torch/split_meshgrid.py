"""``split``, ``meshgrid``, ``block_diag``: Python functions around operators on lists (``torch/functional.py``,
``torch/_tensor.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dispatchviz.core.generated import python_bindings as bindings
from dispatchviz.core.tensor.tensor import Tensor


def _given(tensors: tuple[Any, ...]) -> Any:
    """Return the tensors of ``f(a, b)`` or ``f([a, b])``, which mean the same."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Split a tensor into pieces of one size, or of the sizes in a list."""
    return tensor.split(split_size_or_sections, dim)


def split_method(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """``Tensor.split``"""
    if isinstance(split_size, Tensor):
        with suppress(ValueError):
            split_size = int(split_size)  # type: ignore[call-overload]
    if isinstance(split_size, int):
        return bindings.split(self, split_size, dim)
    return bindings.split_with_sizes(self, split_size, dim)


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Expand each vector along a dimension of its own."""
    keywords = {} if indexing is None else {"indexing": indexing}
    return bindings.meshgrid(_given(tensors), **keywords)


def block_diag(*tensors: Any) -> Any:
    """Place matrices along the diagonal."""
    return bindings.block_diag(tensors)


def cartesian_prod(*tensors: Any) -> Any:
    """Return every combination of one element of each vector."""
    return bindings.cartesian_prod(tensors)


def _atleast(binding: Any) -> Callable[..., Any]:
    def at_least(*tensors: Any) -> Any:
        return binding(tensors[0] if len(tensors) == 1 else tensors)

    at_least.__name__ = at_least.__qualname__ = binding.__name__
    return at_least


def range(*args: Any, **kwargs: Any) -> Any:
    """Return the numbers from start to end, end included. Warn that the function is deprecated."""
    is_call = True
    try:
        return bindings.range(*args, **kwargs)
    except TypeError:
        is_call = False
        raise
    finally:
        if is_call:
            warnings.warn(
                "torch.range is deprecated and will be removed in a future release because its behavior is "
                "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
                "[start, end).",
                UserWarning,
                stacklevel=2,
            )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "split": split,
    "meshgrid": meshgrid,
    "block_diag": block_diag,
    "cartesian_prod": cartesian_prod,
    "range": range,
    **{name: _atleast(getattr(bindings, name)) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
}
"""The functions for ``torch``."""
