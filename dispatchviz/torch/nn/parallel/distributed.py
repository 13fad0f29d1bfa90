"""``DistributedDataParallel`` (``torch/nn/parallel/distributed.py``) where no process group was made."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch import distributed
from dispatchviz.torch.nn.modules.module import Module


class DistributedDataParallel(Module):
    """NB: cannot be made, for want of process groups: ValueError, as in PyTorch before ``init_process_group``."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        distributed.new_group()  # type: ignore[attr-defined]
