"""PyTorch's own hooks that log each Node that runs, at level DEBUG of the logger ``torch.autograd.graph``.

PyTorch registers them when a backward has begun, and the recorder has put its own hooks on the Nodes by then. A Node is
recorded by its last hook, which has to be the recorder's. So PyTorch's hooks are registered and removed around a
recorded backward, and PyTorch finds that they are there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

REGISTERING = "_register_logging_hooks_on_whole_graph"


class LoggingHooks:
    """The hooks of the backwards that are logged."""

    def __init__(self, torch: Any) -> None:
        self._module = torch.autograd.graph
        self._original: Callable[..., Callable[[], None]] = getattr(self._module, REGISTERING)
        self._threads = set[int]()
        """The threads on which they are registered for a backward that is about to begin."""

    @contextmanager
    def replaced(self) -> Iterator[None]:
        """Replace PyTorch's function that registers the hooks, inside the block."""
        setattr(self._module, REGISTERING, self._register)
        try:
            yield
        finally:
            setattr(self._module, REGISTERING, self._original)

    def _register(self, roots: Sequence[Any]) -> Callable[[], None]:
        if get_ident() not in self._threads:
            return self._original(roots)
        self._threads.discard(get_ident())
        return lambda: None

    def are_logged(self) -> bool:
        """Return whether Nodes are logged."""
        return bool(self._module.log.getEffectiveLevel() <= logging.DEBUG)

    @contextmanager
    def registered(self, roots: Sequence[Any]) -> Iterator[None]:
        """Register the hooks for a backward from these roots, which is the block."""
        unregister = self._original(roots)
        self._threads.add(get_ident())
        try:
            yield
        finally:
            self._threads.discard(get_ident())
            unregister()
