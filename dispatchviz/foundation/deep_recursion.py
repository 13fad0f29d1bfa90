"""A higher limit for recursion, for syntax trees that Python itself can compile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEEPEST = 100_000
"""The number of nested calls. They are Python's own, which take no place on the C stack."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let Python functions nest their calls that deep inside the block."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
