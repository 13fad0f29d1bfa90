"""``torch.nn.parallel``: ``DataParallel``."""

from __future__ import annotations

from dispatchviz.torch.nn.parallel.data_parallel import DataParallel as DataParallel

__all__ = ["DataParallel"]

DataParallel.__module__ = "torch.nn.parallel.data_parallel"
