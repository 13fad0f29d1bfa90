"""``torch.cuda.nvtx``: names for NVIDIA's tools (``torch/cuda/nvtx.py``). NB: no profiler is attached here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_open: list[str] = []


def range_push(msg: str) -> int:
    """Begin a range; how many are open already."""
    _open.append(msg)
    return len(_open) - 1


def range_pop() -> int:
    """End the last one; how many were open before it."""
    if not _open:
        return -2
    _open.pop()
    return len(_open)


def mark(msg: str) -> None:
    """Mark a moment."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
