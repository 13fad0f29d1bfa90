"""Registrations that last while a line of a program runs, to try the effect of changing the line.

Not here: the changed program (``explain/comparison/what_if``).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


@contextmanager
def falls_through(operator: str, key: str) -> Iterator[None]:
    """Let calls of an operator fall through a key inside the block. Errors are those of ``torch.library``."""
    with _registered(operator, key, _library().fallthrough_kernel, False, sys._getframe(2)):
        yield


@contextmanager
def registered(operator: str, key: str) -> Iterator[None]:
    """Put a Python function into the cell of a key inside the block. It calls the kernel that was in the cell.

    Raise RuntimeError if the cell was empty.
    """
    if not hasattr(_library(), "get_kernel"):
        raise RuntimeError("this release of PyTorch has no torch.library.get_kernel, which the change needs")
    before = _library().get_kernel(operator, key)

    def replacement(keys: Any, *args: Any, **kwargs: Any) -> Any:
        return before.call_boxed(keys, *args, **kwargs)

    with _registered(operator, key, replacement, True, sys._getframe(2)):
        yield


@contextmanager
def _registered(
    operator: str, key: str, kernel: Callable[..., Any], with_keyset: bool, line: FrameType
) -> Iterator[None]:
    """Register a kernel inside the block, as if the program did so on a line."""
    namespace, _, name = operator.partition("::")
    made = eval(_at_line(line), {"Library": _library().Library, "namespace": namespace})
    try:
        made.impl(name, kernel, key, with_keyset=with_keyset)
        yield
    finally:
        made._destroy()


def _at_line(line: FrameType) -> CodeType:
    """Return code that makes a library on a line of the program: PyTorch reads the place from the calling frame."""
    text = "\n" * (line.f_lineno - 1) + "Library(namespace, 'IMPL')"
    return compile(text, line.f_code.co_filename, "eval")


def _library() -> Any:
    """Return ``torch.library`` of the program: the model's, or that of an installed PyTorch."""
    return importlib.import_module("torch.library")
