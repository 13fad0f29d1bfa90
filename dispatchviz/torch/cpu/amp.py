"""``torch.cpu.amp`` (``torch/cpu/amp/autocast_mode.py``): the deprecated form of ``torch.amp``."""

from __future__ import annotations

import warnings

from dispatchviz.core.tensor.dtype import DType, bfloat16
from dispatchviz.torch.amp.autocast_mode import autocast as _autocast
from dispatchviz.torch.amp.grad_scaler import GradScaler as _GradScaler


class autocast(_autocast):
    """``torch.amp.autocast("cpu")``"""

    def __init__(self, enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cpu")``"""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. "
            "Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
