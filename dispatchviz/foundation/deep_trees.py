"""Going through a syntax tree as deep as Python's own compiler takes it: a sum of 2,000 terms is that deep."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEEPEST = 100_000
"""Calls within each other; they are Python's own, which take no place on the stack of C."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """In the block functions of Python may call each other that deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
