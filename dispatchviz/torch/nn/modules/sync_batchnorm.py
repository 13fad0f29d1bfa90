"""``SyncBatchNorm`` (``torch/nn/modules/batchnorm.py``). NB: of one process, so nothing is synchronised."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._face import torch
from dispatchviz.torch.nn.modules.batchnorm import _BatchNorm


class SyncBatchNorm(_BatchNorm):
    """Statistics over the batches of all processes. Input (N, C, ...)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with one of these in the place of every batch norm, with its parameters and statistics."""
        output = module
        if isinstance(module, _BatchNorm):
            output = cls._of(module, process_group)
        for name, child in module.named_children():
            output.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return output

    @staticmethod
    def _of(module: Any, process_group: Any) -> Any:
        options = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
        output = torch.nn.SyncBatchNorm(*options, process_group, bias=module.bias is not None)
        if module.affine:
            with torch.no_grad():
                output.weight = module.weight
                output.bias = module.bias
        for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
            setattr(output, name, getattr(module, name))
        return output
