"""The source location of a Python function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

from dispatchviz.core.record.file_names import shown_source


def source_of(function: Callable[..., Any] | None) -> tuple[str, int, int]:
    """The file (relative to the package for ours), first and last line of a Python function; ("", 0, 0) if it has
    none.
    """
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)  # a batch rule, not its plumbing
    return ("", 0, 0) if code is None else _lines_of(code)


@functools.cache
def _lines_of(code: CodeType) -> tuple[str, int, int]:
    """The file and lines of a code object. They are cached by the code, since a user's function may hold tensors."""
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return shown_source(code.co_filename), code.co_firstlineno, last
