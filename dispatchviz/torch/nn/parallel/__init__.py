"""``torch.nn.parallel``: ``DataParallel`` and ``DistributedDataParallel``."""

from __future__ import annotations

from dispatchviz.torch.nn.parallel.data_parallel import DataParallel as DataParallel
from dispatchviz.torch.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]

DataParallel.__module__ = "torch.nn.parallel.data_parallel"
DistributedDataParallel.__module__ = "torch.nn.parallel.distributed"
