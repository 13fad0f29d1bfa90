"""Registrations that hold while a line of a program runs: what is tried by changing the line.

Not here: the changed program (``explain/comparison/what_if``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dispatchviz.torch import library


@contextmanager
def falls_through(operator: str, key: str) -> Iterator[None]:
    """In the block calls of an operator pass a key by. Errors as of ``torch.library``."""
    with _registered(operator, key, library.fallthrough_kernel, False, sys._getframe(2)):
        yield


@contextmanager
def registered(operator: str, key: str) -> Iterator[None]:
    """In the block the cell of a key has a Python function, which calls the kernel that was in that cell.

    RuntimeError if the cell was empty.
    """
    before = library.get_kernel(operator, key)

    def in_place_of_it(keys: Any, *args: Any, **kwargs: Any) -> Any:
        return before.call_boxed(keys, *args, **kwargs)

    with _registered(operator, key, in_place_of_it, True, sys._getframe(2)):
        yield


@contextmanager
def _registered(
    operator: str, key: str, kernel: Callable[..., Any], with_keyset: bool, line: FrameType
) -> Iterator[None]:
    """A registration that the program makes on a line."""
    namespace, _, name = operator.partition("::")
    made = library.Library.made_at(f"{line.f_code.co_filename}:{line.f_lineno}", namespace, "IMPL")
    try:
        made.impl(name, kernel, key, with_keyset=with_keyset)
        yield
    finally:
        made._destroy()
