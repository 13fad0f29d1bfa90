"""Batch norm without running statistics, for ``vmap`` (``torch/_functorch/batch_norm_replacement.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Remove the running statistics of all batch norms in ``root`` and return it."""
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.track_running_stats:
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
