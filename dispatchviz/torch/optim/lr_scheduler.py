"""``torch.optim.lr_scheduler``: all schedules of learning rates."""

from __future__ import annotations

from types import ModuleType

from dispatchviz.torch.optim import schedules, schedules_combined, schedules_cyclic, schedules_simple

_MODULES: tuple[ModuleType, ...] = (schedules, schedules_simple, schedules_cyclic, schedules_combined)

__all__ = sorted(name for module in _MODULES for name in module.__all__)

globals().update({name: getattr(module, name) for module in _MODULES for name in module.__all__})
for _name in __all__:
    globals()[_name].__module__ = "torch.optim.lr_scheduler"


class _LRScheduler(schedules.LRScheduler):
    """The name that ``LRScheduler`` had."""
