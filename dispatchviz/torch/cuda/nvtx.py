"""``torch.cuda.nvtx``: names for NVIDIA's tools (``torch/cuda/nvtx.py``). NB: no profiler is attached here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_open: list[str] = []


def range_push(msg: str) -> int:
    """Begin a range and return the number of ranges that were open before."""
    _open.append(msg)
    return len(_open) - 1


def range_pop() -> int:
    """End the innermost range and return the number of ranges that were open before it."""
    if not _open:
        return -2
    _open.pop()
    return len(_open)


def mark(msg: str) -> None:
    """Mark an instant."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Open a range around a block."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
