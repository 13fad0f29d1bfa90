"""``DataParallel`` (``torch/nn/parallel/data_parallel.py``) without GPUs: it calls its module.

NB: in PyTorch, it moves the module to the first GPU, and distributes batches over all GPUs.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn.modules.module import Module


class DataParallel(Module):
    """A wrapper that holds a module as ``module``, so that the names of parameters begin with it."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output."""
        return self.module(*inputs, **kwargs)
