"""``DistributedDataParallel`` (``torch/nn/parallel/distributed.py``) without a process group."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch import distributed
from dispatchviz.torch.nn.modules.module import Module


class DistributedDataParallel(Module):
    """A class whose construction raises ValueError, as PyTorch's does before ``init_process_group``."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        distributed.new_group()  # type: ignore[attr-defined]
