"""``torch.backends.mkldnn``: the flag of oneDNN (``torch/backends/mkldnn/__init__.py``)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dispatchviz.core.thread.context import context


def is_available() -> bool:
    """Return True."""
    return True


@contextmanager
def flags(enabled: bool = False, **others: Any) -> Iterator[None]:
    """Enable or disable oneDNN for a block. It is disabled by default, as in PyTorch."""
    before, context.user_enabled_mkldnn = context.user_enabled_mkldnn, enabled
    try:
        yield
    finally:
        context.user_enabled_mkldnn = before


class _Module(ModuleType):
    @property
    def enabled(self) -> bool:
        """True if oneDNN may compute."""
        return context.user_enabled_mkldnn

    @enabled.setter
    def enabled(self, value: bool) -> None:
        context.user_enabled_mkldnn = value


sys.modules[__name__].__class__ = _Module
