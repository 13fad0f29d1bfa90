"""``torch.utils.deterministic``: whether deterministic algorithms fill uninitialized memory."""

from __future__ import annotations

import sys
from types import ModuleType

from dispatchviz.core.thread.context import context


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """True by default. Raise RuntimeError for anything but a bool."""
        return context.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        context.fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _Module
