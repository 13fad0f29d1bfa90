"""Registrations that hold while a line of a program runs: what is tried by changing the line (``explain/what_if``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.torch import library


@contextmanager
def falls_through(operator: str, key: str) -> Iterator[None]:
    """In the block calls of an operator pass a key by. Errors as of ``torch.library``."""
    with library._scoped_library(operator.partition("::")[0], "IMPL") as registrations:
        registrations.impl(operator.partition("::")[2], library.fallthrough_kernel, key)
        yield


@contextmanager
def registered(operator: str, key: str) -> Iterator[None]:
    """In the block the cell of a key has a Python function, which calls the kernel that was in that cell.

    RuntimeError if the cell was empty.
    """
    before = library.get_kernel(operator, key)

    def in_place_of_it(keys: Any, *args: Any, **kwargs: Any) -> Any:
        return before.call_boxed(keys, *args, **kwargs)

    with library._scoped_library(operator.partition("::")[0], "IMPL") as registrations:
        registrations.impl(operator.partition("::")[2], in_place_of_it, key, with_keyset=True)
        yield
