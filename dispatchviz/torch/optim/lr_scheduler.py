"""``torch.optim.lr_scheduler``: all learning rate schedulers."""

from __future__ import annotations

from types import ModuleType

from dispatchviz.torch.optim import lr_scheduler_base, lr_scheduler_combined, lr_scheduler_cyclic, lr_scheduler_factors

_MODULES: tuple[ModuleType, ...] = (lr_scheduler_base, lr_scheduler_factors, lr_scheduler_cyclic, lr_scheduler_combined)

__all__ = sorted(name for module in _MODULES for name in module.__all__)

globals().update({name: getattr(module, name) for module in _MODULES for name in module.__all__})
for _name in __all__:
    globals()[_name].__module__ = "torch.optim.lr_scheduler"


class _LRScheduler(lr_scheduler_base.LRScheduler):
    """The former name of ``LRScheduler``."""
