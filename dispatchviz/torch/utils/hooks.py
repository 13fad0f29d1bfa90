"""``torch.utils.hooks``: the handles that remove hooks."""

from __future__ import annotations

from dispatchviz.core.autograd.hooks import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]

RemovableHandle.__module__ = "torch.utils.hooks"
