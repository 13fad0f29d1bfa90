"""Utilities for modes (``torch/utils/_mode_utils.py``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dispatchviz.torch import _C


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether all modes are the same object."""
    return all(mode == modes[0] for mode in modes)


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Keep modes and subclasses from intercepting calls in a block."""
    with _C._DisableTorchDispatch():
        yield
