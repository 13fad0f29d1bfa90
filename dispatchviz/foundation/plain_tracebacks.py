"""Python's module ``traceback`` while a recording hides its own frames there (``live/hidden_frames.py``).

pytest reads tracebacks with this module, entry by entry, while the recording of the failed test still runs.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_originals: dict[str, Any] = {}
"""Python's own functions that a recording has replaced."""


@contextmanager
def replaced_in_tracebacks(functions: Mapping[str, Any]) -> Iterator[None]:
    """Replace functions of the module inside the block."""
    before = {name: vars(traceback)[name] for name in functions}
    _originals.update(before)
    vars(traceback).update(functions)
    try:
        yield
    finally:
        vars(traceback).update(before)
        _originals.clear()


@contextmanager
def tracebacks_as_they_are() -> Iterator[None]:
    """Restore Python's own functions inside the block."""
    replaced = {name: vars(traceback)[name] for name in _originals}
    vars(traceback).update(_originals)
    try:
        yield
    finally:
        vars(traceback).update(replaced)
