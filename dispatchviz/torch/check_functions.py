"""``torch._assert``, ``torch._check`` and similar checks in Python (``torch/__init__.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor

_UNEXPLAINED = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _assert(condition: Any, message: Any) -> None:
    """Raise AssertionError unless the condition is true."""
    if not condition:
        raise AssertionError(message)


def _check_with(error_type: type[Exception], cond: Any, message: object) -> None:
    """Raise the error, with the message or the function's, unless ``cond`` is True. Raise TypeError for anything but a
    bool.
    """
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type(_UNEXPLAINED if message is None else str(message() if callable(message) else message))


def _check(cond: Any, message: object = None) -> None:
    """Raise RuntimeError unless ``cond`` is True."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: object = None) -> None:
    """Raise IndexError unless ``cond`` is True."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: object = None) -> None:
    """Raise ValueError unless ``cond`` is True."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: object = None) -> None:
    """Raise TypeError unless ``cond`` is True."""
    _check_with(TypeError, cond, message)


FUNCTIONS: dict[str, Callable[..., None]] = {
    function.__name__: function for function in (_assert, _check, _check_with, _check_index, _check_value, _check_type)
}
"""The functions by their names in ``torch``."""
