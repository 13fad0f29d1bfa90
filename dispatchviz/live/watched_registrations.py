"""Operators and kernels that a program registers while it is watched: their cells are watched from then on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder


@contextmanager
def registrations_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Inside the block."""
    yield
