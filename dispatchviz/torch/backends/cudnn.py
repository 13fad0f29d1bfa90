"""``torch.backends.cudnn``: the flags of cuDNN (``torch/backends/cudnn/__init__.py``).

NB: ``benchmark``, ``deterministic`` and ``allow_tf32`` change nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.table.pytorch_registrations import chosen_build
from dispatchviz.core.thread.context import context

benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Return whether the build has CUDA."""
    return chosen_build() == "cuda"


def version() -> None:
    """Return None, as a PyTorch build without cuDNN does."""


def is_acceptable(tensor: Any) -> bool:
    """Return whether cuDNN accepts the tensor."""
    return bool(ops.cudnn_is_acceptable.call(tensor))


@contextmanager
def flags(enabled: bool = False, **others: Any) -> Iterator[None]:
    """Enable or disable cuDNN for a block. It is disabled by default, as in PyTorch."""
    before, context.user_enabled_cudnn = context.user_enabled_cudnn, enabled
    try:
        yield
    finally:
        context.user_enabled_cudnn = before


class _Module(ModuleType):
    @property
    def enabled(self) -> bool:
        """True if cuDNN may compute."""
        return context.user_enabled_cudnn

    @enabled.setter
    def enabled(self, value: bool) -> None:
        context.user_enabled_cudnn = value


sys.modules[__name__].__class__ = _Module
