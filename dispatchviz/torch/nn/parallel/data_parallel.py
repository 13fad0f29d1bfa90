"""``DataParallel`` (``torch/nn/parallel/data_parallel.py``) as it is where there is no GPU: it calls its module.

NB: in PyTorch, it moves the module to the first GPU, and spreads batches over all of them.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn.modules.module import Module


class DataParallel(Module):
    """Holds a module as ``module``, so that names of parameters begin with it."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output."""
        return self.module(*inputs, **kwargs)
